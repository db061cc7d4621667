"""EmbeddingBag: look up bags of ids, one pooled row for each bag."""

from __future__ import annotations

from functools import partial

import numpy as np

from scratch_embed.functional import embedding_bag
from scratch_embed.layers.embedding import Embedding
from scratch_embed.layers.layer import Layer
from scratch_embed.ops.bag import check_mode
from scratch_embed.ops.renorm import renorm_
from scratch_embed.tensor import Tensor, no_grad


class EmbeddingBag(Layer):
    """The table of an `Embedding`, whose rows are added up (averaged, maximised) bag by bag.

        out[b] = sum (mean, max) of weight[id] over the ids of bag b             (B, L) -> (B, D)

    layer(ids) of (B, L) ids, or layer(ids, offsets) of (N,) ids with (B + 1,) offsets, where bag b
    is ids[offsets[b] : offsets[b + 1]]. An empty bag gives zeros.

    Parameters
    ----------
    num_embeddings, embedding_dim : V and D.
    mode : "sum", "mean" or "max".
    padding_idx : ids that name this row are left out of the bag, and of its count.
    max_norm, norm_type : as in `Embedding`, of the rows and not of what they add up to.
    scale_grad_by_freq : divide a row's gradient by the times its id stands in the batch, in all
        bags together; not for "max".
    sparse, dtype, rng, init : as in `Embedding`.

    Raises what `Embedding` raises, and ValueError for another mode or for scale_grad_by_freq with
    "max".

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
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        dtype: type = np.float32,
        rng: np.random.Generator | int | None = None,
        init: str | float = "N(0,1)",
    ):
        options = padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse
        table = Embedding(num_embeddings, embedding_dim, *options, dtype=dtype, rng=rng, init=init)
        self._set_up(table, mode)

    @classmethod
    def from_pretrained(
        cls,
        array: np.ndarray,
        freeze: bool = True,
        mode: str = "mean",
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> EmbeddingBag:
        """A layer around an existing (V, D) array, shared and by default frozen."""
        options = padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse
        layer = cls.__new__(cls)
        layer._set_up(Embedding.from_pretrained(array, freeze, *options), mode)
        return layer

    def _set_up(self, table: Embedding, mode: str) -> None:
        check_mode(mode, table.scale_grad_by_freq)
        self.weight, self.mode = table.weight, mode
        self.padding_idx = table.padding_idx
        self.max_norm, self.norm_type = table.max_norm, table.norm_type
        self.scale_grad_by_freq, self.sparse = table.scale_grad_by_freq, table.sparse

    def __call__(self, ids, offsets=None, per_sample_weights=None) -> Tensor:
        """One row for each bag. per_sample_weights, for "sum" alone, may be a Tensor to learn.

        Raises what `embedding_bag` raises.
        """
        weights = () if per_sample_weights is None else (per_sample_weights,)
        bags = partial(
            embedding_bag,
            self.weight,
            ids,
            *weights,
            offsets=offsets,
            mode=self.mode,
            padding_idx=self.padding_idx,
            scale_grad_by_freq=self.scale_grad_by_freq,
            sparse=self.sparse,
        )
        if self.max_norm is not None:
            with no_grad():
                bags()  # raises what there is to raise, before a row is shrunk
            renorm_(self.weight.data, ids, self.max_norm, self.norm_type)
        return bags()

    def __repr__(self) -> str:
        num_embeddings, dim = self.weight.shape
        return f"EmbeddingBag({num_embeddings}, {dim}, mode={self.mode!r})"
