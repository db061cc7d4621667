"""Matrix product, and its two products backward."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class MatmulSaved(NamedTuple):
    a: np.ndarray  # (..., n, k) or (k,)
    b: np.ndarray  # (..., k, m) or (k,)


def matmul_forward(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, MatmulSaved]:
    """out = a @ b                 (..., n, k), (..., k, m) -> (..., n, m)

    Leading axes broadcast; a 1-D operand is a row on the left and a column on the right, as in
    NumPy. Raises NumPy's ValueError for shapes that do not fit.

    >>> matmul_forward(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))[0].tolist()
    [[11.0]]
    """
    a, b = np.asarray(a), np.asarray(b)
    return a @ b, MatmulSaved(a, b)


def matmul_backward(dout: np.ndarray, saved: MatmulSaved) -> tuple[np.ndarray, np.ndarray]:
    """da = dout @ b.T,   db = a.T @ dout

    >>> _, saved = matmul_forward(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))
    >>> [grad.tolist() for grad in matmul_backward(np.array([[10.0]]), saved)]
    [[[30.0, 40.0]], [[10.0], [20.0]]]
    """
    a, b = saved
    rows = a[None, :] if a.ndim == 1 else a
    columns = b[:, None] if b.ndim == 1 else b
    if b.ndim == 1:
        dout = dout[..., None]
    if a.ndim == 1:
        dout = dout[..., None, :]
    da = dout @ columns.swapaxes(-1, -2)
    db = rows.swapaxes(-1, -2) @ dout
    return (da[..., 0, :] if a.ndim == 1 else da), (db[..., 0] if b.ndim == 1 else db)
