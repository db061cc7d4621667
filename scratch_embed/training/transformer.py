"""A small causal Transformer whose table reads and writes: a GPT of our own operations."""

from __future__ import annotations

import numpy as np

from scratch_embed.arguments import check_count, generator
from scratch_embed.functional import project, tied_cross_entropy
from scratch_embed.layers import GPTInput, LayerNorm, TransformerBlock
from scratch_embed.layers.layer import Layer
from scratch_embed.tensor import Tensor


class Transformer(Layer):
    """Predict the next token from those before it                              (B, T) -> (B, T, V)

        x = E[ids] + position,   x = block(x) for each block,   logits = norm(x) @ E.T

    Parameters
    ----------
    num_embeddings, embedding_dim : V and D of the table E, which is also the output head.
    max_len : the longest sequence, rows of the position table.
    num_blocks, num_heads : of the `TransformerBlock`s, all causal.
    dtype, rng : as in `Embedding`.

    Raises what these layers raise.

    >>> Transformer(10, 8, max_len=4, rng=0)([[1, 2, 3]]).shape
    (1, 3, 10)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_len: int,
        num_blocks: int = 2,
        num_heads: int = 2,
        dtype: type = np.float32,
        rng: np.random.Generator | int | None = None,
    ):
        rng = generator(rng)
        self.max_len = max_len
        self.input = GPTInput(num_embeddings, embedding_dim, max_len, p=0.0, dtype=dtype, rng=rng)
        self.blocks = [
            TransformerBlock(embedding_dim, num_heads, causal=True, dtype=dtype, rng=rng)
            for _ in range(check_count(num_blocks, "num_blocks"))
        ]
        self.norm = LayerNorm(embedding_dim, dtype=dtype)
        self.name_weights()

    def hidden(self, ids) -> Tensor:
        """What the head scores: (B, T) -> (B, T, D)."""
        x = self.input(ids)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)

    def __call__(self, ids) -> Tensor:
        """All logits at once: (B, T) -> (B, T, V)."""
        return project(self.hidden(ids), self.input.token.weight)

    def loss(self, ids, targets) -> Tensor:
        """Mean cross-entropy in nats a token, to learn from: the logits never exist all at once."""
        return tied_cross_entropy(self.hidden(ids), self.input.token.weight, targets)
