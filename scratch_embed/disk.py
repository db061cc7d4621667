"""Tables larger than memory: a .npy file whose rows are read and written where they lie.

The system maps the file: a row comes from disk when it is first touched, stays in memory while
there is room, and is written back when there is none, or on `flush`. A lookup touches the rows of
the batch; so does a step with a row-sparse gradient, and nothing of order V by D is ever made:

    table = create_table("words.npy", 100_000_000, 64, rng=0)            # 25.6 GB on disk
    layer = Embedding.from_pretrained(table, freeze=False, sparse=True)
    optimizer = SGD(layer.parameters(), lr=0.1)
    ...                                                                  # backward, step, as always
    table.flush()                                                        # now it is on disk

A process that is killed loses nothing that it has written: the pages belong to the system, which
writes them. The file stays a readable table. Rows of the step that was under way may have moved or
not, each number old or new, none half. If the *machine* stops, what was written since the last
`flush` may be lost.

Optimisers with a memory (Adagrad, LazyAdam) keep arrays as large as the table. Put these on disk
as well, before the first step:

    optimizer.state[0]["sum"] = create_table("words.sum.npy", 100_000_000, 64, std=0)
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from scratch_embed.files import replacing

BLOCK = 1 << 22  # numbers drawn at a time: 16 MiB of float32


def create_table(
    path: str | os.PathLike,
    num_embeddings: int,
    embedding_dim: int,
    std: float = 0.02,
    dtype: type = np.float32,
    rng: np.random.Generator | int | None = None,
) -> np.memmap:
    """A new table on disk with rows drawn from N(0, std^2), open for reading and writing.

    The file appears under its name when it is complete. With std=0 nothing is drawn, and on most
    systems a table of zeros takes no room on disk until rows are written.

    Raises FileExistsError rather than overwrite a file, TypeError for a dtype that is not float32
    or float64, and OSError when the disk is full.
    """
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"{path} exists; open it with open_table, or delete it first.")
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise TypeError(f"dtype is {np.dtype(dtype)}; a table holds float32 or float64")
    shape, rng = (int(num_embeddings), int(embedding_dim)), np.random.default_rng(rng)
    with replacing(path) as temporary:
        table = np.lib.format.open_memmap(temporary, "w+", np.dtype(dtype), shape)
        if std:
            _draw(table, std, rng)
        table.flush()
        del table  # Windows does not rename a file that is open
    return open_table(path)


def open_table(path: str | os.PathLike) -> np.memmap:
    """A table on disk, for reading and writing where it lies.

    Raises ValueError for a file that is not a .npy table of float32 or float64 with rows in C
    order, and OSError when it cannot be opened for writing.
    """
    table = np.lib.format.open_memmap(Path(path), "r+")
    good = table.ndim == 2 and table.dtype in (np.float32, np.float64) and table.flags.c_contiguous
    if not good:
        raise ValueError(
            f"{path} holds {table.dtype} of shape {table.shape}; a table has two axes, (V, D), "
            "holds float32 or float64, and is stored row by row."
        )
    return table


def _draw(table: np.memmap, std: float, rng: np.random.Generator) -> None:
    """Fill the rows a block at a time. The rows do not depend on how large a block is."""
    from tqdm import tqdm

    step = max(BLOCK // table.shape[1], 1)
    blocks = range(0, len(table), step)
    for first in tqdm(blocks, desc="drawing rows", unit="block", disable=None, leave=False):
        rows = table[first : first + step]
        rng.standard_normal(dtype=table.dtype, out=rows)
        rows *= table.dtype.type(std)
