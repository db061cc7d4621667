"""The size of a token table: two sliders, V and D, and the models that chose theirs.

    numbers = V D                 bytes = V D * bytes of one number

Twice the rows or twice the columns: either way twice the table. Two units are called "megabyte",
so both are shown, 1 MB = 10^6 bytes and 1 MiB = 2^20 bytes. Sizes of models: `sizes.MODELS`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed import sizes
from scratch_embed.simulations.artists import Bars
from scratch_embed.simulations.simulation import Control, Notice, Simulation

# Language models only: the "rows" of a ViT are the values of a patch, not a vocabulary.
MODELS = {name: m for name, m in sizes.MODELS.items() if not name.startswith("ViT")}

# Round numbers, and between them what the models chose, so that each model can be dialled in.
ROWS = {1000 * 2**k for k in range(9)} | {m.num_embeddings for m in MODELS.values()}
COLUMNS = {64 * 2**k for k in range(8)} | {m.embedding_dim for m in MODELS.values()}
CELLS = 64  # of the picture, either way: one is a block of BLOCK rows and columns
BLOCK = (256_000 // CELLS, 12_288 // CELLS)


class Size(NamedTuple):
    """What a table costs."""

    params: int  # V D
    mb: float  # bytes / 10^6
    mib: float  # bytes / 2^20


def size(num_embeddings: int = 32_000, embedding_dim: int = 4_096, dtype="float16") -> Size:
    """The readout for any table, also one between the stops of the sliders.

    >>> size()
    Size(params=131072000, mb=262.144, mib=250.0)
    """
    held = sizes.table_bytes(num_embeddings, embedding_dim, dtype)
    params = sizes.table_params(num_embeddings, embedding_dim)
    return Size(params, sizes.mb(held), sizes.mib(held))


def _build(figure):
    from matplotlib.patches import Rectangle

    top, low = figure.subplots(2, 1, height_ratios=[1.25, 1])
    cells = np.random.default_rng(0).standard_normal((CELLS, CELLS))
    top.pcolormesh(cells, cmap="PuOr_r", vmin=-4, vmax=4, rasterized=True)
    blank = [Rectangle((0, 0), 1, 1, fc="white", zorder=2) for _ in range(2)]
    frame = Rectangle((0, 0), 1, 1, fill=False, ec="black", lw=2, zorder=3, clip_on=False)
    for shape in (*blank, frame):
        top.add_patch(shape)
    rows, columns = np.array([0, 64_000, 128_000, 256_000]), np.array([0, 4096, 8192, 12_288])
    top.set_yticks(rows / BLOCK[0], [f"{n:,}" for n in rows])
    top.set_xticks(columns / BLOCK[1], [f"{n:,}" for n in columns])
    top.set(xlim=(0, CELLS), ylim=(CELLS, 0), ylabel="rows V", xlabel="columns D")
    head = top.set_title("x", loc="left")
    low.set_xscale("log")
    bars = Bars(low, ["this table", *MODELS], (0.05, 400_000), "blue", lying=True, fontsize=9.5)
    low.set(xlabel="MiB (each step is ten times)")
    low.tick_params(axis="y", labelsize=9.5)
    return blank, frame, head, bars


def _update(artists, values: dict) -> dict[str, str]:
    blank, frame, head, bars = artists
    V, D, dtype = values["num_embeddings"], values["embedding_dim"], values["dtype"]
    high, wide = V / BLOCK[0], D / BLOCK[1]
    frame.set_bounds(0, 0, wide, high)
    blank[0].set_bounds(wide, 0, CELLS - wide, CELLS)
    blank[1].set_bounds(0, high, CELLS, CELLS - high)
    head.set_text(f"A cell: {BLOCK[0]:,} x {BLOCK[1]} numbers; this table fills {high * wide:,.1f}")
    yours = size(V, D, dtype)
    tables = {"this table": (V, D)}
    tables |= {name: (m.num_embeddings, m.embedding_dim) for name, m in MODELS.items()}
    held = [size(*table, dtype).mib for table in tables.values()]
    same = ["blue" if table == (V, D) else "sky blue" for table in tables.values()]
    bars.set(held, [f" {number:,.1f}" for number in held], ["vermillion", *same[1:]])
    return {
        "numbers": f"{V:,} x {D:,} = {yours.params:,}",
        "memory": f"{yours.mib:,.2f} MiB = {yours.mb:,.2f} MB in {dtype}",
    }


SIMULATION = Simulation(
    "The size of a token table",
    (
        Control("num_embeddings", tuple(sorted(ROWS)), 32_000, "Rows V (the vocabulary)",
                page=(1000, 8000, 16_000, 30_522, 32_000, 50_257, 64_000, 128_256, 256_000)),
        Control("embedding_dim", tuple(sorted(COLUMNS)), 4_096, "Columns D",
                page=(64, 256, 512, 768, 1024, 2048, 4096, 8192, 12_288)),
        Control("dtype", ("float32", "float16", "int8"), "float16", "Type of a number"),
    ),
    Notice(
        "Twice the rows, or twice the columns: which of the two makes the table larger?",
        "Either way twice as large: the coloured block doubles in height or in width, and its "
        "cells are the numbers. V = 32,000 and D = 4,096 are Llama 2: 250 MiB at two bytes each. "
        "Every model below is drawn at the same bytes for a number.",
    ),
    _build,
    _update,
    (6.4, 7.4),
)  # fmt: skip
