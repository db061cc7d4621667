"""Tables of positions, and tokens scaled to stand beside them."""

from __future__ import annotations

import math

import numpy as np

from scratch_embed.arguments import check_count, is_real
from scratch_embed.functional import lookup
from scratch_embed.layers.embedding import Embedding
from scratch_embed.layers.layer import Layer
from scratch_embed.positions import neighbours, sinusoidal
from scratch_embed.tensor import Tensor

PAST_END = ("error", "interpolate", "clamp")
SCALES = {
    "none": lambda dim: 1.0,
    "sqrt(d)": math.sqrt,
    "sqrt(d/2)": lambda dim: math.sqrt(dim / 2),
}


class PositionEmbedding(Layer):
    """A learned row for each of the positions 0 .. max_len - 1                        T -> (T, D)

    layer(T) is the (T, D) rows of the first T positions, to be added to (..., T, D) tokens: every
    sequence of the batch shares them, and their gradient sums over the batch.

    Parameters
    ----------
    max_len, embedding_dim : the table is (max_len, D).
    past_end : what to do about T > max_len. There is no row to look up, so either refuse
        ("error"), or stretch the whole table over T places ("interpolate"), or give all later
        places the last row ("clamp"). The last two run; nothing was trained for them.
    dtype, rng, init : as in `Embedding`.

    Raises ValueError for sizes that are not whole numbers of at least 1, an unknown past_end, and
    when called with a length that is no whole number, or past the end of the table where that is
    an error; TypeError for another dtype, and when called with positions for their number.

    >>> PositionEmbedding(8, 3, rng=0)(5).shape
    (5, 3)
    """

    def __init__(
        self,
        max_len: int,
        embedding_dim: int,
        past_end: str = "error",
        dtype: type = np.float32,
        rng: np.random.Generator | int | None = None,
        init: str | float = 0.02,
    ):
        if past_end not in PAST_END:
            raise ValueError(f"past_end is {past_end!r}; it must be one of {', '.join(PAST_END)}")
        self.max_len = check_count(max_len, "max_len")
        self.past_end = past_end
        self.weight = Embedding(max_len, embedding_dim, dtype=dtype, rng=rng, init=init).weight

    def __call__(self, length: int) -> Tensor:
        if isinstance(length, (list, tuple, np.ndarray, Tensor)):  # as a table of them would take
            raise TypeError(
                f"length is {length!r}; it must be the number of positions, as ids.shape[-1], and "
                "the layer looks up 0 .. length - 1 itself"
            )
        length = check_count(length, "length", least=0)
        if length <= self.max_len or self.past_end == "clamp":
            return lookup(self.weight, np.minimum(np.arange(length), self.max_len - 1))
        if self.past_end == "error":
            raise _past_end(length, self.max_len)
        below, above, share = neighbours(self.max_len, length)
        share = share.astype(self.weight.dtype)[:, None]
        return lookup(self.weight, below) * (1 - share) + lookup(self.weight, above) * share

    def __repr__(self) -> str:
        max_len, dim = self.weight.shape
        return f"PositionEmbedding({max_len}, {dim}, past_end={self.past_end!r})"


class ScaledEmbedding(Layer):
    """Token rows times a constant, sinusoidal positions added: the input of Vaswani et al. 2017.

        out = scale E[ids] + PE                               (..., T) -> (..., T, D)

    A row of PE has the norm sqrt(D / 2). Rows drawn with "1/sqrt(d)" have a norm of about 1, so
    sqrt(d/2) brings both to one size, and the paper's sqrt(d) makes tokens sqrt(2) times as large.
    With rows from N(0,1), of norm sqrt(D), the same factor makes them sqrt(2 D) times as large.

    Parameters
    ----------
    num_embeddings, embedding_dim : V and D.
    max_len : positions in the table; None adds no positions, and ids may have any shape.
    scale : "none", "sqrt(d)", "sqrt(d/2)" or a number.
    init, padding_idx, dtype, rng : of the table, as in `Embedding`.

    Raises what `Embedding` raises, ValueError for another scale or max_len, and when called with
    more positions than max_len or, where there are positions, with a single id.

    >>> ScaledEmbedding(6, 4, rng=0)([[1, 2, 3]]).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_len: int | None = 5000,
        scale: str | float = "sqrt(d)",
        init: str | float = "1/sqrt(d)",
        padding_idx: int | None = None,
        dtype: type = np.float32,
        rng: np.random.Generator | int | None = None,
    ):
        self.token = Embedding(
            num_embeddings, embedding_dim, padding_idx, dtype=dtype, rng=rng, init=init
        )
        self.scale = _factor(scale, embedding_dim)
        self.positions = None  # an array, fixed: nothing here is learned
        if max_len is not None:
            self.positions = sinusoidal(max_len, embedding_dim).astype(dtype)
        self.name_weights()

    def __call__(self, ids) -> Tensor:
        rows = self.token(ids) * self.scale
        if self.positions is None:
            return rows
        length = sequence_length(rows)
        if length > len(self.positions):
            raise _past_end(length, len(self.positions))
        return rows + self.positions[:length]

    def __repr__(self) -> str:
        max_len = None if self.positions is None else len(self.positions)
        sizes = f"{self.token.num_embeddings}, {self.token.embedding_dim}"
        return f"ScaledEmbedding({sizes}, max_len={max_len}, scale={self.scale:.4g})"


def sequence_length(rows: Tensor) -> int:
    """T of (..., T, D) rows; positions have no meaning for a single id."""
    if rows.ndim < 2:
        raise ValueError("ids is a single id, and has no position; ids must be (T,) or (B, T)")
    return rows.shape[-2]


def _factor(scale: str | float, dim: int) -> float:
    if isinstance(scale, str):
        if scale not in SCALES:
            names = ", ".join(repr(name) for name in SCALES)
            raise ValueError(f"scale is {scale!r}; it must be {names}, or a number")
        return float(SCALES[scale](dim))
    if not (is_real(scale) and -np.inf < scale < np.inf):
        raise ValueError(f"scale is {scale!r}; it must be finite")
    return float(scale)


def _past_end(length: int, max_len: int) -> ValueError:
    return ValueError(
        f"the sequence has {length} positions, and the table holds {max_len}: position {max_len} "
        f"has no row. Cut the sequence to {max_len}, or make the table longer; a learned table "
        "also offers past_end='interpolate' and 'clamp'"
    )
