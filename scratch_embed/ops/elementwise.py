"""Functions of one array, entry by entry.

Each is written so that it also takes complex numbers where the function is analytic: that is
what lets the complex step measure a derivative without subtracting two nearly equal numbers.
Integers become floats first, and NaN stays NaN: an operation must not hide that a run diverged.
Anything but numbers raises TypeError.
"""

from __future__ import annotations

import numpy as np

from scratch_embed.ops.floats import floating


def exp_forward(a):
    """out = e^a"""
    out = np.exp(floating(a))
    return out, (out,)


def exp_backward(dout, saved):
    """da = dout e^a, and e^a is the output we kept"""
    (out,) = saved
    return dout * out


def log_forward(a):
    """out = ln a"""
    a = floating(a)
    return np.log(a), (a,)


def log_backward(dout, saved):
    """da = dout / a"""
    (a,) = saved
    return dout / a


def sqrt_forward(a):
    """out = a^(1/2)"""
    out = np.sqrt(floating(a))
    return out, (out,)


def sqrt_backward(dout, saved):
    """da = dout / (2 a^(1/2))"""
    (out,) = saved
    return dout / (2 * out)


def tanh_forward(a):
    """out = tanh a"""
    out = np.tanh(floating(a))
    return out, (out,)


def tanh_backward(dout, saved):
    """da = dout (1 - tanh^2 a)"""
    (out,) = saved
    return dout * (1 - out * out)


def sigmoid_forward(a):
    """out = 1 / (1 + e^-a), computed as e^min(a, 0) / (1 + e^-|a|)

    So nothing overflows, and a small chance keeps all its digits: e^-40 is not 0.
    """
    top, small = _bounded(floating(a))
    out = top / (1 + small)
    return out, (out,)


def _bounded(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(e^min(a, 0), e^-|a|); of complex numbers the real part decides, so both stay analytic."""
    if a.dtype.kind == "c":
        positive = a.real > 0
        small = np.exp(np.where(positive, -a, a))
        return np.where(positive, 1, small), small
    small = np.exp(-np.abs(a))
    return np.maximum(small, a > 0), small


def sigmoid_backward(dout, saved):
    """da = dout s (1 - s) with s the output"""
    (out,) = saved
    return dout * out * (1 - out)


def log_sigmoid_forward(a):
    """out = ln sigmoid(a) = min(a, 0) - ln(1 + e^-|a|), which stays finite for any a"""
    a = floating(a)
    positive = a.real > 0
    small = np.where(positive, -a, a)  # -|a|, written so that it stays analytic
    return np.where(positive, 0, a) - np.log1p(np.exp(small)), (a,)


def log_sigmoid_backward(dout, saved):
    """da = dout sigmoid(-a)"""
    (a,) = saved
    return dout * sigmoid_forward(-a)[0]


def relu_forward(a):
    """out = max(a, 0). It has a kink at 0, where we take the slope 0; NaN is let through.

    >>> relu_forward(np.array([-1.0, 2.0, np.nan]))[0].tolist()
    [0.0, 2.0, nan]
    """
    a = floating(a)
    blocked = a.real <= 0  # False for NaN, which therefore passes
    if a.dtype.kind == "c":  # of complex numbers none is the larger: the real part decides
        return np.where(blocked, 0, a).astype(a.dtype, copy=False), (blocked,)
    return np.maximum(a, 0), (blocked,)


def relu_backward(dout, saved):
    """da = dout [not a <= 0]

    The product with a boolean: to choose between two numbers where nothing foretells which takes a
    processor ten times as long. (So an infinite dout at a blocked place gives NaN and not 0.)
    """
    (blocked,) = saved
    return dout * ~blocked
