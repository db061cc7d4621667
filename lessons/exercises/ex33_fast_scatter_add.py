"""A scatter-add that is fast: the readable loop, compiled.

The loop that says what a scatter-add is takes a microsecond for every row that it adds. Compiled
by Numba, the same loop runs at the speed of C.
"""

import numpy as np
from numba import njit

LESSON = 23
LEVEL = "hard"
IN_PLACE = {"scatter_add": ("table",)}
SECONDS = 60
HINTS = """
Write two plain loops, over n and over d, with `table[ids[n], d] += values[n, d]` inside, and
put `@njit` on the line above `def`.

`table[ids[n]] += values[n]` inside the loop is right too, but a row slice costs more than the
few additions in it: compiled, the loop over d is two to four times as fast.

`prange` over n is wrong: two threads may add to the same row at once, and one of the two
additions is lost. Threads may share out the columns, or the rows, but never the places; and so
few additions they hardly make faster.
"""


@njit
def scatter_add(table, ids, values):
    """table[ids[n]] += values[n] for n = 0 .. N-1, in place           (V, D), (N,), (N, D)

    table   (V, D)  float64 or float32, changed in place.
    ids     (N,)    integers in 0..V-1, with many repeats; they have been checked before.
    values  (N, D)  of the dtype of the table.

    At least 10 times as fast as the readable loop

        for n in range(len(ids)):
            table[ids[n]] += values[n]

    on 50,000 ids and 16 columns. Compiling is not counted.

    >>> table = np.zeros((3, 2))
    >>> scatter_add(table, np.array([1, 1, 2]), np.array([[1.0, 2.0], [10.0, 20.0], [5.0, 5.0]]))
    >>> table.tolist()
    [[0.0, 0.0], [11.0, 22.0], [5.0, 5.0]]
    """
    for n in range(len(ids)):
        row = ids[n]
        for d in range(table.shape[1]):
            table[row, d] += values[n, d]


def check(trial):
    def readable(table, ids, values):
        for n in range(len(ids)):
            table[ids[n]] += values[n]

    for rng in trial.rounds(3):
        table, ids = rng.standard_normal((6, 3)), trial.ids(rng, 6, 9)
        values = rng.standard_normal((9, 3))
        trial.same("scatter_add", mistakes=MISTAKES, table=table, ids=ids, values=values)
    turned = np.asfortranarray(table)  # it lies column by column in memory
    trial.same("scatter_add", mistakes=MISTAKES, table=turned, ids=ids, values=values)
    apart = trial.apart  # what one row gets is nothing to the next
    at = {"table": np.zeros((4, 1)), "ids": np.arange(4)}
    trial.same("scatter_add", by_row=True, values=apart, **at)
    single = np.ones((4, 2), np.float32)
    trial.same("scatter_add", table=single, ids=np.array([2, 2]), values=single[:2])
    many = rng.integers(70_000, size=2_000)  # more rows than 16 bits count
    values = rng.standard_normal((2_000, 20))
    wide = np.zeros((70_000, 20))
    trial.same("scatter_add", mistakes=MISTAKES, table=wide, ids=many, values=values)
    none = np.array([], dtype=np.int64)
    trial.same("scatter_add", table=table, ids=none, values=np.zeros((0, 3)))
    # Two threads that meet in one row lose an addition, but on a busy machine they seldom meet.
    threaded = _is_threaded(trial.yours.scatter_add.yours)
    ids, values = rng.integers(4, size=1_000_000), rng.standard_normal((1_000_000, 1))
    for _ in range(150 if threaded else 1):
        trial.same("scatter_add", table=np.zeros((4, 1)), ids=ids, values=values)
    ids, values = rng.integers(5_000, size=50_000), rng.standard_normal((50_000, 16))
    trial.faster(
        "scatter_add", readable, times=10,
        because=". Threads wait for one that shares its core: try it without" if threaded else "",
        table=np.zeros((5_000, 16)), ids=ids, values=values,
    )  # fmt: skip


def _is_threaded(function):
    """Whether it, or another function of its file that it may call, runs on several threads."""
    file = getattr(function, "py_func", function).__globals__.values()
    options = (getattr(each, "targetoptions", {}) for each in (function, *file))
    return any(isinstance(given, dict) and given.get("parallel") for given in options)


def _set(table, ids, values):
    for n, row in enumerate(ids):
        table[row] = values[n]


def _repeats_lost(table, ids, values):
    table[ids] += values


def _one_column(table, ids, values):
    np.add.at(table[:, :1], ids, values[:, :1])


MISTAKES = {
    "scatter_add sets rows instead of adding to them": _set,
    "scatter_add keeps of a repeated id only the last value": _repeats_lost,
    ("scatter_add leaves out the last place", r"range\(.*ids"):
        lambda table, ids, values: np.add.at(table, ids[:-1], values[:-1]),
    ("scatter_add adds to the first column only", r"range\(1\)|\[0\]"): _one_column,
    ("scatter_add adds to 16 columns only, and here are more", r"\b16\b"):
        lambda table, ids, values: np.add.at(table[:, :16], ids, values[:, :16]),
    ("scatter_add takes ids for numbers of 16 bits, and here are more rows", r"int16|ids\["):
        lambda table, ids, values: np.add.at(table, ids.astype(np.uint16), values),
    "scatter_add does not change the table that it was given": lambda table, ids, values: None,
}  # fmt: skip
