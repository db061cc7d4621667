"""Hashing collisions: fewer rows than words, and who has to share.

    row = hash(word) mod m        expected alone: (1 - 1/m)^(n - 1),  about e^(-n/m)

With k hashes the k rows are added, and a word is told from another unless both have the same k
rows, in whatever order, which is far rarer.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from scratch_embed import hashing
from scratch_embed.kernels.ids import count_ids
from scratch_embed.simulations.artists import Bars
from scratch_embed.simulations.simulation import Control, Notice, Simulation

BUCKETS = tuple(2**k for k in range(4, 17))
WORDS = (10, 30, 100, 300, 1_000, 3_000, 10_000)
SIDE = 64  # squares of the picture; more buckets than squares: the first of them
MOST = 5  # words in a bucket from which on the colour stays the same


@lru_cache(maxsize=1024)
def counted(words: int, buckets: int, seed: int) -> hashing.Collisions:
    """`hashing.collisions` of the words "word 0", "word 1", ..."""
    return hashing.collisions(_names(words), buckets, seed)


@lru_cache(maxsize=1024)
def confused(words: int, buckets: int, hashes: int, seed: int) -> int:
    """How many words share all of their k rows with another, in whatever order: they are added."""
    rows = np.stack([_rows(words, buckets, seed + k) for k in range(hashes)], axis=1)
    rows.sort(axis=1)
    _, at, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return int((counts[at.ravel()] > 1).sum())


@lru_cache(maxsize=16)
def _names(words: int) -> np.ndarray:
    return hashing.keys([f"word {i}" for i in range(words)])


@lru_cache(maxsize=256)
def _rows(words: int, buckets: int, seed: int) -> np.ndarray:
    return hashing.buckets(_names(words), buckets, seed)


def _build(figure):
    from matplotlib.colors import ListedColormap

    top, low = figure.subplots(2, 1, height_ratios=[1.6, 1])
    colors = ["#FFFFFF", "#DCEEF9", "#F7C9A9", "#EE9B64", "#D55E00", "#8A3C00"]
    grid = top.pcolormesh(np.full((SIDE, SIDE), np.nan), cmap=ListedColormap(colors), vmin=-0.5,
                          vmax=MOST + 0.5, rasterized=True)  # fmt: skip
    top.set(xticks=[], yticks=[], aspect="equal")
    key = top.figure.colorbar(grid, ax=top, ticks=range(MOST + 1), shrink=0.8)
    key.set_ticklabels([*map(str, range(MOST)), f"{MOST}+"])
    key.set_label("words in a bucket")
    bars = Bars(
        low, ["alone", "shares its row", "confused"], (0, 1.3), "sky blue", lying=True, fontsize=11
    )
    low.set(xlabel="share of words")
    return grid, bars, top, top.set_title("x", loc="left")


def _update(artists, values: dict) -> dict[str, str]:
    grid, bars, ax, head = artists
    n, m, hashes, seed = (values[name] for name in ("words", "buckets", "hashes", "seed"))
    found = counted(n, m, seed)
    counts = count_ids(_rows(n, m, seed), m)
    side = min(SIDE, math.ceil(m**0.5))  # the square of squares that the buckets fill
    shown = np.full(SIDE * SIDE, np.nan)
    shown[: min(m, side * side)] = np.minimum(counts[: side * side], MOST)
    square = np.full((SIDE, SIDE), np.nan)
    square[:side, :side] = shown[: side * side].reshape(side, side)
    grid.set_array(square)
    ax.set(xlim=(0, side), ylim=(side, 0))
    same = confused(n, m, hashes, seed)
    told = (n - found.sharing, found.sharing, same)
    bars.set([x / n for x in told], [f"{x:,}" for x in told], ["sky blue", "orange", "vermillion"])
    part = "" if m <= SIDE * SIDE else f" (the first {SIDE * SIDE:,})"
    head.set_text(f"{n:,} words in {m:,} buckets{part}")
    return {
        "words for each bucket": f"{n / m:.3g}",
        "share their row": f"{found.sharing:,} of {n:,} (expected {found.expected_sharing:,.1f})",
        "empty buckets": f"{m - found.used:,} of {m:,}",
        f"same row by {hashes} hash" + ("es" if hashes > 1 else ""): f"{same:,}",
        "most in one bucket": f"{found.largest:,}",
    }


SIMULATION = Simulation(
    "Collisions: fewer rows than words",
    (
        Control("buckets", BUCKETS, 1024, "Buckets m (rows of the table)", play=True),
        Control("words", WORDS, 1_000, "Words n"),
        Control("hashes", (1, 2, 3), 1, "Hashes for a word"),
        Control("seed", tuple(range(5)), 0, "Seed of the hash", page=(0,)),
    ),
    Notice(
        "1,000 words in 1,024 buckets, nearly one for each. How many words will share their row?",
        "More than six in ten share, while more than a third of the buckets stay empty: chance "
        "does not spread things evenly. To have nine in ten alone takes ten times as many "
        "buckets as words. A second hash costs no rows and leaves hardly a pair that shares "
        "both.",
    ),
    _build,
    _update,
    (6.4, 7.0),
)
