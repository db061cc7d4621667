"""The tokenizer explorer: a text in pieces, coloured by how often training met each piece.

A large vocabulary cuts a text into few pieces that training seldom met; a small one cuts it into
many that it met often. The counts are those of the text that the merges were learned from: a piece
that stands there n times has had its row updated n times in one pass.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from scratch_embed import plot
from scratch_embed.kernels.ids import count_ids
from scratch_embed.simulations.controls import Control, check_values, defaults
from scratch_embed.text.bpe import BPE, train
from scratch_embed.text.pairs import FEW, MANY

SIZES = (250, 1_000, 4_000)
LETTERS = 200_000  # of documentation, to learn from when nothing else is given
SHADES = ((MANY, "sky blue", f"{MANY} times and more"), (FEW, "yellow", f"{FEW} to {MANY - 1}"),
          (0, "vermillion", f"below {FEW}"))  # fmt: skip
TEXTS = ("The transformers unhappily tokenize words", " transformerization", " unhappiness",
         " network", " tokenizers")  # fmt: skip


class Learned(NamedTuple):
    """Tokenizers by size V, and how often each of their V tokens stands in the training text."""

    tokenizers: dict[int, BPE]
    counts: dict[int, np.ndarray]


def controls(sizes) -> list[Control]:
    """The controls for tokenizers of these sizes."""
    sizes = tuple(sizes)
    return [
        Control("text", TEXTS, TEXTS[0], "Text"),
        Control("num_embeddings", sizes, sizes[len(sizes) // 2], "Vocabulary size"),
    ]


CONTROLS = controls(SIZES)


def learn(text: str, sizes=SIZES) -> Learned:
    """Learn merges from a text, and cut the list of them so that V is each of `sizes`.

    V counts one row for unknown characters, the alphabet of the text, and one for each merge. Where
    the alphabet alone is larger, or the text has no more pairs, V is as near as can be.
    """
    full = train(text, max(sizes), boundaries=True, progress=False)
    letters = 1 + len(full.alphabet)
    made = {V: BPE(full.merges[: max(0, V - letters)], full.alphabet, full.unit, full.boundaries)
            for V in sizes}  # fmt: skip
    counts = {V: count_ids(bpe.encode(text), len(bpe)) for V, bpe in made.items()}
    return Learned(made, counts)


@lru_cache(maxsize=1)
def learned() -> Learned:
    """What 200,000 letters of Python's documentation teach. Asked twice, answered once."""
    from scratch_embed.text import corpus  # the lessons load this file, and seldom need that one

    return learn(corpus.python_text()[:LETTERS])


def shade(count: int) -> str:
    """The name in plot.PALETTE of the colour for a piece that training met `count` times."""
    return next(colour for least, colour, _ in SHADES if count >= least)


def draw(figure, trained: Learned | None = None, own_text: str | None = None, **values) -> None:
    """Draw the explorer into a Matplotlib figure, whatever was in it before.

    trained: tokenizers to look at, from `learn`; by default those of `learned`.
    own_text: any text, instead of one from the menu. ValueError when it is empty.
    values: of controls(sizes of `trained`), by name; the rest take their defaults.
    """
    from matplotlib import rc_context

    known = trained or learned()
    menu = controls(known.tokenizers)
    check_values(menu, values)
    v = {**defaults(menu), **values}
    text, V = v["text"] if own_text is None else own_text, v["num_embeddings"]
    if not text:
        raise ValueError("own_text is empty; give at least one character")
    figure.clear()
    with rc_context(plot.STYLE):
        ax, below = figure.subplots(2, 1, height_ratios=[1, 2.2])
        pieces = known.tokenizers[V].pieces(text)
        counts = known.counts[V][known.tokenizers[V].encode(text)]
        _strip(ax, pieces, counts)
        ax.set_title(f"Tokens: {len(pieces)}     total frequency: {counts.sum():,}     V = {V:,}")
        _counts(below, pieces, counts)


def draw_line(ax, pieces: list[str], counts: np.ndarray, y: float = 0.0) -> None:
    """One line of pieces at height y, each as wide as it has characters and in its colour."""
    widths = np.array([len(piece) for piece in pieces])
    lefts = np.cumsum(widths) - widths
    colours = [plot.PALETTE[shade(count)] for count in counts]
    ax.broken_barh(np.column_stack([lefts, widths]), (y - 0.35, 0.7), facecolors=colours,
                   edgecolor="white", lw=2)  # fmt: skip
    for left, width, piece in zip(lefts, widths, pieces):
        ax.text(left + width / 2, y, piece.strip(), ha="center", va="center", fontsize=10)


def legend(ax, **options) -> None:
    """What the three colours mean."""
    for _, colour, label in SHADES:
        ax.bar(0, 0, color=plot.PALETTE[colour], label=label)
    ax.legend(ncols=3, frameon=False, fontsize=10, **options)


def _strip(ax, pieces: list[str], counts: np.ndarray) -> None:
    draw_line(ax, pieces, counts)
    ax.set(xlim=(0, sum(map(len, pieces))), xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def _counts(ax, pieces: list[str], counts: np.ndarray) -> None:
    names = [piece.replace(" ", "·") for piece in pieces]
    crowded = len(names) > 16
    ax.bar(range(len(names)), counts, color=[plot.PALETTE[shade(n)] for n in counts],
           edgecolor="black", linewidth=0.5)  # fmt: skip
    ax.set_yscale("symlog", linthresh=1)
    ax.set_xticks(range(len(names)), names, rotation=60 if crowded else 0)
    ax.set(xlabel="piece (a dot is a space)", ylabel="times in training",
           ylim=(0, 20 * max(counts.max(), 1)))  # fmt: skip
    legend(ax, loc="upper right")
