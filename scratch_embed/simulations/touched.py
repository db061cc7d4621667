"""Which share of a table does one batch touch? It depends on how unequal the words are.

p_r = r^-s / sum r^-s          the share of rank r: s = 0 all alike, s = 1 Zipf's law
touched = sum_r (1 - (1 - p_r)^N) / V        expected, for a batch of N tokens
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from scratch_embed import plot, sizes
from scratch_embed.kernels.ids import count_ids
from scratch_embed.simulations.artists import Bars
from scratch_embed.simulations.simulation import Control, Notice, Simulation

BATCHES = tuple(2**k for k in range(4, 21))
LAWS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
ROWS = (1_000, 10_000, 50_257)
D, LINE = 768, 50  # columns, for the bytes; and the squares of the picture on a side


@lru_cache(maxsize=32)
def shares(rows: int, law: float) -> np.ndarray:
    """p (V,) of ranks 1 to V, read-only."""
    weights = np.arange(1, rows + 1) ** -float(law)
    p = weights / weights.sum()
    p.flags.writeable = False  # the cache hands the same array to everybody
    return p


@lru_cache(maxsize=4096)
def touched(rows: int, law: float, batch: int) -> float:
    """The expected share of rows that a batch touches.

    >>> round(touched(1000, 0.0, 1000), 4)          # 1 - (1 - 1/1000)^1000
    0.6323
    """
    return float(-np.expm1(batch * np.log1p(-shares(rows, law))).mean())


@lru_cache(maxsize=256)
def drawn(rows: int, law: float, batch: int) -> np.ndarray:
    """How often one batch, drawn by this law, holds each row: (V,) int64."""
    ends = np.cumsum(shares(rows, law))
    ids = np.searchsorted(ends, np.random.default_rng(0).random(batch) * ends[-1])
    return count_ids(ids, rows)


def _build(figure):
    from matplotlib.colors import ListedColormap

    for rows in ROWS:  # what a move looks up
        for law in LAWS:
            _ = [touched(rows, law, batch) for batch in BATCHES[::2]]
    axes = figure.subplot_mosaic([["grid", "bars"], ["curve", "curve"]], height_ratios=[1.15, 1],
                                 width_ratios=[1.5, 1])  # fmt: skip
    colors = ListedColormap(["#EFEFEF", plot.PALETTE["sky blue"]])
    grid = axes["grid"].pcolormesh(np.zeros((LINE, LINE)), cmap=colors, vmin=0, vmax=1,
                                   rasterized=True)  # fmt: skip
    axes["grid"].set(xticks=[], yticks=[], ylim=(LINE, 0), aspect="equal")
    axes["grid"].set_xlabel("a square is a row, or some; frequent first")
    bars = Bars(axes["bars"], ["dense", "touched"], (0, 1.25), "sky blue")
    axes["bars"].set(yticks=[])
    axes["bars"].set_title("bytes of a gradient", loc="left")
    ax = axes["curve"]
    none = np.zeros(len(BATCHES))
    curves = [
        ax.plot(BATCHES, none, lw=2, color=color, ls=dash, label=label)[0]
        for color, dash, label in ((plot.CYCLE[0], "-", "this law"), ("0.5", "--", "all alike"))
    ]
    dot = ax.plot([16], [0], "o", color=plot.CYCLE[1], ms=9)[0]
    ax.set(xscale="log", ylim=(-0.03, 1.06), xlabel="tokens in a batch", ylabel="share touched")
    ax.legend(loc="upper left", frameon=False)
    return grid, bars, curves, dot, axes["grid"].set_title("x", loc="left")


def _update(artists, values: dict) -> dict[str, str]:
    grid, bars, curves, dot, head = artists
    V, law, batch = values["rows"], values["law"], values["batch"]
    counts = drawn(V, law, batch)
    some = np.linspace(0, V, LINE * LINE + 1).astype(int)
    some = np.minimum(some[:-1], V - 1) if V >= LINE * LINE else np.arange(V)
    shown = np.zeros(LINE * LINE)
    shown[: len(some)] = counts[some] > 0
    grid.set_array(shown.reshape(LINE, LINE))
    expected = touched(V, law, batch)
    for curve, s in zip(curves, (law, 0.0)):
        curve.set_ydata([touched(V, s, n) for n in BATCHES])
    dot.set_data([batch], [expected])
    rows = int((counts > 0).sum())
    dense, sparse = 4 * V * D, 4 * rows * D + 8 * rows
    told = [sizes.human(dense), sizes.human(sparse)]
    bars.set([1.0, min(1.0, sparse / dense)], told, ["sky blue", "vermillion"])
    head.set_text("coloured: touched by one batch")
    return {
        "expected": f"{expected:.2%} of {V:,} rows",
        "in one batch": f"{rows:,} rows, {rows / V:.2%}",
        "if all were alike": f"{touched(V, 0.0, batch):.2%}",
        "most frequent row": "once" if counts.max() == 1 else f"{counts.max():,} times",
    }


SIMULATION = Simulation(
    "Touched: how much of the table does a batch use?",
    (
        Control("batch", BATCHES, 4096, "Tokens in a batch", play=True),
        Control("law", LAWS, 1.0, "Zipf exponent s (0: all words alike)"),
        Control("rows", ROWS, 50_257, "Rows V"),
    ),
    Notice(
        "A table of 50,257 rows and a batch of 4,096 tokens by Zipf's law: does the batch touch "
        "8 %, 4 % or 1 % of the rows?",
        "The frequent words stand in the batch again and again, so it touches far fewer rows than "
        "it has tokens; the tail of the table stays grey even when the batch is as large as the "
        "table. That is what a gradient which names its rows saves.",
    ),
    _build,
    _update,
    (6.4, 7.0),
)
