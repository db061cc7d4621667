"""One-hot product: the same lookup written as a matrix product, to prove that it is one.

    one_hot(ids) @ weight      equals   lookup(weight, ids)           forward
    one_hot(ids).T @ dout      equals   scatter-add of dout by ids    gradient of the table
    dout @ weight.T            has no counterpart in a lookup: it is the gradient of the
                               one-hot itself, the answer to "which other row would have been
                               better?", and what a soft mixture of rows trains on.

It costs V times the arithmetic, so it is a proof and not an implementation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scratch_embed.kernels.ids import check_ids


class OneHotProductSaved(NamedTuple):
    onehot: np.ndarray  # (..., V)
    weight: np.ndarray  # (V, D)


def one_hot(ids: np.ndarray, num_rows: int, dtype: type = np.float64) -> np.ndarray:
    """out[n, v] = 1 where v = ids[n], else 0                  (...) -> (..., V)

    Raises IndexError for an id outside 0 .. num_rows - 1, TypeError for ids that are not integers.

    >>> one_hot(np.array([1]), 3).tolist()
    [[0.0, 1.0, 0.0]]
    """
    ids = check_ids(ids, num_rows)
    out = np.zeros((ids.size, num_rows), dtype)
    out[np.arange(ids.size), ids.reshape(-1)] = 1
    return out.reshape(*ids.shape, num_rows)


def onehot_product_forward(
    onehot: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, OneHotProductSaved]:
    """out = onehot @ weight                                   (..., V), (V, D) -> (..., D)

    `onehot` may hold any weights, not only ones and zeros: [0.5, 0.5, 0] mixes two rows.

    Raises ValueError for shapes that do not fit.

    >>> onehot_product_forward(np.array([0.5, 0.5]), np.array([[2.0, 0.0], [4.0, 6.0]]))[0].tolist()
    [3.0, 3.0]
    """
    onehot, weight = np.asarray(onehot), np.asarray(weight)
    if weight.ndim != 2 or onehot.shape[-1:] != weight.shape[:1]:
        raise ValueError(
            f"onehot {onehot.shape} and weight {weight.shape} do not fit: "
            "onehot is (..., V) and weight is (V, D) with the same V"
        )
    return onehot @ weight, OneHotProductSaved(onehot, weight)


def onehot_product_backward(
    dout: np.ndarray, saved: OneHotProductSaved
) -> tuple[np.ndarray, np.ndarray]:
    """donehot = dout @ weight.T,   dweight = onehot.T @ dout
    (..., D) -> (..., V), (V, D)
    """
    num_rows, dim = saved.weight.shape
    size = math.prod(dout.shape[:-1])  # NumPy cannot find it out where V or D is 0
    donehot = dout @ saved.weight.T
    dweight = saved.onehot.reshape(size, num_rows).T @ dout.reshape(size, dim)
    return donehot, dweight
