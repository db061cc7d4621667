"""Turn queries and keys by their position, and turn the gradient back.

Su et al. 2021, RoPE. Each pair of columns is a clock hand, as with sinusoids; but nothing is added:
the pair is turned. What is left of two turns in a dot product is how far apart the places are.
"""

import numpy as np

LESSON = 15
LEVEL = "medium"
HINTS = """
The angles are those of `sinusoids`: `np.arange(T)[:, None] / 10000 ** (np.arange(0, D, 2) / D)`,
one for each place and pair, (T, D/2).

The first numbers of all pairs are `x[:, 0::2]`, the second ones `x[:, 1::2]`. Take both before you
write: the new second number needs the old first one.

Backward: a turn by an angle is undone by a turn by minus that angle, and its gradient takes the
same way. So backward is the same function with sin negated.
"""


def rotary(x):
    """Turn each pair of columns (2i, 2i + 1) of row t by the angle t / 10000^(2i / D)

        out[t, 2i]     = x[t, 2i] cos - x[t, 2i + 1] sin
        out[t, 2i + 1] = x[t, 2i] sin + x[t, 2i + 1] cos               (T, D) -> (T, D), D even

    x holds floats.

    Place 0 stays. At place 1 the first pair is turned by 1 radian, cos 1 = 0.5403, sin 1 = 0.8415:

    >>> rotary(np.array([[1.0, 0.0], [1.0, 0.0]])).round(4).tolist()
    [[1.0, 0.0], [0.5403, 0.8415]]
    """
    T, D = x.shape
    angle = np.arange(T)[:, None] / 10000.0 ** (np.arange(0, D, 2) / D)
    cos, sin = np.cos(angle), np.sin(angle)
    out = np.zeros(x.shape, np.result_type(x, 1.0))
    out[:, 0::2] = x[:, 0::2] * cos - x[:, 1::2] * sin
    out[:, 1::2] = x[:, 0::2] * sin + x[:, 1::2] * cos
    return out


def rotary_backward(dout):
    """dx of out = rotary(x)                                               (T, D) -> (T, D)

    There is nothing to learn and nothing to keep: the turn does not depend on x.

    >>> rotary_backward(np.array([[1.0, 0.0], [1.0, 0.0]])).round(4).tolist()
    [[1.0, 0.0], [0.5403, -0.8415]]
    """
    T, D = dout.shape
    angle = np.arange(T)[:, None] / 10000.0 ** (np.arange(0, D, 2) / D)
    cos, sin = np.cos(angle), np.sin(angle)
    dx = np.zeros(dout.shape)
    dx[:, 0::2] = dout[:, 0::2] * cos + dout[:, 1::2] * sin
    dx[:, 1::2] = dout[:, 1::2] * cos - dout[:, 0::2] * sin
    return dx


def check(trial):
    for rng, (T, D) in zip(trial.rounds(4), ((3, 4), (5, 2), (1, 6), (4, 8))):
        x = rng.standard_normal((T, D))
        trial.same("rotary", mistakes=FORWARD, x=x)
        trial.gradients(
            "rotary_backward",
            forward=_turned,
            backward=trial.yours.rotary_backward,
            mistakes=BACKWARD,
            x=x,
        )
    turned = np.asfortranarray(x)  # it lies column by column in memory
    trial.same("rotary", mistakes=FORWARD, x=turned)
    trial.same("rotary_backward", dout=turned)
    trial.same("rotary", mistakes=FORWARD, x=x[:, :6])  # as many places, and other speeds
    trial.same("rotary_backward", dout=x[:, :6])
    long = rng.standard_normal((1100, 2))
    trial.same("rotary", mistakes=FORWARD, x=long)
    trial.same("rotary_backward", dout=long)


def _turned(x, way=1, speed=2, together=False, first_place=0):
    T, D = x.shape
    places = first_place + np.arange(T)[:, None]
    angle = places / 10000.0 ** (np.arange(D // 2) * speed / D)
    first, second = slice(0, None, 2), slice(1, None, 2)
    if together:
        first, second = slice(0, D // 2), slice(D // 2, None)
    cos, sin = np.cos(angle), way * np.sin(angle)
    out = np.zeros(x.shape, x.dtype)
    out[:, first] = x[:, first] * cos - x[:, second] * sin
    out[:, second] = x[:, first] * sin + x[:, second] * cos
    return out


def _overwritten(x, way=1):
    out = x.copy()
    T, D = x.shape
    angle = np.arange(T)[:, None] / 10000.0 ** (np.arange(0, D, 2) / D)
    cos, sin = np.cos(angle), way * np.sin(angle)
    out[:, 0::2] = out[:, 0::2] * cos - out[:, 1::2] * sin
    out[:, 1::2] = out[:, 0::2] * sin + out[:, 1::2] * cos
    return out


def _one_back(dout, column):
    dx = _turned(dout, way=-1)
    dx[:, column::2] = _turned(dout)[:, column::2]
    return dx


FORWARD = {
    "rotary turns the other way: minus sin stands in the first number of a pair":
        lambda x: _turned(x, way=-1),
    "rotary pairs column i with column i + D/2; neighbours are asked for":
        lambda x: _turned(x, together=True),
    "rotary slows down by 10000^(i / D) from pair to pair, and 2i stands there":
        lambda x: _turned(x, speed=1),
    ("rotary counts places from 1: the first is 0, and stays", r"arange\(1|\+ 1"):
        lambda x: _turned(x, first_place=1),
    "rotary overwrites the first number of a pair, and the second one still needs the old one":
        _overwritten,
}  # fmt: skip
BACKWARD = {
    "rotary_backward turns on instead of back: its sin has the other sign": _turned,
    "rotary_backward pairs column i with column i + D/2, unlike the forward":
        lambda dout: _turned(dout, way=-1, together=True),
    "rotary_backward slows down by 10000^(i / D) from pair to pair, and 2i stands there":
        lambda dout: _turned(dout, way=-1, speed=1),
    ("rotary_backward counts places from 1: the first is 0, and stays", r"arange\(1|\+ 1"):
        lambda dout: _turned(dout, way=-1, first_place=1),
    ("rotary_backward overwrites the first number of a pair, and the second needs the old one",
     r"copy\("): lambda dout: _overwritten(dout, way=-1),
    ("rotary_backward turns the second number of a pair on, and only the first one back",
     r"1::2\] *="): lambda dout: _one_back(dout, 1),
    ("rotary_backward turns the first number of a pair on, and only the second one back",
     r", *0?::2\] *="): lambda dout: _one_back(dout, 0),
}  # fmt: skip
