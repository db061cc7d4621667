"""Dropout: forget a random part of the numbers, while training."""

from __future__ import annotations

import numpy as np

from scratch_embed.arguments import generator
from scratch_embed.functional import dropout
from scratch_embed.layers.layer import Layer
from scratch_embed.ops.dropout import check_probability
from scratch_embed.tensor import Tensor


class Dropout(Layer):
    """out = x kept / (1 - p) in `train()`, x itself in `eval()`                   (...) -> (...)

    Each number is kept with probability 1 - p, and is 0 otherwise. A new layer is training. Every
    call takes the next numbers of `rng`, a Generator or a seed (None: other places every time).
    The same seed and the same calls drop the same places.

    Raises ValueError for a p outside 0..1 and a seed below 0, TypeError for what is no seed.

    >>> layer = Dropout(0.5, rng=0)
    >>> layer(np.ones(8)).numpy().tolist()
    [2.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 2.0]
    >>> layer.eval()(np.ones(2)).numpy().tolist()
    [1.0, 1.0]
    """

    def __init__(self, p: float = 0.1, rng: np.random.Generator | int | None = None):
        check_probability(p)
        self.p = p
        self.rng = generator(rng)

    def __call__(self, x) -> Tensor:
        if self.training and self.p:
            return dropout(x, self.p, self.rng)
        return x if isinstance(x, Tensor) else Tensor(x)

    def __repr__(self) -> str:
        return f"Dropout(p={self.p}, {'train' if self.training else 'eval'})"
