"""Wrong answers that are no slip of the solution: what a learner writes in another way."""

from __future__ import annotations

import textwrap

import pytest

from tests.lesson.exercises.answers import EXERCISES, checked

WRONG = {  # exercise: (what is written, words of what must be told)
    "tied_logits": (
        """
        kept = None
        def logits_forward(h, E):
            global kept
            kept = E.copy()
            return h @ E.T
        def logits_backward(dlogits, h, E):
            E = kept if kept is not None and kept.shape == E.shape else E
            return dlogits @ E, dlogits.T @ h
        """,
        "goes by what other calls left behind",
    ),
    "lookup_forward": (
        """
        kept = np.zeros((0, 0))
        def lookup_forward(E, ids):
            global kept
            shape = (*np.shape(ids), E.shape[1])
            if kept.shape != shape:
                kept = np.zeros(shape)
            if np.size(ids) and not 0 <= np.min(ids) <= np.max(ids) < len(E):
                raise IndexError
            kept[...] = E[ids]
            return kept
        """,
        "fills again at a later call",
    ),
    "repeated_ids": (
        """
        def sum_repeats(ids, values):
            both = np.column_stack([ids, values])
            rows, where = np.unique(both[:, 0], return_inverse=True)
            sums = np.zeros((len(rows), values.shape[1]))
            np.add.at(sums, where, values)
            return rows.astype(int), sums
        """,
        "(2,) and must have shape (3,)",
    ),
    "sparse_sgd": (
        """
        def sgd_step(E, ids, dout, lr):
            order = np.argsort(ids, kind="stable")
            first = np.flatnonzero(np.append(True, np.diff(ids[order]) != 0))
            E[ids[order][first]] -= lr * np.add.reduceat(dout[order], first)
        """,
        "IndexError",
    ),
    "lookup_backward": (
        """
        def lookup_backward(dout, ids, num_rows):
            dE = np.zeros((num_rows, dout.shape[-1]))
            np.add.at(dE, ids.astype(np.int8), dout)
            return dE
        """,
        "should be 0",
    ),
    "bpe_merge": (
        """
        import re
        def pair_counts(tokens):
            counts = {}
            for pair in zip(tokens, tokens[1:]):
                counts[pair] = counts.get(pair, 0) + 1
            return counts
        def merge(tokens, pair):
            if not tokens:
                return []
            found = re.escape("|".join(pair))
            return re.sub(rf"(?<![^|]){found}(?![^|])", "".join(pair), "|".join(tokens)).split("|")
        """,
        "merge(tokens, pair) is",
    ),
    "bag_mean": (
        """
        def bag_mean_forward(E, ids, offsets):
            sums = np.concatenate([np.zeros((1, E.shape[1])), np.cumsum(E[ids], axis=0)])
            sizes = np.maximum(np.diff(offsets), 1)[:, None]
            return (sums[offsets[1:]] - sums[offsets[:-1]]) / sizes
        def bag_mean_backward(dout, ids, offsets, num_rows):
            sizes, dE = np.diff(offsets), np.zeros((num_rows, dout.shape[1]))
            np.add.at(dE, ids, np.repeat(dout / np.maximum(sizes, 1)[:, None], sizes, axis=0))
            return dE
        """,
        "bag_mean_forward(E, ids, offsets) at [1, 0]",
    ),
    "standardize": (
        """
        def standardize(x, eps):
            mean = x.mean(axis=-1, keepdims=True)
            variance = (x * x).mean(axis=-1, keepdims=True) - mean * mean
            return (x - mean) / np.sqrt(variance + eps)
        def standardize_backward(dn, x, eps):
            n, std = standardize(x, eps), np.sqrt(x.var(axis=-1, keepdims=True) + eps)
            shared = dn.mean(axis=-1, keepdims=True) + n * (dn * n).mean(axis=-1, keepdims=True)
            return (dn - shared) / std
        """,
        "standardize(x, eps) at",
    ),
    "nearest_rows": (
        """
        def nearest_rows(E, row, k):
            unit = E / np.maximum(np.sqrt((E * E).sum(axis=1, keepdims=True)), 1e-8)
            cosines = np.array([np.round(one @ unit[row], 12) for one in unit])
            cosines[row] = -np.inf
            return np.argsort(-cosines, kind="stable")[:k]
        """,
        "nearest_rows(E, row, k) at",
    ),
    "ppmi": (
        """
        def ppmi(counts):
            P = counts / counts.sum()
            chance = P.sum(axis=1, keepdims=True) * P.sum(axis=0, keepdims=True)
            return np.maximum(np.log((P + 1e-12) / (chance + 1e-12)), 0) * (counts > 0)
        """,
        "ppmi(counts) at",
    ),
    "padding_and_max_norm": (
        """
        def padded_backward(dout, ids, num_rows, padding_idx):
            dE = np.zeros((num_rows, dout.shape[1]))
            np.add.at(dE, ids, dout * (ids != padding_idx)[:, None])
            return dE
        def shorten(E, ids, max_norm):
            for row in np.unique(ids):
                length = np.sqrt((E[row] ** 2).sum())
                if length > max_norm:
                    E[row] *= max_norm / length
        """,
        "0 times infinity is nan",
    ),
    "route_ids": (
        """
        def route(ids, num_shards):
            distinct = np.unique(ids)
            return tuple(distinct[distinct % num_shards == s] for s in range(num_shards))
        def put_back(ids, answers):
            table = np.zeros((ids.max() + 1, answers[0].shape[1]))
            for part, answer in zip(route(ids, len(answers)), answers):
                table[part] = answer
            return table[ids]
        def send_back(ids, dout, num_shards):
            distinct, where = np.unique(ids, return_inverse=True)
            sums = np.zeros((len(distinct), dout.shape[1]))
            np.add.at(sums, where, dout)
            return tuple(sums[distinct % num_shards == s] for s in range(num_shards))
        """,
        "more memory than there is",
    ),
}


