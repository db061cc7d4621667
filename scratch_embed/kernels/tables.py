"""The hot operations on tables: gather rows, scatter-add rows, group ids by row, sum the groups.

Each looks at its arguments once, because compiled code does not look, and then runs a loop of
`table_loops.py`. Large ones run on several threads; the bits do not depend on how many.
"""

from __future__ import annotations

import math
from typing import NamedTuple, NoReturn

import numpy as np

from scratch_embed.arguments import array_of, check_count
from scratch_embed.kernels import table_loops
from scratch_embed.kernels.ids import check_ids, to_int64
from scratch_embed.kernels.threads import num_parts, run

DTYPES = {np.dtype(char) for char in "fdFD"}  # in native byte order

# A running float32 sum stops growing once it is large against what it adds: 2**25 additions of
# 0.1 come to 2,097,152 instead of 3,355,443. A row that is hit more than LONG times in one call is
# summed in double precision, RUN hits at a time, and rounded once. Finding such rows takes time of
# its own, up to half that of a small scatter-add, so LONG is not smaller.
LONG = 1 << 14
RUN = 1 << 10
WIDER = {np.dtype("f4"): np.dtype("f8"), np.dtype("c8"): np.dtype("c16")}


class Groups(NamedTuple):
    """The positions of a batch of ids, gathered by row.

    rows    (U,)      int64, the distinct ids, ascending
    order   (N,)      int64, all positions of the flat batch: those of rows[0] first, each in
                      ascending order
    starts  (U + 1,)  int64, where each group begins in `order`, and N at the end

    >>> group_rows([3, 1, 3], num_rows=4)
    Groups(rows=array([1, 3]), order=array([1, 0, 2]), starts=array([0, 1, 3]))
    """

    rows: np.ndarray
    order: np.ndarray
    starts: np.ndarray


def gather(table, ids, out: np.ndarray | None = None) -> np.ndarray:
    """out[n] = table[ids[n]]        (V, D), (...) -> (..., D)

    table: (V, D) of float32, float64, complex64 or complex128. One that is not contiguous is read
    where it lies, without a copy. ids: any shape and integer dtype. out: where to put the rows, a
    C-contiguous array of shape ids.shape + (D,) and the dtype of the table; made when missing. Ids
    that share memory with out are read before it changes.

    Raises TypeError or ValueError for a table or `out` of another kind, IndexError for a bad id.
    """
    table = _check_table(table)
    num_rows, width = table.shape
    whole = to_int64(ids, num_rows)
    shape = (*whole.shape, width)
    if out is None:
        out = np.empty(shape, table.dtype)
    else:
        _check_out(out, shape, table)
        whole = apart(whole, out)
    rows, flat = out, whole
    if whole.ndim != 1:
        rows, flat = out.reshape(whole.size, width), whole.reshape(-1)
    parts = num_parts(rows.size)
    if not run(table_loops.gather, parts, rows, table, flat, parts):
        _raise_for(ids, num_rows)
    return out


def scatter_add(table: np.ndarray, ids, values) -> None:
    """table[ids[n]] += values[n], in place; repeated ids add up, in the order of n.

    table: (V, D), a writable array of float32, float64, complex64 or complex128, contiguous or not.
    values: ids.shape + (D,), cast as `table += values` would cast it. Values and ids that share
    memory with the table are read before it changes.

    A row of single precision that is hit more than LONG = 16,384 times is summed in double
    precision and rounded once, so that a row hit millions of times is right to its last place.

    Raises TypeError or ValueError for a table or values of another kind, IndexError for a bad id.
    """
    if not isinstance(table, np.ndarray):
        raise TypeError(
            f"table must be a NumPy array to be added to in place, got {type(table).__name__}."
        )
    table = _check_table(table)
    if not table.flags.writeable:
        raise ValueError("table is read-only and not added to: write table = table.copy() first.")
    whole, given = to_int64(ids, table.shape[0]), ids
    ids = np.empty(whole.size, np.int64)  # our own, which no other thread writes to meanwhile
    flat = whole if whole.ndim == 1 else whole.reshape(-1)
    if not run(table_loops.copy_ids, 1, ids, flat, table.shape[0]):
        _raise_for(given, table.shape[0])
    values = _check_values(values, (*whole.shape, table.shape[1]), table.dtype)
    values = apart(values, table).reshape(ids.size, table.shape[1])
    if ids.size > LONG and table.dtype in WIDER:
        ids = _add_long_rows(table, ids, values)
    parts = num_parts(values.size if ids.size else 0)
    if parts == 1:
        run(table_loops.scatter_add, 1, table, ids, values)
    else:
        edges = _row_edges(ids, table.shape[0], parts)
        run(table_loops.scatter_add_parts, parts, table, ids, values, edges)


