"""There and back: rows are read one by one, and their gradients go home one by one.

    rows[n] = E[ids[n]]           gather         (V, D), (N,) -> (N, D)
    dE[ids[n]] += g[n]            scatter-add    (N, D) -> (V, D), for one n after another

Where an id stands twice, two gradients meet in one row. NumPy's `dE[ids] += g`, in one line, keeps
only the last of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed import plot
from scratch_embed.look.numbers import signed
from scratch_embed.ops.lookup import lookup_backward, lookup_forward
from scratch_embed.simulations.artists import Cells
from scratch_embed.simulations.simulation import Control, Notice, Simulation

WORDS = ("the", "cat", "dog", "sat", "house", "on")
E = np.array([[-0.12, 0.05, 0.88], [0.72, -0.41, 0.15], [0.68, -0.38, 0.22],
              [-0.55, 0.62, -0.03], [0.31, 0.15, -0.72], [-0.08, 0.11, 0.79]])  # fmt: skip
G = np.array([[-0.4, 0.8, 0.3], [0.9, -0.5, 0.1], [0.2, 0.6, 0.4]])  # what arrives, place by place
TEXTS = ("cat dog cat", "cat cat cat", "the dog sat")
ADDED, KEPT = "one by one, added", "dE[ids] += g, at once"
N, LIMIT = len(G), 1.4


def ids_of(text: str) -> np.ndarray:
    """Its words as rows of the table, (3,)."""
    return np.array([WORDS.index(word) for word in text.split()])


def back(ids: np.ndarray, count: int, way: str) -> np.ndarray:
    """dE (V, D) after the first `count` gradients went home."""
    if way == ADDED:
        return lookup_backward(G[:count], lookup_forward(E, ids[:count])[1])
    dE = np.zeros_like(E)
    dE[ids[:count]] += G[:count]
    return dE


class _Artists(NamedTuple):
    cells: tuple[Cells, Cells, Cells, Cells]  # E, rows, g, dE
    places: tuple  # the names of the places, beside rows and beside g
    arrows: tuple  # six: three rows out, three gradients home
    head: object  # how many came home


def _build(figure) -> _Artists:
    from matplotlib.patches import ConnectionPatch

    axes = figure.subplots(2, 2, gridspec_kw={"wspace": 0.2})
    many, few = (len(WORDS), E.shape[1]), G.shape
    shapes = [(many, WORDS), (few, [""] * N), (few, [""] * N), (many, WORDS)]
    cells = tuple(
        Cells(ax, shape, LIMIT, rows=rows) for ax, (shape, rows) in zip(axes.flat, shapes)
    )
    cells[0].set(E)
    cells[2].set(G)
    places = tuple(ax.text(-0.6, n, "", ha="right", va="center_baseline", fontsize=11)
                   for ax in (axes[0, 1], axes[1, 0]) for n in range(N))  # fmt: skip
    arrows = []
    for left, right in axes:
        for n in range(N):
            arrow = ConnectionPatch(
                (1.0, 0), (-0.3, 0), left.get_yaxis_transform(), right.get_yaxis_transform(),
                arrowstyle="-|>", mutation_scale=16, lw=2, shrinkA=4, shrinkB=0, clip_on=False,
                color=plot.CYCLE[n],
            )  # fmt: skip
            left.add_patch(arrow)
            arrows.append(arrow)
    titles = "E, a row for each word", "rows = E[ids]", "g, one for each place", "dE"
    heads = [ax.set_title(title, loc="left") for ax, title in zip(axes.flat, titles)]
    return _Artists(cells, places, tuple(arrows), heads[3])


def _update(artists: _Artists, values: dict) -> dict[str, str]:
    words, ids = values["text"].split(), ids_of(values["text"])
    step, way = values["step"], values["way"]
    read, sent = min(step, N), max(step - N, 0)
    rows = np.full_like(G, np.nan)
    rows[:read] = lookup_forward(E, ids[:read])[0]
    dE = back(ids, sent, way)
    artists.cells[1].set(rows)
    artists.cells[3].set(dE)
    for place, word in zip(artists.places, [*words, *words]):
        place.set_text(word)
    for n, arrow in enumerate(artists.arrows):
        place, home = n % N, ids[n % N]
        out = n < N
        arrow.xy1, arrow.xy2 = (1.0, home if out else place), (-0.3, place if out else home)
        arrow.set_visible(n < step)
        lost = way == KEPT and not out and home in ids[place + 1 : sent]
        arrow.set_alpha(0.2 if lost else 1.0)
    n = (step - 1) % N  # the place whose turn it is
    turns = [[ids[n], n, None, None], [None, None, n, ids[n]]][step > N] if step else [None] * 4
    for cells, row in zip(artists.cells, turns):
        cells.frame_row(row)
    artists.head.set_text(f"dE, {sent} of {N} at home")
    return _numbers(ids, dE, step, n, way)


def _numbers(ids, dE, step: int, n: int, way: str) -> dict[str, str]:
    row = ids[n]
    if step <= N:
        now = f"row {row} is copied to place {n}" if step else "nothing yet"
    else:
        verb = "put over what stands in" if way == KEPT else "added to"
        now = f"g[{n}] is {verb} row {row}"
    here = [place for place in range(max(step - N, 0)) if ids[place] == ids[0]]
    parts = [signed(G[place, 1]) for place in here] or ["0.00"]
    if way == KEPT and len(parts) > 1:
        parts = [f"{parts[-1]} alone, {' and '.join(parts[:-1])} lost"]
    return {
        "now": now,
        f'dE["{WORDS[ids[0]]}"], column 1': f"{' '.join(parts)} = {dE[ids[0], 1]:.2f}",
        "rows of dE that are 0": str(int((~dE.any(axis=1)).sum())),
    }


SIMULATION = Simulation(
    "There and back: rows out, gradients home",
    (
        Control("text", TEXTS, TEXTS[0], "Words that are read"),
        Control("way", (ADDED, KEPT), ADDED, "How gradients come home"),
        Control("step", tuple(range(2 * N + 1)), N, "Step", play=True),
    ),
    Notice(
        "Cat is read twice, and both gradients wait below. What will stand in the row of cat of "
        "dE, column 1, when all three are home?",
        "0.80 and 0.60 meet there: 1.40, because both places of the output came from one row. In "
        "one line, dE[ids] += g, NumPy reads the row before either part has come, so the last one "
        "stays alone: 0.60. Rows that nobody read keep a gradient of exactly 0.",
    ),
    _build,
    _update,
    (6.8, 6.6),
)
