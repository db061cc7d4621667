"""Sum and broadcast: each is the other's transpose.

Broadcasting copies one number to many places, so its gradient sums over those places; summing
collects many numbers into one, so its gradient is copied back to each of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np


class SumSaved(NamedTuple):
    shape: tuple[int, ...]  # of the input
    axis: int | tuple[int, ...] | None
    keepdims: bool


def unbroadcast(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum `grad` over every axis along which `shape` was broadcast.

    >>> unbroadcast(np.ones((4, 3)), (3,)).tolist()      # a row added to four rows
    [4.0, 4.0, 4.0]
    >>> unbroadcast(np.ones((4, 3)), (4, 1)).tolist()
    [[3.0], [3.0], [3.0], [3.0]]
    """
    if grad.shape == shape:
        return grad
    grad = grad.sum(axis=tuple(range(grad.ndim - len(shape))))
    stretched = tuple(i for i, n in enumerate(shape) if n == 1 and grad.shape[i] != 1)
    return grad.sum(axis=stretched, keepdims=True) if stretched else grad


def _broadcast_back(dout: np.ndarray, saved: SumSaved) -> np.ndarray:
    if saved.axis is not None and not saved.keepdims:
        dout = np.expand_dims(dout, saved.axis)
    return np.broadcast_to(dout, saved.shape)


def sum_forward(a, axis=None, keepdims: bool = False):
    """out = sum of a over `axis` (all of it when axis is None)

    Raises NumPy's AxisError, a ValueError, for an axis that is not there.
    """
    return a.sum(axis=axis, keepdims=keepdims), SumSaved(a.shape, axis, keepdims)


def sum_backward(dout, saved: SumSaved):
    """da = dout, copied to every place that was summed"""
    return _broadcast_back(dout, saved)


def mean_forward(a, axis=None, keepdims: bool = False):
    """out = mean of a over `axis` (all of it when axis is None)

    Raises ValueError for an axis that is not there, and where a mean of no numbers is asked for.
    Where an empty array leaves no mean to take, as (0, 3) along axis 1, the answer is empty.
    """
    if a.size == 0:
        none = a.sum(axis=axis, keepdims=keepdims)
        if none.size:
            raise ValueError(
                f"mean of an empty array of shape {a.shape}: along axis {axis} there are no "
                "numbers, and 0 / 0 is not defined; leave such a batch out, or take the sum"
            )
        return none / 1, SumSaved(a.shape, axis, keepdims)
    return a.mean(axis=axis, keepdims=keepdims), SumSaved(a.shape, axis, keepdims)


def mean_backward(dout, saved: SumSaved):
    """da = dout / n, copied to each of the n places that were averaged"""
    count = math.prod(saved.shape) // max(dout.size, 1)  # a Python int, so float32 stays float32
    return _broadcast_back(dout / count, saved)
