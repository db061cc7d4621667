"""Sum and broadcast: each is the other's transpose.

Broadcasting copies one number to many places, so its gradient sums over those places; summing
collects many numbers into one, so its gradient is copied back to each of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from scratch_embed.arguments import check_flag, is_whole
from scratch_embed.kernels import sum_over
from scratch_embed.ops.floats import floating


class SumSaved(NamedTuple):
    shape: tuple[int, ...]  # of the input
    axis: tuple[int, ...] | None
    keepdims: bool


def unbroadcast(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum `grad` over every axis along which `shape` was broadcast.

    A bias may be added to millions of rows: `kernels.sum_over` keeps all digits of such a sum.

    >>> unbroadcast(np.ones((4, 3)), (3,)).tolist()      # a row added to four rows
    [4.0, 4.0, 4.0]
    >>> unbroadcast(np.ones((4, 3)), (4, 1)).tolist()
    [[3.0], [3.0], [3.0], [3.0]]
    """
    if grad.shape == shape or not _may_be_stretched(shape, grad.shape):
        return grad  # and the tape refuses what does not fit
    added = grad.ndim - len(shape)  # axes that broadcasting put before the others
    stretched = [added + i for i, n in enumerate(shape) if n == 1 and grad.shape[added + i] != 1]
    return np.asarray(sum_over(grad, (*range(added), *stretched))).reshape(shape)


def _may_be_stretched(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether NumPy broadcasts an array of one shape to another."""
    added = len(to) - len(shape)
    return added >= 0 and all(n in (1, m) for n, m in zip(shape, to[added:]))


def _broadcast_back(dout: np.ndarray, saved: SumSaved) -> np.ndarray:
    if saved.axis is not None and not saved.keepdims:
        dout = np.expand_dims(dout, saved.axis)
    return np.broadcast_to(dout, saved.shape)


def _axes(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...] | None:
    """The axes that are summed, counted from 0; NumPy looks at them for small arrays only."""
    if axis is None:
        return None
    given = axis if isinstance(axis, tuple) else (axis,)
    if not all(map(is_whole, given)):
        raise TypeError(f"axis is {axis!r}; it must be a whole number, a tuple of them, or None")
    return normalize_axis_tuple(given, ndim)


def sum_forward(a, axis=None, keepdims: bool = False):
    """out = sum of a over `axis` (all of it when axis is None)

    Raises TypeError for an axis that is neither a whole number nor a tuple of them, and NumPy's
    AxisError, a ValueError, for one that is not there; a single number has none.
    """
    check_flag(keepdims, "keepdims")  # several axes are one tuple: x.sum((0, 1))
    a = np.asarray(a)  # of a single number
    axes = _axes(axis, a.ndim)
    return sum_over(a, axes, keepdims), SumSaved(a.shape, axes, keepdims)


def sum_backward(dout, saved: SumSaved):
    """da = dout, copied to every place that was summed"""
    return _broadcast_back(dout, saved)


def mean_forward(a, axis=None, keepdims: bool = False):
    """out = mean of a over `axis` (all of it when axis is None)

    Raises what `sum_forward` raises, and ValueError where a mean of no numbers is asked for.
    Where an empty array leaves no mean to take, as (0, 3) along axis 1, the answer is empty.
    Whole numbers are added as floats: two of 2^62 are more than an int64 holds.
    """
    check_flag(keepdims, "keepdims")
    a = floating(a, "a")
    axes = _axes(axis, a.ndim)
    total = sum_over(a, axes, keepdims)
    if total.size and not a.size:
        raise ValueError(
            f"mean of an empty array of shape {a.shape}: along axis {axis} there are no "
            "numbers, and 0 / 0 is not defined; leave such a batch out, or take the sum"
        )
    count = a.size // total.size if total.size else 1
    return total / count, SumSaved(a.shape, axes, keepdims)


def mean_backward(dout, saved: SumSaved):
    """da = dout / n, copied to each of the n places that were averaged"""
    count = math.prod(saved.shape) // max(dout.size, 1)  # a Python int, so float32 stays float32
    return _broadcast_back(dout / count, saved)
