"""Normalisation over the last axis: every vector brought to the same scale, whatever its own.

LayerNorm (Ba, Kiros & Hinton 2016) takes away the mean and divides by the standard deviation of
the D numbers; RMSNorm (Zhang & Sennrich 2019) divides by their root mean square. With gamma = 1
the result has a norm of about sqrt(D), not of 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed.ops.floats import floating


class NormSaved(NamedTuple):
    x_hat: np.ndarray  # (..., D) the normalised vectors
    inverse: np.ndarray  # (..., 1) what they were multiplied by: 1 / std, or 1 / rms
    gamma: np.ndarray  # (D,)


def layer_norm_forward(
    x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, eps: float = 1e-5
) -> tuple[np.ndarray, NormSaved]:
    """out = gamma x_hat + beta,   x_hat = (x - mean) / sqrt(var + eps)
                                                       (..., D), (D,), (D,) -> (..., D)

    Mean and variance are those of the D numbers of each vector, the variance divided by D.

    >>> out, _ = layer_norm_forward(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4), np.zeros(4))
    >>> out.round(4).tolist()            # mean 2.5, var 1.25
    [-1.3416, -0.4472, 0.4472, 1.3416]
    """
    x, gamma, beta = floating(x), floating(gamma, "gamma"), floating(beta, "beta")
    _check(x, gamma, "gamma", eps)
    _check(x, beta, "beta", eps)
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt(variance + eps)
    x_hat = centred * inverse
    return gamma * x_hat + beta, NormSaved(x_hat, inverse, gamma)


def layer_norm_backward(
    dout: np.ndarray, saved: NormSaved
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """With g = gamma dout, and means over the D numbers of a vector:

        dx = (g - mean(g) - x_hat mean(g x_hat)) / sqrt(var + eps)
        dgamma = sum of dout x_hat over the vectors,   dbeta = sum of dout

    The two terms taken away are the parts of g that the norm cannot answer: moving all numbers of
    a vector together changes nothing, and neither (but for eps) does stretching it.
    """
    x_hat, inverse, gamma = saved
    g = gamma * dout
    mean = g.mean(axis=-1, keepdims=True)
    dx = (g - mean - x_hat * (g * x_hat).mean(axis=-1, keepdims=True)) * inverse
    return dx, _over_vectors(dout * x_hat), _over_vectors(dout)


def rms_norm_forward(
    x: np.ndarray, gamma: np.ndarray, eps: float = 1e-5
) -> tuple[np.ndarray, NormSaved]:
    """out = gamma x_hat,   x_hat = x / sqrt(mean(x^2) + eps)           (..., D), (D,) -> (..., D)

    >>> out, _ = rms_norm_forward(np.array([3.0, -4.0]), np.ones(2))
    >>> out.round(4).tolist()            # mean of 9 and 16 is 12.5, its root 3.5355
    [0.8485, -1.1314]
    """
    x, gamma = floating(x), floating(gamma, "gamma")
    _check(x, gamma, "gamma", eps)
    inverse = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)
    x_hat = x * inverse
    return gamma * x_hat, NormSaved(x_hat, inverse, gamma)


def rms_norm_backward(dout: np.ndarray, saved: NormSaved) -> tuple[np.ndarray, np.ndarray]:
    """dx = (g - x_hat mean(g x_hat)) / sqrt(mean(x^2) + eps)   with g = gamma dout
    dgamma = sum of dout x_hat over the vectors
    """
    x_hat, inverse, gamma = saved
    g = gamma * dout
    dx = (g - x_hat * (g * x_hat).mean(axis=-1, keepdims=True)) * inverse
    return dx, _over_vectors(dout * x_hat)


def _over_vectors(array: np.ndarray) -> np.ndarray:
    """Sum over every axis but the last."""
    return array.reshape(-1, array.shape[-1]).sum(axis=0)


def _check(x: np.ndarray, scale: np.ndarray, name: str, eps: float) -> None:
    if not x.ndim or not x.shape[-1] or scale.shape != x.shape[-1:]:
        raise ValueError(
            f"x {x.shape} and {name} {scale.shape} do not fit: x is (..., D) and {name} is (D,) "
            "with the same D, at least 1"
        )
    if not (np.isfinite(eps) and eps >= 0):
        raise ValueError(f"eps is {eps!r}; it must be finite and not negative, as 1e-5")
