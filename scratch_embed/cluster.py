"""Shards on several machines, kept by Ray (pip install "scratch_embed[cluster]").

    cluster.start()                       this machine; cluster.start("10.0.0.1:6379") joins others
    layer = ShardedEmbedding(V, D, shards=4, optimizer=..., place=cluster.place)
    cluster.train(work, layer, steps=1000, folder="run", workers=2)

Each shard is an actor of Ray: a process of its own, on whichever machine has room. What dies is
started anew and everybody goes back to the last checkpoint, so a death costs what came after it.
The folder of checkpoints has to be one that all machines see.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from scratch_embed.sharding import Shard, ShardedEmbedding

try:
    import ray
    from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError
except ImportError as error:
    raise ImportError(
        f"scratch_embed.cluster needs Ray ({error}): pip install 'scratch_embed[cluster]'. "
        "Without it, scratch_embed.sharding keeps all shards in one process."
    ) from None

LOST = (RayActorError, GetTimeoutError)  # a process or machine that is gone, or does not answer
ANSWER = 600.0  # seconds after which one that does not answer is taken for lost
AT_ONCE = 16  # calls that a shard takes at the same time: workers wait in it for one another


def start(address: str | None = None, **options) -> None:
    """Begin on this machine, or join the Ray cluster at `address`. Begun already: nothing."""
    if not ray.is_initialized():
        quiet = {"include_dashboard": False} if address is None else {}
        ray.init(address=address, log_to_driver=False, **quiet, **options)


def place(plans: Sequence[tuple]) -> Actors:
    """Start an actor for each shard, for `ShardedEmbedding(..., place=cluster.place)`."""
    start()
    return Actors(plans)


class Actors:
    """The shards as actors. Can be sent to another process, which then asks the same actors."""

    def __init__(self, plans: Sequence[tuple]):
        self.plans = list(plans)
        self.actors = [_begin(plan) for plan in self.plans]

    def call(self, method: str, arguments: Sequence[tuple]) -> list:
        """All shards at once; the answers in their order. An error of a shard is raised here."""
        asked = [
            getattr(actor, method).remote(*given)
            for actor, given in zip(self.actors, arguments, strict=True)
        ]
        return _answers(asked)

    def revive(self) -> None:
        """Start anew what does not live any more."""
        for k, actor in enumerate(self.actors):
            if not _lives(actor):
                self.actors[k] = _begin(self.plans[k])


def _begin(plan: tuple):
    options = {"max_concurrency": AT_ONCE, "num_cpus": 0, "scheduling_strategy": "SPREAD"}
    return ray.remote(Shard).options(**options).remote(*plan)


def _lives(actor) -> bool:
    try:
        ray.get(actor.__ray_ready__.remote(), timeout=ANSWER)
    except LOST:
        return False
    return True


def _answers(asked: list) -> list:
    try:
        return ray.get(asked, timeout=ANSWER)
    except RayTaskError as error:
        raise error.cause from None  # what the shard itself said


class _Worker:
    """One of several that train the same table: takes a step when it is told to."""

    def __init__(self, work: Callable, layer: ShardedEmbedding, worker: int):
        self.work, self.layer = work, layer
        layer.worker = worker

    def take(self, first: int, last: int) -> list[float]:
        """Steps `first` to `last - 1`: what `work` returns of each."""
        return _steps(self.work, self.layer, first, last)


def _steps(work: Callable, layer: ShardedEmbedding, first: int, last: int) -> list[float]:
    layer.steps, losses = first, []
    for step in range(first, last):
        losses.append(work(layer, step, layer.worker))
        layer.step()
    return losses


def train(
    work: Callable[[ShardedEmbedding, int, int], float],
    layer: ShardedEmbedding,
    steps: int,
    folder: str | os.PathLike,
    workers: int = 1,
    every: int = 10,
    told: Callable[[str], None] = print,
) -> list[list[float]]:
    """Train to `steps` steps with a checkpoint after every `every`; goes on from one that is there.

    work : (layer, step, worker) -> loss. It looks up, and calls `backward`; it draws its batch from
        step and worker alone, so that a step that is taken again is the same step. With several
        workers it runs in other processes: what it needs from here is copied to them.
    workers : as many as the layer was made for. told : hears what was lost and taken up again.

    Returns the losses of each step since it began or went on, one of each worker. When a shard, a
    worker or a machine dies, whatever died is started anew, and all go on from the last checkpoint:
    in step the table ends on the same bits as if nothing had happened.
    """
    folder = os.path.abspath(folder)  # the shards stand elsewhere
    done = _last_checkpoint(layer, folder)
    losses: list[list[float]] = []
    crew = _crew(work, layer, workers)
    while done < steps:
        last = min(done + every, steps)
        try:
            asked = [worker.take.remote(done, last) for worker in crew]
            taken = list(zip(*_answers(asked), strict=True))
            layer.steps = last
            layer.save(folder)
            losses += map(list, taken)
            done = last
        except LOST as error:
            told(f"lost: {type(error).__name__}; going back to step {done}")
            done = _last_checkpoint(layer, folder)
            for worker in crew:
                ray.kill(worker)
            crew = _crew(work, layer, workers)
    for worker in crew:
        ray.kill(worker)
    return losses


def _crew(work: Callable, layer: ShardedEmbedding, workers: int) -> list:
    begin = ray.remote(_Worker).options(num_cpus=0, scheduling_strategy="SPREAD")
    return [begin.remote(work, layer, worker) for worker in range(workers)]


def _last_checkpoint(layer: ShardedEmbedding, folder: str) -> int:
    """Bring every shard, also those that died, to the last checkpoint; returns its step.

    Where there is none yet, nobody has taken a step: then this is the first. Again, if more dies.
    """
    while True:
        layer.shards.revive()
        try:
            return layer.load(folder)
        except FileNotFoundError:
            if layer.steps:
                raise
        except LOST:
            continue
        try:
            layer.save(folder)
        except LOST:
            continue
