"""One shard: some rows of a table, and the optimiser that moves them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import reduce
from operator import add

import numpy as np

from scratch_embed import checkpoint
from scratch_embed.kernels.ids import check_ids
from scratch_embed.layers.embedding import initial_std
from scratch_embed.optim import Optimizer
from scratch_embed.rows import RowGrad
from scratch_embed.sharding.partition import Partition
from scratch_embed.tensor import Tensor
from scratch_embed.uninterrupted import uninterrupted

BLOCK = 1 << 20  # numbers drawn at once while the rows of a shard are picked out of the table's


class Shard:
    """The rows that `partition` gives to shard `index`, as they would lie in the whole table.

    Workers pull rows and push gradients; `optimizer` makes a step out of them. With several
    workers the shard keeps their clocks. Step s of a worker is its pull and its push with that s.

        staleness=None    in step: the gradients of all workers for step s are added, in the order
                          of the workers, and make one step. A pull for s + 1 waits for it.
        staleness=k       every push makes a step of its own, at once. A pull for step s waits until
                          no worker is more than k steps behind: none has less than s - k pushed.
                          The rows hold every gradient of the steps before s - k, of all workers,
                          and of later steps those that happen to be there.

    partition, index : the table's cut, and which part this is.
    embedding_dim, init, seed, dtype : as `Embedding` takes them; the same seed, the same rows.
    optimizer : a function of a list of Tensors, such as `lambda params: SGD(params, lr=0.1)`.
    workers : how many push.

    After `go_on` the shard is in its next life, and does not hear any more who speaks of another:
    a worker that was given up may still have a push on its way. Workers that go on from the same
    checkpoint, each by itself, are in one life.

    A shard may be asked from several threads at once.
    """

    def __init__(
        self,
        partition: Partition,
        index: int,
        embedding_dim: int,
        optimizer: Callable[[list[Tensor]], Optimizer],
        seed: int = 0,
        init: str | float = "N(0,1)",
        dtype: type = np.float32,
        workers: int = 1,
        staleness: int | None = None,
    ):
        self.index, self.workers, self.staleness = index, workers, staleness
        rows = _draw(partition, index, embedding_dim, seed, init, dtype)
        self.weight = Tensor(rows, requires_grad=True, name=f"shard {index}")
        self.optimizer = optimizer([self.weight])
        self.clock = [0] * workers  # steps that each worker has pushed
        self.life = 0
        self._read: dict[int, tuple[str, dict, Callable[[], None]]] = {}  # by worker, until `go_on`
        self._from: str | None = None  # the file that this life went on from
        self._waiting: dict[int, dict[int, RowGrad | None]] = {}  # by step, by worker
        self._moved = threading.Condition()

    def pull(
        self, places: np.ndarray, step: int = 0, life: int = 0, patience: float | None = None
    ) -> np.ndarray:
        """A copy of the rows at these places, (n,) -> (n, D), once this step may begin.

        patience : seconds to wait for other workers; TimeoutError after that.
        """
        with self._moved:
            if self.wait(step, life, patience=patience):
                raise TimeoutError(
                    f"shard {self.index}: step {step} waits for worker {np.argmin(self.clock)}, "
                    f"which has pushed {min(self.clock)} steps"
                )
            self._check_life(life)
            return self.weight.data[check_ids(places, len(self.weight), "places")]

    def late(self, step: int, life: int = 0, behind: int | None = None) -> list[int]:
        """The workers that are more than `behind` steps behind this one; by default as many as a
        pull for this step has to wait for."""
        least = step - ((self.staleness or 0) if behind is None else behind)
        return [w for w, clock in enumerate(self.clock) if life == self.life and clock < least]

    def wait(
        self, step: int, life: int = 0, behind: int | None = None, patience: float | None = None
    ) -> list[int]:
        """Until none is `late`, or for so many seconds; returns those that still are."""
        with self._moved:
            self._moved.wait_for(lambda: not self.late(step, life, behind), patience)
            return self.late(step, life, behind)

    def push(
        self,
        places: np.ndarray | None,
        values: np.ndarray | None,
        step: int = 0,
        worker: int = 0,
        life: int = 0,
    ) -> None:
        """The gradient of some rows, from a worker at its step: places () where it has none of
        them, None where it has no gradient of the table at all. With none at all from all workers
        the optimiser takes no step.

        A push that came before, as after a lost answer, is passed over. Raises ValueError for one
        before which another is missing, and for a worker that there is not.
        """
        if not 0 <= worker < self.workers:
            raise ValueError(f"worker is {worker}; there are {self.workers}, 0..{self.workers - 1}")
        with self._moved:
            self._check_life(life)
            if step < self.clock[worker]:
                return
            if step > self.clock[worker]:
                raise ValueError(
                    f"shard {self.index}: worker {worker} pushes step {step}, and it is at step "
                    f"{self.clock[worker]}; load a checkpoint to bring all to the same step"
                )
            grad = None if places is None else RowGrad(places, values, self.weight.shape)
            with uninterrupted():  # else the rows might move, and the clock not tell
                self._take(grad, step, worker)
                self.clock[worker] = step + 1
                self._moved.notify_all()

    def _take(self, grad: RowGrad | None, step: int, worker: int) -> None:
        """Make a step of a push, or of those of all workers once the last of them is here."""
        if self.staleness is not None:
            self._step([grad])
            return
        came = self._waiting.setdefault(step, {})
        came[worker] = grad
        if len(came) == self.workers:
            self._step([came[w] for w in range(self.workers)])
            del self._waiting[step]  # not before: the step may fail, and be asked for again

    def _check_life(self, life: int) -> None:
        if life != self.life:
            raise self._gone_back()

    def _gone_back(self) -> RuntimeError:
        return RuntimeError(
            f"shard {self.index} has gone back to a checkpoint since: load it here as well"
        )

    def _step(self, grads: list[RowGrad | None]) -> None:
        there = [grad for grad in grads if grad is not None]
        if there:
            self.weight.grad = reduce(add, there)
            self.optimizer.step()
            self.weight.grad = None

    def save(self, path: str | os.PathLike, step: int = 0, life: int = 0) -> None:
        """Rows, state and clocks as one file, once all workers have pushed the steps before `step`.

        Raises ValueError where one has pushed more: what is saved must be the same for all shards.
        """
        with self._moved:
            self.wait(step, life, behind=0)
            self._check_life(life)
            if max(self.clock) > step:
                raise ValueError(
                    f"shard {self.index}: to be saved at step {step}, and worker "
                    f"{np.argmax(self.clock)} has pushed {max(self.clock)}; let all of them wait"
                )
            checkpoint.save(
                path,
                shard=self.index,
                weight=self.weight.data,
                optimizer=self.optimizer.state_dict(),
                clock=self.clock,
            )

    def read(
        self, path: str | os.PathLike, step: int, worker: int = 0, life: int | None = None
    ) -> int:
        """Read such a file, for `go_on`. The optimiser keeps the options that it has here.

        Returns the life that this is of: the next one, or that of now where the shard has gone on
        from this file already, and the worker, who spoke last of `life`, only follows.

        Raises ValueError where it is not this shard at `step`, or of another optimiser.
        """
        saved = checkpoint.load(path)
        rows = np.asarray(saved.get("weight"))
        mine = (self.index, self.weight.shape, self.weight.dtype, [step] * self.workers)
        theirs = (saved.get("shard"), rows.shape, rows.dtype, saved.get("clock"))
        if theirs != mine:
            raise ValueError(f"{path} holds {_described(*theirs)}; here: {_described(*mine)}")
        options = [
            {name: value for name, value in group.items() if name != "params"}
            for group in self.optimizer.param_groups
        ]
        try:
            state = {**saved.get("optimizer"), "options": options}
            load_optimizer = self.optimizer.loading(state)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} does not fit the optimiser here: {error}") from error
        file = os.path.realpath(path)
        with self._moved:
            self._read[worker] = file, saved, load_optimizer
            follows = life != self.life and file == self._from and self.clock[worker] == step
            return self.life if follows else self.life + 1

    def go_on(self, life: int, worker: int = 0) -> None:
        """Go on from what the worker has read; with whoever speaks of this life, and with nobody
        else. Where another has gone on from it before, nothing is left to do."""
        with self._moved:
            if worker not in self._read:
                raise RuntimeError(f"shard {self.index} has read no checkpoint to go on from")
            file, saved, load_optimizer = self._read.pop(worker)
            if life == self.life and file == self._from:
                return
            if life <= self.life:
                raise self._gone_back()
            load_optimizer()
            self.weight.data[...] = saved["weight"]
            self.clock, self._waiting, self.life = list(saved["clock"]), {}, life
            self._from = file
            self._moved.notify_all()


def _described(shard, shape, dtype, clock) -> str:
    return f"shard {shard}, rows {shape} of {dtype}, with steps {clock} of its workers"


def _draw(partition: Partition, index: int, dim: int, seed: int, init, dtype) -> np.ndarray:
    """The rows of a shard out of the draws for the whole table, which is never held in memory."""
    rng, mine = np.random.default_rng(seed), partition.rows_of(index)
    rows = np.empty((len(mine), dim), dtype)
    block = max(1, BLOCK // dim)
    for first in range(0, partition.num_embeddings, block):
        ids = np.arange(first, min(first + block, partition.num_embeddings))
        drawn = rng.standard_normal((len(ids), dim), dtype)
        own = partition.owner(ids) == index
        rows[partition.place(ids[own])] = drawn[own]
    rows *= rows.dtype.type(initial_std(init, dim))
    return rows
