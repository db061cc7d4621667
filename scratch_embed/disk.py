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

Optimisers with a memory keep arrays as large as the table: Adagrad "sum", LazyAdam "m" and "v". Put
these on disk as well, before the first step:

    optimizer.state[0]["sum"] = create_table("words.sum.npy", 100_000_000, 64, std=0)

A copy of such a layer, as for another process, holds the whole table in memory and writes to no
file: send the path there, and `open_table` it. Nothing else may write to the file: np.save of a
table onto its own file empties it first, and the numbers are gone.

Beside "m" and "v" goes how many steps are in them: `optimizer.state[0]["t"] = 0` for new ones, and
for a training that goes on what it was when it ended.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import BinaryIO

import numpy as np

from scratch_embed.arguments import check_count, generator
from scratch_embed.files import BAD_HEADER, open_regular, replacing, reserve

HEADERS = {  # how the header is read, by the version that a .npy file begins with
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
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

        create_table("words.npy", 50_257, 768)    # (V, D) = (50257, 768): 154,389,504 bytes + 128

    The file appears under its name when it is complete. It takes its room on the disk before the
    first row is drawn, also with std=0, where nothing is drawn: a row that found no room later,
    when it is learned, would end the process without a word.

    Raises FileExistsError rather than overwrite a file, also one that another process makes in the
    meantime; ValueError for sizes below 1 and for a std that is negative or too large, TypeError
    for a dtype that is not float32 or float64, and OSError when the disk is full.
    """
    path = Path(path)
    shape = (
        check_count(num_embeddings, "num_embeddings"),
        check_count(embedding_dim, "embedding_dim"),
    )
    if not 0 <= std < math.inf:
        raise ValueError(f"std is {std!r}; it must be a finite number of at least 0")
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise TypeError(f"dtype is {np.dtype(dtype)}; a table holds float32 or float64")
    largest = float(np.finfo(dtype).max) / 40  # no normal number is 40: exp(-40^2 / 2) = 1e-348
    if std > largest:
        raise ValueError(f"std is {std!r}; in {np.dtype(dtype)} it must be at most {largest:.1g}")
    rng = generator(rng)
    try:
        with replacing(path, new=True) as temporary, open(temporary, "r+b") as file:
            _write(file, path, shape, np.dtype(dtype), std, rng)
    except FileExistsError:
        raise FileExistsError(
            f"{path} exists; open it with open_table, or delete it first."
        ) from None
    return open_table(path)


def open_table(path: str | os.PathLike) -> np.memmap:
    """A table on disk, for reading and writing where it lies.

    Raises ValueError for a file that is not a .npy table of float32 or float64 with rows in C
    order, or whose size is not what its header asks for; OSError when it cannot be opened for
    writing. A file that is refused stays as it is.
    """
    with open_regular(path, "r+b") as file:
        shape, columns_first, dtype = _header(file, path)
        good = len(shape) == 2 and min(shape) > 0 and dtype in (np.float32, np.float64)
        if not good or columns_first:
            order = "column by column" if columns_first else "row by row"
            raise ValueError(
                f"{path} holds {dtype} of shape {shape}, {order}; a table has two axes, (V, D), "
                "holds float32 or float64, and is stored row by row."
            )
        start, size = file.tell(), os.fstat(file.fileno()).st_size
        asked = start + math.prod(shape) * dtype.itemsize
        if size != asked:
            raise ValueError(
                f"{path} has {size:,} bytes, and its header asks for {asked:,}: {shape[0]:,} rows "
                f"of {shape[1]:,} {dtype}. It was cut short, or something else was written into "
                "it; bring it back from a copy, or delete it and create the table anew."
            )
        return np.memmap(file, dtype, "r+", start, shape)


def _header(file: BinaryIO, path: str | os.PathLike) -> tuple[tuple[int, ...], bool, np.dtype]:
    """(shape, whether columns come first, dtype) of a .npy file. It is parsed, nothing is run."""
    try:
        version = np.lib.format.read_magic(file)
        return HEADERS[version](file)
    except BAD_HEADER as error:
        raise ValueError(f"{path} is no .npy table: {error}") from None


def _write(
    file: BinaryIO,
    path: Path,
    shape: tuple[int, int],
    dtype: np.dtype,
    std: float,
    rng: np.random.Generator,
) -> None:
    """The header, and the rows a block at a time. They do not depend on how large a block is."""
    from tqdm import tqdm

    V, D = shape
    header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    if reserve(file, file.tell() + V * D * dtype.itemsize, path) and not std:
        return  # the room that was taken holds zeros
    step = max(BLOCK // D, 1)
    blocks = range(0, V, step)
    for first in tqdm(blocks, desc="drawing rows", unit="block", disable=None, leave=False):
        rows = np.zeros((min(step, V - first), D), dtype)
        if std:
            rng.standard_normal(dtype=dtype, out=rows)
            rows *= dtype.type(std)
        file.write(rows)
