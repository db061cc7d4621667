"""Which shard owns a row of a table, and at which place the row lies there."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scratch_embed.arguments import check_count

WAYS = ("hash", "range")
LARGEST = 1 << 31  # rows: a row's id times a number as large still fits into int64


@dataclass(frozen=True)
class Partition:
    """V rows on S shards. Every row has one owner, and none needs a list to be found.

        "range"   owner = id // n,   place = id % n           n = ceil(V / S) rows to a shard
        "hash"    owner = p % S,     place = p // S           p = (a id) % V

    Ids are usually given by frequency, so that by range the first shard has all the frequent words
    and nearly all the work. By hash neighbours part. a has no common factor with V, so p takes
    every value once (Knuth's multiplicative hashing, with a near the golden section of V).

    num_embeddings : V, at most 2^31.
    shards : S, at most V.
    by : "hash" or "range".

    Raises ValueError for sizes out of range and another way.

    >>> rows = np.arange(6)
    >>> Partition(6, 2, "range").owner(rows).tolist()
    [0, 0, 0, 1, 1, 1]
    >>> Partition(6, 2, "hash").owner(rows).tolist()             # p = (5 id) % 6 = 0 5 4 3 2 1
    [0, 1, 0, 1, 0, 1]
    """

    num_embeddings: int
    shards: int
    by: str = "hash"

    def __post_init__(self):
        check_count(self.num_embeddings, "num_embeddings")
        check_count(self.shards, "shards")
        if self.num_embeddings > LARGEST:
            raise ValueError(f"num_embeddings is {self.num_embeddings:,}; at most {LARGEST:,}")
        if self.shards > self.num_embeddings:
            raise ValueError(
                f"shards is {self.shards}, and the table has {self.num_embeddings} rows: "
                "each shard keeps at least one"
            )
        if self.by not in WAYS:
            raise ValueError(f"by is {self.by!r}; it must be 'hash' or 'range'")

    @property
    def _multiplier(self) -> int:
        """The a of the hash: the first number from V / 1.618 on without a common factor with V."""
        a = max(1, round(self.num_embeddings * (5**0.5 - 1) / 2))
        while math.gcd(a, self.num_embeddings) != 1:
            a += 1
        return a

    def owner(self, ids: np.ndarray) -> np.ndarray:
        """The shard of each id: (...) int64. Ids have been checked."""
        if self.by == "range":
            return ids // -(-self.num_embeddings // self.shards)
        return ids * self._multiplier % self.num_embeddings % self.shards

    def place(self, ids: np.ndarray) -> np.ndarray:
        """At which row of its shard each id lies: (...) int64."""
        if self.by == "range":
            return ids % -(-self.num_embeddings // self.shards)
        return ids * self._multiplier % self.num_embeddings // self.shards

    def rows_of(self, shard: int) -> np.ndarray:
        """The ids of the rows of a shard, in the order in which they lie there: (V_s,) int64."""
        if self.by == "range":
            size = -(-self.num_embeddings // self.shards)
            return np.arange(shard * size, min((shard + 1) * size, self.num_embeddings))
        back = pow(self._multiplier, -1, self.num_embeddings)
        return np.arange(shard, self.num_embeddings, self.shards) * back % self.num_embeddings

    def split(self, ids: np.ndarray) -> list[np.ndarray]:
        """For each shard the positions in `ids` of those that it owns, in the order of `ids`."""
        owner = self.owner(ids)
        return [np.flatnonzero(owner == shard) for shard in range(self.shards)]
