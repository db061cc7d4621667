"""Lengths of vectors, also of those whose squares no float holds, and factors that none holds."""

from __future__ import annotations

import numpy as np

MANY = 50  # a power of a number of 1/2 to 1 with this exponent is far from 0 in single precision


def lengths(rows: np.ndarray, p: float = 2.0) -> np.ndarray:
    """||row||_p for every row                       (..., D) -> (...)

    Each row is brought near 1 by a power of two first, which changes no bit of it: so the powers of
    tiny and of huge numbers become neither 0 nor infinite.

    >>> lengths(np.array([[3e-200, 4e-200], [3.0, 4.0]])).tolist()
    [5e-200, 5.0]
    """
    sizes = np.abs(rows)  # of complex numbers, too
    exponent = np.frexp(sizes.max(axis=-1, initial=0))[1]
    near_one = np.ldexp(sizes, -exponent[..., None])
    largest = 1.0
    if MANY < p < np.inf:  # 0.6^2000 is 0: of such powers the largest number must be 1 itself
        largest = near_one.max(axis=-1, initial=0)
        near_one /= np.where(largest, largest, 1)[..., None]
    return np.ldexp(np.linalg.norm(near_one, ord=p, axis=-1) * largest, exponent)


def scaled(array: np.ndarray, factor: float | np.ndarray) -> np.ndarray:
    """array * factor in the dtype of the array, also where that holds the product and not a factor.

    >>> scaled(np.float32([2.0**100]), 2.0**-160).tolist() == [2.0**-60]
    True
    """
    if np.min(factor) < np.finfo(array.dtype).tiny:
        return (array * np.float64(factor)).astype(array.dtype)
    return array * np.asarray(factor, array.dtype)
