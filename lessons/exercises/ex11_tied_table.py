"""One table used twice: the two gradients add.

A tied model reads a row of the table on the way in, and scores against all rows of the same table
on the way out. The gradient of the table is the sum over both uses: a few rows collect from the
lookup, and every row from the scores.
"""

import numpy as np

LESSON = 13
LEVEL = "medium"
HINTS = """
Pretend that there are two tables, h = A[ids] and logits = h @ B.T, work out dA and dB, and add
them: both are E.

For B it is the exercise `tied_logits`: dlogits.T @ h. For A: the gradient of h is dh = dlogits
@ E, and it goes back to the rows that were read.

Two places may read the same row, so the lookup's part is a scatter-add, not an assignment.
"""


def tied_backward(dlogits, ids, E):
    """The gradient of E through   h = E[ids],   logits = h @ E.T    (N, V), (N,), (V, D) -> (V, D)

    dlogits (N, V), ids (N,) integers in 0..V-1, E (V, D).

    dE = (what h hands back to the rows that were read) + (what the scores hand to all rows)

    Row 1 = [3] is read once, h = [3], and dlogits is [1, 2]. Scores: row 0 gets 1 * 3, row 1 gets
    2 * 3. Lookup: dh = 1 * 2 + 2 * 3 = 8 goes to row 1. Together [3] and [6 + 8]:

    >>> tied_backward(np.array([[1.0, 2.0]]), np.array([1]), np.array([[2.0], [3.0]])).tolist()
    [[3.0], [14.0]]
    """
    dE = dlogits.T @ E[ids]
    np.add.at(dE, ids, dlogits @ E)
    return dE


def check(trial):
    for rng in trial.rounds(5):
        E, ids = rng.standard_normal((5, 3)), trial.ids(rng, 5, 4)
        trial.gradients(
            "tied_backward",
            forward=lambda E, ids: E[ids] @ E.T,
            backward=lambda dout, ids=ids, E=E: trial.yours.tied_backward(dout, ids, E),
            mistakes=_mistakes(ids, E),
            E=E,
            ids=ids,
        )


def _mistakes(ids, E):
    def lookup(dout):
        part = np.zeros(E.shape)
        np.add.at(part, ids, dout @ E)
        return part

    def scores(dout):
        return dout.T @ E[ids]

    def overwritten(dout):
        both = scores(dout)
        both[ids] += dout @ E
        return both

    read = np.isin(np.arange(len(E)), ids)[:, None]
    return {
        "tied_backward lacks what the lookup sends back: only the scores' part is there": scores,
        "tied_backward lacks what the scores send back: only the lookup's part is there": lookup,
        "tied_backward adds the lookup's part once for each row and not once for each id: of a "
        "repeated id only the last use is left": overwritten,
        "tied_backward pays only the rows that were read, but every row was scored":
            lambda dout: read * (scores(dout) + lookup(dout)),
    }  # fmt: skip
