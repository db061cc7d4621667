"""A right answer may be written in another way than ours: none of these is refused."""

from __future__ import annotations

import re

import pytest

from scratch_embed.lesson.exercises.run import Job, check_all
from tests.lesson.exercises.answers import EXERCISES, checked

RIGHT = {
    "finite_differences": """
        def slopes(f, x, h):
            x, g = x.copy(), []
            for i in np.ndindex(x.shape):
                old = x[i]
                x[i] = old + h
                up = f(x)
                x[i] = old - h
                g.append((up - f(x)) / h / 2)
                x[i] = old
            return np.reshape(g, x.shape)
        """,
    "lookup_backward": """
        def lookup_backward(dout, ids, num_rows):
            return np.eye(num_rows)[:, ids] @ dout if num_rows < 1000 else rows(dout, ids, num_rows)

        def rows(dout, ids, num_rows):
            used, places = np.unique(ids, return_inverse=True)
            dE = np.zeros((num_rows, dout.shape[1]))
            dE[used] = (places == np.arange(len(used))[:, None]).astype(float) @ dout
            return dE
        """,
    "repeated_ids": """
        def sum_repeats(ids, values):
            rows = np.unique(ids)
            return rows, (rows[:, None] == ids) @ values
        """,
    "bag_mean": """
        def shares(ids, offsets):
            place, sizes = np.arange(len(ids)), np.diff(offsets)[:, None]
            within = (offsets[:-1, None] <= place) & (place < offsets[1:, None])
            return within / np.maximum(sizes, 1)

        def bag_mean_forward(E, ids, offsets):
            return shares(ids, offsets) @ np.eye(len(E))[ids] @ E

        def bag_mean_backward(dout, ids, offsets, num_rows):
            return np.eye(num_rows)[:, ids] @ shares(ids, offsets).T @ dout
        """,
    "sparse_sgd": """
        def sgd_step(E, ids, dout, lr):
            np.add.at(E, ids, -lr * dout)
            return E
        """,
    "tanh_layer": """
        def tanh_layer(x, W):
            return 2 / (1 + np.exp(-2 * np.einsum("nd,dh->nh", x, W))) - 1

        def tanh_layer_backward(dout, x, W, out):
            da = dout / np.cosh(x @ W) ** 2
            return np.einsum("nh,dh->nd", da, W), np.einsum("nd,nh->dh", x, da)
        """,
    "backward_order": """
        def backward(tape, leaves):
            last = leaves + len(tape) - 1
            grads, waits, reached = np.zeros(last + 1), np.zeros(last + 1, int), [last]
            for value in reached:
                for given in tape[value - leaves][0] if value >= leaves else ():
                    reached += [given] * (not waits[given])
                    waits[given] += 1
            grads[last], ready = 1, [last]
            while ready:
                maker = ready.pop()
                for given, slope in zip(*tape[maker - leaves]) if maker >= leaves else ():
                    grads[given] += slope * grads[maker]
                    waits[given] -= 1
                    ready += [given] * (not waits[given])
            return grads
        """,
    "cross_entropy": """
        def cross_entropy_forward(logits, targets):
            return np.mean([np.logaddexp.reduce(z) - z[t] for z, t in zip(logits, targets)])

        def cross_entropy_backward(dloss, logits, targets):
            dloss /= len(targets)
            p = [np.exp(z - np.logaddexp.reduce(z)) for z in logits]
            return dloss * (p - np.eye(logits.shape[1])[targets])
        """,
    "contextual_row": """
        def weights(scores):
            top = scores.max()
            return np.exp(scores - (top + np.log(np.exp(scores - top).sum())))
        def state_forward(E, ids, t):
            x = E[ids]
            return weights(x @ x[t]) @ x
        def state_backward(dstate, E, ids, t):
            x = E[ids]
            p, dp = weights(x @ x[t]), x @ dstate
            ds = p * (dp - p @ dp)
            dx = np.outer(p, dstate) + np.outer(ds, x[t])
            dx[t] += ds @ x
            dE = np.zeros_like(E)
            np.add.at(dE, ids, dx)
            return dE
    """,
    "nearest_rows": """
        def nearest_rows(E, row, k):
            lengths = np.linalg.norm(E, axis=1)
            cosines = E @ E[row] / np.where(lengths, lengths, 1) / lengths[row]
            others = [other for other in range(len(E)) if other != row]
            return np.array(sorted(others, key=lambda other: -cosines[other])[:k], dtype=int)
        """,
    "softmax_backward": """
        def softmax(z):
            return np.array([np.exp(row - np.logaddexp.reduce(row)) for row in z])

        def softmax_backward(dp, p):
            return np.array([(np.diag(q) - np.outer(q, q)) @ g for q, g in zip(p, dp)])
        """,
    "bpe_train": """
        from collections import Counter

        def train(words, num_merges):
            merges, kinds = [], {word: list(word) for word in words}
            often = Counter(words)
            while len(merges) < num_merges:
                counts = Counter()
                for word, tokens in kinds.items():
                    for pair in zip(tokens, tokens[1:]):
                        counts[pair] += often[word]
                if not counts:
                    return merges
                (best, _), = counts.most_common(1)
                merges.append(best)
                for word, tokens in kinds.items():
                    i, out = 0, []
                    while i < len(tokens):
                        size = 2 if tuple(tokens[i : i + 2]) == best else 1
                        out.append("".join(tokens[i : i + size]))
                        i += size
                    kinds[word] = out
            return merges
        """,
    "rms_norm": """
        def rms_norm(x, eps):
            return x * (np.square(x).mean(-1)[:, None] + eps) ** -0.5

        def rms_norm_backward(dout, x, eps):
            inverse = (np.square(x).mean(-1)[:, None] + eps) ** -0.5
            return inverse * dout - inverse**3 * x * (x * dout).mean(-1)[:, None]
        """,
    "standardize": """
        def standardize(x, eps):
            return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + eps)

        def standardize_backward(dn, x, eps):
            n, D = standardize(x, eps), x.shape[1]
            rest = D * dn - dn.sum(1, keepdims=True) - n * (dn * n).sum(1, keepdims=True)
            return rest / D / np.sqrt(x.var(1, keepdims=True) + eps)
        """,
    "attention_backward": """
        def attention_backward(dout, q, k, v):
            dq, dk, dv = 0 * q, 0 * k, 0 * v
            for n in range(len(q)):
                s = k @ q[n] / len(q[n]) ** 0.5
                p = np.exp(s - np.logaddexp.reduce(s))
                ds = (np.diag(p) - np.outer(p, p)) @ (v @ dout[n]) / len(q[n]) ** 0.5
                dq[n] = ds @ k
                dk += np.outer(ds, q[n])
                dv += np.outer(p, dout[n])
            return dq, dk, dv
        """,
    "rotary": """
        def rotary(x, way=1):
            T, D = x.shape
            hands = x[:, 0::2] + 1j * x[:, 1::2]
            angle = np.outer(np.arange(T), 10000.0 ** -(np.arange(0, D, 2) / D))
            turned = hands * np.exp(way * 1j * angle)
            return np.stack([turned.real, turned.imag], axis=-1).reshape(T, D)

        def rotary_backward(dout):
            return rotary(dout, way=-1)
        """,
    "ppmi": """
        def ppmi(counts):
            with np.errstate(all="ignore"):
                rows, columns = counts.sum(1), counts.sum(0)
                pmi = np.log(counts * counts.sum()) - np.log(np.outer(rows, columns))
            return np.where(counts > 0, np.maximum(pmi, 0), 0)
        """,
    "hashed_rows": """
        def hash_of(text, V):
            h = np.uint64(2166136261)
            for byte in text.encode():
                h = (h ^ np.uint64(byte)) * np.uint64(16777619) % np.uint64(2**32)
            return h % np.uint64(V)

        def two_rows_forward(E, rows):
            return E[rows].sum(axis=1)

        def two_rows_backward(dout, rows, num_rows):
            dE = np.zeros((num_rows, dout.shape[1]))
            np.add.at(dE, rows, dout[:, None])
            return dE
        """,
    "padding_and_max_norm": """
        def padded_backward(dout, ids, num_rows, padding_idx):
            dE = np.zeros((num_rows, dout.shape[1]))
            for row, g in zip(ids, dout):
                if row != padding_idx:
                    dE[row] += g
            return dE

        def shorten(E, ids, max_norm):
            for row in set(ids.tolist()):
                length = np.linalg.norm(E[row])
                if length > max_norm:
                    E[row] = E[row] / length * max_norm
        """,
    "tied_model": """
        def pieces(E, W, ids, targets):
            h = np.tanh(E[ids] @ W)
            z = h @ E.T
            log_p = z - np.logaddexp.reduce(z, axis=1)[:, None]
            return h, log_p, np.eye(len(E))[targets]

        def model_loss(E, W, ids, targets):
            h, log_p, hot = pieces(E, W, ids, targets)
            return -(hot * log_p).sum() / len(ids)

        def model_backward(E, W, ids, targets):
            h, log_p, hot = pieces(E, W, ids, targets)
            dz = (np.exp(log_p) - hot) / len(ids)
            da = dz @ E * (1 - h * h)
            read = np.eye(len(E))[ids].T
            return dz.T @ h + read @ (da @ W.T), (read.T @ E).T @ da

        def train(E, W, text, batches, lr):
            K = len(batches)
            for k in range(K):
                dE, dW = model_backward(E, W, text[batches[k]], text[1 + batches[k]])
                E[:], W[:] = E - lr * (K - k) / K * dE, W - lr * (K - k) / K * dW
        """,
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    return checked(tmp_path_factory.mktemp("answers"), RIGHT)


@pytest.mark.parametrize("name", RIGHT)
def test_it_passes(verdicts, name):
    assert verdicts[name]["passed"], verdicts[name]


def test_what_a_function_sets_for_itself_does_not_hold_for_the_check(tmp_path):
    """Where it has errors raised, ours would stop at exp(-800), which is rightly 0."""
    solution = EXERCISES["cross_entropy"].solution
    strict = re.sub(r"(\n *)(return )", r"\1np.seterr(all='raise')\1\2", solution)
    assert strict.count("seterr") >= 1
    path = tmp_path / "strict.py"
    path.write_text(f"import numpy as np\n{strict}", encoding="utf-8")
    verdict = check_all([Job(EXERCISES["cross_entropy"], path, timed=False, seconds=120)])[0]
    assert verdict["passed"], verdict
