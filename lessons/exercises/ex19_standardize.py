"""The heart of LayerNorm: take the mean away, divide by the deviation, and the way back.

RMSNorm had one path more than division, through the size. Here is one more, through the mean. The
scale and shift that make a LayerNorm of it are the next exercise.
"""

import numpy as np

LESSON = 14
LEVEL = "medium"
HINTS = """
Take it in two steps: c = x - mean, then n = c / std. You know the second one: it is RMSNorm of c,
because the mean of c^2 is the variance. So dc = (dn - n mean(dn n)) / std.

Through c = x - mean every number of the row lowers all outputs by 1/D of itself: dx = dc -
mean(dc).

The mean of n is 0, so the two terms do not get into each other's way, and in one line it is
dx = (dn - mean(dn) - n mean(dn n)) / std, means over the last axis with keepdims=True.
"""


def standardize(x, eps):
    """n = (x - mean) / std,   std = sqrt(variance + eps), of each row          (N, D) -> (N, D)

    The variance is the mean of (x - mean)^2, divided by D. Rows may lie far from 0, as at 100,000.

    1, 2, 3 has the mean 2 and the variance 2/3, so 1 lies 1.2247 deviations below:

    >>> standardize(np.array([[1.0, 2.0, 3.0]]), 0.0).round(4).tolist()
    [[-1.2247, 0.0, 1.2247]]
    """
    c = x - x.mean(axis=-1, keepdims=True)
    return c / np.sqrt((c**2).mean(axis=-1, keepdims=True) + eps)


def standardize_backward(dn, x, eps):
    """dx = (dn - mean(dn) - n mean(dn n)) / std,   means over a row                -> (N, D)

    dn (N, D) arrives; x (N, D) and eps are those of the forward.

    To shift a row changes nothing, so each row of dx adds up to 0:

    >>> x = np.array([[1.0, 2.0, 3.0]])
    >>> standardize_backward(np.array([[1.0, 0.0, 0.0]]), x, 0.0).round(4).tolist()
    [[0.2041, -0.4082, 0.2041]]
    """
    c = x - x.mean(axis=-1, keepdims=True)
    std = np.sqrt((c**2).mean(axis=-1, keepdims=True) + eps)
    n = c / std
    dc = (dn - n * (dn * n).mean(axis=-1, keepdims=True)) / std
    return dc - dc.mean(axis=-1, keepdims=True)


def check(trial):
    def forward(x, eps):
        c = x - x.mean(axis=-1, keepdims=True)
        return c / np.sqrt((c**2).mean(axis=-1, keepdims=True) + eps)

    for rng, eps in zip(trial.rounds(4), (1e-5, 0.1, 1e-5, 0.5)):
        x = rng.standard_normal((3, 5))
        trial.same("standardize", mistakes=FORWARD, x=x, eps=eps)
        trial.gradients(
            "standardize_backward",
            forward=lambda x, eps=eps: forward(x, eps),
            backward=lambda dn, x=x, eps=eps: trial.yours.standardize_backward(dn, x, eps),
            mistakes=_mistakes(x, eps),
            x=x,
        )
    small = {"x": 1e-3 * x, "eps": 0.0}  # beside which any eps would be seen
    trial.same("standardize", mistakes=trial.never_0("standardize"), **small)
    never_0, dn = trial.never_0("standardize_backward"), rng.standard_normal(x.shape)
    trial.same("standardize_backward", mistakes=never_0, dn=dn, **small)
    x[0] = 1  # a row without any variance
    for far in (x, x + 1e5):  # far from 0 the difference of two squares is mostly rounding
        trial.same("standardize", mistakes=FORWARD, x=far, eps=0.1)
        dn = rng.standard_normal(x.shape)
        trial.same("standardize_backward", dn=dn, x=far, eps=0.1)


def _otherwise(less=1, divide_by=lambda D: D):
    def wrong(x, eps):
        c = x - less * x.mean(axis=-1, keepdims=True)
        squares = (c**2).sum(axis=-1, keepdims=True) / divide_by(x.shape[-1])
        return c / np.sqrt(squares + eps)

    return wrong


FORWARD = {
    "standardize divides by D - 1 in the variance, and by D is asked for":
        _otherwise(divide_by=lambda D: D - 1),
    "standardize adds up the squares: the variance is their mean":
        _otherwise(divide_by=lambda D: 1),
    ("standardize does not take the mean away", r"\bx\b"): _otherwise(less=0),
}  # fmt: skip


def _mistakes(x, eps):
    std = np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    n = (x - x.mean(axis=-1, keepdims=True)) / std

    def wrong(mean, variance, part=np.mean):
        def backward(dn):
            dx = dn - mean * part(dn, axis=-1, keepdims=True)
            return (dx - variance * n * part(dn * n, axis=-1, keepdims=True)) / std

        return backward

    return {
        "standardize_backward holds mean and variance constant": wrong(0, 0),
        ("standardize_backward lacks the path through the variance", r"\bdn\b"): wrong(1, 0),
        "standardize_backward lacks the path through the mean": wrong(0, 1),
        "standardize_backward takes sums over a row where means belong": wrong(1, 1, np.sum),
    }