ALSO = {
    "lookup_forward": (
        """
        def lookup_forward(E, ids):
            if ids.ndim == 0:
                return E[ids]
            if any(not 0 <= i < len(E) for i in ids.ravel().tolist()):
                raise IndexError
            return E[ids]
        """,
        "for id -1 of a table of 7 rows",
    ),
    "backward_order": (
        """
        def backward(tape, leaves):
            g = np.zeros(leaves + len(tape))
            g[-1] = 1
            for k in range(len(tape) - 1, -1, -1):
                for i, s in list(zip(*tape[k]))[:2]:
                    g[i] += s * g[leaves + k]
            return g
        """,
        "backward",
    ),
    "softmax_backward": (
        """
        def softmax(z):
            e = np.exp(z - z.max(1, keepdims=True))
            return e / e.sum(1, keepdims=True)
        def softmax_backward(dp, p):
            w = dp * p
            return p * (w / p - w.sum(-1, keepdims=True))
        """,
        "nan",
    ),
    "lazy_adam": (
        """
        def lazy_adam_step(E, m, v, rows, grads, t, lr):
            for r, g in zip(rows, grads):
                if g.any():
                    m[r] += 0.1 * (g - m[r])
                    v[r] += 0.001 * (g * g - v[r])
                    E[r] -= lr * (m[r] / (1 - 0.9**t)) / (np.sqrt(v[r] / (1 - 0.999**t)) + 1e-8)
        """,
        "lazy_adam_step",
    ),
}
SINCE = {
    "softmax_backward": (
        """
        def softmax(z):
            e = np.exp(z - z.max(axis=1, keepdims=True))
            return e / e.sum(axis=1, keepdims=True)
        def softmax_backward(dp, p):
            p = np.where(p < 1e-7, 0, p)
            return p * (dp - (dp * p).sum(axis=1, keepdims=True))
        """,
        "at [0, 0] is 0 and should be 1",
    ),
    "route_ids": (
        """
        def route(ids, num_shards):
            return tuple(np.unique(ids[ids % num_shards == s]) for s in range(num_shards))
        def places(ids, own, S):
            return np.searchsorted((own / S).astype(np.int64), (ids / S).astype(np.int64))
        def put_back(ids, answers):
            S = len(answers)
            out = np.zeros((len(ids), answers[0].shape[1]))
            for s, own in enumerate(route(ids, S)):
                out[ids % S == s] = answers[s][places(ids[ids % S == s], own, S)]
            return out
        def send_back(ids, dout, num_shards):
            parts = []
            for s, own in enumerate(route(ids, num_shards)):
                mine, part = ids % num_shards == s, np.zeros((len(own), dout.shape[1]))
                np.add.at(part, places(ids[mine], own, num_shards), dout[mine])
                parts.append(part)
            return tuple(parts)
        """,
        "put_back(ids, answers)",
    ),
    "nearest_rows": (
        """
        def nearest_rows(E, row, k):
            lengths = np.linalg.norm(E, axis=1)
            cosines = E @ E[row] / np.where(lengths, lengths, 1)
            others = [other for other in range(len(E)) if other != row]
            return np.array(sorted(others, key=lambda other: -cosines[other])[:k])
        """,
        "must hold integers: an empty np.array([]) is of floats",
    ),
    "attention_backward": (
        """
        def attention_backward(dout, q, k, v):
            root = np.sqrt(q.shape[1])
            e = np.exp(q @ k.T / root)
            p = (e / e.sum(axis=1, keepdims=True)).astype("f4").astype(float)
            dp = dout @ v.T
            ds = p * (dp - (dp * p).sum(axis=1, keepdims=True))
            return ds @ k / root, ds.T @ q / root, p.T @ dout
        """,
        "is rounded to single precision on the way",
    ),
    "tied_logits": (
        """
        def logits_forward(h, E):
            return h @ E.T
        def logits_backward(dlogits, h, E):
            dE = np.einsum("nv,nd->vd", dlogits, h.astype(np.float32).astype(float))
            return dlogits @ E, dE
        """,
        "is rounded to single precision on the way",
    ),
    "finite_differences": (
        """
        def slopes(f, x, h):
            g = np.zeros(x.shape)
            for i in np.ndindex(x.shape):
                x[i] += h
                above = f(x)
                x[i] -= 2 * h
                below = f(x)
                x[i] += h
                g[i] = (above - below) / (2 * h)
            return g
        """,
        "slopes changes its argument x in place",
    ),
    "sinusoids": (
        """
        table = np.zeros((0, 0))
        def sinusoids(max_len, dim):
            global table
            if table.shape[1] != dim or len(table) < max_len:
                j = np.arange(dim)
                angle = np.arange(max_len)[:, None] / 10000 ** (j // 2 * 2 / dim)
                table = np.where(j % 2, np.cos(angle), np.sin(angle))
            return table
        """,
        "shape (7, 6) and must have shape (3, 6)",
    ),
    "tanh_layer": (
        """
        def tanh_layer(x, W):
            up, down = np.exp(x @ W), np.exp(-(x @ W))
            return (up - down) / (up + down)
        def tanh_layer_backward(dout, x, W, out):
            da = dout * (1 - out**2)
            return da @ W.T, x.T @ da
        """,
        "tanh_layer lets e^a overflow",
    ),
    "rms_norm": (
        """
        def rms_norm(x, eps):
            return x / np.sqrt(np.maximum((x**2).mean(axis=-1, keepdims=True), eps))
        def rms_norm_backward(dout, x, eps):
            return dout
        """,
        "takes the larger of the mean and eps",
    ),
    "layer_norm_backward": (
        """
        def layer_norm_backward(dout, x, gamma, eps):
            axis = 0 if len(x) == x.shape[1] else 1
            std = np.sqrt(x.var(axis=axis, keepdims=True) + eps)
            n, g = (x - x.mean(axis=axis, keepdims=True)) / std, gamma * dout
            shared = g.mean(axis=axis, keepdims=True)
            shared = shared + n * (g * n).mean(axis=axis, keepdims=True)
            return (g - shared) / std, (dout * n).sum(axis=0), dout.sum(axis=0)
        """,
        "samples",
    ),
    "tied_table": (
        """
        def tied_backward(dlogits, ids, E):
            dE = (dlogits.T @ E[ids]).astype(np.float32)
            np.add.at(dE, ids, dlogits @ E)
            return dE
        """,
        "the gradient of tied_backward is rounded to float32",
    ),
    "bpe_train": (
        """
        def merged(word, pair):
            if not word:
                return []
            left, right = pair
            text = "<sep>" + "<sep><sep>".join(word) + "<sep>"
            text = text.replace(f"<sep>{left}<sep><sep>{right}<sep>", f"<sep>{left}{right}<sep>")
            return text[5:-5].split("<sep><sep>")
        def train(words, num_merges):
            words, merges = [list(word) for word in words], []
            for _ in range(num_merges):
                counts = {}
                for word in words:
                    for pair in zip(word, word[1:]):
                        counts[pair] = counts.get(pair, 0) + 1
                if not counts:
                    break
                merges.append(max(counts, key=counts.get))
                words = [merged(word, merges[-1]) for word in words]
            return merges
        """,
        "train(words, num_merges) is",
    ),
    "bpe_merge": (
        """
        from collections import Counter
        SEP = "|~|"
        def pair_counts(tokens):
            return dict(Counter(zip(tokens, tokens[1:])))
        def merge(tokens, pair):
            if not tokens:
                return []
            left, right = pair
            text = SEP + (SEP + SEP).join(tokens) + SEP
            text = text.replace(SEP + left + SEP + SEP + right + SEP, SEP + left + right + SEP)
            return text[3:-3].split(SEP + SEP)
        """,
        "merge(tokens, pair) is",
    ),
    "hashed_rows": (
        """
        known = {}
        def hash_of(text, V):
            if text not in known:
                h = 2166136261
                for byte in text.encode():
                    h = ((h ^ byte) * 16777619) % 2**32
                known[text] = h % V
            return known[text]
        def two_rows_forward(E, rows):
            return E[rows].sum(axis=1)
        def two_rows_backward(dout, rows, num_rows):
            dE = np.zeros((num_rows, dout.shape[1]))
            np.add.at(dE, rows, dout[:, None])
            return dE
        """,
        "hash_of(text, V) is",
    ),
    "padding_and_max_norm": (
        """
        def padded_backward(dout, ids, num_rows, padding_idx):
            dE, keep = np.zeros((num_rows, dout.shape[1])), ids > padding_idx
            np.add.at(dE, ids[keep], dout[keep])
            return dE
        def shorten(E, ids, max_norm):
            pass
        """,
        "only the rows above padding_idx",
    ),
}
ROUNDS = WRONG, ALSO, SINCE


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    texts = [{name: text for name, (text, _) in answers.items()} for answers in ROUNDS]
    return [checked(tmp_path_factory.mktemp("answers"), answers) for answers in texts]


