"""Checks of arguments that many functions share."""

from __future__ import annotations

import numbers

import numpy as np


def check_count(value: int, name: str, least: int = 1) -> int:
    """`value` as an int when it is a whole number of at least `least`; ValueError otherwise."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {least}")
    return int(value)


def is_real(value) -> bool:
    """Whether `value` is one real number, of Python or NumPy; True and False are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
