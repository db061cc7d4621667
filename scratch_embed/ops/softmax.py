"""Softmax and its logarithm: scores become shares of a whole, along one axis.

The largest logit is subtracted first, which changes nothing in exact arithmetic and keeps e^z
from overflowing. Its real part is taken so that the complex step can pass through.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed.arguments import is_whole
from scratch_embed.kernels import sum_over
from scratch_embed.ops.floats import floating


class SoftmaxSaved(NamedTuple):
    p: np.ndarray  # (..., V, ...) the shares, each stretch along axis sums to 1
    axis: int


class LogSoftmaxSaved(NamedTuple):
    log_p: np.ndarray  # (..., V, ...)
    axis: int


def softmax_forward(logits: np.ndarray, axis: int = -1) -> tuple[np.ndarray, SoftmaxSaved]:
    """p_j = e^z_j / sum_k e^z_k, with j and k along `axis`         (..., V, ...) -> (..., V, ...)

    Raises ValueError for an axis that is not there, or that holds nothing.

    >>> p, _ = softmax_forward(np.array([0.21, 0.47, 0.73]))
    >>> p.round(3).tolist()
    [0.251, 0.326, 0.423]
    >>> softmax_forward(np.array([[1.0, 5.0], [1.0, 5.0]]), axis=0)[0].tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    e = np.exp(_shifted(logits, axis))
    p = e / _total(e, axis)
    return p, SoftmaxSaved(p, axis)


def softmax_backward(dout: np.ndarray, saved: SoftmaxSaved) -> np.ndarray:
    """dz_j = p_j (dout_j - sum_k p_k dout_k)"""
    p, axis = saved
    return p * (dout - _total(p * dout, axis))


def log_softmax_forward(logits: np.ndarray, axis: int = -1) -> tuple[np.ndarray, LogSoftmaxSaved]:
    """ln p_j = z_j - ln sum_k e^z_k, along `axis`                  (..., V, ...) -> (..., V, ...)

    Raises what `softmax` raises.

    >>> log_softmax_forward(np.array([0.21, 0.47, 0.73]))[0].round(3).tolist()
    [-1.381, -1.121, -0.861]
    """
    shifted = _shifted(logits, axis)
    log_p = shifted - np.log(_total(np.exp(shifted), axis))
    return log_p, LogSoftmaxSaved(log_p, axis)


def log_softmax_backward(dout: np.ndarray, saved: LogSoftmaxSaved) -> np.ndarray:
    """dz_j = dout_j - p_j sum_k dout_k"""
    log_p, axis = saved
    return dout - np.exp(log_p) * _total(dout, axis)


def _total(values: np.ndarray, axis: int) -> np.ndarray:
    """The sum along one axis. Along the last NumPy sums in pairs, and else one by one."""
    if axis in (-1, values.ndim - 1):
        return values.sum(axis=axis, keepdims=True)
    return sum_over(values, (axis,), keepdims=True)


def _shifted(logits: np.ndarray, axis: int) -> np.ndarray:
    logits = floating(logits, "logits")
    if not is_whole(axis) or axis not in range(-logits.ndim, logits.ndim):
        raise ValueError(f"axis is {axis!r}; logits of shape {logits.shape} have no such axis")
    if not logits.shape[axis]:
        raise ValueError(
            f"logits have shape {logits.shape}: along axis {axis} there is nothing to share "
            "a whole among; it takes at least one"
        )
    if axis in (-1, logits.ndim - 1):
        logits = np.ascontiguousarray(logits)  # NumPy sums a strided axis number by number
    return logits - logits.real.max(axis=axis, keepdims=True)