@pytest.mark.parametrize("name", WRONG)
def test_it_is_refused(verdicts, name):
    _is_refused(verdicts, 0, name)


@pytest.mark.parametrize("name", ALSO)
def test_so_is_another(verdicts, name):
    _is_refused(verdicts, 1, name)


@pytest.mark.parametrize("name", SINCE)
def test_and_a_third(verdicts, name):
    _is_refused(verdicts, 2, name)


def _is_refused(verdicts, place, name):
    verdict = verdicts[place][name]
    assert not verdict["passed"] and ROUNDS[place][name][1] in verdict["sentence"], verdict


RUNNING = """
def add_at(table, ids, values):
    order = np.argsort(ids, axis=None, kind="stable")
    rows, values = np.ravel(ids)[order], values.reshape(-1, table.shape[1])[order]
    ends = np.flatnonzero(np.append(rows[1:] != rows[:-1], True)) if len(rows) else rows
    table[rows[ends]] += np.diff(np.cumsum(values, axis=0)[ends], axis=0, prepend=0)


"""
PAY = {  # how a solution adds what arrives to rows, and the same by differences of a running sum
    "sparse_sgd": ("np.subtract.at(E, ids, lr * dout)", "add_at(E, ids, -lr * dout)"),
    "bag_mean": ("np.add.at(dE, ids,", "add_at(dE, ids,"),
    "input_embedding": ("np.add.at(dtoken,", "add_at(dtoken,"),
    "padding_and_max_norm": ("np.add.at(dE, ids, dout)",
                             "add_at(dE, ids, np.where((ids == padding_idx)[:, None], 0, dout))"),
    "hashed_rows": ("np.add.at(dE, rows[:, 0], dout)", "add_at(dE, rows[:, 0], dout)"),
}  # fmt: skip


