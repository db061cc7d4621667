"""The limit: how fast this machine copies, with as many threads as ours may use."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scratch_embed import kernels

from .registry import Row

LEAST = 1 << 20  # bytes; the threads that copy fewer are busy with waking up

prange = range  # compiled: numba.prange, as in the package's loops


def copy_loop(out, array, parts):
    """out[i] = array[i]. Part p owns its share of out, in one piece."""
    for part in prange(parts):
        first, last = part * len(array) // parts, (part + 1) * len(array) // parts
        out[first:last] = array[first:last]


def copy(out: np.ndarray, array: np.ndarray) -> None:
    """Copy a flat array into another one on all threads: the most that memory can move."""
    parts = kernels.get_num_threads()
    kernels.run(copy_loop, parts, out, array, parts)


def time_with_copy(
    row: Row, ways: dict, nbytes: int, moved: int, before: Callable | None = None
) -> None:
    """Time the ways in turns with a copy of nbytes, on all threads, unless that is too small.

    before: what is called before each, untimed, in place of a few runs of its own to warm up.

    moved: the bytes that ours has to move; `row.share()` follows from it. The copy reads and writes
    an array each, so it moves 2 nbytes.
    """
    if nbytes < LEAST:
        row.time(ways)
        return
    source, target = np.ones(nbytes // 4, np.float32), np.zeros(nbytes // 4, np.float32)
    ways = ways | {"copy": lambda: copy(target, source)}
    if before:
        ways = {name: (before, way) for name, way in ways.items()}
    row.time(ways, moved=moved, copied=2 * source.nbytes)
