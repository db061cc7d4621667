"""The difference quotient: the one place where a derivative is measured by nudging an input.

(f(h) - f(-h)) / 2h        off by about h^2 from curvature, and by eps |f| / h from rounding
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scratch_embed.arguments import array_of, is_real


def quotient(f: Callable[[float], float], h: float) -> float:
    """(f(h) - f(-h)) / 2h, the central difference of a function of one number at 0."""
    return (f(h) - f(-h)) / (2 * h)


def exact_step(x, h: float):
    """A step near to h by which every number of x really moves, up and down alike; 0 where it does
    not. (Beside a power of two numbers lie farther apart on one side.)"""
    return x - (x - ((x + h) - x))


def moved(array: np.ndarray, index: tuple[int, ...], by: float) -> np.ndarray:
    """A copy of the array in which one entry is larger by `by`."""
    array = np.array(array, dtype=np.float64)
    array[index] += by
    return array


def slopes(loss: Callable[[np.ndarray], float], array, h: float = 1e-5) -> np.ndarray:
    """d loss / d array, measured: every entry nudged up and down by h.    (...) -> (...)

    loss takes an array like `array` and returns one number. It is called with copies, twice for
    each entry. Raises ValueError for an h that is no number above 0, or too small to move an entry:
    1e12 + 1e-5 is 1e12; TypeError for an array that does not hold real numbers, and for a loss that
    returns no number.

    >>> slopes(lambda w: (w**2).sum(), [1.0, -3.0]).round(6).tolist()
    [2.0, -6.0]
    """
    if not (is_real(h) and 0 < h < np.inf):
        raise ValueError(f"h is {h!r}; it must be a finite number above 0, as 1e-5")
    array = array_of(array, "array")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"array holds {array.dtype}; slopes are measured of real numbers")
    array = array.astype(np.float64)
    steps = exact_step(array, h)
    still = np.argwhere(steps == 0)
    if len(still):
        at = tuple(map(int, still[0]))
        raise ValueError(
            f"array{list(at)} = {array[at]:g} does not move by h = {h:g}, less than its last "
            "digit; take a larger h"
        )
    found = [
        quotient(lambda t, index=index: _number(loss(moved(array, index, t))), float(steps[index]))
        for index in np.ndindex(array.shape)
    ]
    return np.array(found).reshape(array.shape)


def _number(answer) -> float:
    try:
        return float(answer)
    except (TypeError, ValueError):
        what = "None" if answer is None else f"numbers of shape {np.shape(answer)}"
        way_out = "it must return one number, as (out * R).sum()"
        raise TypeError(f"loss returned {what}; {way_out}") from None
