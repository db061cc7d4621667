"""LayerNorm and RMSNorm: every vector brought to one scale, then stretched by learned factors."""

from __future__ import annotations

import numpy as np

from scratch_embed.arguments import check_count
from scratch_embed.functional import layer_norm, rms_norm
from scratch_embed.layers.layer import Layer, weight
from scratch_embed.tensor import Tensor


class LayerNorm(Layer):
    """out = gamma (x - mean) / sqrt(var + eps) + beta over the last axis      (..., D) -> (..., D)

    gamma starts at 1 and beta at 0, so that at first a vector comes out with a norm of about
    sqrt(D). See `ops.norm`.
    """

    def __init__(self, dim: int, eps: float = 1e-5, dtype: type = np.float32):
        check_count(dim, "dim")
        self.gamma = weight(np.ones(dim), dtype, "gamma")
        self.beta = weight(np.zeros(dim), dtype, "beta")
        self.eps = eps

    def __call__(self, x) -> Tensor:
        return layer_norm(x, self.gamma, self.beta, eps=self.eps)

    def __repr__(self) -> str:
        return f"LayerNorm({self.gamma.size}, eps={self.eps})"


class RMSNorm(Layer):
    """out = gamma x / sqrt(mean(x^2) + eps) over the last axis                (..., D) -> (..., D)

    gamma starts at 1. See `ops.norm`.
    """

    def __init__(self, dim: int, eps: float = 1e-5, dtype: type = np.float32):
        check_count(dim, "dim")
        self.gamma = weight(np.ones(dim), dtype, "gamma")
        self.eps = eps

    def __call__(self, x) -> Tensor:
        return rms_norm(x, self.gamma, eps=self.eps)

    def __repr__(self) -> str:
        return f"RMSNorm({self.gamma.size}, eps={self.eps})"
