"""How published models build their input: tables added up, position by position."""

from __future__ import annotations

import numpy as np

from scratch_embed.arguments import generator
from scratch_embed.functional import concatenate
from scratch_embed.kernels.ids import check_ids
from scratch_embed.layers.dropout import Dropout
from scratch_embed.layers.embedding import Embedding
from scratch_embed.layers.layer import Layer
from scratch_embed.layers.norm import LayerNorm
from scratch_embed.layers.patches import PatchEmbed
from scratch_embed.layers.positions import PositionEmbedding, sequence_length
from scratch_embed.tensor import Tensor


class BERTInput(Layer):
    """out = dropout(LayerNorm(token[ids] + position + segment[segments]))    (B, T) -> (B, T, D)

    Devlin et al. 2019; std 0.02, eps 1e-12 and dropout 0.1 are those of google-research/bert. At
    the sizes of BERT-base, 30522 and 768, the three tables hold 23,835,648 numbers, and LayerNorm
    another 1,536.

    Parameters
    ----------
    num_embeddings, embedding_dim : V and D.
    max_len, num_segments : rows of the position and the segment table.
    p : of dropout, which `eval()` switches off.
    past_end : as in `PositionEmbedding`.
    padding_idx, dtype, rng, init : as in `Embedding`; init is that of all three tables.

    Raises what `Embedding`, `PositionEmbedding`, `LayerNorm` and `Dropout` raise; when called,
    ValueError for a single id, segments in another shape than ids, or too many positions.

    >>> BERTInput(6, 4, rng=0).eval()([[1, 2, 3]], segments=[[0, 0, 1]]).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_len: int = 512,
        num_segments: int = 2,
        p: float = 0.1,
        eps: float = 1e-12,
        past_end: str = "error",
        padding_idx: int | None = None,
        dtype: type = np.float32,
        rng: np.random.Generator | int | None = None,
        init: str | float = 0.02,
    ):
        rng = generator(rng)
        options = {"dtype": dtype, "rng": rng, "init": init}
        self.token = Embedding(num_embeddings, embedding_dim, padding_idx, **options)
        self.position = PositionEmbedding(max_len, embedding_dim, past_end, **options)
        self.segment = Embedding(num_segments, embedding_dim, **options)
        self.norm = LayerNorm(embedding_dim, eps, dtype=dtype)
        self.dropout = Dropout(p, rng)
        self.name_weights()

    def __call__(self, ids, segments=None) -> Tensor:
        """ids (..., T), segments (..., T) of 0 and 1, all 0 when None."""
        return self.dropout(self.norm(self.sum(ids, segments)))

    def sum(self, ids, segments=None) -> Tensor:
        """The three rows added, before LayerNorm and dropout."""
        rows = self.token(ids)
        segments = np.zeros(rows.shape[:-1], np.int64) if segments is None else segments
        kinds = self.segment(check_ids(segments, self.segment.num_embeddings, "segments"))
        if kinds.shape != rows.shape:
            raise ValueError(
                f"ids {rows.shape[:-1]} and segments {kinds.shape[:-1]} do not fit: give one "
                "segment for each id"
            )
        return rows + self.position(sequence_length(rows)) + kinds


class GPTInput(Layer):
    """out = dropout(token[ids] + position)                                   (B, T) -> (B, T, D)

    Radford et al. 2019; the stds 0.02 and 0.01 are those of openai/gpt-2, model.py.

    Parameters
    ----------
    num_embeddings, embedding_dim : V and D.
    max_len : rows of the position table.
    p : of dropout, which `eval()` switches off.
    past_end : as in `PositionEmbedding`.
    dtype, rng, init : as in `Embedding`; position_init is that of the position table.

    Raises what `Embedding`, `PositionEmbedding` and `Dropout` raise; when called, ValueError for a
    single id or too many positions.

    >>> GPTInput(6, 4, rng=0).eval()([[1, 2, 3]]).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_len: int = 1024,
        p: float = 0.1,
        past_end: str = "error",
        dtype: type = np.float32,
        rng: np.random.Generator | int | None = None,
        init: str | float = 0.02,
        position_init: str | float = 0.01,
    ):
        rng = generator(rng)
        self.token = Embedding(num_embeddings, embedding_dim, dtype=dtype, rng=rng, init=init)
        self.position = PositionEmbedding(
            max_len, embedding_dim, past_end, dtype, rng, position_init
        )
        self.dropout = Dropout(p, rng)
        self.name_weights()

    def __call__(self, ids) -> Tensor:
        rows = self.token(ids)
        return self.dropout(rows + self.position(sequence_length(rows)))


class ViTInput(Layer):
    """out = dropout([cls; patches] + position)                     (B, C, H, W) -> (B, N + 1, D)

    Dosovitskiy et al. 2021. CLS comes from no patch: it is the one row of a table, looked up once
    for each image, and starts at zero as in google-research/vision_transformer. 224 x 224 pixels
    in patches of 16 make 196 + 1 = 197 rows.

    Parameters
    ----------
    image_size, patch_size, in_channels, embedding_dim : as in `PatchEmbed`.
    p : of dropout, which `eval()` switches off.
    dtype, rng : as in `Embedding`; init is that of the position table.

    Raises what `PatchEmbed` and `Dropout` raise.

    >>> ViTInput(image_size=4, patch_size=2, embedding_dim=5)(np.ones((2, 3, 4, 4))).shape
    (2, 5, 5)
    """

    def __init__(
        self,
        image_size: int | tuple[int, int] = 224,
        patch_size: int = 16,
        in_channels: int = 3,
        embedding_dim: int = 768,
        p: float = 0.0,
        dtype: type = np.float32,
        rng: np.random.Generator | int | None = None,
        init: str | float = 0.02,
    ):
        rng = generator(rng)
        self.patches = PatchEmbed(
            image_size, patch_size, in_channels, embedding_dim, dtype=dtype, rng=rng
        )
        self.cls = Embedding(1, embedding_dim, dtype=dtype, rng=rng, init=0.0)
        length = self.patches.num_patches + 1
        self.position = PositionEmbedding(length, embedding_dim, dtype=dtype, rng=rng, init=init)
        self.dropout = Dropout(p, rng)
        self.name_weights()

    def __call__(self, images) -> Tensor:
        patches = self.patches(images)
        first = self.cls(np.zeros((*patches.shape[:-2], 1), np.int64))
        rows = concatenate(first, patches, axis=-2)
        return self.dropout(rows + self.position(rows.shape[-2]))
