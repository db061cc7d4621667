"""Projection: the dot product of a vector with every row of a table, and its two products backward.

With the table of an `Embedding` as `weight` this is the tied output head: a row is gathered by its
id on the way in, and scored against the hidden state on the way out. Both ways send a gradient
into the one array, and the two add. With a weight of its own it is a linear layer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scratch_embed.kernels import sum_over


class ProjectSaved(NamedTuple):
    h: np.ndarray  # (..., D)
    weight: np.ndarray  # (V, D)
    with_bias: bool


def project_forward(
    h: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, /
) -> tuple[np.ndarray, ProjectSaved]:
    """logits[n, v] = h[n] . weight[v] + bias[v]        h @ weight.T + bias
                                                        (..., D), (V, D), (V,) -> (..., V)

    The bias is optional. With D = 0 there is nothing to add up, and the logits are the bias or 0.

    Raises ValueError for shapes that do not fit.

    >>> weight = np.array([[0.1, 0.9, 0.3], [0.8, -0.2, 0.4]])
    >>> logits, _ = project_forward(np.array([0.6, 0.1, 0.3]), weight)
    >>> logits.round(2).tolist()        # 0.06 + 0.09 + 0.09,   0.48 - 0.02 + 0.12
    [0.24, 0.58]
    """
    h, weight = np.asarray(h), np.asarray(weight)
    if weight.ndim != 2 or h.shape[-1:] != weight.shape[1:]:
        raise ValueError(
            f"h {h.shape} and weight {weight.shape} do not fit: h is (..., D) and weight is "
            "(V, D) with the same D"
        )
    # As one product: NumPy would make one for each sequence of a batch, a third slower.
    logits = (_positions(h) @ weight.T).reshape(*h.shape[:-1], len(weight))
    if bias is not None:
        bias = np.asarray(bias)
        if bias.shape != weight.shape[:1]:
            raise ValueError(
                f"bias {bias.shape} does not fit weight {weight.shape}: it holds one number for "
                f"each row, ({len(weight)},)"
            )
        # Where the sum is of the same kind, in the same memory: it may be the largest array.
        same = np.result_type(logits, bias) == logits.dtype
        logits = np.add(logits, bias, out=logits if same else None)
    return logits, ProjectSaved(h, weight, bias is not None)


def project_backward(
    dout: np.ndarray, saved: ProjectSaved, needs: Sequence[bool] = (True, True)
) -> tuple[np.ndarray | None, ...]:
    """dh = dout @ weight,   dweight = dout.T @ h,   dbias = sum of dout over the positions
                                                        (..., V) -> (..., D), (V, D), (V,)

    Every row of the table is scored, so every row is given a gradient, also those that no id of
    the batch names: a tied table has a dense gradient. `needs` says which of the first two are
    wanted; None takes the place of another.

    >>> _, saved = project_forward(np.array([1.0, 2.0]), np.array([[3.0, 4.0], [5.0, 6.0]]))
    >>> [grad.tolist() for grad in project_backward(np.array([10.0, -1.0]), saved)]
    [[25.0, 34.0], [[10.0, 20.0], [-1.0, -2.0]]]
    """
    flat = _positions(dout)
    dh = (flat @ saved.weight).reshape(saved.h.shape) if needs[0] else None
    dweight = flat.T @ _positions(saved.h) if needs[1] else None
    return (dh, dweight, sum_over(flat, axis=0)) if saved.with_bias else (dh, dweight)


def _positions(array: np.ndarray) -> np.ndarray:
    """(..., D) -> (N, D); D may be 0, where NumPy cannot find out N by itself."""
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1])
