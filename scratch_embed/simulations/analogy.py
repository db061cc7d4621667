"""Analogies with arrows: king - man + woman, and what becomes of it when Paris is a fruit.

    query = E[a] - E[b] + E[c],     the answer is the row nearest to it, the inputs left out or not

The rows are drawn by hand, in two columns, so that every arrow can be seen. Nothing is learned.
"""

from __future__ import annotations

import numpy as np

from scratch_embed import geometry, plot
from scratch_embed.simulations.artists import Words
from scratch_embed.simulations.simulation import Control, Notice, Simulation

POINTS = {
    "man": (1.0, 1.0), "woman": (1.0, 2.0), "king": (3.0, 1.0), "queen": (3.0, 2.0),
    "france": (5.2, 4.2), "paris": (6.7, 4.5), "italy": (5.4, 5.2), "rome": (6.9, 5.5),
    "japan": (5.0, 6.2), "tokyo": (6.5, 6.5), "apple": (1.0, 5.2), "pear": (1.5, 6.0),
    "plum": (2.2, 5.4),
}  # fmt: skip
WORDS = tuple(POINTS)
FRUIT = (1.6, 4.7)  # where Paris stands when it is a fruit
SUMS = {
    "king - man + woman": ("king", "man", "woman"),
    "queen - woman + man": ("queen", "woman", "man"),
    "paris - france + italy": ("paris", "france", "italy"),
    "rome - italy + japan": ("rome", "italy", "japan"),
    "tokyo - japan + france": ("tokyo", "japan", "france"),
}
QUEEN = tuple(round(0.25 * k, 2) for k in range(-6, 7))


def table(fruit: float = 0.0, queen: float = 0.0) -> np.ndarray:
    """The rows (13, 2): Paris moved so far toward the fruits (0..1), queen so far to the right."""
    rows = np.array(list(POINTS.values()))
    at = WORDS.index("paris")
    rows[at] += fruit * (np.array(FRUIT) - rows[at])
    rows[WORDS.index("queen"), 0] += queen
    return rows


def _build(figure):
    ax = figure.subplots()
    ax.set(xlim=(-1.2, 9.2), ylim=(-0.2, 7.6), xlabel="column 0", ylabel="column 1", aspect="equal")
    dots = ax.scatter(*table().T, s=40, color=plot.CYCLE[0], zorder=3)
    aim = ax.scatter([0], [0], s=130, marker="X", color=plot.CYCLE[1], edgecolor="black", zorder=4)
    answer = ax.scatter([0], [0], s=260, facecolor="none", edgecolor=plot.CYCLE[1], linewidth=2.5)
    zeros = np.zeros(2)
    arrows = ax.quiver(zeros, zeros, zeros, zeros, color=[plot.CYCLE[2], plot.CYCLE[1]], scale=1,
                       angles="xy", scale_units="xy", width=0.008, zorder=2)  # fmt: skip
    words = Words(ax, WORDS, fontsize=11)
    return dots, aim, answer, arrows, words, ax.set_title("x", loc="left")


def _update(artists, values: dict) -> dict[str, str]:
    dots, aim, answer, arrows, words, head = artists
    rows = table(values["fruit"], values["queen"])
    a, b, c = (WORDS.index(word) for word in SUMS[values["sum"]])
    query = rows[a] - rows[b] + rows[c]
    found = geometry.analogy(rows, a, b, c, 3, values["exclude"], "euclidean")
    best = int(found.rows[0])
    dots.set_offsets(rows)
    left_out = (a, b, c) if values["exclude"] else ()
    dots.set_facecolor(["0.8" if i in left_out else plot.CYCLE[0] for i in range(len(WORDS))])
    aim.set_offsets([query])
    answer.set_offsets(rows[[best]])
    way = rows[a] - rows[b]  # the green arrow, and the same from c on, in red
    arrows.set_offsets(rows[[b, c]])
    arrows.set_UVC(*np.array([way, way]).T)
    words.set(rows)
    tie = np.isclose(*found.values[:2])
    others = " of the others" if values["exclude"] else ""
    nearest = " and ".join(WORDS[row] for row in found.rows[: 1 + tie])
    head.set_text(f"nearest{others} to {values['sum']}: {nearest}")
    near = ", ".join(f"{WORDS[r]} {d:.2f}" for r, d in zip(found.rows, found.values))
    return {
        "the sum": f"({query[0]:.2f}, {query[1]:.2f})",
        "nearest, and how far": near,
        "its answer": nearest,
    }


SIMULATION = Simulation(
    "Analogy: an arrow carried to another place",
    (
        Control("sum", tuple(SUMS), "king - man + woman", "Sum"),
        Control("exclude", (True, False), True, "Inputs may not be the answer"),
        Control("fruit", (0.0, 0.25, 0.5, 0.75, 1.0), 0.0, "Paris becomes a fruit", play=True),
        Control("queen", QUEEN, 0.0, "Queen stands further right by",
                page=(-1.5, -0.75, 0.0, 0.75, 1.5)),
    ),
    Notice(
        "Let Paris become a fruit. What will paris - france + italy be near: rome, a fruit, or "
        "something else?",
        "The green arrow is carried to the third word (red), and what stands nearest to its end "
        "is the answer (grey words may not be): there always is one, right or wrong. With Paris "
        "among the fruits the arrow from france points at them, and so does its copy. Let the "
        "inputs answer, and a queen more than 1 out of place loses to king, which is one of "
        "them.",
    ),
    _build,
    _update,
    (6.4, 5.6),
)  # fmt: skip
