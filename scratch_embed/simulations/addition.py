"""Token + position + segment: three rows are looked up and added, number by number.

    x = E_token[id] + E_position[t] + E_segment[s]                         (D,) each, here D = 4

The token's row never moves. Sliding the word through the sentence changes the position's row, and
with it the sum. Without the token's row nothing in the sum says which word it was.
"""

from __future__ import annotations

import numpy as np

from scratch_embed import geometry, plot
from scratch_embed.ops.lookup import lookup_forward
from scratch_embed.simulations.controls import Control, check_values, defaults

POSITIONS = 8
WORD = "cat"

CONTROLS = [
    Control("token", (True, False), True, "Add the token's row"),
    Control("position", (True, False), True, "Add the position's row"),
    Control("segment", (True, False), True, "Add the segment's row"),
    Control("at", tuple(range(POSITIONS)), 3, "Position"),
]

# Rows of lesson 2: with them "cat" at position 3 of sentence A is [0.34, -0.52, -0.07, 0.84].
TOKEN = np.array([[0.50, -0.60, 0.10, 0.40]])
SEGMENT = np.array([[0.02, -0.02, -0.02, 0.02]])
POSITION = np.random.default_rng(5).normal(0, 0.3, (POSITIONS, 4)).round(2)
POSITION[3] = [-0.18, 0.10, -0.15, 0.42]

TABLES = {"token": TOKEN, "position": POSITION, "segment": SEGMENT}
COLORS = {"token": "orange", "position": "green", "segment": "purple"}


def parts(token=True, position=True, segment=True, at: int = 3) -> dict[str, np.ndarray]:
    """The three rows (D,) by name; zeros where a part is switched off. Their sum is the input.

    >>> np.sum(list(parts().values()), axis=0).round(2).tolist()
    [0.34, -0.52, -0.07, 0.84]
    """
    values = {"token": token, "position": position, "segment": segment, "at": at}
    check_values(CONTROLS, values)
    rows = {}
    for name, table in TABLES.items():
        ids = np.array([at if name == "position" else 0])
        row = lookup_forward(table, ids)[0][0]
        rows[name] = row if values[name] else np.zeros_like(row)
    return rows


def draw(figure, **values) -> None:
    """Draw the addition into a Matplotlib figure, whatever was in it before.

    values: of CONTROLS, by name; the rest take their defaults. Three rows and their sum, all four
    on one scale.
    """
    from matplotlib import rc_context

    check_values(CONTROLS, values)
    v = {**defaults(CONTROLS), **values}
    rows = parts(**v)
    total = np.sum(list(rows.values()), axis=0)
    heads = {"token": f'token "{WORD}"', "position": f"+ position {v['at']}",
             "segment": "+ segment A"}  # fmt: skip
    figure.clear()
    figure.set_layout_engine("constrained")
    with rc_context(plot.STYLE):
        axes = figure.subplots(1, 4, sharey=True)
        for ax, (name, row) in zip(axes, rows.items(), strict=False):
            head = heads[name] + ("" if v[name] else " (off)")
            _bars(ax, row, plot.PALETTE[COLORS[name]], head)
        _bars(axes[3], total, plot.PALETTE["blue"], "= input row")
        axes[0].set_ylabel("value")
        likeness = geometry.cosine(total, TOKEN[0])
        figure.suptitle(f'cosine of the sum with the row of "{WORD}": {likeness:+.3f}')


def _bars(ax, row: np.ndarray, color: str, title: str) -> None:
    drawn = ax.bar(np.arange(len(row)), row, color=color, edgecolor="black", linewidth=0.5)
    ax.bar_label(drawn, labels=[f"{number:.2f}" for number in row], fontsize=10, padding=2)
    ax.axhline(0, color="black", lw=0.8)
    reach = 1.2 * sum(np.abs(table).max() for table in TABLES.values())
    ax.set(xticks=range(len(row)), xlabel="column", ylim=(-reach, reach), title=title)
