"""A number as people read it."""

from __future__ import annotations

import math
import sys
from decimal import Decimal

import numpy as np


def number(x, digits: int = 6) -> str:
    """A number for people: whole ones below 1e15 in full with commas, others with `digits`
    significant digits.

    >>> number(131072000.0), number(0.1 + 0.2), number(True), number(1e-7)
    ('131,072,000', '0.3', 'True', '1e-07')
    """
    if isinstance(x, (bool, np.bool_, str)):
        return str(x)
    if isinstance(x, int) and abs(x) > sys.float_info.max:
        x = Decimal(x)
    elif math.isfinite(x) and x == int(x) and abs(x) < 1e15:
        return f"{int(x):,}"
    text = f"{x:.{digits}g}"
    return "0" if text == "-0" else text


def told_apart(x: float, y: float = 1.0, digits: int = 4) -> tuple[str, str]:
    """Two numbers with `digits` significant digits, or with as many as tell one from the other.

    >>> told_apart(2 / 3), told_apart(1.0000004)
    (('0.6667', '1'), ('1.0000004', '1'))
    """
    while x != y and digits < 17 and f"{x:.{digits}g}" == f"{y:.{digits}g}":
        digits += 1
    return f"{x:.{digits}g}", f"{y:.{digits}g}"


def at_most(x: float, decimals: int = 2) -> str:
    """A bound from above, rounded up: what is "at most 0.00" would be 0.

    >>> at_most(0.0016), at_most(0.25), at_most(0.1 + 0.2, 1)
    ('0.01', '0.25', '0.3')
    """
    return f"{math.ceil(round(float(x) * 10**decimals, 6)) / 10**decimals:.{decimals}f}"


def at_least(x: float, decimals: int = 2) -> str:
    """A bound from below, rounded down: 0.9996 is not "1.000 or more".

    >>> at_least(0.9996, 3), at_least(0.25)
    ('0.999', '0.25')
    """
    return f"{math.floor(round(float(x) * 10**decimals, 6)) / 10**decimals:.{decimals}f}"


def signed(x: float, decimals: int = 2) -> str:
    """A number with its sign; what rounds to 0 is +0, for a minus there would be rounding's.

    >>> signed(0.5), signed(-0.126), signed(-1e-17)
    ('+0.50', '-0.13', '+0.00')
    """
    return f"{round(float(x), decimals) + 0.0:+.{decimals}f}"
