"""Read rows of a table by their ids.

A token's id is the number of a row; its vector is that row. Nothing is computed.
"""

import numpy as np

LESSON = 0
LEVEL = "easy"
HINTS = """
NumPy reads several rows at once: `E[ids]`, for `ids` of any shape.

NumPy takes `-1` for the last row. Look at the smallest and the largest id before you read. An
empty array has neither, so ask `ids.size` first.
"""


def lookup_forward(E, ids):
    """out[n] = E[ids[n]]                                            (V, D), (...) -> (..., D)

    E    (V, D)  the table, V rows of D numbers. There may be 70,000 of them.
    ids  (...)   an array of integers in 0..V-1, of any shape, also empty.

    Raises IndexError for an id outside 0..V-1, a negative one included: no row has that number.

    Rows 2, 0 and 2 of a table of three:

    >>> E = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    >>> lookup_forward(E, np.array([2, 0, 2])).tolist()
    [[0.5, 0.6], [0.1, 0.2], [0.5, 0.6]]
    """
    if ids.size and (ids.min() < 0 or ids.max() >= len(E)):
        raise IndexError(f"ids must lie in 0..{len(E) - 1}")
    return E[ids]


def check(trial):
    for rng in trial.rounds(4):
        E = rng.standard_normal((7, 3))
        for shape in [(), (5,), (2, 4), (2, 1, 3), (0,), (2, 0)]:
            trial.same("lookup_forward", mistakes=MISTAKES, E=E, ids=trial.ids(rng, 7, *shape))
    far = {"E": np.arange(70_000.0)[:, None], "ids": np.array([69_999, 299])}  # beyond 16 bits
    trial.same("lookup_forward", **far)
    for bad in (7, -1, 9, -3):
        because = f"for id {bad} of a table of 7 rows"
        for ids in ([[0, 1], [bad, 2]], [1, 2, bad], [bad, 3, bad], bad):
            trial.raises("lookup_forward", IndexError, because, E=E, ids=np.array(ids))


MISTAKES = {
    "lookup_forward counts rows from 1: id 0 is the first row": lambda E, ids: E[ids - 1],
    "lookup_forward reads rows from the first on, whatever the ids are":
        lambda E, ids: E[np.arange(ids.size).reshape(ids.shape) % len(E)],
    "lookup_forward reads from the last row: id 0 is the first": lambda E, ids: E[-1 - ids],
}  # fmt: skip
