"""The way back through attention: three gradients from one.

What the askers collected came along two ways: through the values, and through the weights with
which they were mixed. The weights came from queries and keys, through a softmax.
"""

import numpy as np

LESSON = 15
LEVEL = "hard"
HINTS = """
Write the forward as a tape of three lines: s = q @ k.T / sqrt(D), p = softmax(s), out = p @ v. Then
walk it back, one line at a time.

Through out = p @ v, a matrix product: dp = dout @ v.T and dv = p.T @ dout.

Through the softmax, as in `softmax_backward`: ds = p * (dp - the sum over a row of dp * p).

Through s = q @ k.T / sqrt(D): dq = ds @ k / sqrt(D), dk = ds.T @ q / sqrt(D).
"""


def attention_backward(dout, q, k, v):
    """Gradients of out = p @ v,   p = softmax of each row of q @ k.T / sqrt(D)

    dout (N, C) arrives; q (N, D) asks, k (T, D) is asked, v (T, C) is handed out.

    Scores may be of any size, also in the thousands. Returns (dq (N, D), dk (T, D), dv (T, C)).

    One asker, two equal keys: p is [1/2, 1/2] and dp = [4, 0], so ds = [1, -1], and with D = 1
    nothing is divided:

    >>> q, k, v = np.array([[3.0]]), np.array([[2.0], [2.0]]), np.array([[4.0], [0.0]])
    >>> dq, dk, dv = attention_backward(np.array([[1.0]]), q, k, v)
    >>> dq.round(4).tolist()
    [[0.0]]
    >>> dk.round(4).tolist()
    [[3.0], [-3.0]]
    >>> dv.round(4).tolist()
    [[0.5], [0.5]]
    """
    root = np.sqrt(q.shape[1])
    s = q @ k.T / root
    e = np.exp(s - s.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    dv = p.T @ dout
    dp = dout @ v.T
    ds = p * (dp - (dp * p).sum(axis=1, keepdims=True))
    dq = ds @ k / root
    dk = ds.T @ q / root
    return dq, dk, dv


def check(trial):
    for rng, (N, T, D, C) in zip(
        trial.rounds(4), ((2, 3, 4, 2), (3, 3, 2, 3), (1, 4, 3, 2), (4, 2, 2, 2))
    ):
        q, k = rng.standard_normal((N, D)), rng.standard_normal((T, D))
        v = rng.standard_normal((T, C))
        trial.gradients(
            "attention_backward",
            forward=lambda q, k, v: _weights(q, k) @ v,
            backward=lambda dout, q=q, k=k, v=v: trial.yours.attention_backward(dout, q, k, v),
            mistakes=_mistakes(q, k, v),
            q=q,
            k=k,
            v=v,
        )
    dout = rng.standard_normal((N, C))
    trial.same("attention_backward", mistakes=LARGE, dout=dout, q=60 * q, k=60 * k, v=v)
    q, k = q * (np.arange(D) > 0), k * (np.arange(D) > 0)
    q[:, 0], k[:, 0] = 2000, 1  # all scores are large, and near to one another
    trial.same("attention_backward", mistakes=LARGE, dout=dout, q=q, k=k, v=v)
    q, k = np.array([[7000.0, 0.0]]), np.array([[0, 1], [0, 2], [0, 3], [1, 4], [1.0002, 5]])
    dout, v = rng.standard_normal((1, 2)), rng.standard_normal((5, 2))  # two scores of 5,000
    trial.same("attention_backward", mistakes=LARGE, dout=dout, q=q, k=k, v=v)


def _weights(q, k, most=np.inf):
    e = np.exp(np.clip(q @ k.T / np.sqrt(q.shape[1]), -most, most))
    return e / e.sum(axis=1, keepdims=True)


def _overflowing(dout, q, k, v, most=np.inf):
    with np.errstate(all="ignore"):
        p, dp = _weights(q, k, most), dout @ v.T
        ds = p * (dp - (dp * p).sum(axis=1, keepdims=True)) / np.sqrt(q.shape[1])
        return ds @ k, ds.T @ q, p.T @ dout


LARGE = {
    ("attention_backward lets e^score overflow: take off the largest score of each row first",
     r"exp"): _overflowing,
    ("attention_backward clips the scores: take off the largest of each row instead", r"clip|min"):
        lambda dout, q, k, v: _overflowing(dout, q, k, v, most=700),
}  # fmt: skip


def _mistakes(q, k, v):
    p, root = _weights(q, k), np.sqrt(q.shape[1])

    def wrong(shares=True, divide=root, divide_k=None, axis=1, alone=False):
        def backward(dout):
            dp = dout @ v.T
            ds = p * (dp - (dp * p).sum(axis=axis, keepdims=True)) if shares else p * dp
            ds = p * (1 - p) * dp if alone else ds
            return ds @ k / divide, ds.T @ q / (divide_k or divide), p.T @ dout

        return backward

    def no_softmax(dout):
        dp = dout @ v.T
        return dp @ k / root, dp.T @ q / root, p.T @ dout

    roots, scores = r"\bd[qk] *=", r"\bds *="  # what the guilty line looks like
    return {
        ("attention_backward forgets to divide dq and dk by sqrt(D), as the scores are", roots):
            wrong(divide=1),
        ("attention_backward forgets to divide dq by sqrt(D), as it does dk", r"\bdq *="):
            wrong(divide=1, divide_k=root),
        ("attention_backward forgets to divide dk by sqrt(D), as it does dq", r"\bdk *="):
            wrong(divide_k=1),
        ("attention_backward divides dq and dk by D, and the scores by sqrt(D)", roots):
            wrong(divide=root**2),
        ("attention_backward lacks the term that the scores of a row share in softmax", scores):
            wrong(shares=False),
        ("attention_backward lets each score move its own weight only: softmax shares", scores):
            wrong(alone=True),
        ("attention_backward leaves out softmax: dp is not yet the gradient of the scores", scores):
            no_softmax,
        ("attention_backward adds up softmax's shared term along the wrong axis", scores):
            wrong(axis=0),
    }  # fmt: skip
