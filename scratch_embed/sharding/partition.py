"""Which shard owns a row of a table, and at which place the row lies there."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scratch_embed.arguments import check_count
from scratch_embed.kernels.ids import check_ids

WAYS = ("hash", "range")
LARGEST = 1 << 31  # rows: a row's id times a number as large still fits into int64


@dataclass(frozen=True)
class Partition:
    """V rows on S shards. Every row has one owner, and none needs a list to be found.

        "range"   p = id
        "hash"    p = (a id) % V
        owner = p S // V,   place = p - the first p of that owner

    Ids are usually given by frequency, so that by range the first shard has all the frequent words
    and nearly all the work. By hash neighbours part. a has no common factor with V, so p takes
    every value once; and a is near the golden section of V, so that the first n ids lie nearly
    evenly spaced, whatever n is (Knuth's multiplicative hashing). So do the hot rows, which
    chance would lay closer together here and there; the remainder of p by S would lose that.

    num_embeddings : V, at most 2^31.
    shards : S, at most V.
    by : "hash" or "range".

    Raises ValueError for sizes out of range and another way.

    >>> rows = np.arange(6)
    >>> Partition(6, 2, "range").owner(rows).tolist()
    [0, 0, 0, 1, 1, 1]
    >>> Partition(6, 2, "hash").owner(rows).tolist()             # p = (5 id) % 6 = 0 5 4 3 2 1
    [0, 1, 1, 1, 0, 0]
    """

    num_embeddings: int
    shards: int
    by: str = "hash"

    def __post_init__(self):
        for name in ("num_embeddings", "shards"):
            object.__setattr__(self, name, check_count(getattr(self, name), name))
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
        """The shard of each id: (...) int64. Raises what `check_ids` raises."""
        return self._spread(ids) * self.shards // self.num_embeddings

    def place(self, ids: np.ndarray) -> np.ndarray:
        """At which row of its shard each id lies: (...) int64."""
        spread = self._spread(ids)
        return spread - self._first(spread * self.shards // self.num_embeddings)

    def rows_of(self, shard: int) -> np.ndarray:
        """The ids of the rows of a shard, in the order in which they lie there: (V_s,) int64.

        Raises ValueError for a shard that there is not.
        """
        shard = check_count(shard, "shard", 0)
        if shard >= self.shards:
            raise ValueError(f"shard is {shard}; there are {self.shards}, 0..{self.shards - 1}")
        spread = np.arange(self._first(shard), self._first(shard + 1))
        if self.by == "range":
            return spread
        return spread * pow(self._multiplier, -1, self.num_embeddings) % self.num_embeddings

    def _spread(self, ids: np.ndarray) -> np.ndarray:
        ids = check_ids(ids, self.num_embeddings)  # as int64: the product needs 62 bits
        return ids if self.by == "range" else ids * self._multiplier % self.num_embeddings

    def _first(self, shard):
        """The first p that belongs to a shard: where p S // V reaches it."""
        return -(-shard * self.num_embeddings // self.shards)

    def split(self, ids: np.ndarray) -> list[np.ndarray]:
        """For each shard the positions in `ids` of those that it owns, in the order of `ids`.

        >>> [at.tolist() for at in Partition(6, 2).split(np.array([1, 0, 3, 4]))]
        [[1, 3], [0, 2]]
        """
        owner = self.owner(ids)
        order = np.argsort(owner, kind="stable")  # equal owners stay in the order of ids
        ends = np.searchsorted(owner[order], np.arange(1, self.shards))
        return np.split(order, ends)
