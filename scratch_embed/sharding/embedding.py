"""ShardedEmbedding: an Embedding whose rows lie elsewhere."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from scratch_embed.arguments import check_count
from scratch_embed.files import from_json, make_folder, read_bytes, replacing
from scratch_embed.kernels.ids import check_ids
from scratch_embed.layers.embedding import initial_std
from scratch_embed.ops.lookup import LookupSaved, lookup_backward
from scratch_embed.optim import Optimizer
from scratch_embed.rows import RowGrad
from scratch_embed.sharding.in_process import InProcess, Shards
from scratch_embed.sharding.partition import Partition
from scratch_embed.sharding.shard import Shard
from scratch_embed.tensor import Tensor, differentiable
from scratch_embed.watch import wrote

MANIFEST = "manifest.json"
OURS = re.compile(r"shard-\d+-of-\d+\.step-\d+(\.new)?\.npz")  # see `_names`


def pulled_forward(change: np.ndarray, ids: np.ndarray, rows: np.ndarray, where: np.ndarray):
    """out[n] = rows[where[n]] + change[ids[n]], the rows of `ids`, which have come from afar.

    change (V, D) is 0: what would be added to the table. Its gradient is the table's, and backward
    that of `lookup`. A single zero that is seen V times D times is not read; an array is, of
    someone who moves one of its numbers to see what comes of it.
    """
    out = rows[where]
    if any(change.strides):
        out = out + change[ids]
    return out, LookupSaved(ids, len(change), None, False, True)


pulled = differentiable(pulled_forward, lookup_backward)


class ShardedEmbedding:
    """A table of V rows of D numbers on S shards, used as `Embedding(sparse=True)` is.

        layer = ShardedEmbedding(V, D, shards=4, optimizer=lambda p: LazyAdam(p, lr=0.01), rng=0)
        loss = ...layer(ids)...
        loss.backward()
        layer.step()                    takes the place of the optimiser's step for this table

    It is no `Layer`: a model that holds one calls its `step` and its `save` itself.

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
        may part: see `Shard`. Each waits for the others, so in one process each is a thread; not
        for ever for one whose thread has ended: see `InProcess`.
    place : where the shards are; all in this process if None.

    `traffic` counts the bytes that passed: of rows that came, of gradients that went, and of the
    places (8 bytes each) that say which rows are meant, there and back.

    Raises as `Embedding` and `Partition` do, and TypeError for an optimiser that moves rows which
    a RowGrad does not name; all before anything travels.

    >>> from scratch_embed.optim import SGD
    >>> layer = ShardedEmbedding(6, 2, shards=2, optimizer=lambda p: SGD(p, lr=1.0))
    >>> layer([[1, 4], [1, 1]]).sum().backward()
    >>> layer.step()                                       # row 1 three times, row 4 once
    >>> layer.traffic                                      # 2 rows of 2 numbers of 4 bytes each way
    {'rows': 16, 'gradients': 16, 'places': 32}
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
        place: Callable[[list[dict]], Shards] | None = None,
    ):
        self.partition = Partition(num_embeddings, shards, by)
        self.num_embeddings = self.partition.num_embeddings
        self.embedding_dim = embedding_dim = check_count(embedding_dim, "embedding_dim")
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise TypeError(f"dtype is {np.dtype(dtype)}; a table holds float32 or float64")
        initial_std(init, embedding_dim)
        rng = check_count(rng, "rng", 0)
        workers = check_count(workers, "workers")
        if staleness is not None:
            staleness = check_count(staleness, "staleness", 0)
        if not 0 <= check_count(worker, "worker", 0) < workers:
            raise ValueError(f"worker is {worker}; with {workers} workers it is 0..{workers - 1}")
        _check_optimizer(optimizer, embedding_dim, dtype)
        self.worker, self.steps, self.life, self.seed = worker, 0, 0, rng
        plan = {
            "partition": self.partition, "embedding_dim": embedding_dim, "optimizer": optimizer,
            "seed": rng, "init": init, "dtype": dtype, "workers": workers, "staleness": staleness,
        }  # fmt: skip
        plans = [{**plan, "index": index} for index in range(shards)]
        self.shards = place(plans) if place else InProcess([Shard(**plan) for plan in plans])
        self._whole = self._zero(dtype)
        self.traffic = {"rows": 0, "gradients": 0, "places": 0}

    def _zero(self, dtype: type) -> Tensor:
        """Where gradients meet, as in the weight of an Embedding: a zero seen V times D times."""
        whole = np.broadcast_to(np.zeros((), dtype), (self.num_embeddings, self.embedding_dim))
        return Tensor(whole, requires_grad=True, name="change")

    def __getstate__(self) -> dict:
        """What goes to another process, where V times D zeros would be as large as the table."""
        return {**vars(self), "_whole": (self._whole.dtype, self._whole.grad)}

    def __setstate__(self, state: dict) -> None:
        vars(self).update(state)
        dtype, grad = state["_whole"]
        self._whole = self._zero(dtype)
        self._whole.grad = grad

    def __repr__(self) -> str:
        cut = self.partition
        return (
            f"ShardedEmbedding({cut.num_embeddings}, {self.embedding_dim}, shards={cut.shards}, "
            f"by={cut.by!r})"
        )

    def __call__(self, ids) -> Tensor:
        """Rows of the table: ids (...) of any integer type -> (..., D), as `Embedding` gives them.

        Raises IndexError and TypeError for wrong ids, as `Embedding` does.
        """
        ids = check_ids(ids, self.num_embeddings, "ids").copy()
        distinct, where = np.unique(ids, return_inverse=True)
        return pulled(self._whole, ids, self._pull(distinct), where.reshape(ids.shape))

    def has_gradient(self) -> bool:
        """Whether a backward came to the table since the last step."""
        return self._whole.grad is not None

    def zero_grad(self) -> None:
        """Forget the gradients since the last step, where no step shall be taken with them."""
        self._whole.grad = None

    def step(self) -> None:
        """Send the gradients of all lookups since the last step to the owners, who take a step.

        Where no backward came to the table since, by no worker, its optimiser takes none, as on one
        machine. Called again after an error it sends the same step, which no owner takes twice.
        """
        who, grad = (self.steps, self.worker, self.life), self._whole.grad
        if grad is None:
            self.shards.call("push", [(None, None, *who)] * self.partition.shards)
        else:
            parts = self.partition.split(grad.rows)
            self.shards.call(
                "push",
                [  # also to those who have none of the rows: they count the step
                    (self.partition.place(grad.rows[at]), grad.values[at], *who) for at in parts
                ],
            )
            self.traffic["gradients"] += grad.values.nbytes
            self.traffic["places"] += grad.rows.nbytes
            wrote(self._whole.data, step=True)  # who goes back through an older lookup is told
        self.zero_grad()
        self.steps += 1

    def table(self) -> np.ndarray:
        """The whole table, (V, D), as it is after all steps so far. For tables that fit."""
        return self._pull(np.arange(self.num_embeddings))

    def _pull(self, ids: np.ndarray) -> np.ndarray:
        parts = self.partition.split(ids)
        asked = [(self.partition.place(ids[at]), self.steps, self.life) for at in parts]
        came = self.shards.call("pull", asked)
        rows = np.empty((len(ids), self.embedding_dim), self._whole.dtype)
        for at, values in zip(parts, came, strict=True):
            rows[at] = values
        self.traffic["rows"] += rows.nbytes
        self.traffic["places"] += ids.nbytes
        return rows

    # ---- checkpoints -----------------------------------------------------------------------------

    def save(self, folder: str | os.PathLike) -> None:
        """A file a shard, and the manifest last: only with it the files are a checkpoint.

        The one before stays whole until the new manifest is there, and goes then, with whatever
        else has such a name and stands in no manifest. The folder has to be one that every shard
        can write to. With several workers one of them saves, while the others take no further step.
        Give each table a folder of its own: two alike in size, cut and seed are not told apart, and
        the second to save takes the place of the first.

        Raises ValueError where the folder holds another table, of another size, cut or seed (one
        that was loaded has the seed that stood there), RuntimeError as a lookup does.
        """
        folder = make_folder(folder)
        before = self._manifest(folder) if (folder / MANIFEST).exists() else {"files": []}
        if before.get("seed", self.seed) != self.seed:
            raise ValueError(
                f"{folder} holds a table of seed {before['seed']!r}; here: {self.seed}. Each table "
                "has a folder of its own; to go on with that one, load it"
            )
        old = before["files"]
        names = self._names(old)
        self.shards.call("save", [(str(folder / n), self.steps, self.life) for n in names])
        said = {"files": names, "step": self.steps, "seed": self.seed, **self._cut()}
        with replacing(folder / MANIFEST) as temporary:
            temporary.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
        for path in folder.iterdir():  # also of a save that came to no end
            if OURS.fullmatch(path.name) and path.name not in names:
                path.unlink(missing_ok=True)

    def load(self, folder: str | os.PathLike) -> int:
        """Go on from the checkpoint in a folder; returns how many steps it has behind it. The
        optimisers have the options that this layer was made with, a smaller rate for example.

        Gradients since are forgotten, and of workers that do not know of it nothing is taken any
        more. Each worker may load by itself: the first brings the shards back, the others follow.

        Raises FileNotFoundError without a manifest or a file of it, ValueError for one of another
        table or cut, and for a file that is damaged; then all shards stay as they were.
        """
        folder = Path(folder)
        said = self._manifest(folder)
        files, shards = len(said["files"]), self.partition.shards
        if files != shards:
            raise ValueError(f"{folder / MANIFEST} names {files} files for {shards} shards")
        who = (said["step"], self.worker, self.life)
        lives = self.shards.call("read", [(str(folder / name), *who) for name in said["files"]])
        life = max(lives)
        self.shards.call("go_on", [(life, self.worker)] * shards)
        self.zero_grad()
        self.steps, self.life, self.seed = said["step"], life, said.get("seed", self.seed)
        return self.steps

    def _cut(self) -> dict:
        cut = self.partition
        return {
            "num_embeddings": cut.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "shards": cut.shards,
            "by": cut.by,
        }

    def _names(self, old: list[str]) -> list[str]:
        """Of the files; none of the old ones, which another training may have left at this step."""
        count, step = self.partition.shards, f"step-{self.steps}"
        for mark in ("", ".new"):
            names = [f"shard-{k + 1}-of-{count}.{step}{mark}.npz" for k in range(count)]
            if not set(names) & set(old):
                break
        return names

    def _manifest(self, folder: Path) -> dict:
        """What a folder holds; ValueError where that is damaged, or of another table or cut."""
        try:
            said = from_json(read_bytes(folder / MANIFEST))
            names = [Path(str(name)).name for name in said["files"]]
            if names != said["files"] or not isinstance(said["step"], int):
                raise ValueError("files lie elsewhere, or there is no step")
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{folder / MANIFEST} is damaged ({error})") from None
        for name, mine in self._cut().items():
            if said.get(name) != mine:
                raise ValueError(
                    f"{folder} holds a table with {name} {said.get(name)!r}; here: {mine!r}. Each "
                    "table has a folder of its own"
                )
        return said


def _check_optimizer(optimizer: Callable, dim: int, dtype: type) -> None:
    """Make one here, and let it take a step of no rows: what it refuses must not travel."""
    row = Tensor(np.zeros((1, dim), dtype), requires_grad=True, name="one row")
    made = optimizer([row]) if callable(optimizer) else None
    if not isinstance(made, Optimizer) or [id(p) for p in made.params] != [id(row)]:
        raise TypeError(
            f"optimizer is {optimizer!r}; it must be a function that makes an optimiser of the "
            "list of Tensors that it is given: lambda params: SGD(params, lr=0.1)"
        )
    row.grad = RowGrad(np.zeros(0, np.int64), np.zeros((0, dim), dtype), (1, dim))
    made.step()
