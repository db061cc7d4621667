"""Rotary positions: turn each pair of columns by an angle that grows with the position.

Su et al. 2021, "RoFormer", equations 14 and 34. Applied to queries and keys, not to the rows of a
table: the dot product of a query turned by m and a key turned by n depends on n - m alone. There
is nothing to learn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed.ops.floats import floating
from scratch_embed.positions import angles, check_layout


class RotarySaved(NamedTuple):
    cos: np.ndarray  # (..., T, D / 2)
    sin: np.ndarray  # (..., T, D / 2)
    layout: str


def rotary_forward(
    x: np.ndarray, positions=None, base: float = 10000.0, layout: str = "interleaved"
) -> tuple[np.ndarray, RotarySaved]:
    """(a, b) -> (a cos - b sin, a sin + b cos) for each pair of columns
                                                                (..., T, D) -> (..., T, D)

    The angle of pair i at position p is p / base^(2i / D). Positions are 0 .. T-1 when None, or
    any numbers that broadcast to (..., T). layout: "interleaved" pairs columns 2i and 2i + 1, as
    the paper and Meta's code for Llama do; "concatenated" pairs i and i + D/2, as Llama in Hugging
    Face's transformers does, with rows of the query and key weights reordered. Norms stay.

    Raises ValueError for an odd D, which leaves one column without a partner, for positions that
    do not fit, an unknown layout and a base that is not positive.

    >>> x = np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> rotary_forward(x)[0].round(4).tolist()           # position 1: cos 1, sin 1
    [[1.0, 0.0], [0.5403, 0.8415]]
    """
    check_layout(layout)
    x = floating(x)
    if x.ndim < 2 or x.shape[-1] % 2 or not x.shape[-1]:
        raise ValueError(
            f"x has shape {x.shape}; rotary positions need (..., T, D) with an even D, because "
            "columns turn in pairs"
        )
    positions = np.arange(x.shape[-2]) if positions is None else np.asarray(positions)
    if positions.ndim > x.ndim - 1 or any(
        n not in (1, m) for n, m in zip(positions.shape[::-1], x.shape[-2::-1])
    ):
        raise ValueError(
            f"positions {positions.shape} do not fit x {x.shape}: they must broadcast to "
            f"{x.shape[:-1]}, one for each vector"
        )
    angle = angles(positions, x.shape[-1], base)
    real = x.real.dtype
    saved = RotarySaved(np.cos(angle).astype(real), np.sin(angle).astype(real), layout)
    return _turn(x, saved, saved.sin), saved


def rotary_backward(dout: np.ndarray, saved: RotarySaved) -> np.ndarray:
    """dx = dout turned back: a rotation's transpose is its inverse, the angle with a minus sign"""
    return _turn(dout, saved, -saved.sin)


def _turn(x: np.ndarray, saved: RotarySaved, sin: np.ndarray) -> np.ndarray:
    if saved.layout == "interleaved":
        first, second = slice(0, None, 2), slice(1, None, 2)
    else:
        half = x.shape[-1] // 2
        first, second = slice(0, half), slice(half, None)
    a, b = x[..., first], x[..., second]
    out = np.empty(x.shape, np.result_type(x, sin))  # in the dtype of integers it would be cut
    out[..., first] = a * saved.cos - b * sin
    out[..., second] = a * sin + b * saved.cos
    return out
