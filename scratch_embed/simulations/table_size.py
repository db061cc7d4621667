"""The size of a token table: two sliders, V and D, and the models that chose theirs.

    numbers = V D                 bytes = V D * bytes of one number

Twice the rows or twice the columns: either way twice the table. Two units are called "megabyte",
so both are shown, 1 MB = 10^6 bytes and 1 MiB = 2^20 bytes. Sizes of models: `sizes.MODELS`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed import plot, sizes
from scratch_embed.simulations.controls import Control, check_values, defaults

# Language models only: the "rows" of a ViT are the values of a patch, not a vocabulary.
MODELS = {name: m for name, m in sizes.MODELS.items() if not name.startswith("ViT")}

# Round numbers, and between them what the models chose, so that each model can be dialled in.
ROWS = {1000 * 2**k for k in range(9)} | {m.num_embeddings for m in MODELS.values()}
COLUMNS = {64 * 2**k for k in range(8)} | {m.embedding_dim for m in MODELS.values()}
ROWS_SHOWN = (800, 330_000)  # from edge to edge of the picture

CONTROLS = [
    Control("num_embeddings", tuple(sorted(ROWS)), 32_000, "Vocabulary V"),
    Control("embedding_dim", tuple(sorted(COLUMNS)), 4_096, "Dimensions D"),
    Control("dtype", ("float32", "float16", "int8"), "float16", "Type of a number"),
]


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


def draw(figure, **values) -> None:
    """Draw the explorer into a Matplotlib figure, whatever was in it before.

    values: of CONTROLS, by name; the rest take their defaults. Left the plane of V and D, where the
    tables of one size lie on a line. Right the memory of this table among those of the models.
    """
    from matplotlib import rc_context

    check_values(CONTROLS, values)
    v = {**defaults(CONTROLS), **values}
    V, D, dtype = v["num_embeddings"], v["embedding_dim"], v["dtype"]
    yours = size(V, D, dtype)
    figure.clear()
    figure.set_layout_engine("constrained")
    with rc_context(plot.STYLE):
        figure.suptitle(f"{V:,} x {D:,} = {yours.params:,} numbers\n"
                        f"{yours.mb:,.2f} MB = {yours.mib:,.2f} MiB in {dtype}")  # fmt: skip
        left, right = figure.subplots(1, 2)
        _plane(left, V, D, yours)
        _models(right, V, D, dtype)


def _plane(ax, V: int, D: int, yours: Size) -> None:
    x = np.array(ROWS_SHOWN)
    for power in range(5, 10):
        ax.plot(x, 10**power / x, color="0.8", lw=1, zorder=1)
        at = min(10**power / 100, 150_000)  # at 100 columns, or where the picture still has room
        ax.text(at, 10**power / at, sizes.human(10**power, 0), fontsize=9, color="0.35",
                rotation=-38, ha="center", va="top")  # fmt: skip
    ax.plot(x, yours.params / x, "--", color=plot.CYCLE[1], lw=1.4, zorder=1)
    points = {(m.num_embeddings, m.embedding_dim) for m in MODELS.values()}
    ax.scatter(*zip(*sorted(points)), s=40, color=plot.CYCLE[0], edgecolor="black", linewidth=0.5,
               zorder=2, label="models")  # fmt: skip
    ax.scatter([V], [D], s=150, marker="D", color=plot.CYCLE[1], edgecolor="black", zorder=3,
               label="this table")  # fmt: skip
    ax.set(xscale="log", yscale="log", xlim=ROWS_SHOWN, ylim=(48, 17_000), xlabel="vocabulary V",
           ylabel="dimensions D", title="On a grey line: tables of one size")  # fmt: skip
    ax.legend(fontsize=9, loc="upper left")


def _models(ax, V: int, D: int, dtype: str) -> None:
    entries = {name: (m.num_embeddings, m.embedding_dim) for name, m in MODELS.items()}
    entries["this table"] = (V, D)
    ranked = sorted(entries, key=lambda name: (size(*entries[name]).params, name == "this table"))
    held = [size(*entries[name], dtype).mib for name in ranked]
    colors = [plot.CYCLE[name == "this table"] for name in ranked]
    drawn = ax.barh(ranked, held, color=colors, edgecolor="white")
    ax.bar_label(drawn, labels=[f"{number:,.1f}" for number in held], fontsize=9, padding=3)
    ax.set(xscale="log", xlim=(0.04, 40_000), xlabel=f"MiB in {dtype} (each step is ten times)",
           title="Token tables of models")  # fmt: skip
    ax.tick_params(axis="y", labelsize=9)
