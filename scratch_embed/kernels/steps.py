"""An optimiser's step on the rows that a batch names: gradient and step in one go.

A gradient of N ids moves at most N of the V rows. `step_rows` sums the gradient of one row after
the other and uses it at once, so that no array of the whole gradient is ever made. The rules
stand in `step_loops.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scratch_embed.kernels.compiling import is_interpreted
from scratch_embed.kernels.tables import Groups, apart, check_dtype
from scratch_embed.kernels.threads import num_parts, run

# From so many numbers on, in rows of so many, a loop on all threads takes half the time of NumPy's
# passes over blocks of rows, and of Adam's a fifth. Below, a few small layers need no Numba.
MANY, WIDE = 2**20, 8


def step_rows(
    rule: Callable, values: np.ndarray, groups: Groups, table: np.ndarray, *state_and_numbers
) -> None:
    """Follow a rule of `step_loops` for the rows in groups, in place; no other row is touched.

    values: (N, D); the gradient of a row is the sum of those in its group. Those that share memory
    with the table are read before it changes. groups: as `group_rows` made them of the N ids, and
    not looked at again. table: (V, D), writable. state_and_numbers: what the rule takes after its
    table, the numbers in the dtype of the table.

    >>> from scratch_embed.kernels import group_rows, step_loops
    >>> table, lr = np.ones((4, 2)), 0.5
    >>> groups = group_rows([3, 1, 3], num_rows=4)
    >>> step_rows(step_loops.sgd, np.array([[1.0, 2], [3, 4], [5, 6]]), groups, table, lr)
    >>> table.tolist()                             # 1 - 0.5 (3, 4),   1 - 0.5 (1 + 5, 2 + 6)
    [[1.0, 1.0], [-0.5, -1.0], [1.0, 1.0], [-2.0, -3.0]]

    Raises ValueError for a table that is read-only or that the groups, the values or the state do
    not fit, TypeError for arrays of other than floats or complex numbers in native byte order.
    """
    rows, order, starts = groups
    if not table.flags.writeable:
        raise ValueError("table is read-only and cannot be moved: write table = table.copy() first")
    if table.ndim != 2 or values.shape != (len(order), table.shape[1]):
        raise ValueError(
            f"values {values.shape} do not fit a table {table.shape} and groups of {len(order)} "
            "ids: they are (N, D), (V, D) and of N ids"
        )
    if len(rows) and rows[-1] >= len(table):  # rows rise, so the last one is the largest
        raise ValueError(f"groups name row {rows[-1]}, but table has {len(table)} rows")
    parts = num_parts(values.size)
    shares = np.arange(parts + 1) * len(order) // parts  # as many positions for each part
    edges = np.searchsorted(starts, shares)
    rest = [np.asarray(x) if isinstance(x, np.memmap) else x for x in (table, *state_and_numbers)]
    check_dtype(values, "values")
    for place, array in enumerate(rest):
        if isinstance(array, np.ndarray):
            _check(array, "state" if place else "table", table.shape)
    values = apart(values, table)
    run(rule, parts, values, rows, order, starts, edges, *rest)


def is_for_a_loop(table: np.ndarray, grad: np.ndarray, *state: np.ndarray) -> bool:
    """Whether a step of every row is faster by `step_rows` than by NumPy, block after block, and
    of the same bits.

    Not where precisions are mixed, of which a loop rounds its numbers to the table's; where NumPy
    is to raise at an overflow, which loops do not see; nor where loops run as plain Python, without
    Numba.
    """
    if table.ndim != 2 or table.size < MANY or table.shape[1] < WIDE:
        return False
    alike = all(array.dtype == table.dtype for array in (grad, *state))
    plain = alike and table.dtype in (np.float32, np.float64)
    return (
        plain
        and grad.flags.c_contiguous
        and "raise" not in np.geterr().values()
        and not is_interpreted()
    )


def every_row(num_rows: int) -> Groups:
    """The groups of a batch that names each row once, in order.

    >>> every_row(2)
    Groups(rows=array([0, 1]), order=array([0, 1]), starts=array([0, 1, 2]))
    """
    starts = np.arange(num_rows + 1, dtype=np.int64)
    return Groups(starts[:-1], starts[:-1], starts)


def _check(array: np.ndarray, name: str, shape: tuple[int, ...]) -> None:
    """What compiled code would not notice: bytes in another order, and rows that are not there."""
    check_dtype(array, name)
    if array.shape not in (shape, shape[:1]):
        raise ValueError(f"{name} {array.shape} does not fit a table {shape}")
