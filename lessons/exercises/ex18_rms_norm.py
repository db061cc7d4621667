"""RMSNorm and its way back: divide a row by its size.

Zhang & Sennrich 2019, and the norm of most models since Llama. A number of the row moves its own
output, and through the size it moves every other one. It is one path more than division has.
"""

import numpy as np

LESSON = 14
LEVEL = "medium"
HINTS = """
`rms = np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)`, a number for each row, and out = x /
rms.

If rms were a constant, dx would be dout / rms.

But when x_j grows, rms grows, and all outputs of the row shrink. What they lose together is
`(dout * n).mean(axis=-1, keepdims=True)` with n = x / rms, and x_j has a share n_j in it.

dx = (dout - n * mean(dout * n)) / rms
"""


def rms_norm(x, eps):
    """out = x / rms,   rms = sqrt(mean of x^2 + eps), the mean over a row     (N, D) -> (N, D)

    3^2 and 4^2 have the mean 12.5, so a row of 3 and 4 is divided by 3.5355:

    >>> rms_norm(np.array([[3.0, 4.0]]), 0.0).round(4).tolist()
    [[0.8485, 1.1314]]
    """
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)


def rms_norm_backward(dout, x, eps):
    """dx = (dout - n mean(dout n)) / rms,   n = x / rms,   the mean over a row     -> (N, D)

    dout (N, D) arrives; x (N, D) and eps are those of the forward.

    To make a row longer changes nothing. So a gradient along the row itself must be 0:

    >>> rms_norm_backward(np.array([[3.0, 4.0]]), np.array([[3.0, 4.0]]), 0.0).round(4).tolist()
    [[0.0, 0.0]]
    >>> rms_norm_backward(np.array([[1.0, 0.0]]), np.array([[3.0, 4.0]]), 0.0).round(4).tolist()
    [[0.181, -0.1358]]
    """
    rms = np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)
    n = x / rms
    return (dout - n * (dout * n).mean(axis=-1, keepdims=True)) / rms


def check(trial):
    sizes = ((3, 5), (3, 5), (4, 4), (2, 3))
    for rng, eps, size in zip(trial.rounds(4), (0.5, 0.1, 1e-5, 1e-5), sizes):
        x = rng.standard_normal(size)
        x[0] /= 4  # a row that is small beside eps
        trial.same("rms_norm", mistakes=FORWARD, x=x, eps=eps)
        trial.gradients(
            "rms_norm_backward",
            forward=lambda x, eps=eps: x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps),
            backward=lambda dout, x=x, eps=eps: trial.yours.rms_norm_backward(dout, x, eps),
            mistakes=_mistakes(x, eps),
            x=x,
        )
    small = {"x": 1e-3 * x, "eps": 0.0}  # beside which any eps would be seen
    trial.same("rms_norm", mistakes=trial.never_0("rms_norm"), **small)
    never_0, dout = trial.never_0("rms_norm_backward"), rng.standard_normal(x.shape)
    trial.same("rms_norm_backward", mistakes=never_0, dout=dout, **small)
    x[0], x[1, 0] = 0, 0  # a row without any size, and one that begins with nothing
    trial.same("rms_norm", mistakes=FORWARD, x=x, eps=0.1)
    trial.same("rms_norm_backward", dout=rng.standard_normal(x.shape), x=x, eps=0.1)


def _mean(x):
    return (x**2).mean(axis=-1, keepdims=True)


FORWARD = {
    ("rms_norm takes the larger of the mean and eps: they are added", r"\bmax|\bclip|where"):
        lambda x, eps: x / np.sqrt(np.maximum(_mean(x), eps)),
    "rms_norm leaves eps out": lambda x, eps: x / np.sqrt(_mean(x)),
    "rms_norm adds eps to the root: it belongs under it":
        lambda x, eps: x / (np.sqrt(_mean(x)) + eps),
    "rms_norm adds eps squared": lambda x, eps: x / np.sqrt(_mean(x) + eps**2),
    "rms_norm adds eps once for every number of the row":
        lambda x, eps: x / np.sqrt(_mean(x) + eps * x.shape[-1]),
    "rms_norm takes the sum of the squares where their mean belongs":
        lambda x, eps: x / np.sqrt(x.shape[-1] * _mean(x) + eps),
    "rms_norm forgets the root": lambda x, eps: x / (_mean(x) + eps),
    "rms_norm takes the mean down the columns: each row has its own size":
        lambda x, eps: x / np.sqrt((x**2).mean(axis=0, keepdims=True) + eps),
    "rms_norm subtracts the mean, as LayerNorm does": lambda x, eps: (
        (c := x - x.mean(axis=-1, keepdims=True)) / np.sqrt(_mean(c) + eps)),
}  # fmt: skip


def _mistakes(x, eps):
    rms = np.sqrt(_mean(x) + eps)
    n = x / rms

    def bare(dout, rms):
        return (dout - x / rms * (dout * x / rms).mean(axis=-1, keepdims=True)) / rms

    def wrong(shared):
        return lambda dout: (dout - shared(dout)) / rms

    return {
        "rms_norm_backward holds the size of the row constant": wrong(lambda dout: 0),
        "rms_norm_backward takes the sum over a row where the mean belongs":
            wrong(lambda dout: n * (dout * n).sum(axis=-1, keepdims=True)),
        "rms_norm_backward takes x where x / rms belongs":
            wrong(lambda dout: x * (dout * x).mean(axis=-1, keepdims=True)),
        "rms_norm_backward takes the mean of dout, as if a mean had been subtracted: RMSNorm "
        "subtracts none": wrong(lambda dout: dout.mean(axis=-1, keepdims=True)),
        "rms_norm_backward adds the path through the size instead of taking it away":
            wrong(lambda dout: -n * (dout * n).mean(axis=-1, keepdims=True)),
        "rms_norm_backward takes the mean down the columns: each row has its own size":
            wrong(lambda dout: n * (dout * n).mean(axis=0, keepdims=True)),
        "rms_norm_backward leaves eps out": lambda dout: bare(dout, np.sqrt(_mean(x))),
        ("rms_norm_backward adds eps to the root: it belongs under it", r"\beps\b"):
            lambda dout: bare(dout, np.sqrt(_mean(x)) + eps),
    }  # fmt: skip
