"""Send a gradient back to the rows it came from.

The other half of every embedding layer. A row that was read twice collects two gradients, and
forgetting the second is the classic mistake of home-made embeddings.
"""

import numpy as np

from scratch_embed.ops.lookup import LookupSaved

LESSON = 0
LEVEL = "easy"
HINTS = """
Start from zeros of shape `(num_rows, D)`, and go through the ids one by one: the gradient of
place n belongs to row `ids[n]`.

`dE[ids] += dout` looks right, and is not: NumPy reads all rows, adds, and writes all rows, so
of two gradients for one row only the last is left.

A loop `for n, row in enumerate(ids): dE[row] += dout[n]` is right. So is `np.add.at(dE, ids,
dout)`, which adds place by place.
"""


def lookup_backward(dout, ids, num_rows):
    """dE[v] = sum of dout[n] over all n with ids[n] = v            (N, D), (N,), V -> (V, D)

    dout      (N, D)  the gradient that arrives at each row that was read.
    ids       (N,)    integers in 0..V-1, which rows those were.
    num_rows  V, which may be 66,000: nothing of V by V numbers has room.

    A row that no id names gets exactly 0.

    Row 1 was read twice and collects [1, 2] + [10, 20]; row 2 gets [5, 5], row 0 nothing:

    >>> dout = np.array([[1.0, 2.0], [10.0, 20.0], [5.0, 5.0]])
    >>> lookup_backward(dout, np.array([1, 1, 2]), 3).tolist()
    [[0.0, 0.0], [11.0, 22.0], [5.0, 5.0]]
    """
    dE = np.zeros((num_rows, dout.shape[1]))
    np.add.at(dE, ids, dout)
    return dE


def check(trial):
    for rng in trial.rounds(5):
        E, ids = rng.standard_normal((6, 3)), trial.ids(rng, 6, 5)
        trial.gradients(
            "lookup_backward",
            forward=lambda E, ids: E[ids],
            backward=lambda dout, ids=ids: trial.yours.lookup_backward(dout, ids, 6),
            saved=LookupSaved(ids, 6, None, False, False),
            E=E,
            ids=ids,
        )
    many = rng.integers(12, size=90)
    trial.same("lookup_backward", dout=rng.standard_normal((90, 2)), ids=many, num_rows=13)
    none = np.array([], dtype=np.int64)
    trial.same("lookup_backward", dout=np.zeros((0, 3)), ids=none, num_rows=4)
    apart = trial.apart  # what one row gets is nothing to the next
    trial.same("lookup_backward", by_row=True, dout=apart, ids=np.arange(4), num_rows=4)
    trial.lean("lookup_backward", 1e6, "it grows with V times V",
               dout=np.ones((1, 1)), ids=np.array([3]), num_rows=4_000)  # fmt: skip
    far = np.array([299, 65_540, 43, 299])  # more than one byte or two hold
    trial.same("lookup_backward", dout=np.arange(1.0, 5)[:, None], ids=far, num_rows=66_000)
