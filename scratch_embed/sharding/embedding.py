"""ShardedEmbedding: an Embedding whose rows lie elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from scratch_embed.arguments import check_count
from scratch_embed.files import read_bytes, replacing
from scratch_embed.functional import lookup
from scratch_embed.kernels.ids import check_ids
from scratch_embed.layers.embedding import initial_std
from scratch_embed.optim import Optimizer
from scratch_embed.rows import RowGrad
from scratch_embed.sharding.partition import Partition
from scratch_embed.sharding.shard import Shard
from scratch_embed.tensor import Tensor

MANIFEST = "manifest.json"


class Shards(Protocol):
    """Where the shards are: in this process, or on other machines. One call asks all of them."""

    def call(self, method: str, arguments: Sequence[tuple]) -> list:
        """shard[k].method(*arguments[k]) for every shard k, at the same time where it can be."""


class InProcess:
    """All shards in this process, one after another."""

    def __init__(self, shards: Sequence[Shard]):
        self.shards = list(shards)

    def call(self, method: str, arguments: Sequence[tuple]) -> list:
        return [getattr(s, method)(*given) for s, given in zip(self.shards, arguments, strict=True)]


class ShardedEmbedding:
    """A table of V rows of D numbers on S shards, used as `Embedding(sparse=True)` is.

        layer = ShardedEmbedding(V, D, shards=4, optimizer=lambda p: LazyAdam(p, lr=0.01), rng=0)
        loss = ...layer(ids)...
        loss.backward()
        layer.step()                    takes the place of the optimiser's step for this table

    A lookup asks each owner once for its distinct rows; `step` sends each owner one RowGrad, and
    the owner moves its rows with its own optimiser. With one worker the table goes through the same
    bits as on one machine, whatever the number of shards.

    Parameters
    ----------
    num_embeddings, embedding_dim, rng, init, dtype : as in `Embedding`; rng is a seed here, since
        every shard begins its own generator with it.
    shards, by : the cut, see `Partition`.
    optimizer : a function of a list of Tensors, such as `lambda params: SGD(params, lr=0.1)`.
    workers, worker, staleness : how many share the table, which of them this is, and how far they
        may part: see `Shard`.
    place : where the shards are; all in this process if None.

    `traffic` counts the bytes of rows that came and of gradients that went, ids not counted.

    Raises as `Embedding` and `Partition` do, all before anything travels.

    >>> from scratch_embed.optim import SGD
    >>> layer = ShardedEmbedding(6, 2, shards=2, optimizer=lambda p: SGD(p, lr=1.0))
    >>> layer([[1, 4], [1, 1]]).sum().backward()
    >>> layer.step()                                       # row 1 three times, row 4 once
    >>> layer.traffic                                      # 2 rows of 2 numbers of 4 bytes each way
    {'rows': 16, 'gradients': 16}
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        shards: int,
        optimizer: Callable[[list[Tensor]], Optimizer],
        by: str = "hash",
        rng: int = 0,
        init: str | float = "N(0,1)",
        dtype: type = np.float32,
        workers: int = 1,
        worker: int = 0,
        staleness: int | None = None,
        place: Callable[[list[tuple]], Shards] | None = None,
    ):
        self.partition = Partition(num_embeddings, shards, by)
        self.embedding_dim = check_count(embedding_dim, "embedding_dim")
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise TypeError(f"dtype is {np.dtype(dtype)}; a table holds float32 or float64")
        initial_std(init, embedding_dim)
        check_count(rng, "rng", 0)
        check_count(workers, "workers")
        if staleness is not None:
            check_count(staleness, "staleness", 0)
        if not 0 <= check_count(worker, "worker", 0) < workers:
            raise ValueError(f"worker is {worker}; with {workers} workers it is 0..{workers - 1}")
        self.worker, self.steps = worker, 0
        rest = (embedding_dim, optimizer, rng, init, dtype, workers, staleness)
        plans = [(self.partition, index, *rest) for index in range(shards)]
        self.shards = place(plans) if place else InProcess([Shard(*plan) for plan in plans])
        self._pulled: list[tuple[np.ndarray, Tensor]] = []  # what came since the last step
        self.traffic = {"rows": 0, "gradients": 0}

    def __call__(self, ids) -> Tensor:
        """Rows of the table: ids (...) of any integer type -> (..., D), as `Embedding` gives them.

        Raises IndexError and TypeError for wrong ids, as `Embedding` does.
        """
        ids = check_ids(ids, self.partition.num_embeddings, "ids")
        distinct, where = np.unique(ids, return_inverse=True)
        rows = Tensor(self._pull(distinct), requires_grad=True, name="pulled rows")
        self._pulled.append((distinct, rows))
        return lookup(rows, where.reshape(ids.shape), sparse=True)

    def step(self) -> None:
        """Send the gradients of all lookups since the last step to the owners, who take a step."""
        grads = [
            RowGrad(ids[rows.grad.rows], rows.grad.values, self._shape)
            for ids, rows in self._pulled
            if rows.grad is not None
        ]
        self._pulled.clear()
        grad = sum(grads[1:], grads[0]) if grads else self._nothing()
        parts = self.partition.split(grad.rows)
        self.traffic["gradients"] += grad.values.nbytes
        self.shards.call(
            "push",
            [
                (self.partition.place(grad.rows[at]), grad.values[at], self.steps, self.worker)
                for at in parts  # also to those who have none of the rows: they count the step
            ],
        )
        self.steps += 1

    def table(self) -> np.ndarray:
        """The whole table, (V, D), as it is after all steps so far. For tables that fit."""
        return self._pull(np.arange(self.partition.num_embeddings))

    @property
    def _shape(self) -> tuple[int, int]:
        return self.partition.num_embeddings, self.embedding_dim

    def _nothing(self) -> RowGrad:
        return RowGrad(np.zeros(0, np.int64), np.zeros((0, self.embedding_dim)), self._shape)

    def _pull(self, ids: np.ndarray) -> np.ndarray:
        parts = self.partition.split(ids)
        asked = [(self.partition.place(ids[at]), self.steps) for at in parts]
        came = self.shards.call("pull", asked)
        rows = np.empty((len(ids), self.embedding_dim), came[0].dtype)
        for at, values in zip(parts, came):
            rows[at] = values
        self.traffic["rows"] += rows.nbytes
        return rows

    # ---- checkpoints -----------------------------------------------------------------------------

    def save(self, folder: str | os.PathLike) -> None:
        """A file a shard, and the manifest last: only with it the files are a checkpoint.

        The one before stays whole until the new manifest is there, and goes then. The folder has
        to be one that every shard can write to.
        """
        folder, names = Path(folder), self._names()
        folder.mkdir(parents=True, exist_ok=True)
        old = self._manifest(folder).get("files", []) if (folder / MANIFEST).exists() else []
        self.shards.call("save", [(str(folder / name),) for name in names])
        said = {"files": names, "step": self.steps, **self._cut()}
        with replacing(folder / MANIFEST) as temporary:
            temporary.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
        for name in set(old) - set(names):
            (folder / name).unlink(missing_ok=True)

    def load(self, folder: str | os.PathLike) -> int:
        """Go on from the checkpoint in a folder; returns how many steps it has behind it.

        What was pulled since is forgotten. Raises FileNotFoundError without a manifest, ValueError
        for one of another table or cut, and for a file that is missing or damaged.
        """
        folder = Path(folder)
        said = self._manifest(folder)
        for name, mine in self._cut().items():
            if said.get(name) != mine:
                raise ValueError(f"{folder} was cut with {name} {said.get(name)!r}; here: {mine!r}")
        self.shards.call("load", [(str(folder / name),) for name in said["files"]])
        self._pulled.clear()
        self.steps = said["step"]
        return self.steps

    def _cut(self) -> dict:
        cut = self.partition
        return {
            "num_embeddings": cut.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "shards": cut.shards,
            "by": cut.by,
        }

    def _names(self) -> list[str]:
        count = self.partition.shards
        return [f"shard-{k + 1}-of-{count}.step-{self.steps}.npz" for k in range(count)]

    def _manifest(self, folder: Path) -> dict:
        try:
            said = json.loads(read_bytes(folder / MANIFEST))
            names = [Path(str(name)).name for name in said["files"]]
            if names != said["files"] or not isinstance(said["step"], int):
                raise ValueError("files lie elsewhere, or there is no step")
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{folder / MANIFEST} is damaged ({error})") from None
        return said
