"""Normalisation: every vector brought to the same scale, whatever its own.

LayerNorm (Ba, Kiros & Hinton 2016) takes away the mean and divides by the standard deviation of
the D numbers; RMSNorm (Zhang & Sennrich 2019) divides by their root mean square. With gamma = 1
the result has a norm of about sqrt(D), not of 1.

A vector is the last axis. Where it is the last few, their numbers are taken as one long axis.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scratch_embed.arguments import is_real, is_whole
from scratch_embed.kernels import sum_over
from scratch_embed.ops.floats import floating


class NormSaved(NamedTuple):
    x_hat: np.ndarray  # (..., D) the normalised vectors
    inverse: np.ndarray  # (..., 1) what they were multiplied by: 1 / std, or 1 / rms
    gamma: np.ndarray | None  # (D,)
    with_beta: bool
    shape: tuple[int, ...]  # of x
    vector: tuple[int, ...]  # sizes of the axes that make up a vector; D is their product


def layer_norm_forward(
    x: np.ndarray,
    gamma: np.ndarray | None = None,
    beta: np.ndarray | None = None,
    /,
    eps: float = 1e-5,
    normalized_shape: int | tuple[int, ...] | None = None,
) -> tuple[np.ndarray, NormSaved]:
    """out = gamma x_hat + beta,   x_hat = (x - mean) / sqrt(var + eps)
                                                       (..., D), (D,), (D,) -> (..., D)

    Mean and variance are those of the D numbers of each vector, the variance divided by D.

    gamma, beta : None stands for a factor of 1, and for nothing to add.
    normalized_shape : sizes of the last axes that make up a vector, as (H, W) for (..., H, W).
        None takes the shape of gamma or of beta, and without them the last axis alone.

    Raises ValueError for shapes that do not fit and for an eps that is negative or not finite,
    TypeError for a gamma that is a tuple of sizes.

    >>> out, _ = layer_norm_forward(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4), np.zeros(4))
    >>> out.round(4).tolist()            # mean 2.5, var 1.25
    [-1.3416, -0.4472, 0.4472, 1.3416]
    >>> layer_norm_forward([[1.0, 2.0], [3.0, 4.0]], normalized_shape=(2, 2))[0].round(4).tolist()
    [[-1.3416, -0.4472], [0.4472, 1.3416]]
    """
    x, gamma, beta, eps, shape, vector = _vectors(x, gamma, beta, eps, normalized_shape)
    # In float64, for what rounding leaves of x - mean is divided by sqrt(eps) where all are alike.
    mean = x.mean(axis=-1, keepdims=True, dtype=np.promote_types(x.dtype, np.float64))
    centred = x - mean.astype(x.dtype)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt(variance + eps)
    inverse[inverse == 0] = np.nan  # a square overflowed: a vector of zeros would hide that
    x_hat = centred * inverse
    out = x_hat if gamma is None else gamma * x_hat
    out = out if beta is None else out + beta
    return out.reshape(shape), NormSaved(x_hat, inverse, gamma, beta is not None, shape, vector)


def layer_norm_backward(dout: np.ndarray, saved: NormSaved) -> tuple[np.ndarray | None, ...]:
    """dx = (g - mean(g) - x_hat mean(g x_hat)) / sqrt(var + eps)   with g = gamma dout
    dgamma = sum of dout x_hat over the vectors,   dbeta = sum of dout

    The means are over the D numbers of a vector. The two terms taken away are the parts of g that
    the norm cannot answer: moving all numbers of a vector together changes nothing, and neither
    (but for eps) does stretching it.
    """
    x_hat, inverse, gamma = saved.x_hat, saved.inverse, saved.gamma
    dout = dout.reshape(x_hat.shape)
    g = dout if gamma is None else gamma * dout
    dx = g - g.mean(axis=-1, keepdims=True)
    dx -= x_hat * (g * x_hat).mean(axis=-1, keepdims=True)
    dx *= inverse
    return _gradients(dx, dout, saved)


def rms_norm_forward(
    x: np.ndarray,
    gamma: np.ndarray | None = None,
    /,
    eps: float = 1e-5,
    normalized_shape: int | tuple[int, ...] | None = None,
) -> tuple[np.ndarray, NormSaved]:
    """out = gamma x_hat,   x_hat = x / sqrt(mean(x^2) + eps)           (..., D), (D,) -> (..., D)

    gamma, normalized_shape, and what is raised: as in `layer_norm`.

    >>> out, _ = rms_norm_forward(np.array([3.0, -4.0]), np.ones(2))
    >>> out.round(4).tolist()            # mean of 9 and 16 is 12.5, its root 3.5355
    [0.8485, -1.1314]
    """
    x, gamma, _, eps, shape, vector = _vectors(x, gamma, None, eps, normalized_shape)
    inverse = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)
    inverse[inverse == 0] = np.nan  # a square overflowed: a vector of zeros would hide that
    x_hat = x * inverse
    out = x_hat if gamma is None else gamma * x_hat
    return out.reshape(shape), NormSaved(x_hat, inverse, gamma, False, shape, vector)


def rms_norm_backward(dout: np.ndarray, saved: NormSaved) -> tuple[np.ndarray, ...]:
    """dx = (g - x_hat mean(g x_hat)) / sqrt(mean(x^2) + eps)   with g = gamma dout
    dgamma = sum of dout x_hat over the vectors
    """
    x_hat, inverse, gamma = saved.x_hat, saved.inverse, saved.gamma
    dout = dout.reshape(x_hat.shape)
    g = dout if gamma is None else gamma * dout
    dx = (g - x_hat * (g * x_hat).mean(axis=-1, keepdims=True)) * inverse
    return _gradients(dx, dout, saved)


def _gradients(dx: np.ndarray, dout: np.ndarray, saved: NormSaved) -> tuple:
    """(dx, dgamma, dbeta) in the shapes that came in, up to the last one that was given."""
    grads = [dx.reshape(saved.shape)]
    if saved.gamma is not None:
        grads.append(_over_vectors(dout * saved.x_hat).reshape(saved.vector))
    elif saved.with_beta:
        grads.append(None)
    if saved.with_beta:
        grads.append(_over_vectors(dout).reshape(saved.vector))
    return tuple(grads)


def _over_vectors(array: np.ndarray) -> np.ndarray:
    """Sum over every axis but the last."""
    return sum_over(array, axis=tuple(range(array.ndim - 1)))


def _vectors(x, gamma, beta, eps: float, normalized_shape):
    """(x (..., D), gamma (D,), beta (D,), eps, shape of x, sizes of a vector), of what was given.

    eps becomes a float of Python's: one of NumPy's would make float64 of float32.
    """
    if not (is_real(eps) and 0 <= eps < np.inf):
        raise ValueError(f"eps is {eps!r}; it must be finite and not negative, as 1e-5")
    x, given = floating(x), {}
    if normalized_shape is not None:
        given["normalized_shape"] = tuple(np.atleast_1d(normalized_shape).tolist())
    if isinstance(gamma, tuple) and all(map(is_whole, gamma)):  # which PyTorch takes here
        raise TypeError(
            f"gamma is {gamma}: for the sizes of a vector write normalized_shape={gamma}, and for "
            "factors an array"
        )
    if gamma is not None:
        gamma = floating(gamma, "gamma")
        given["gamma"] = gamma.shape
    if beta is not None:
        beta = floating(beta, "beta")
        given["beta"] = beta.shape
    (first, vector), *others = (given or {"normalized_shape": x.shape[-1:]}).items()
    if not vector or 0 in vector or x.shape[-len(vector) :] != vector:
        raise ValueError(
            f"x {x.shape} and {first} {vector} do not fit: x is (..., D) and {first} is (D,) with "
            "the same D, at least 1; or both end in the same few axes"
        )
    for name, sizes in others:
        if sizes != vector:
            raise ValueError(
                f"{first} {vector} and {name} {sizes} do not fit: both are the sizes of a vector"
            )
    size = math.prod(vector)
    shape = x.shape  # NumPy sums a strided axis number by number
    x = np.ascontiguousarray(x).reshape(*shape[: x.ndim - len(vector)], size)
    gamma, beta = (None if a is None else a.reshape(size) for a in (gamma, beta))
    return x, gamma, beta, float(eps), shape, vector
