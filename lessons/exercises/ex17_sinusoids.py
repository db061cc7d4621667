"""Tell positions apart with sines and cosines.

The table of positions of the first Transformer (Vaswani et al. 2017, section 3.5). Nothing in it
is learned: every pair of columns is a clock hand with a speed of its own.
"""

import numpy as np

LESSON = 5
LEVEL = "easy"
HINTS = """
Column pair i has the angles `pos / 10000 ** (2 * i / dim)`. With `np.arange(0, dim, 2)` you get
all the numbers 2i at once, also the last one of an odd dim.

`np.arange(max_len)[:, None] / speeds[None, :]` is the table of all angles.

Sines go to the columns `PE[:, 0::2]`, cosines to `PE[:, 1::2]`. In an odd dim there is one
cosine column less, so leave the last angle out: `angle[:, : dim // 2]`.
"""


def sinusoids(max_len, dim):
    """PE[pos, 2i] = sin(pos / 10000^(2i/dim)),   PE[pos, 2i+1] = cos(the same)  -> (max_len, dim)

    pos = 0 .. max_len-1 and i = 0, 1, ... In an odd dim the last sine stands without a cosine.

    Position 1 in dim 4: sin(1) = 0.8415, cos(1) = 0.5403, sin(1/100) = 0.01, cos(1/100) = 1.

    >>> sinusoids(2, 4).round(4).tolist()
    [[0.0, 1.0, 0.0, 1.0], [0.8415, 0.5403, 0.01, 1.0]]
    >>> sinusoids(2, 3).round(4).tolist()
    [[0.0, 1.0, 0.0], [0.8415, 0.5403, 0.0022]]
    """
    angle = np.arange(max_len)[:, None] / 10000.0 ** (np.arange(0, dim, 2) / dim)
    PE = np.zeros((max_len, dim))
    PE[:, 0::2] = np.sin(angle)
    PE[:, 1::2] = np.cos(angle)[:, : dim // 2]
    return PE


def check(trial):
    for max_len, dim in ((5, 2), (7, 6), (3, 6), (4, 5), (3, 1), (12, 8), (1, 7), (3000, 2)):
        trial.same("sinusoids", mistakes=MISTAKES, max_len=max_len, dim=dim)


def _otherwise(base=10000.0, first=0, speed=2, exchanged=False, halves=False):
    """The table, with one thing done otherwise."""

    def wrong(max_len, dim):
        pair = np.arange((dim + 1) // 2)
        angle = np.arange(first, first + max_len)[:, None] / base ** (speed * pair / dim)
        even, odd = slice(0, None, 2), slice(1, None, 2)
        if halves:
            even, odd = slice(0, len(pair)), slice(len(pair), None)
        one, other = (np.cos, np.sin) if exchanged else (np.sin, np.cos)
        PE = np.zeros((max_len, dim))
        PE[:, even], PE[:, odd] = one(angle), other(angle)[:, : dim // 2]
        return PE

    return wrong


MISTAKES = {
    ("sinusoids slows down by 10000^(i / dim) from pair to pair, and 2i stands there", r"/ *dim"):
        _otherwise(speed=1),
    "sinusoids exchanges sine and cosine: the even columns are sines": _otherwise(exchanged=True),
    ("sinusoids counts positions from 1: the first is 0", r"max_len"): _otherwise(first=1),
    "sinusoids sets all sines before all cosines: they take turns": _otherwise(halves=True),
    ("sinusoids takes another base than 10000", r"000"): _otherwise(base=1000.0),
}  # fmt: skip
