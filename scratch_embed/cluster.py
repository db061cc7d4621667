"""Shards on several machines, kept by Ray (pip install "scratch_embed[cluster]").

    cluster.start()                       this machine; cluster.start("10.0.0.1:6379") joins others
    layer = ShardedEmbedding(V, D, shards=4, optimizer=..., place=cluster.place)
    cluster.train(work, layer, steps=1000, folder="run", workers=2)

Each shard is an actor of Ray: a process of its own, on whichever machine has room. What dies is
started anew and everybody goes back to the last checkpoint, so a death costs what came after it.
The folder of checkpoints has to be one that all machines see.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence

from scratch_embed.arguments import check_count
from scratch_embed.sharding import Shard, ShardedEmbedding
from scratch_embed.tensor import Tensor

try:
    import ray
    from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError
except ImportError as error:
    raise ImportError(
        f"scratch_embed.cluster needs Ray ({error}): pip install 'scratch_embed[cluster]'. "
        "Without it, scratch_embed.sharding keeps all shards in one process."
    ) from None

LOST = (RayActorError, GetTimeoutError)  # a process or machine that is gone, or does not answer
ANSWER = 600.0  # seconds that a process has to begin; on a call it may take as long as it likes
FORGOTTEN = 3  # steps without a gradient from the beginning, after which backward was forgotten
TRIES = 5  # losses in a row, without a checkpoint between them, after which it is no accident


def start(address: str | None = None, **options) -> None:
    """Begin on this machine, or join the Ray cluster at `address`. Begun already: nothing.

    Without an address the one in RAY_ADDRESS counts, where Ray's own jobs find it. A cluster that
    somebody else has begun on this machine is left alone; "auto" joins it.
    """
    if not ray.is_initialized():
        address = address or os.environ.get("RAY_ADDRESS") or "local"
        quiet = {"include_dashboard": False} if address == "local" else {}
        ray.init(address=address, log_to_driver=False, **quiet, **options)


def place(plans: Sequence[dict]) -> Actors:
    """Start an actor for each shard, for `ShardedEmbedding(..., place=cluster.place)`."""
    start()
    return Actors(plans)


class Actors:
    """The shards as actors. Can be sent to another process, which then asks the same actors."""

    def __init__(self, plans: Sequence[dict]):
        self.plans = list(plans)
        self.actors = [_begin(plan) for plan in self.plans]

    def call(self, method: str, arguments: Sequence[tuple]) -> list:
        """All shards at once; the answers in their order. An error of a shard is raised here."""
        asked = [
            getattr(actor, method).remote(*given)
            for actor, given in zip(self.actors, arguments, strict=True)
        ]
        return _answers(asked)

    def revive(self) -> bool:
        """Start anew what does not live any more; returns whether anything did not."""
        dead = [k for k, actor in enumerate(self.actors) if not _lives(actor)]
        for k in dead:
            self.actors[k] = _begin(self.plans[k])
        return bool(dead)


def _begin(plan: dict):
    waiting = 2 * plan["workers"] + 2  # calls at once: workers wait in a shard for one another
    options = {"max_concurrency": waiting, "num_cpus": 0, "scheduling_strategy": "SPREAD"}
    return ray.remote(Shard).options(**options).remote(**plan)


def _lives(actor) -> bool:
    try:
        ray.get(actor.__ray_ready__.remote(), timeout=ANSWER)
    except LOST:
        return False
    return True


def _answers(asked: list) -> list:
    """All answers; the first error as soon as it comes, also while others still wait."""
    pending = list(asked)
    try:
        while pending:
            came, pending = ray.wait(pending)
            ray.get(came)
        return ray.get(asked)
    except RayTaskError as error:
        raise error.cause from error  # what was raised there, and under it where


class _Worker:
    """One of several that train the same table: takes a step when it is told to."""

    def __init__(self, work: Callable, layer: ShardedEmbedding, worker: int):
        self.work, self.layer, self.without = work, layer, 0  # steps without a gradient, so far
        layer.worker = worker

    def take(self, first: int, last: int) -> list[float]:
        """Steps `first` to `last - 1`: what `work` returns of each.

        RuntimeError where the first `FORGOTTEN` gave losses to go back from, and no gradient came.
        Of one it may be meant, as where `zero_grad` lets go of a batch.
        """
        layer, losses = self.layer, []
        layer.steps = first
        for step in range(first, last):
            loss = self.work(layer, step, layer.worker)
            if layer.has_gradient() or not isinstance(loss, Tensor) or not loss.requires_grad:
                self.without = -math.inf
            self.without += 1
            if self.without == FORGOTTEN:
                raise RuntimeError(
                    "work gave losses with a way back, of which no gradient came to the table: "
                    "call loss.backward() in it, or return loss.item() where nothing is to be "
                    "learned"
                )
            losses.append(loss.item() if isinstance(loss, Tensor) else loss)  # not with its tape
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
        workers it runs in other processes: what it needs from here is copied to them, and what it
        changes beside the table is not in the checkpoint.
    workers : as many as the layer was made for. told : hears what was lost and taken up again.

    Returns the losses of each step since it began or went on, one of each worker. When a shard, a
    worker or a machine dies, whatever died is started anew, and all go on from the last checkpoint:
    in step the table ends on the same bits as if nothing had happened.

    Raises what `work` raises, RuntimeError where it does not call `backward`, and the loss of a
    process after five in a row without a checkpoint.
    """
    steps, workers = check_count(steps, "steps"), check_count(workers, "workers")
    every = check_count(every, "every")
    if not isinstance(layer.shards, Actors):
        raise TypeError(f"{layer} has its shards in this process; make it with place=cluster.place")
    made_for = layer.shards.plans[0]["workers"]
    if workers != made_for:
        raise ValueError(f"workers is {workers}, and the layer was made for {made_for}")
    folder = os.path.abspath(folder)  # the shards stand elsewhere
    done, lost, crew = _last_checkpoint(layer, folder), 0, []
    losses: list[list[float]] = []
    try:
        while done < steps:
            crew = crew or _crew(work, layer, workers)
            last = min(done + every, steps)
            try:
                asked = [worker.take.remote(done, last) for worker in crew]
                taken = list(zip(*_answers(asked), strict=True))
                layer.steps = last
                layer.save(folder)
            except LOST as error:
                lost += 1
                if lost == TRIES:
                    raise
                told(f"lost: {type(error).__name__}; going back to step {done}")
                crew = _dismiss(crew)
                done = _last_checkpoint(layer, folder)
            else:
                losses, done, lost = losses + [list(step) for step in taken], last, 0
    finally:
        _dismiss(crew)
    return losses


def _crew(work: Callable, layer: ShardedEmbedding, workers: int) -> list:
    begin = ray.remote(_Worker).options(num_cpus=0, scheduling_strategy="SPREAD")
    return [begin.remote(work, layer, worker) for worker in range(workers)]


def _dismiss(crew: list) -> list:
    """End what still works, and forget it. A push on its way is of a life that is over."""
    for worker in crew:
        ray.kill(worker)
    return []


def _last_checkpoint(layer: ShardedEmbedding, folder: str) -> int:
    """Bring every shard, also those that died, to the last checkpoint; returns its step.

    Where there is none yet, this is the first. Again, if more dies meanwhile.
    """
    for left in reversed(range(TRIES)):
        try:
            begun_anew = layer.shards.revive()
            try:
                return layer.load(folder)
            except FileNotFoundError:
                if layer.steps and begun_anew:
                    raise  # its rows are gone, and were never saved
            layer.save(folder)
            return layer.load(folder)
        except LOST:
            if not left:
                raise
    raise AssertionError("the last try returns or raises")
