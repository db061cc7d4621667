"""HashEmbedding: rows for tokens that nobody has listed."""

from __future__ import annotations

import numpy as np

from scratch_embed.arguments import check_count, check_flag
from scratch_embed.functional import embedding_bag
from scratch_embed.hashing import buckets, signs, whole
from scratch_embed.layers.embedding import Embedding
from scratch_embed.layers.layer import Layer
from scratch_embed.tensor import Tensor


class HashEmbedding(Layer):
    """row(token) = sum over k of sign_k(token) weight[bucket_k(token)]           (...) -> (..., D)

    No dictionary is kept and no token is unknown. Tokens that share all their buckets cannot be
    told apart; with two hashes of m buckets a pair does so with a chance of about 2 / m^2 instead
    of 1 / m (Svenstrup, Hansen & Winther 2017 weigh the hashed rows, here they are added).

    Parameters
    ----------
    num_buckets, embedding_dim : the table is (m, D).
    num_hashes : rows that make up one token's.
    signed : add or subtract each of them, by one more hashed bit (Weinberger et al. 2009).
    seed : of the hash functions, see `hashing`.
    sparse, dtype, rng, init : as in `Embedding`.

    Raises ValueError for counts that are not whole numbers of at least 1, and what `Embedding`
    raises; TypeError, when called, for tokens that are neither text nor whole numbers.

    >>> layer = HashEmbedding(1000, 3)
    >>> layer(["cat", "dog", "cat"]).shape
    (3, 3)
    """

    def __init__(
        self,
        num_buckets: int,
        embedding_dim: int,
        num_hashes: int = 1,
        signed: bool = False,
        seed: int = 0,
        sparse: bool = False,
        dtype: type = np.float32,
        rng: np.random.Generator | int | None = None,
        init: str | float = "N(0,1)",
    ):
        self.num_buckets = check_count(num_buckets, "num_buckets")
        self.num_hashes = check_count(num_hashes, "num_hashes")
        self.signed = check_flag(signed, "signed")
        self.seed = whole(seed)
        self.sparse = check_flag(sparse, "sparse")
        self.weight = Embedding(num_buckets, embedding_dim, dtype=dtype, rng=rng, init=init).weight

    def __call__(self, tokens) -> Tensor:
        """Tokens are str, bytes or whole numbers of up to 64 bits, in any shape."""
        ids = self.buckets(tokens)
        shape = ids.shape[:-1]
        flat = ids.reshape(-1, self.num_hashes)
        factors = ()
        if self.signed:
            drawn = [signs(tokens, self.seed + k).reshape(-1) for k in range(self.num_hashes)]
            factors = (np.stack(drawn, axis=-1).astype(self.weight.dtype),)
        rows = embedding_bag(self.weight, flat, *factors, mode="sum", sparse=self.sparse)
        return rows.reshape(*shape, self.weight.shape[1])

    def buckets(self, tokens) -> np.ndarray:
        """The rows that make up each token's                         (...) -> (..., num_hashes)"""
        seeds = range(self.seed, self.seed + self.num_hashes)
        return np.stack([buckets(tokens, self.num_buckets, s) for s in seeds], axis=-1)

    def __repr__(self) -> str:
        sizes = f"{self.num_buckets}, {self.weight.shape[1]}"
        return f"HashEmbedding({sizes}, num_hashes={self.num_hashes}, signed={self.signed})"