def test_what_one_row_gets_is_nothing_to_the_next(tmp_path):
    texts = {name: RUNNING + EXERCISES[name].solution.replace(*PAY[name]) for name in PAY}
    assert all("add_at" in text.partition(RUNNING)[2] for text in texts.values())
    indented = {name: textwrap.indent(text, 8 * " ") for name, text in texts.items()}
    for name, verdict in checked(tmp_path, indented).items():
        assert not verdict["passed"] and "1.e+17" in str(verdict), (name, verdict)


SHIFTED = {  # where a solution takes off the largest score of a row
    "softmax_backward": "z - z.max(axis=-1, keepdims=True)",
    "cross_entropy": "logits - logits.max(axis=1, keepdims=True)",
    "attention_backward": "s - s.max(axis=1, keepdims=True)",
    "contextual_row": "x @ x[t] - (x @ x[t]).max()",
    "tied_model": "z - z.max(axis=1, keepdims=True)",
}


@pytest.mark.parametrize("less", ["mean", "median", "first"])
def test_scores_in_the_thousands_may_be_close_to_one_another(tmp_path, less):
    """A capped exponent takes two that are far above the rest for equal."""
    taken = {"mean": "c.mean(-1, keepdims=True)", "first": "c[..., :1]",
             "median": "np.median(c, axis=-1, keepdims=True)"}[less]  # fmt: skip
    off = f"def off(c):\n    return np.minimum(c - {taken}, 700)\n\n\n"
    texts = {}
    for name, shift in SHIFTED.items():
        scores = shift.partition(" - ")[0]
        texts[name] = off + EXERCISES[name].solution.replace(shift, f"off({scores})")
        assert f"off({scores})" in texts[name]
    indented = {name: textwrap.indent(text, 8 * " ") for name, text in texts.items()}
    assert not [name for name, told in checked(tmp_path, indented).items() if told["passed"]]
