"""EmbeddingBag: look up bags of ids, one pooled row for each bag."""

from __future__ import annotations

import numpy as np

from scratch_embed.functional import embedding_bag
from scratch_embed.layers.embedding import Embedding
from scratch_embed.layers.layer import Layer
from scratch_embed.ops.bag import MODES
from scratch_embed.tensor import Tensor


class EmbeddingBag(Layer):
    """The table of an `Embedding`, whose rows are added up (averaged, maximised) bag by bag.

    layer(ids) of (B, L) ids, or layer(ids, offsets) of (N,) ids with (B + 1,) offsets, where bag b
    is ids[offsets[b] : offsets[b + 1]]; the answer is (B, D). An empty bag gives zeros.

    Parameters
    ----------
    num_embeddings, embedding_dim : V and D.
    mode : "sum", "mean" or "max".
    padding_idx : ids that name this row are left out of the bag, and of its count.
    sparse, dtype, rng, init : as in `Embedding`.

    >>> layer = EmbeddingBag(6, 3, rng=0)
    >>> layer([4, 1, 1, 0], offsets=[0, 3, 3, 4]).shape
    (3, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        mode: str = "mean",
        padding_idx: int | None = None,
        sparse: bool = False,
        dtype: type = np.float32,
        rng: np.random.Generator | int | None = None,
        init: str | float = "N(0,1)",
    ):
        table = Embedding(
            num_embeddings, embedding_dim, padding_idx, dtype=dtype, rng=rng, init=init
        )
        self._set_up(table, mode, sparse)

    @classmethod
    def from_pretrained(
        cls,
        array: np.ndarray,
        freeze: bool = True,
        mode: str = "mean",
        padding_idx: int | None = None,
        sparse: bool = False,
    ) -> EmbeddingBag:
        """A layer around an existing (V, D) array, shared and by default frozen."""
        layer = cls.__new__(cls)
        layer._set_up(Embedding.from_pretrained(array, freeze, padding_idx), mode, sparse)
        return layer

    def _set_up(self, table: Embedding, mode: str, sparse: bool) -> None:
        if mode not in MODES:
            raise ValueError(f"mode is {mode!r}; it must be 'sum', 'mean' or 'max'")
        self.weight, self.padding_idx = table.weight, table.padding_idx
        self.mode = mode
        self.sparse = sparse

    def __call__(self, ids, offsets=None, per_sample_weights=None) -> Tensor:
        """One row for each bag. per_sample_weights, for "sum" alone, may be a Tensor to learn."""
        weights = () if per_sample_weights is None else (per_sample_weights,)
        return embedding_bag(
            self.weight,
            ids,
            *weights,
            offsets=offsets,
            mode=self.mode,
            padding_idx=self.padding_idx,
            sparse=self.sparse,
        )

    def __repr__(self) -> str:
        num_embeddings, dim = self.weight.shape
        return f"EmbeddingBag({num_embeddings}, {dim}, mode={self.mode!r})"
