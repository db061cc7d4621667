"""A table cut into shards: who keeps which row, and how lookups and gradients travel.

    partition.py    the shard that owns a row, and where it lies there
    shard.py        the rows of one shard, with their optimiser's state
    in_process.py   shards in this process, and workers that are its threads
    embedding.py    ShardedEmbedding: each distinct row travels once there, its gradient once back

Nothing here needs an engine: the shards may all live in this process, as they do in lessons and
tests. `scratch_embed.cluster` puts them on several machines.
"""

from scratch_embed.sharding.embedding import ShardedEmbedding
from scratch_embed.sharding.partition import Partition
from scratch_embed.sharding.shard import Shard

__all__ = ["Partition", "Shard", "ShardedEmbedding"]
