"""Dropout: forget a random part of the numbers, while training."""

from __future__ import annotations

import numpy as np

from scratch_embed.functional import dropout
from scratch_embed.layers.layer import Layer
from scratch_embed.ops.dropout import check_probability
from scratch_embed.tensor import Tensor


class Dropout(Layer):
    """In `train()` each number is 0 with probability p, else x / (1 - p); in `eval()` it is x.

    A new layer is training. Every call takes the next numbers of `rng`, a Generator or a seed
    (None: other places every time). The same seed and the same calls drop the same places.
    """

    def __init__(self, p: float = 0.1, rng: np.random.Generator | int | None = None):
        check_probability(p)
        self.p = p
        self.rng = np.random.default_rng(rng)

    def __call__(self, x) -> Tensor:
        if self.training and self.p:
            return dropout(x, self.p, self.rng)
        return x if isinstance(x, Tensor) else Tensor(x)

    def __repr__(self) -> str:
        return f"Dropout(p={self.p}, {'train' if self.training else 'eval'})"
