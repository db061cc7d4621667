"""The tokenizer explorer: a text in pieces, coloured by how often training met each piece.

A large vocabulary cuts a text into few pieces that training seldom met; a small one cuts it into
many that it met often. The counts are those of the text that the merges were learned from: a piece
that stands there n times has had its row updated n times in one pass.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from scratch_embed import plot
from scratch_embed.simulations.artists import Bars
from scratch_embed.simulations.simulation import LONGEST, Control, Notice, Simulation
from scratch_embed.text.bpe import BPE, train
from scratch_embed.text.pairs import FEW, MANY, split_words

SIZES = (1_000, 8_000, 32_000, 100_000)
SHADES = ((MANY, "sky blue", f"{MANY} times and more"), (FEW, "yellow", f"{FEW} to {MANY - 1}"),
          (0, "vermillion", f"below {FEW}"))  # fmt: skip
TEXTS = (
    "The transformers unhappily tokenize words", " transformerization", "transformerization",
    " unhappiness", "unhappiness", " network", " tokenizers", " the", " embedding", " gradient",
    " antidisestablishmentarianism", " kitten", " purring", " Zygote", " 3.14159", " naïve",
    " return numpy.zeros(shape)", " supercalifragilistic",
)  # fmt: skip
COLUMNS, BARS = 30, 14  # characters on a line of the picture, and bars below it


class Learned(NamedTuple):
    """Tokenizers by size V, and how often each of their V tokens stands in the training text."""

    tokenizers: dict[int, BPE]
    counts: dict[int, np.ndarray]


def learn(text: str, sizes=SIZES) -> Learned:
    """Learn merges from a text, and cut the list of them so that V is each of `sizes`.

    V counts one row for unknown characters, the alphabet of the text, and one for each merge. Where
    the alphabet alone is larger, or the text has no more pairs, V is as near as can be.
    """
    full = train(text, max(sizes), boundaries=True)
    letters = 1 + len(full.alphabet)
    made = {V: BPE(full.merges[: max(0, V - letters)], full.alphabet, full.unit, full.boundaries)
            for V in sizes}  # fmt: skip
    words = Counter(split_words(text))  # a word is cut the same way wherever it stands
    return Learned(made, {V: _counts(bpe, words) for V, bpe in made.items()})


def _counts(bpe: BPE, words: Counter) -> np.ndarray:
    """(V,) how often each token stands in a text with so many of each word."""
    from tqdm import tqdm

    counts = np.zeros(len(bpe), dtype=np.int64)
    times = np.fromiter(words.values(), np.int64, len(words))
    bar = tqdm(words, f"cutting at V = {len(bpe):,}", unit="word", leave=False, disable=None)
    cut = [bpe.encode(word) for word in bar]
    np.add.at(counts, np.concatenate(cut), np.repeat(times, [len(ids) for ids in cut]))
    return counts


@lru_cache(maxsize=1)
def learned() -> Learned:
    """What the English that comes with Python teaches, 6 MB of it. Asked twice, answered once."""
    from scratch_embed.text import corpus  # the lessons load this file, and seldom need that one

    return learn(corpus.python_text())


def shade(count: int) -> str:
    """The name in plot.PALETTE of the colour for a piece that training met `count` times."""
    return next(colour for least, colour, _ in SHADES if count >= least)


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


def _build(figure):
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    learned()  # some seconds, the first time
    top, low = figure.subplots(2, 1, height_ratios=[1, 1.5])
    boxes = PolyCollection([], edgecolor="black", linewidth=0.8)
    top.add_collection(boxes)
    lines = -(-LONGEST // COLUMNS) + 1
    top.set(xlim=(0, COLUMNS), ylim=(lines, 0), xticks=[], yticks=[])
    top.spines[:].set_visible(False)
    letters = [top.text(0, 0, "", ha="center", va="center_baseline", parse_math=False,
                        family="DejaVu Sans Mono", fontsize=12)
               for _ in range(2 * LONGEST)]  # fmt: skip
    bars = Bars(low, [""] * BARS, (0.5, 3e9), "sky blue", lying=True, fontsize=10.5)
    low.set(xscale="log", xlabel="times in the training text", yticks=[])
    low.legend(handles=[Patch(fc=plot.PALETTE[colour], ec="black", label=label)
                        for _, colour, label in SHADES],
               loc="lower right", frameon=False)  # fmt: skip
    return boxes, letters, bars, top.set_title("x", loc="left"), low.set_title("x", loc="left")


def _update(artists, values: dict) -> dict[str, str]:
    boxes, letters, bars, head, below = artists
    text, V = values["text"], values["num_embeddings"]
    bpe = learned().tokenizers[V]
    pieces, counts = bpe.pieces(text), learned().counts[V][bpe.encode(text)]
    places = _lines([len(piece) for piece in pieces])
    boxes.set_verts([[(x, y), (x + w, y), (x + w, y + 0.85), (x, y + 0.85)]
                     for spot in places for x, y, w in spot])  # fmt: skip
    colours = [plot.PALETTE[shade(n)] for n in counts]
    boxes.set_facecolor([c for c, spot in zip(colours, places) for _ in spot])
    at = [(x + k + 0.5, y + 0.47) for spot in places for x, y, w in spot for k in range(w)]
    shown = "".join(pieces).replace(" ", "·").replace("\t", "→")
    for i, letter in enumerate(letters):
        letter.set_text(shown[i] if i < len(shown) else "")
        if i < len(shown):
            letter.set_position(at[i])
    several = len(pieces) > BARS
    named = [f"{p.replace(' ', '·')}   {n:,}" for p, n in zip(pieces[:BARS], counts)]
    named += [""] * (BARS - len(named))
    heights = [*np.maximum(counts[:BARS], 0.5), *[0.5] * (BARS - len(pieces))][:BARS]
    bars.set(heights, named, [*colours[:BARS], *["white"] * (BARS - len(pieces))][:BARS])
    head.set_text(f"Tokens: {len(pieces)}   (a dot is a space)")
    below.set_text(f"The first {BARS} pieces" if several else "Each piece")
    rare = int((counts < FEW).sum())
    return {
        "tokens": f"{len(pieces)}",
        "rows of the table": f"{len(bpe):,}" + ("" if len(bpe) == V else f" (of {V:,} asked)"),
        "total frequency": f"{counts.sum():,}",
        f"pieces met less than {FEW} times": f"{rare}",
    }


def _lines(widths: list[int]) -> list[list[tuple[int, int, int]]]:
    """(column, line, width) of each piece, written like a text; a long one goes on below.

    >>> _lines([20, 20, 35])[1:]
    [[(0, 1, 20)], [(0, 2, 30), (0, 3, 5)]]
    """
    places, x, y = [], 0, 0
    for width in widths:
        if x and x + width > COLUMNS:
            x, y = 0, y + 1
        spot = []
        while width > 0:
            part = min(width, COLUMNS - x)
            spot.append((x, y, part))
            x, width = x + part, width - part
            if width or x == COLUMNS:
                x, y = 0, y + 1
        places.append(spot)
    return places


SIMULATION = Simulation(
    "Tokenizer: a word in pieces",
    (
        Control("text", TEXTS, TEXTS[0], "Text (type your own)", free=True),
        Control("num_embeddings", SIZES, 8_000, "Vocabulary size"),
    ),
    Notice(
        "From 8,000 rows to 32,000: will there be more pieces or fewer, and will each have been "
        "met more often in training, or less?",
        "Fewer pieces, and rarer ones: a long piece had few updates of its row (red), where the "
        "short ones that it replaced had thousands (blue). A space in front makes another split. "
        "The text that comes with Python, 6 MB, has no pairs left after some 43,000 rows: to fill "
        "100,000 takes more text.",
    ),
    _build,
    _update,
    (6.4, 7.6),
)
