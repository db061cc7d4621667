"""Where a token stands, as a vector: sinusoids, and a learned table stretched to another length.

    angle[p, i] = p / base^(2i / D)                 i = 0, 1, ... counts the pairs of columns
    PE[p, 2i] = sin(angle[p, i])
    PE[p, 2i + 1] = cos(angle[p, i])                Vaswani et al. 2017, section 3.5

Every pair is a clock hand of its own speed, from one radian a step down to about 1/base. Nothing
here is learned. The same angles turn queries and keys in rotary positions (Su et al. 2021), see
`ops.rotary`.
"""

from __future__ import annotations

import numpy as np

from scratch_embed.arguments import array_of, check_count, is_real

LAYOUTS = ("interleaved", "concatenated")


def angles(positions, dim: int, base: float = 10000.0) -> np.ndarray:
    """positions / base^(2i / dim) in radians      (...) -> (..., ceil(dim / 2)), float64

    Positions may be any real numbers: 0.5 lies half-way between two tokens.
    """
    if not (is_real(base) and base > 0):
        raise ValueError(f"base is {base!r}; it must be positive, as 10000.0")
    dim, positions = check_count(dim, "dim"), array_of(positions, "positions")
    if positions.dtype.kind not in "iuf":
        raise TypeError(f"positions are {positions.dtype}; they must be real numbers")
    exponents = np.arange(0, dim, 2) / dim
    return positions.astype(np.float64)[..., None] * base**-exponents


def sinusoidal(
    max_len: int, dim: int, base: float = 10000.0, layout: str = "interleaved"
) -> np.ndarray:
    """The table PE of positions 0 .. max_len - 1                          (max_len, dim), float64

    Every row of an even dim has the norm sqrt(dim / 2), because sin^2 + cos^2 = 1. In an odd dim
    the last sine stands without its cosine.

    layout: "interleaved" is sin, cos, sin, cos ... as above; "concatenated" puts all sines first
    and the cosines after them, the same columns in another order.

    >>> sinusoidal(3, 4).round(4).tolist()
    [[0.0, 1.0, 0.0, 1.0], [0.8415, 0.5403, 0.01, 1.0], [0.9093, -0.4161, 0.02, 0.9998]]
    """
    max_len = check_count(max_len, "max_len")
    dim = check_count(dim, "dim")
    check_layout(layout)
    angle = angles(np.arange(max_len), dim, base)
    sines, cosines = np.sin(angle), np.cos(angle)[:, : dim // 2]
    if layout == "concatenated":
        return np.concatenate([sines, cosines], axis=1)
    table = np.empty((max_len, dim))
    table[:, 0::2], table[:, 1::2] = sines, cosines
    return table


def interpolate(table: np.ndarray, new_len: int) -> np.ndarray:
    """A learned table read at `new_len` evenly spaced places           (T, D) -> (new_len, D)

    First and last row stay what they are; between two rows their mixture is taken.

    >>> interpolate(np.array([[0.0, 10.0], [2.0, 30.0]]), 3).tolist()
    [[0.0, 10.0], [1.0, 20.0], [2.0, 30.0]]
    """
    table = array_of(table, "table")
    if table.ndim != 2:
        raise ValueError(f"table has shape {table.shape}; it must be (T, D)")
    below, above, share = neighbours(len(table), new_len)
    share = share.astype(np.result_type(table, np.float32))[:, None]
    return table[below] * (1 - share) + table[above] * share


def neighbours(old_len: int, new_len: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each of `new_len` places lies between two of `old_len` rows         three (new_len,)

    (below, above, share): the place reads rows[below] (1 - share) + rows[above] share.

    >>> [part.tolist() for part in neighbours(2, 3)]
    [[0, 0, 1], [1, 1, 1], [0.0, 0.5, 0.0]]
    """
    old_len = check_count(old_len, "old_len")
    new_len = check_count(new_len, "new_len")
    places = np.linspace(0, old_len - 1, new_len)
    below = places.astype(np.int64)
    return below, np.minimum(below + 1, old_len - 1), places - below


def check_layout(layout: str) -> None:
    """ValueError unless `layout` is one of LAYOUTS."""
    if layout not in LAYOUTS:
        raise ValueError(f"layout is {layout!r}; it must be 'interleaved' or 'concatenated'")