def group_rows(ids, num_rows: int) -> Groups:
    """Which positions hold which row: a stable counting sort of the ids, digit by digit.

    The cost is of order N for every 11 bits of num_rows; nothing of order num_rows is allocated.
    ids: any shape (positions count through the flat batch). Raises IndexError for a bad id, and
    ValueError for a num_rows that is no count, or when an id and a position together need more than
    63 bits.
    """
    num_rows = check_count(num_rows, "num_rows", least=0)
    flat = to_int64(ids, num_rows).reshape(-1)
    bits, shift = max(num_rows - 1, 1).bit_length(), max(flat.size - 1, 0).bit_length()
    if bits + shift > 63:
        raise ValueError(
            f"num_rows = {num_rows} is too large to group {flat.size} ids: "
            f"it must be at most 2**{63 - shift}."
        )
    digits = -(-bits // 11)
    pairs, order = np.empty(flat.size, np.int64), np.empty(flat.size, np.int64)
    # order is the second array that the sort needs, and gets its own numbers afterwards
    cut = digits, -(-bits // digits), shift
    count = run(table_loops.sort, 1, pairs, order, flat, num_rows - 1, *cut)
    if count < 0:
        _raise_for(ids, num_rows)
    rows, starts = np.empty(count, np.int64), np.empty(count + 1, np.int64)
    run(table_loops.group, 1, rows, order, starts, pairs, shift)
    return Groups(rows, order, starts)


def sum_groups(values, groups: Groups) -> np.ndarray:
    """out[u] = sum of values[n] over the positions n of group u        (..., D) -> (U, D)

    The same bits as `scatter_add` into rows of zeros, in memory of order U rather than V.
    values: floats or complex numbers, with as many rows as there were ids; the answer has their
    dtype. Raises TypeError or ValueError for other values, and for groups that do not fit them.
    """
    values = array_of(values, "values")
    check_dtype(values, "values")
    if not values.ndim:
        raise ValueError("values is a single number, but must hold a row for each id.")
    width = values.shape[-1]
    num_ids = len(groups.order)
    if math.prod(values.shape[:-1]) != num_ids:
        raise ValueError(
            f"values has shape {values.shape}, but the groups were made from {num_ids} ids: "
            f"it must hold {num_ids} rows."
        )
    values = np.ascontiguousarray(values).reshape(num_ids, width)
    order, starts, counts = _check_groups(groups)
    out = np.empty((len(counts), width), values.dtype)
    longest = len(order)
    if longest > LONG and values.dtype in WIDER:
        longest = LONG
        long = np.flatnonzero(counts > LONG)
        out[long] = _sum_long(values, order, starts[long], starts[long + 1])
    parts = num_parts(values.size)
    edges = np.array([0, len(counts)])
    if parts > 1:  # as many positions for each part
        shares = np.arange(1, parts) * len(order) // parts
        edges = np.insert(edges, 1, np.searchsorted(starts, shares))
    run(table_loops.sum_groups, parts, out, values, order, starts, longest, edges)
    return out


def apart(array: np.ndarray, changing: np.ndarray) -> np.ndarray:
    """`array`, copied if it may share memory with the one that a loop is going to change."""
    if array.base is None is changing.base and array is not changing:
        return array  # two arrays with memory of their own
    return array.copy() if np.may_share_memory(array, changing) else array


def _sum_long(values, order, firsts, lasts) -> np.ndarray:
    """In double precision, the sum of values over each order[firsts[i]:lasts[i]]    -> (L, D)

    Cut into runs of RUN positions, which threads share out, and whose sums are then added. The
    cuts do not depend on the threads.
    """
    runs = (-(-(lasts - firsts) // RUN)).astype(np.intp)  # np.repeat wants no other
    first_run = np.cumsum(runs) - runs
    sums = np.zeros((runs.sum(), values.shape[1]), WIDER[values.dtype])
    if not sums.size:
        return sums[: len(runs)]
    begins = np.repeat(firsts - RUN * first_run, runs) + RUN * np.arange(len(sums))
    ends = np.minimum(begins + RUN, np.repeat(lasts, runs))
    parts = min(num_parts(len(sums) * RUN * values.shape[1]), len(sums))
    run(table_loops.sum_runs, parts, sums, values, order, begins, ends, parts)
    return np.add.reduceat(sums, first_run, axis=0)


def _add_long_rows(table, ids, values) -> np.ndarray:
    """Add to the rows that are hit more than LONG times. Returns the ids with those struck out."""
    counts = np.zeros(4096, np.int64)
    crowded = np.empty(run(table_loops.count_crowded, 1, counts, ids, LONG), np.int64)
    if not crowded.size:  # then no id is that frequent
        return ids
    run(table_loops.crowded, 1, crowded, counts, ids, LONG)
    rows, order, starts = group_rows(ids[crowded], table.shape[0])
    order = crowded[order]
    long = np.flatnonzero(np.diff(starts) > LONG)
    if not long.size:
        return ids
    table[rows[long]] += _sum_long(values, order, starts[long], starts[long + 1])
    if len(long) == len(rows) and len(order) == len(ids):
        return ids[:0]
    ids = ids.copy()
    for u in long:
        ids[order[starts[u] : starts[u + 1]]] = table.shape[0]  # a row that no part owns
    return ids


def _row_edges(ids, num_rows: int, parts: int) -> np.ndarray:
    """Borders that give every part about as many ids, judged by a sample of a thousand or so.

    A frequent row goes to the side of a border where it unbalances less. An id of V, which was
    struck out, lies above the last border and so in no part.
    """
    sample = np.sort(ids[:: len(ids) // 1024 + 1])
    shares = np.arange(1, parts) * len(sample) // parts
    rows = sample[shares]
    before, after = np.searchsorted(sample, rows), np.searchsorted(sample, rows, side="right")
    borders = rows + (after - shares < shares - before)
    return np.array([0, *np.minimum(borders, num_rows), num_rows])


def _raise_for(ids, num_rows: int) -> NoReturn:
    """The error for ids of which a loop met one that names no row."""
    check_ids(ids, num_rows)
    raise RuntimeError(
        "ids were changed while they were read: another thread writes into them, so give each "
        "thread an array of its own, or ids.copy()."
    )


def _check_table(table) -> np.ndarray:
    if type(table) is np.ndarray and table.ndim == 2 and table.dtype in DTYPES:
        return table
    table = array_of(table, "table")
    if table.ndim != 2:
        raise ValueError(
            f"table must be 2-D, one row for each id (V, D), but its shape is {table.shape}."
        )
    check_dtype(table, "table")
    return table


def check_dtype(array: np.ndarray, name: str) -> None:
    """TypeError unless compiled loops can read the array."""
    if array.dtype not in DTYPES:
        raise TypeError(
            f"{name} has dtype {array.dtype.str} ({array.dtype}), but must be float32, float64, "
            f"complex64 or complex128 in native byte order: write {name} = "
            f"{name}.astype(np.float32) first."
        )


def _check_values(values, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    values = array_of(values, "values")
    if values.dtype is dtype and values.shape == shape and values.flags.c_contiguous:
        return values
    if values.shape != shape:
        raise ValueError(
            f"values has shape {values.shape}, but must hold a row for each id: ids.shape + (D,) "
            f"= {shape}. For one row for all ids write np.broadcast_to(row, {shape})."
        )
    if not np.can_cast(values.dtype, dtype, "same_kind"):
        raise TypeError(
            f"values of dtype {values.dtype} cannot be added to a table of dtype {dtype} without "
            f"losing what they are; convert one of the two first."
        )
    return np.ascontiguousarray(values, dtype)


def _check_out(out, shape: tuple[int, ...], table: np.ndarray) -> None:
    fits = type(out) is np.ndarray and out.shape == shape and out.dtype is table.dtype
    if fits and out.flags.carray and out.base is None is table.base and out is not table:
        return  # two arrays with memory of their own share none
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be a NumPy array, got {type(out).__name__}.")
    if out.shape != shape or out.dtype != table.dtype:
        raise ValueError(
            f"out is {out.dtype} of shape {out.shape}, but the rows are {table.dtype} of shape "
            f"ids.shape + (D,) = {shape}."
        )
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise ValueError("out must be writable and C-contiguous: make it with np.empty.")
    if np.may_share_memory(out, table):
        raise ValueError(
            "out shares memory with the table, which must not change while it is read."
        )


def _check_groups(groups: Groups) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(order, starts, the size of every group), of groups that may have been made by hand."""
    rows, order, starts = groups
    order = check_ids(order, len(order), "groups.order")
    starts = to_int64(starts, len(order) + 1, "groups.starts")
    counts = starts[1:] - starts[:-1]
    if len(counts) != len(rows) or starts[0] or starts[-1] != len(order) or (counts < 0).any():
        raise ValueError(
            f"groups.starts must rise from 0 to {len(order)} in {len(rows)} steps, got {starts}."
        )
    return order, starts, counts
