"""Arithmetic between arrays: sum, difference, product, quotient, power.

Operands broadcast as in NumPy, and whole numbers stay whole where the answer is: a quotient, or a
negative power, makes floats of them. The backward functions answer with gradients in the shape of
`dout`; bringing them back to the shape of a broadcast operand is the work of `reduce.unbroadcast`,
which the tape applies in one place. Shapes that do not broadcast raise NumPy's ValueError.
"""

from __future__ import annotations

import numbers

import numpy as np

from scratch_embed.ops.floats import floating


def add_forward(a, b):
    """out = a + b"""
    return np.add(a, b), ()


def add_backward(dout, saved):
    """da = dout,   db = dout"""
    return dout, dout


def sub_forward(a, b):
    """out = a - b"""
    return np.subtract(a, b), ()


def sub_backward(dout, saved):
    """da = dout,   db = -dout"""
    return dout, -dout


def mul_forward(a, b):
    """out = a b"""
    return np.multiply(a, b), (a, b)


def mul_backward(dout, saved):
    """da = dout b,   db = dout a"""
    a, b = saved
    return dout * b, dout * a


def div_forward(a, b):
    """out = a / b"""
    return np.divide(a, b), (a, b)


def div_backward(dout, saved):
    """da = dout / b,   db = -dout a / b^2"""
    a, b = saved
    return dout / b, -dout * (a / b) / b  # b^2 may be too large, or too small, for a float


def neg_forward(a):
    """out = -a"""
    return np.negative(a), ()


def neg_backward(dout, saved):
    """da = -dout"""
    return -dout


def power_forward(a, exponent: float):
    """out = a^exponent, with an exponent that is constant

    Raises TypeError for an exponent that is not a number.
    """
    if not isinstance(exponent, numbers.Number):
        kind = type(exponent).__name__
        kind = "an array, or a Tensor" if isinstance(exponent, np.ndarray) else f"of type {kind}"
        raise TypeError(
            f"exponent is {kind}; power takes a number: for a learned exponent write "
            "exp(exponent * log(a))"
        )
    if not isinstance(exponent, (numbers.Integral, float, complex, np.generic)):
        exponent = float(exponent)  # of a Fraction or a Decimal, which NumPy does not know
    whole = isinstance(exponent, numbers.Integral) and exponent >= 0
    a = np.asarray(a) if whole else floating(a)
    return a**exponent, (a, exponent)


def power_backward(dout, saved):
    """da = dout exponent a^(exponent - 1)"""
    a, exponent = saved
    if exponent == 0:  # a constant, also where a^-1 is infinite
        return 0 * dout
    if isinstance(exponent, numbers.Integral):
        exponent = int(exponent)  # of Python: np.int8(-128) - 1 is 127
    return dout * exponent * a ** (exponent - 1)
