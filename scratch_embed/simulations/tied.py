"""Tied or not: the table that reads, the table that scores, and the logits z_j = h . e_j.

Tied, the head scores with the very rows that were read. Untied, it has rows of its own, drawn at
random here, so that the same h may mean another word. The counts are those of a large model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed import plot, sizes
from scratch_embed.ops.project import project_forward
from scratch_embed.simulations.controls import Control, check_values, defaults

WORDS = ("the", "cat", "sat", "on")
TABLE = np.array([[0.5, 0.3, -0.1], [0.8, -0.2, 0.4], [0.1, 0.9, 0.3], [-0.3, 0.5, 0.6]])
HIDDEN = np.array([0.6, 0.1, 0.3])  # h, what the last layer says
V, D = 32_000, 4096  # of the model whose parameters are counted

CONTROLS = [
    Control("tied", (True, False), False, "Tied"),
    Control("word", WORDS, "cat", "Token"),
]


class View(NamedTuple):
    """What the switch shows."""

    scoring: np.ndarray  # (4, 3) the rows that h is multiplied by: TABLE itself when tied
    logits: np.ndarray  # (4,)
    params: int  # at V and D
    label: str


def view(tied: bool) -> View:
    """The scoring table, its logits, and what one or two tables of V x D hold.

    >>> view(tied=True).label
    '131M params (1 matrix)'
    """
    own = np.random.default_rng(3).normal(0, 0.5, TABLE.shape).round(1)
    scoring = TABLE if tied else own
    params = (1 if tied else 2) * sizes.table_params(V, D)
    unit = "1 matrix" if tied else "2 matrices"
    return View(scoring, project_forward(HIDDEN, scoring)[0], params,
                f"{sizes.human(params, 0)} params ({unit})")  # fmt: skip


def draw(figure, **values) -> None:
    """Draw the two tables and the logits into a Matplotlib figure, whatever was in it before.

    values: of CONTROLS, by name; the rest take their defaults. The row of the chosen token is
    framed, and its logit is written out as the dot product that it is.
    """
    from matplotlib import rc_context

    check_values(CONTROLS, values)
    v = {**defaults(CONTROLS), **values}
    shown, at = view(v["tied"]), WORDS.index(v["word"])
    figure.clear()
    with rc_context(plot.STYLE):
        reads, writes, bars = figure.subplots(1, 3, width_ratios=[1, 1, 1.25])
        figure.suptitle(f"{shown.label} at V = {V:,}, D = {D:,}")
        kind = "the same E" if v["tied"] else "rows of its own"
        for ax, table, title in ((reads, TABLE, "Reads: E"), (writes, shown.scoring,
                                                              f"Scores: {kind}")):  # fmt: skip
            plot.heatmap(ax, table, rows=WORDS, highlight=[at], xlabel="column", title=title)
        _logits(bars, shown, at)


def _logits(ax, shown: View, at: int) -> None:
    terms = " + ".join(f"{h:g}({e:g})" for h, e in zip(HIDDEN, shown.scoring[at]))
    plot.bars(ax, WORDS, shown.logits, fmt="{:.2f}", ylabel="logit",
              title=f"z[{WORDS[at]}] = {terms}\n= {shown.logits[at]:.2f}")  # fmt: skip
    ax.patches[at].set_facecolor(plot.PALETTE["vermillion"])
    ax.axhline(0, color="black", lw=0.8)
    ax.set_ylim(-1, 1.2)  # one scale for tied and untied
    ax.set_xlabel(f"token; the highest is {WORDS[int(shown.logits.argmax())]!r}")
