"""Sums that keep their precision: the gradient of everything that was broadcast.

Over any axis but the last NumPy adds row after row. In float32 such a running sum goes astray once
it is large against what it adds: a million rows of 0.1 come to 100,958 instead of 100,000.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from scratch_embed.kernels import table_loops
from scratch_embed.kernels.tables import DTYPES, WIDER
from scratch_embed.kernels.threads import num_parts, run

BLOCK = 1 << 10  # rows that are summed one after the other; the sums of blocks are summed then
SMALL = 1 << 13  # NumPy is done with fewer numbers before a compiled loop has begun
PAIRS = 128  # of fewer numbers NumPy makes no pairs: it adds them one by one
WIDE = 64  # numbers; narrower rows are summed side by side


def sum_over(array, axis: int | tuple[int, ...] | None = None, keepdims: bool = False):
    """array.sum(axis, keepdims=keepdims), right to the last place over any axes.

    Single precision is summed in double and rounded once, at the speed of reading it. Only where
    128 to 8,191 numbers lie side by side, as along the last axis of a large array, are they left to
    NumPy, which sums them in pairs and in their own precision: there the last places are rounded,
    and in a small array they are not. The bits do not depend on the number of threads. An array
    that is not of float32, float64, complex64 or complex128 gets what NumPy says.

    >>> sum_over(np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]), axis=0).tolist()
    [6.0, 60.0]

    Raises numpy.exceptions.AxisError for an axis that is not there, ValueError for one named twice.
    """
    array = np.asarray(array)
    wider = WIDER.get(array.dtype)
    if array.size < SMALL or array.dtype not in DTYPES:
        sums = array.sum(axis=axis, dtype=wider, keepdims=keepdims)
        return sums.astype(array.dtype) if wider else sums
    axes = normalize_axis_tuple(range(array.ndim) if axis is None else axis, array.ndim)
    summed = sorted(axes, key=lambda i: -abs(array.strides[i]))  # as they lie in memory
    kept = [i for i in range(array.ndim) if i not in axes]
    sizes = [math.prod(array.shape[i] for i in part) for part in (summed, kept)]
    sums = _sum_rows(array.transpose(*summed, *kept).reshape(sizes)).astype(array.dtype, copy=False)
    shape = [1 if i in axes else n for i, n in enumerate(array.shape) if keepdims or i in kept]
    return sums.reshape(shape)[()]  # a sum over everything is a number


def _sum_rows(values: np.ndarray) -> np.ndarray:
    """The sum over the first of two axes, in double precision."""
    width, wider = values.shape[1], WIDER.get(values.dtype, values.dtype)
    down, across = map(abs, values.strides)
    if width > 1 and 0 < down < across:  # each column lies in one piece
        if len(values) < SMALL:
            few = len(values) < PAIRS
            return np.add.reduce(values, axis=0, dtype=wider if few else values.dtype)
        return np.concatenate([_sum_rows(column[:, None]) for column in values.T])
    beside = min(WIDE // width, len(values))  # so many narrow rows make a wide one
    if beside > 1:
        values, whole = np.ascontiguousarray(values), len(values) // beside * beside
        sums = _sum_rows(values[:whole].reshape(-1, beside * width)).reshape(beside, width)
        return np.concatenate((sums, values[whole:]), dtype=wider).sum(axis=0)
    sums = np.zeros((-(-len(values) // BLOCK), width), wider)
    parts = min(num_parts(values.size), len(sums))
    run(table_loops.sum_blocks, parts, sums, values, BLOCK, parts)
    return np.add.reduce(sums, axis=0)
