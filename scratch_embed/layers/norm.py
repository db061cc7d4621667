"""LayerNorm and RMSNorm: every vector brought to one scale, then stretched by learned factors."""

from __future__ import annotations

import numpy as np

from scratch_embed.arguments import check_count, check_flag
from scratch_embed.functional import layer_norm, rms_norm
from scratch_embed.layers.layer import Layer, weight
from scratch_embed.tensor import Tensor

AFFINE = "elementwise_affine"


class LayerNorm(Layer):
    """out = gamma (x - mean) / sqrt(var + eps) + beta over each vector        (..., D) -> (..., D)

    gamma starts at 1 and beta at 0, so that at first a vector comes out with a norm of about
    sqrt(D). See `ops.norm`.

    Parameters, with the meaning they have in torch.nn.LayerNorm
    ----------
    normalized_shape : D, or the sizes of the last axes that make up a vector: (H, W) takes
        (..., H, W), and gamma and beta are (H, W).
    eps : added to the variance.
    elementwise_affine : False leaves out gamma and beta.
    bias : False leaves out beta.
    dtype : of gamma and beta, float32 or float64.

    Raises ValueError for sizes that are not whole numbers of at least 1, and when called with an x
    that does not end in them; TypeError for another dtype.

    >>> layer = LayerNorm((2, 2), elementwise_affine=False)
    >>> layer(np.array([[1.0, 2.0], [3.0, 4.0]])).numpy().round(4).tolist()
    [[-1.3416, -0.4472], [0.4472, 1.3416]]
    """

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: type = np.float32,
    ):
        self.normalized_shape = _sizes(normalized_shape)
        self.eps = eps
        sizes, affine = self.normalized_shape, check_flag(elementwise_affine, AFFINE)
        shifted = check_flag(bias, "bias") and affine
        self.gamma = weight(np.ones(sizes), dtype, "gamma") if affine else None
        self.beta = weight(np.zeros(sizes), dtype, "beta") if shifted else None

    def __call__(self, x) -> Tensor:
        return layer_norm(
            x, self.gamma, self.beta, eps=self.eps, normalized_shape=self.normalized_shape
        )

    def __repr__(self) -> str:
        return _repr(self, gamma="elementwise_affine", beta="bias")


class RMSNorm(Layer):
    """out = gamma x / sqrt(mean(x^2) + eps) over each vector                  (..., D) -> (..., D)

    gamma starts at 1. See `ops.norm`.

    normalized_shape, eps, elementwise_affine, dtype, and what is raised: as in `LayerNorm`.

    >>> RMSNorm(2)(np.array([3.0, -4.0])).numpy().round(4).tolist()
    [0.8485, -1.1314]
    """

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        dtype: type = np.float32,
    ):
        self.normalized_shape = _sizes(normalized_shape)
        self.eps = eps
        ones, affine = np.ones(self.normalized_shape), check_flag(elementwise_affine, AFFINE)
        self.gamma = weight(ones, dtype, "gamma") if affine else None

    def __call__(self, x) -> Tensor:
        return rms_norm(x, self.gamma, eps=self.eps, normalized_shape=self.normalized_shape)

    def __repr__(self) -> str:
        return _repr(self, gamma="elementwise_affine")


def _sizes(normalized_shape: int | tuple[int, ...]) -> tuple[int, ...]:
    several = isinstance(normalized_shape, (tuple, list))
    sizes = tuple(normalized_shape) if several else (normalized_shape,)
    if not sizes:
        raise ValueError(
            "normalized_shape is empty; a vector has one axis or more, as 64 or (8, 8)"
        )
    return tuple(check_count(size, "normalized_shape") for size in sizes)


def _repr(layer: LayerNorm | RMSNorm, **options: str) -> str:
    """The sizes and eps, and which of its weights the layer does without."""
    sizes = layer.normalized_shape
    notes = [str(sizes[0] if len(sizes) == 1 else sizes), f"eps={layer.eps}"]
    notes += [f"{o}=False" for name, o in options.items() if getattr(layer, name) is None]
    return f"{type(layer).__name__}({', '.join(notes)})"
