"""A step of gradient descent that touches only the rows of the batch.

A table of 50,257 rows and a batch of 8 ids: a step that builds the whole gradient moves 154 MB to
change 25 kB.
"""

import numpy as np

LESSON = 1
LEVEL = "medium"
IN_PLACE = {"sgd_step": ("E",)}
HINTS = """
`E = E - ...` makes a new array, and the caller's table stays what it was. Change rows of E:
`E[...] -= ...`, or subtract in place.

`E[ids] -= lr * dout` steps once for a repeated id. Every place of the batch must count.

`np.subtract.at(E, ids, lr * dout)` steps place by place, and looks at no other row.
"""


def sgd_step(E, ids, dout, lr):
    """E[v] -= lr times the sum of dout[n] over n with ids[n] = v, in place        returns nothing

    E     (V, D)  the table, changed in place.
    ids   (N,)    the rows that were read, integers in 0..V-1.
    dout  (N, D)  the gradient that arrived at each of them.
    lr            the size of the step.

    Rows that are not in the batch stay as they are, and no array of V rows is made on the way.

    Row 1 was read twice: 5 - 0.1 (10 + 20) = 2.

    >>> E = np.array([[4.0], [5.0], [6.0]])
    >>> sgd_step(E, np.array([1, 1, 2]), np.array([[10.0], [20.0], [30.0]]), 0.1)
    >>> E.tolist()
    [[4.0], [2.0], [3.0]]
    """
    np.subtract.at(E, ids, lr * dout)


def check(trial):
    for rng in trial.rounds(5):
        E, ids = rng.standard_normal((7, 3)), trial.ids(rng, 7, 6)
        dout = rng.standard_normal((6, 3))
        lr = float(rng.uniform(0.01, 1))
        trial.same("sgd_step", mistakes=MISTAKES, E=E, ids=ids, dout=dout, lr=lr)
    turned = np.asfortranarray(E)  # it lies column by column in memory
    trial.same("sgd_step", mistakes=MISTAKES, E=turned, ids=ids, dout=dout, lr=0.1)
    none = {"ids": ids[:0], "dout": dout[:0]}
    trial.same("sgd_step", mistakes=MISTAKES, E=E, **none, lr=0.1)
    apart = trial.apart  # what one row gets is nothing to the next
    trial.same("sgd_step", mistakes=MISTAKES, by_row=True, E=np.zeros((4, 1)), ids=np.arange(4),
               dout=apart, lr=1.0)  # fmt: skip
    trial.lean("sgd_step", 5e5, "it grows with the table and not with the batch",
               E=np.zeros((1_000_000, 2)), ids=999_999 - ids, dout=np.ones((6, 2)),
               lr=0.1)  # fmt: skip


def _repeats_lost(E, ids, dout, lr):
    E[ids] -= lr * dout


def _averaged(E, ids, dout, lr):
    np.subtract.at(E, ids, lr * dout / np.bincount(ids)[ids][:, None])


MISTAKES = {
    "sgd_step steps once for a repeated id: every place of the batch counts": _repeats_lost,
    "sgd_step goes uphill: a step is taken against the gradient": lambda E, ids, dout, lr: (
        np.add.at(E, ids, lr * dout)
    ),
    "sgd_step leaves out lr": lambda E, ids, dout, lr: np.subtract.at(E, ids, dout),
    "sgd_step averages the gradients of a repeated id: they add up": _averaged,
    "sgd_step does not change the table that it was given": lambda E, ids, dout, lr: None,
}
