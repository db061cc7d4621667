"""Gather and scatter-add in several ways, from the obvious one to the fast one, to compare them.

The fast ones are `kernels.gather` and `kernels.scatter_add`. Here stand the others: what one would
write first, the product that an embedding is on paper, the plain loop, and two that are wrong and
are kept to show how. Nothing in the package calculates with them.

    scatter-add          repeated ids   what it is
    fancy_add            loses          table[ids] += values: of several repeats the last one stays
    add_at               right          np.add.at
    one_hot_add          right          one-hot(ids)^T values, a product of N V D multiplications
    plain_add            right          the loop, compiled, on one thread
    racing_add           loses          the loop, compiled, threads share out the ids
    kernels.scatter_add  right          the loop, compiled, threads share out the rows

The functions trust their ids, as the loops do: check them first.
"""

from __future__ import annotations

import numpy as np

from scratch_embed import kernels
from scratch_embed.kernels import table_loops
from scratch_embed.kernels.jit import get_num_threads, run

prange = range  # compiled: numba.prange, as in table_loops.py

# ---- the limit -----------------------------------------------------------------------------------


def copy_loop(out, array, parts):
    """out[i] = array[i]. Part p owns its share of out, in one piece."""
    for part in prange(parts):
        first, last = part * len(array) // parts, (part + 1) * len(array) // parts
        out[first:last] = array[first:last]


def copy(out: np.ndarray, array: np.ndarray) -> None:
    """Copy a flat array into another one on all threads: the most that memory can move."""
    parts = get_num_threads()
    run(copy_loop, parts, out, array, parts)


# ---- gather --------------------------------------------------------------------------------------


def fancy_gather(table: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """table[ids]                                        (V, D), (N,) -> (N, D)"""
    return table[ids]


def take(table: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """np.take(table, ids, axis=0)                       (V, D), (N,) -> (N, D)"""
    return np.take(table, ids, axis=0)


def one_hot_gather(table: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """one-hot(ids) table, a product                     (V, D), (N,) -> (N, D)"""
    return one_hot(ids, table) @ table


def plain_gather(table: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The compiled loop on one thread                   (V, D), (N,) -> (N, D)"""
    out = np.empty((len(ids), table.shape[1]), table.dtype)
    run(table_loops.gather, 1, out, table, ids, 1)
    return out


# ---- scatter-add ---------------------------------------------------------------------------------


def fancy_add(table: np.ndarray, ids: np.ndarray, values: np.ndarray) -> None:
    """table[ids] += values. Wrong: it reads all rows, adds, and writes all rows back."""
    table[ids] += values


def add_at(table: np.ndarray, ids: np.ndarray, values: np.ndarray) -> None:
    """np.add.at(table, ids, values)"""
    np.add.at(table, ids, values)


def one_hot_add(table: np.ndarray, ids: np.ndarray, values: np.ndarray) -> None:
    """table += one-hot(ids)^T values. Sums in an order of its own, so the last bits differ."""
    table += one_hot(ids, table).T @ values


def plain_loop(table, ids, values):
    """table[ids[n]] += values[n], for n = 0, 1, ..., N - 1."""
    for n in range(len(ids)):
        row = ids[n]
        for d in range(table.shape[1]):
            table[row, d] += values[n, d]


def plain_add(table: np.ndarray, ids: np.ndarray, values: np.ndarray) -> None:
    """The compiled loop on one thread."""
    run(plain_loop, 1, table, ids, values)


def racing_loop(table, ids, values, parts):
    """Wrong: two threads that add to the same row read, add and write in each other's way."""
    for part in prange(parts):
        for n in range(part * len(ids) // parts, (part + 1) * len(ids) // parts):
            row = ids[n]
            for d in range(table.shape[1]):
                table[row, d] += values[n, d]


def racing_add(table: np.ndarray, ids: np.ndarray, values: np.ndarray) -> None:
    """The compiled loop with the ids shared out to threads, and not the rows."""
    parts = get_num_threads()
    run(racing_loop, parts, table, ids, values, parts)


def one_hot(ids: np.ndarray, table: np.ndarray) -> np.ndarray:
    """(N, V): row n is 1 at ids[n] and 0 elsewhere, in the dtype of the table."""
    return (ids[:, None] == np.arange(len(table))).astype(table.dtype)


GATHERS = {
    "W[ids]": fancy_gather,
    "np.take": take,
    "one-hot product": one_hot_gather,
    "plain loop": plain_gather,
    "threaded": kernels.gather,
}
SCATTERS = {
    "W[ids] += g": fancy_add,
    "np.add.at": add_at,
    "one-hot product": one_hot_add,
    "plain loop": plain_add,
    "racing loop": racing_add,
    "row ranges": kernels.scatter_add,
}
LOSES_REPEATS = {"W[ids] += g", "racing loop"}

# ---- what memory moves ---------------------------------------------------------------------------


def gather_bytes(N: int, D: int, itemsize: int = 4) -> int:
    """A gather reads and writes N rows of D numbers."""
    return 2 * N * D * itemsize


def scatter_bytes(N: int, D: int, itemsize: int = 4) -> int:
    """A scatter-add reads N rows of values, and reads and writes a row of the table for each."""
    return 3 * N * D * itemsize


def copy_bytes(array: np.ndarray) -> int:
    """A copy reads and writes."""
    return 2 * array.nbytes
