"""Write the lookup as a matrix product, both ways.

A one-hot code times the table is the lookup, and its transpose times the gradient is the
scatter-add. It costs V times the arithmetic, so nobody trains this way, but it proves two things,
and its other gradient answers a question that a lookup hides: which row would have been better?
"""

import numpy as np

LESSON = 10
LEVEL = "easy"
HINTS = """
For `one_hot`: rows of the identity, `np.eye(num_rows)[ids]`, or a comparison of `ids[:, None]`
with `np.arange(num_rows)`.

For out = X @ W the two gradients are dX = dout @ W.T and dW = X.T @ dout. The shapes leave no
other way: dX has the shape of X, and dW that of W.
"""


def one_hot(ids, num_rows):
    """out[n, v] = 1 where v = ids[n], else 0                                 (N,), V -> (N, V)

    ids  (N,)  integers in 0..V-1.

    >>> one_hot(np.array([2, 0]), 3).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    return np.eye(num_rows)[ids]


def one_hot_backward(dout, codes, E):
    """Gradients of out = codes @ E          (N, D), (N, V), (V, D) -> dcodes (N, V), dE (V, D)

    codes  (N, V)  one-hot codes, or any other numbers: the derivative does not care.
    E      (V, D)  the table.

    Returns (dcodes, dE).

    One place read row 1 of two. The gradient [10, 1] goes to row 1, and scoring it against both
    rows gives dcodes: 10 * 1 + 1 * 2 = 12 and 10 * 3 + 1 * 4 = 34.

    >>> E, codes = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, 1.0]])
    >>> dcodes, dE = one_hot_backward(np.array([[10.0, 1.0]]), codes, E)
    >>> dcodes.tolist()
    [[12.0, 34.0]]
    >>> dE.tolist()
    [[0.0, 0.0], [10.0, 1.0]]
    """
    return dout @ E.T, codes.T @ dout


def check(trial):
    for rng in trial.rounds(4):
        ids = trial.ids(rng, 5, 4)
        trial.same("one_hot", ids=ids, num_rows=5)
        codes = np.eye(5)[ids] + 0.1 * rng.standard_normal((4, 5))
        E = rng.standard_normal((5, 3))
        trial.gradients(
            "one_hot_backward",
            forward=lambda codes, E: codes @ E,
            backward=lambda dout, c=codes, E=E: trial.yours.one_hot_backward(dout, c, E),
            codes=codes,
            E=E,
        )
    codes[1] = 0  # which is no id, and learns as any other
    dout = rng.standard_normal((4, 3))
    trial.same("one_hot_backward", dout=dout, codes=codes, E=E)
    trial.same("one_hot", ids=np.zeros(0, int), num_rows=3)
    trial.same("one_hot", ids=np.array([299, 43]), num_rows=300)  # more than a byte holds
