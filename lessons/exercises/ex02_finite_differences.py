"""Measure a slope: nudge one number up and down, and look at the loss.

No theory of derivatives is needed, only the function. It is slow, two calls for each number, and it
is the judge of every backward that you will write here.
"""

import numpy as np

LESSON = 0
LEVEL = "easy"
HINTS = """
`np.ndindex(x.shape)` walks over all places of an array, of any shape, as tuples that index it.

At each place: one copy of x with h added there, one with h taken away, everything else as it was.
Copies are safe; whoever nudges x itself must put the number back, exactly.

The two places are 2h apart, so divide the difference of the two losses by 2h.
"""


def slopes(f, x, h):
    """g[i] = (f(x with x[i] + h) - f(x with x[i] - h)) / (2 h), for every place i of x

    f  takes an array of the shape of x and returns a number.
    x  (...)  floating point, of any shape. It is unchanged afterwards.
    h  the size of the nudge, as 1e-4.

    Returns an array of the shape of x.

    For x^2 the slope is 2 x, and the difference finds it whatever h is. For x^3 it is 3 x^2 and an
    error of h^2 more:

    >>> slopes(lambda x: (x**2).sum(), np.array([1.0, 2.0]), 0.1).round(4).tolist()
    [2.0, 4.0]
    >>> slopes(lambda x: (x**3).sum(), np.array([[1.0], [2.0]]), 0.1).round(4).tolist()
    [[3.01], [12.01]]
    """
    g = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += h
        down[i] -= h
        g[i] = (f(up) - f(down)) / (2 * h)
    return g


class _Loss:
    """A function of all numbers at once, that shows its formula."""

    def __init__(self, weights):
        self.weights = weights

    def __call__(self, x):
        if np.shape(x) != np.shape(self.weights):
            return np.nan
        return float(np.exp((self.weights * x).sum()) + (x**3).sum())

    def __repr__(self):
        return "exp(sum of w x) + sum of x^3"


class _AtOneTenth:
    """It sees whether a number was put back to the last digit."""

    def __call__(self, x):
        return float(x[1]) if x[0] == 0.1 else 0.0

    def __repr__(self):
        return "x[1] where x[0] is 0.1, else 0"


def check(trial):
    for rng, shape in zip(trial.rounds(4), [(3,), (2, 2), (), (2, 1, 2)]):
        f = _Loss(0.3 * rng.standard_normal(shape))
        x = rng.standard_normal(shape)
        trial.same("slopes", mistakes=MISTAKES, f=f, x=x, h=1e-2)
    turned = np.arange(6.0).reshape(3, 2).T / 10  # which lies column by column in memory
    trial.same("slopes", mistakes=MISTAKES, f=_Loss(np.ones((2, 3))), x=turned, h=0.1)
    tiny = np.array([1e-9, 3e-7, 1e-5])  # which (x + h) - h does not bring back
    trial.same("slopes", mistakes=MISTAKES, f=_Loss(0.3 * np.ones(3)), x=tiny, h=1e-4)
    trial.same("slopes", mistakes=MISTAKES, f=_AtOneTenth(), x=np.array([0.1, 2.0]), h=0.01)


def _each(one):
    def wrong(f, x, h):
        g = np.zeros(x.shape)
        for i in np.ndindex(x.shape):
            nudge = np.zeros(x.shape)
            nudge[i] = h
            g[i] = one(f, x, nudge, h)
        return g

    return wrong


def _never_put_back(f, x, h):
    x, g = x.copy(), np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        x[i] += h
        up = f(x)
        x[i] -= 2 * h
        g[i] = (up - f(x)) / (2 * h)
    return g


MISTAKES = {
    "slopes nudges up only: that is off by a multiple of h, and up and down by one of h^2":
        _each(lambda f, x, nudge, h: (f(x + nudge) - f(x)) / h),
    "slopes nudges down only: that is off by a multiple of h, and up and down by one of h^2":
        _each(lambda f, x, nudge, h: (f(x) - f(x - nudge)) / h),
    "slopes divides by h, but the two nudged points are 2 h apart":
        _each(lambda f, x, nudge, h: (f(x + nudge) - f(x - nudge)) / h),
    ("slopes nudges all numbers at once: one at a time, or their slopes get mixed", r"\bh\b"):
        _each(lambda f, x, nudge, h: (f(x + h) - f(x - h)) / (2 * h)),
    ("slopes does not put a nudged number back before it nudges the next", r"copy|\bh\b"):
        _never_put_back,
}  # fmt: skip
