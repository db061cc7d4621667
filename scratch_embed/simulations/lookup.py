"""Embedding lookup: choose a word, and see its row fetched from the table.

    x = E[id]                     (V, D), one id -> (D,): a copy, and not one multiplication

The table is not made up: its rows come from counting which words stand near which in the few
sentences below (PPMI, and the widest directions of it, as in lesson 18). Cat and dog are told apart
by little, and so are house and building; "the" stands near everything.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from scratch_embed import geometry, plot
from scratch_embed.look.numbers import signed
from scratch_embed.ops.lookup import lookup_forward
from scratch_embed.simulations.artists import DARK, LIGHT, Bars, Cells, Words
from scratch_embed.simulations.simulation import Control, Notice, Simulation
from scratch_embed.text.ppmi import cooccurrence, ppmi, svd_vectors

WORDS = ("the", "cat", "dog", "kitten", "house", "building", "sat", "on")
D = 8
ANIMALS, HOMES = ("cat", "dog", "kitten"), ("house", "building")
OWN = {"cat": ("purred", "slept"), "kitten": ("purred", "slept"), "dog": ("barked", "slept"),
       "house": ("roof", "door"), "building": ("roof", "lift")}  # fmt: skip
STEPS = ("the id", "its row", "the copy", "beside another")


@lru_cache(maxsize=1)
def table() -> np.ndarray:
    """The rows (8, 8) of WORDS, float64, read-only. The longest has length 1."""
    sentences = [f"the {a} sat on the {b}" for a in ANIMALS for b in (*HOMES, "mat")]
    sentences += [f"the {a} {did} and the {a} ran" for a in ANIMALS for did in OWN[a]]
    sentences += [f"the {b} has a {part} and the {b} is old" for b in HOMES for part in OWN[b]]
    tokens = " . ".join(sentences).split()
    words = list(dict.fromkeys(tokens))
    ids = np.array([words.index(token) for token in tokens])
    vectors = svd_vectors(ppmi(cooccurrence(ids, len(words), window=2)), D)
    rows = vectors[[words.index(word) for word in WORDS]]
    rows = rows / geometry.norms(rows).max()
    rows.flags.writeable = False  # the cache hands the same array to everybody
    return rows


class _Artists(NamedTuple):
    cells: Cells
    words: list  # the names of the rows
    bars: tuple[Bars, Bars]
    heads: tuple  # what stands above the panels
    dots: object
    here: object
    names: Words


def _build(figure) -> _Artists:
    rows = table()
    top, middle, low = figure.subplots(3, 1, height_ratios=[1.5, 1, 1.15])
    gids = [f"word={word}" for word in WORDS]
    ids = [f"{word}  {i}" for i, word in enumerate(WORDS)]
    cells = Cells(top, rows.shape, np.abs(rows).max(), rows=ids, gids=gids, fontsize=9.5)
    cells.set(rows)
    top.tick_params(labelbottom=False)
    for label, gid in zip(top.get_yticklabels(), gids):
        label.set_gid(gid)
        label.set_backgroundcolor("white")
    reach = 1.35 * np.abs(rows).max()
    columns = [str(d) for d in range(D)]
    bars = tuple(
        Bars(middle, columns, reach, color, width=0.4, shift=shift, fmt=None)
        for color, shift in (("blue", -0.2), ("orange", 0.2))
    )
    middle.set(ylabel="value")
    view = geometry.pca(rows, 2)
    low.scatter(*view.coords.T, s=36, color=plot.CYCLE[0], zorder=2)
    low.margins(0.14, 0.2)
    here = low.scatter([0, 0], [0, 0], s=170, facecolor="none", linewidth=2,
                       edgecolor=[plot.PALETTE["blue"], plot.PALETTE["orange"]])  # fmt: skip
    low.set(xlabel="first direction", ylabel="second")
    low.set_title("The whole table from its two widest sides", loc="left")
    names = Words(low, WORDS, gids=gids, fontsize=11)
    heads = (top.set_title("the", loc="left"), middle.set_title("the", loc="left"))
    return _Artists(cells, list(top.get_yticklabels()), bars, heads, view.coords, here, names)


def _update(artists: _Artists, values: dict) -> dict[str, str]:
    word, other, step = values["word"], values["other"], STEPS.index(values["step"])
    ids = np.array([WORDS.index(word), WORDS.index(other)])
    (row, beside), _ = lookup_forward(table(), ids)
    artists.cells.frame_row(ids[0] if step > 0 else None)
    for i, label in enumerate(artists.words):
        looked = {ids[1]: DARK} if step == 3 else {}
        looked |= {ids[0]: LIGHT}
        label.get_bbox_patch().set_color(looked.get(i, "white"))
    top, middle = artists.heads
    top.set_text(f'The table E ({len(WORDS)}, {D}): "{word}" has id {ids[0]}')
    artists.bars[0].set(row if step > 1 else 0 * row)
    artists.bars[1].set(beside if step > 2 else 0 * row)
    copied = f"x = E[{ids[0]}]" if step > 1 else "Nothing is copied yet"
    middle.set_text(copied + (f' (blue) beside E[{ids[1]}] "{other}" (orange)' if step > 2 else ""))
    artists.here.set_offsets(artists.dots[ids])
    artists.names.set(artists.dots)
    numbers = {"id": f"{ids[0]}", "row": " ".join(signed(x) for x in row) if step > 1 else "?",
               "multiplications": "0"}  # fmt: skip
    if step > 2:
        numbers["distance of the two"] = f"{geometry.euclidean(row, beside):.3f}"
        numbers["cosine of the two"] = signed(geometry.cosine(row, beside), 3)
    return numbers


SIMULATION = Simulation(
    "Lookup: a word fetches its row",
    (
        Control("word", WORDS, "cat", "Word"),
        Control("other", WORDS, "dog", "Compare with"),
        Control("step", STEPS, STEPS[-1], "What has happened", play=True),
    ),
    Notice(
        "Which word's bars will look most like those of cat: dog, kitten, house or the?",
        "The numbers in the frame and the blue bars are the same: a lookup copies a row and "
        "computes nothing. Words that stand near the same words have bars alike and lie side by "
        "side below: cat, dog, kitten; house, building. The row of the is like none of them.",
    ),
    _build,
    _update,
    (6.4, 7.8),
)
