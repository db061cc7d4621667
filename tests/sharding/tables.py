"""What the tests of shards share: a small table, batches for it, and the same on one machine."""

from __future__ import annotations

import numpy as np

from scratch_embed import SGD, Adagrad, Embedding, LazyAdam, RowAdagrad
from scratch_embed.sharding import ShardedEmbedding

V, D, BATCH = 37, 3, (4, 5)
RULES = {
    "SGD": lambda p: SGD(p, lr=0.1),
    "Adagrad": lambda p: Adagrad(p, lr=0.1),
    "RowAdagrad": lambda p: RowAdagrad(p, lr=0.1),
    "LazyAdam": lambda p: LazyAdam(p, lr=0.1),
}


def batch(step: int):
    """Ids in which a few come often, and a random cotangent."""
    rng = np.random.default_rng([7, step])
    return rng.zipf(1.5, BATCH) % V, rng.standard_normal((*BATCH, D)).astype(np.float32)


def sharded(rule="LazyAdam", shards=4, by="hash", **more):
    return ShardedEmbedding(V, D, shards, RULES[rule], by=by, rng=3, **more)


def learn(layer, first: int, last: int) -> np.ndarray:
    for step in range(first, last):
        ids, dout = batch(step)
        layer(ids).backward(dout)
        layer.step()
    return layer.table()


def on_one_machine(rule: str, steps: int) -> np.ndarray:
    layer = Embedding(V, D, rng=3, sparse=True)
    optimizer = RULES[rule]([layer.weight])
    for step in range(steps):
        ids, dout = batch(step)
        optimizer.zero_grad()
        layer(ids).backward(dout)
        optimizer.step()
    return layer.weight.numpy()


def workers_of(count, staleness=None):
    """So many layers on the same shards."""
    first = sharded("SGD", workers=count, staleness=staleness)
    more = {"workers": count, "staleness": staleness, "place": lambda _: first.shards}
    layers = [first, *(sharded("SGD", worker=worker, **more) for worker in range(1, count))]
    return layers
