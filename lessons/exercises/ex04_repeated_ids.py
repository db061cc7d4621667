"""Sum the gradients of repeated ids into one row each.

A batch of 8 ids touches at most 8 rows of a table of 50,257. A sparse gradient names those rows
and holds their sums, each row once, so that an optimiser can walk over it without thinking.
"""

import numpy as np

LESSON = 0
LEVEL = "easy"
HINTS = """
`np.unique(ids)` gives the distinct ids, sorted.

`np.unique(ids, return_inverse=True)` also tells, for each n, at which place of the distinct ids
`ids[n]` stands. That place is the row of `sums` to which `values[n]` is added.

Adding by place is a scatter-add: `np.add.at(sums, places, values)`.
"""


def sum_repeats(ids, values):
    """Each distinct id once, with the sum of its values     (N,), (N, D) -> rows (U,), sums (U, D)

    ids     (N,)    integers from 0 up, in any order. They may be very large: never allocate an
                    array with a row for each number up to the largest.
    values  (N, D)  values[n] belongs to ids[n].

    Returns (rows, sums): the distinct ids in rising order, and for each the sum of its values. An
    empty batch has none: rows of shape (0,) and sums of shape (0, D).

    Id 4 stands twice, and its values [1, 1] and [10, 10] add up:

    >>> rows, sums = sum_repeats(np.array([4, 1, 4]), np.array([[1.0, 1], [2, 2], [10, 10]]))
    >>> rows.tolist()
    [1, 4]
    >>> sums.tolist()
    [[2.0, 2.0], [11.0, 11.0]]
    """
    rows, places = np.unique(ids, return_inverse=True)
    sums = np.zeros((len(rows), values.shape[1]))
    np.add.at(sums, places.reshape(-1), values)
    return rows, sums


def check(trial):
    for rng in trial.rounds(6):
        ids = trial.ids(rng, 9, 2 + 3 * int(rng.integers(4)))
        values = rng.standard_normal((len(ids), 3))
        trial.same("sum_repeats", mistakes=MISTAKES, ids=ids, values=values)
    many = rng.integers(12, size=90)
    trial.same("sum_repeats", mistakes=MISTAKES, ids=many, values=rng.standard_normal((90, 2)))
    trial.same("sum_repeats", ids=np.array([1, 1]), values=np.array([[1.0], [-1.0]]))  # a sum of 0
    trial.same("sum_repeats", ids=np.array([], dtype=np.int64), values=np.zeros((0, 2)))
    trial.lean("sum_repeats", 1e6, "it grows with the largest id",
               ids=np.array([1_000_000, 3]), values=np.ones((2, 8)))  # fmt: skip
    apart = trial.apart  # what one row gets is nothing to the next
    trial.same("sum_repeats", by_row=True, ids=np.arange(4), values=apart)
    far = np.array([2**60 + 1, 3, 2**60, 2**60 + 1])  # of which floats hold some only
    trial.same("sum_repeats", ids=far, values=np.arange(8.0).reshape(4, 2))


def _grouped(take, order=np.sort):
    """Each distinct id with `take` of its values."""

    def wrong(ids, values):
        rows = order(np.unique(ids))
        groups = [take(values[ids == row]) for row in rows]
        return rows, np.array(groups).reshape(len(rows), values.shape[1])

    return wrong


def _by_appearance(ids, values):
    rows = np.array(list(dict.fromkeys(ids.tolist())), dtype=ids.dtype)
    sums = [values[ids == row].sum(axis=0) for row in rows]
    return rows, np.array(sums).reshape(len(rows), values.shape[1])


MISTAKES = {
    "sum_repeats keeps of a repeated id only its last value": _grouped(lambda group: group[-1]),
    "sum_repeats keeps of a repeated id only its first value": _grouped(lambda group: group[0]),
    "sum_repeats takes the mean of a repeated id's values: they add up":
        _grouped(lambda group: group.mean(axis=0)),
    "sum_repeats names the ids as they come: in rising order is asked for": _by_appearance,
    "sum_repeats names the ids from the largest down: in rising order is asked for":
        _grouped(lambda group: group.sum(axis=0), lambda rows: rows[::-1]),
}  # fmt: skip
