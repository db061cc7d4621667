"""Tied or not: the table that reads, the table that scores, and the logits z_j = h . e_j.

Tied, the head scores with the very rows that were read. Untied, it has rows of its own, drawn at
random here, so that the same h may mean another word. The counts are those of a large model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed import geometry, sizes
from scratch_embed.look.numbers import signed
from scratch_embed.ops.project import project_forward
from scratch_embed.simulations.artists import Bars, Cells
from scratch_embed.simulations.simulation import Control, Notice, Simulation

WORDS = ("the", "cat", "sat", "on")
TABLE = np.array([[0.5, 0.3, -0.1], [0.8, -0.2, 0.4], [0.1, 0.9, 0.3], [-0.3, 0.5, 0.6]])
HIDDEN = np.array([0.6, 0.1, 0.3])  # h, what the last layer says
V, D = 32_000, 4096  # of the model whose parameters are counted


class View(NamedTuple):
    """What the switch shows."""

    scoring: np.ndarray  # (4, 3) the rows that h is multiplied by: TABLE itself when tied
    logits: np.ndarray  # (4,)
    params: int  # at V and D
    label: str


def view(tied: bool, hidden: np.ndarray = HIDDEN) -> View:
    """The scoring table, its logits for a hidden state (3,), and what one or two tables hold.

    >>> view(tied=True).label
    '131M params (1 matrix)'
    """
    own = np.random.default_rng(3).normal(0, 0.5, TABLE.shape).round(1)
    scoring = TABLE if tied else own
    params = (1 if tied else 2) * sizes.table_params(V, D)
    unit = "1 matrix" if tied else "2 matrices"
    return View(scoring, project_forward(hidden, scoring)[0], params,
                f"{sizes.human(params, 0)} params ({unit})")  # fmt: skip


STEPS = tuple(round(k / 10, 1) for k in range(-10, 11))


def _build(figure):
    from matplotlib.patches import ConnectionPatch

    grid = figure.subplot_mosaic([["reads", "scores"], ["h", "h"], ["logits", "logits"]],
                                 height_ratios=[1.2, 0.42, 1.1])  # fmt: skip
    gids = [f"word={word}" for word in WORDS]
    tables = [Cells(grid[name], TABLE.shape, 1.2, rows=WORDS, gids=gids, fontsize=12)
              for name in ("reads", "scores")]  # fmt: skip
    tables[0].set(TABLE)
    grid["reads"].set_title("Reads: E", loc="left")
    heads = [grid[name].set_title("x", loc="left") for name in ("scores", "h", "logits")]
    hidden = Cells(grid["h"], (1, 3), 1.2, rows=["h"], fontsize=12)
    bars = Bars(grid["logits"], WORDS, 2.6, "sky blue", gids=gids, fontsize=11)
    grid["logits"].set(ylabel="logit")
    links = [ConnectionPatch((1.0, v), (-0.23, v), coordsA=grid["reads"].get_yaxis_transform(),
                             coordsB=grid["scores"].get_yaxis_transform(), lw=2, color="0.4")
             for v in range(len(WORDS))]  # fmt: skip
    for link in links:
        figure.add_artist(link)
        link.set_in_layout(False)
    return tables, hidden, bars, heads, links


def _update(artists, values: dict) -> dict[str, str]:
    tables, hidden, bars, (scores, state, logits), links = artists
    h, at = np.array([values[f"h{d}"] for d in range(3)]), WORDS.index(values["word"])
    shown = view(values["tied"], h)
    tables[1].set(shown.scoring)
    for table in tables:
        table.frame_row(at)
    for link in links:
        link.set_visible(values["tied"])
    hidden.set(h[None])
    best = np.flatnonzero(np.isclose(shown.logits, shown.logits.max(), rtol=0, atol=1e-9))
    bars.set(shown.logits, colors=["vermillion" if i == at else "sky blue" for i in range(4)])
    scores.set_text("Scores: E too" if values["tied"] else "Scores: rows of its own")
    state.set_text("h, what the last layer says")
    row = shown.scoring[at]
    terms = " ".join(f"{signed(x, 1)}({signed(e, 1)})" for x, e in zip(h, row))
    logits.set_text(f"z[{WORDS[at]}] = {terms} = {signed(shown.logits[at])}")
    length = float(np.linalg.norm(h) * np.linalg.norm(row))
    return {
        "parameters": f"{shown.params:,}" + (" (1 matrix)" if values["tied"] else " (2 matrices)"),
        "logit": signed(shown.logits[at]),
        "cosine of h and the row": signed(geometry.cosine(h, row), 3) if length else "h is 0",
        "length of h, of the row": f"{np.linalg.norm(h):.2f}, {np.linalg.norm(row):.2f}",
        "highest": " and ".join(WORDS[i] for i in best) if h.any() else "none: h is 0",
    }


SIMULATION = Simulation(
    "Tied or untied: one table or two",
    (
        Control("tied", (True, False), False, "Tied"),
        Control("word", WORDS, "cat", "Token"),
        Control("h0", STEPS, 0.6, "h, number 0", page=(-0.6, 0.0, 0.6)),
        Control("h1", STEPS, 0.1, "h, number 1", page=(-0.6, 0.1, 0.6)),
        Control("h2", STEPS, 0.3, "h, number 2", page=(-0.6, 0.3, 0.6)),
    ),
    Notice(
        "h is (0.6, 0.1, 0.3). Tied, which token gets the highest logit: the, cat, sat or on?",
        f"Tied, the rows that read are the rows that score, and half of the numbers go (counted at "
        f"V = {V:,}, D = {D:,}). A logit is a dot product: a row gains when it points where h "
        "does, and when it is long. Make h twice as long and every logit doubles, but none "
        "overtakes another.",
    ),
    _build,
    _update,
    (6.4, 7.2),
)
