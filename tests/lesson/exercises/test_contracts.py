"""What a contract promises is asked for: a solution with one function that breaks one promise."""

from __future__ import annotations

import textwrap

import pytest

from tests.lesson.exercises.answers import EXERCISES, checked

BROKEN = {
    "bpe_merge": """
        def pair_counts(tokens):
            return dict(__import__("collections").Counter(pairwise(" ".join(tokens).split())))
    """,
    "finite_differences": """
        def slopes(f, x, h):
            g, places = [], np.nditer(x, flags=["multi_index"])  # in the order of memory
            for _ in places:
                up, down = x.copy(), x.copy()
                up[places.multi_index] += h
                down[places.multi_index] -= h
                g.append((f(up) - f(down)) / (2 * h))
            return np.array(g).reshape(x.shape)
    """,
    "input_embedding": """
        def input_embedding(ids, segments, token, position, segment):
            if ids.shape[1] > len(position):
                raise ValueError
            first = (segments == 0).sum(axis=1, keepdims=True)  # A stands before B
            later = (np.arange(ids.shape[1]) >= first).astype(int)
            return token[ids] + position[: ids.shape[1]] + segment[later]
    """,
    "bag_mean": """
        def bag_mean_forward(E, ids, offsets):
            sizes = np.diff(offsets)
            out, b = np.zeros((len(sizes), E.shape[1])), 0
            for n, row in enumerate(ids):
                if n >= offsets[b + 1]:
                    b += 1
                if offsets[b + 1] == offsets[b]:  # one empty bag is stepped over, and not two
                    b += 1
                out[b] += E[row]
            return out / np.maximum(sizes, 1)[:, None]
    """,
    "tanh_layer": """
        def tanh_layer_backward(dout, x, W, out):
            up, down = np.exp(x @ W), np.exp(-(x @ W))
            da = dout * (1 - ((up - down) / (up + down)) ** 2)
            return da @ W.T, x.T @ da
    """,
    "diagnose": """
        def diagnose(code, nudged, ids):
            allowed = 1e-6 * np.abs(nudged).max()
            off = np.abs(code - nudged) > allowed
            if not off.any():
                return "right"
            large = np.abs(nudged) > allowed
            factor = np.mean(code[large] / nudged[large])
            if (np.abs(code - factor * nudged) <= allowed * max(1, abs(factor))).all():
                return "factor"
            times = np.bincount(ids, minlength=len(code))[off.any(axis=1)]
            return "repeats" if (times > 1).all() else "reading" if (times > 0).all() else "scoring"
    """,
    "route_ids": """
        def route(ids, num_shards):
            distinct = np.flatnonzero(np.bincount(ids))
            return tuple(distinct[distinct % num_shards == s] for s in range(num_shards))
    """,
    "nearest_rows": """
        def nearest_rows(E, row, k):
            lengths = np.maximum(np.sqrt((E * E).sum(axis=1)), 1e-30)
            cosines = E @ E[row] / (lengths * lengths[row])
            cosines[row] = -np.inf
            return np.argsort(-cosines, kind="stable")[:k]
    """,
}
ROUNDED_OTHERWISE = {  # right, where a softmax or a tanh is next to 0 or to 1
    "attention_backward": """
        def attention_backward(dout, q, k, v):
            root = np.sqrt(q.shape[1])
            s = q @ k.T / root
            e = np.exp(s - s.max(axis=1, keepdims=True))
            p = e / e.sum(axis=1, keepdims=True)
            ds = p * (dout @ v.T - (dout * (p @ v)).sum(axis=1, keepdims=True))
            return ds @ k / root, ds.T @ q / root, p.T @ dout
    """,
    "tied_model": """
        def model_backward(E, W, ids, targets):
            x, rows = E[ids], np.arange(len(ids))
            a = x @ W
            z = np.tanh(a) @ E.T
            p = np.exp(z - z.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            p[rows, targets] -= 1
            dE = (p / len(ids)).T @ np.tanh(a)
            da = (p / len(ids)) @ E / np.cosh(a) ** 2
            np.add.at(dE, ids, da @ W.T)
            return dE, x.T @ da
    """,
}


def verdicts(folder, answers):
    """Of the solutions, with these functions instead of their own."""
    texts = {
        name: textwrap.indent(f"{EXERCISES[name].solution}\n{textwrap.dedent(text)}", 8 * " ")
        for name, text in answers.items()
    }
    return checked(folder, texts)


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    return verdicts(tmp_path_factory.mktemp("broken"), BROKEN)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_promise_is_seen(broken, name):
    assert not broken[name]["passed"], broken[name]


def test_what_rounds_otherwise_is_right(tmp_path):
    for name, verdict in verdicts(tmp_path, ROUNDED_OTHERWISE).items():
        assert verdict["passed"], (name, verdict)
