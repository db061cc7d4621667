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
    NumPy. Raises ValueError for shapes that do not fit.

    >>> matmul_forward(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))[0].tolist()
    [[11.0]]
    """
    a, b = np.asarray(a), np.asarray(b)
    try:
        return a @ b, MatmulSaved(a, b)
    except ValueError:
        raise ValueError(_unfit(a.shape, b.shape)) from None


def _unfit(a: tuple[int, ...], b: tuple[int, ...]) -> str:
    """Why there is no product of these shapes.

    >>> _unfit((2, 3), (2, 3))
    'a of shape (2, 3) @ b of shape (2, 3): a has 3 columns, and b 2 rows; they must be as many'
    """
    told = f"a of shape {a} @ b of shape {b}"
    if not a or not b:
        return f"{told}: a number is no matrix; write a * b"
    columns, rows = a[-1], b[-2] if len(b) > 1 else b[0]
    if columns == rows:
        return f"{told}: the axes before the last two do not broadcast"
    return f"{told}: a has {columns} columns, and b {rows} rows; they must be as many"


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
