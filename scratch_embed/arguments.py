"""Checks of arguments that many functions share."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np


def check_unmasked(value: Any, name: str) -> None:
    """TypeError for a masked array: nothing here looks at a mask."""
    if type(value) is np.ndarray or not isinstance(value, np.ndarray):  # so numpy.ma stays unloaded
        return
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, and its mask would be ignored: give the masked places a "
            f"value of their own, {name}.filled(value), or leave them out, {name}.compressed()"
        )


def check_count(value: int, name: str, least: int = 1) -> int:
    """`value` as an int when it is a whole number of at least `least`; ValueError otherwise."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {least}")
    return int(value)


def is_real(value) -> bool:
    """Whether `value` is one real number, of Python or NumPy; True and False are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
