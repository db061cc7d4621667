"""The backward of LayerNorm: what `standardize` does, with a scale and a shift behind it.

A number moves its own output, and through the mean and the variance every other output of its row.
The scale and the shift are learned, and get gradients of their own. Ba, Kiros & Hinton 2016.
"""

import numpy as np

from scratch_embed.ops.norm import layer_norm_forward

LESSON = 14
LEVEL = "hard"
HINTS = """
dbeta is the sum of dout over the rows, dgamma that of dout * x_hat.

What arrives at x_hat is g = gamma * dout. From there on it is `standardize_backward`, with g for
dn.

dx = (g - mean(g) - x_hat * mean(g * x_hat)) / std, means over the last axis, with
keepdims=True.
"""


def layer_norm_backward(dout, x, gamma, eps):
    """Gradients of out = gamma x_hat + beta,   x_hat = (x - mean) / sqrt(var + eps)

    dout   (N, D)  the gradient that arrives.
    x      (N, D)  the rows. Mean and variance (divided by D) are those of the D numbers of a row.
                   They may lie far from 0, as at 100,000.
    gamma  (D,)    eps is a small number, as 1e-5.

    Returns (dx (N, D), dgamma (D,), dbeta (D,)).

    Moving all numbers of a row together changes nothing, so each row of dx sums to 0:

    >>> x, gamma = np.array([[1.0, 2.0, 3.0, 4.0]]), np.ones(4)
    >>> dx, dgamma, dbeta = layer_norm_backward(np.array([[1.0, 0.0, 0.0, 0.0]]), x, gamma, 0.0)
    >>> dx.round(4).tolist()
    [[0.2683, -0.3578, -0.0894, 0.1789]]
    >>> dgamma.round(4).tolist()
    [-1.3416, 0.0, 0.0, 0.0]
    >>> dbeta.tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    std = np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    x_hat = (x - x.mean(axis=-1, keepdims=True)) / std
    g = gamma * dout
    along = x_hat * (g * x_hat).mean(axis=-1, keepdims=True)
    dx = (g - g.mean(axis=-1, keepdims=True) - along) / std
    return dx, (dout * x_hat).sum(axis=0), dout.sum(axis=0)


def check(trial):
    sizes = ((3, 5), (3, 5), (4, 4), (2, 3))
    for rng, eps, (N, D) in zip(trial.rounds(4), (1e-5, 0.1, 1e-5, 0.5), sizes):
        x, gamma = rng.standard_normal((N, D)), rng.standard_normal(D)
        trial.gradients(
            "layer_norm_backward",
            forward=lambda x, gamma, beta, eps=eps: layer_norm_forward(x, gamma, beta, eps)[0],
            backward=lambda g, x=x, gamma=gamma, eps=eps: trial.yours.layer_norm_backward(
                g, x, gamma, eps
            ),
            mistakes=_mistakes(x, gamma, eps),
            x=x,
            gamma=gamma,
            beta=rng.standard_normal(D),
        )
    dout = rng.standard_normal(x.shape)  # beside such an x any eps would be seen
    never_0 = trial.never_0("layer_norm_backward")
    trial.same("layer_norm_backward", mistakes=never_0, dout=dout, x=1e-3 * x, gamma=gamma, eps=0.0)
    gamma[0] = 0  # as scales that begin with nothing
    x[0] = 1  # a row without any variance
    for far in (x, x + 1e5):  # far from 0 the difference of two squares is mostly rounding
        dout = rng.standard_normal(x.shape)
        trial.same("layer_norm_backward", dout=dout, x=far, gamma=gamma, eps=0.1)


def _mistakes(x, gamma, eps):
    std = np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    x_hat = (x - x.mean(axis=-1, keepdims=True)) / std

    def wrong(mean, variance, scale=gamma, axis=-1):
        def backward(dout):
            g = scale * dout
            dx = g - mean * g.mean(axis, keepdims=True)
            dx = dx - variance * x_hat * (g * x_hat).mean(axis, keepdims=True)
            return dx / std, (dout * x_hat).sum(axis=0), dout.sum(axis=0)

        return backward

    return {
        "layer_norm_backward holds mean and variance constant in dx": wrong(0, 0),
        "layer_norm_backward lacks the path through the variance in dx": wrong(1, 0),
        "layer_norm_backward lacks the path through the mean in dx": wrong(0, 1),
        ("layer_norm_backward forgets gamma in dx", r"\bdout\b"): wrong(1, 1, scale=1.0),
        "layer_norm_backward takes the means over the whole batch in dx: each row has its own":
            wrong(1, 1, axis=None),
        "layer_norm_backward takes the means down the columns in dx: each row has its own":
            wrong(1, 1, axis=0),
    }  # fmt: skip
