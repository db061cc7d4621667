"""Moving numbers without changing them: reshape, transpose, index, concatenate.

The gradient of a move is the move back. What NumPy refuses is refused in its words: ValueError for
shapes or axes that do not fit, IndexError for an index that is not there.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy

import numpy as np

from scratch_embed.kernels.tables import LONG


def reshape_forward(a, shape):
    """out = the same numbers in row-major order, in another shape"""
    a = np.asarray(a)
    return a.reshape(shape), (a.shape,)


def reshape_backward(dout, saved):
    """da = dout in the old shape"""
    (shape,) = saved
    return dout.reshape(shape)


def transpose_forward(a, axes=None):
    """out[i_axes[0], i_axes[1], ...] = a[i_0, i_1, ...]; all axes reversed by default

    Raises ValueError for axes that are not each of them once.
    """
    a = np.asarray(a)
    axes = tuple(range(a.ndim))[::-1] if axes is None else tuple(axes)
    try:
        return a.transpose(axes), ([axis % a.ndim for axis in axes],)
    except ValueError:
        raise ValueError(
            f"axes is {axes}, and a tensor of shape {a.shape} has {a.ndim}: give each of them once "
            "in their new order, as (0, 2, 1) where the last two of three are exchanged"
        ) from None


def transpose_backward(dout, saved):
    """da = dout with the axes put back"""
    (axes,) = saved
    return dout.transpose(np.argsort(axes))


def getitem_forward(a, index):
    """out = a[index], with NumPy's indexing; for rows of tables use `lookup`"""
    a = np.asarray(a)
    return a[index], (a.shape, _own(index))


def _own(index):
    """A copy of what the caller could change: arrays and lists of positions, also in a tuple."""
    if isinstance(index, tuple):
        return tuple(map(_own, index))
    return deepcopy(index) if isinstance(index, Iterable) else index


def getitem_backward(dout, saved):
    """da[index] += dout, where an entry taken twice collects twice"""
    shape, index = saved
    many = dout.size > LONG and dout.dtype == np.float32  # to one entry: see `kernels.tables`
    da = np.zeros(shape, np.float64 if many else dout.dtype)
    np.add.at(da, index, dout)
    return da.astype(dout.dtype, copy=False)


def concatenate_forward(*arrays, axis: int = 0):
    """out = the arrays one after another along `axis`"""
    if axis is None:
        raise TypeError("axis is None; say along which, or flatten first with x.reshape(-1)")
    arrays = [np.asarray(a) for a in arrays]
    out = np.concatenate(arrays, axis=axis)
    ends = np.cumsum([a.shape[axis] for a in arrays])
    return out, (ends[:-1], axis)


def concatenate_backward(dout, saved):
    """d of each array = its own stretch of dout"""
    cuts, axis = saved
    return tuple(np.split(dout, cuts, axis=axis))
