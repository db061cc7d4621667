"""The softmax gradient under a tied head: who is pulled, who is pushed, and by how much.

z = h E^T,   p = softmax(z),   loss = -ln p_target
dz = p - onehot(target)                sums to 0
dE = dz^T h                            every row moves along h: the target toward, others away
dh = dz E
"""

from __future__ import annotations

import numpy as np

from scratch_embed import plot
from scratch_embed.look.numbers import signed
from scratch_embed.ops.cross_entropy import cross_entropy_backward, cross_entropy_forward
from scratch_embed.ops.project import project_backward, project_forward
from scratch_embed.ops.softmax import softmax_forward
from scratch_embed.simulations.artists import Bars, Words
from scratch_embed.simulations.simulation import Control, Notice, Simulation

WORDS = ("the", "cat", "dog", "sat", "on")
TABLE = np.array([[-0.9, 0.3], [1.0, 0.8], [0.7, 1.1], [0.2, -1.0], [-0.6, -0.7]])
RATE = 0.8  # of the step that the small arrows show


def gradients(hidden: np.ndarray, target: int):
    """p (V,), dz (V,), dE (V, D), dh (D,) and the loss, for one hidden state (D,)."""
    z, kept = project_forward(hidden[None], TABLE)
    loss, saved = cross_entropy_forward(z, np.array([target]))
    dz = cross_entropy_backward(np.ones(()), saved)
    dh, dE = project_backward(dz, kept)
    return softmax_forward(z)[0][0], dz[0], dE, dh[0], float(loss)


def _build(figure):
    axes = figure.subplot_mosaic([["map", "map"], ["p", "dz"]], height_ratios=[1.7, 1])
    ax = axes["map"]
    ax.set(xlim=(-2.3, 2.3), ylim=(-1.9, 1.9), xlabel="column 0", ylabel="column 1", aspect="equal")
    look = {"angles": "xy", "scale_units": "xy", "scale": 1}
    zeros = np.zeros(len(WORDS))
    ax.quiver(zeros, zeros, *TABLE.T, color="0.6", width=0.005, **look)
    steps = ax.quiver(*TABLE.T, zeros, zeros, color=plot.PALETTE["vermillion"], width=0.008, **look)
    state = ax.quiver([0], [0], [1], [1], color=plot.PALETTE["blue"], width=0.012, **look)
    gids = [f"target={word}" for word in WORDS]
    words = Words(ax, [*WORDS, "h"], fontsize=12, gids=[*gids, None])
    bars = Bars(axes["p"], WORDS, (0, 1.2), "sky blue", gids=gids)
    pull = Bars(axes["dz"], WORDS, 1.35, "sky blue", gids=gids)
    axes["p"].set_title("p = softmax(h · rows)", loc="left")
    axes["dz"].set_title("dz = p - onehot", loc="left")
    return steps, state, words, bars, pull, ax.set_title("x", loc="left")


def _update(artists, values: dict) -> dict[str, str]:
    steps, state, words, bars, pull, head = artists
    target = WORDS.index(values["target"])
    angle = np.deg2rad(values["angle"])
    hidden = values["length"] * np.array([np.cos(angle), np.sin(angle)])
    p, dz, dE, dh, loss = gradients(hidden, target)
    steps.set_UVC(*(-RATE * dE).T)
    state.set_UVC(*hidden[:, None])
    words.set(np.vstack([TABLE, hidden]))
    chosen = ["vermillion" if i == target else "sky blue" for i in range(len(WORDS))]
    bars.set(p, colors=chosen)
    pull.set(dz, [signed(x) for x in dz], chosen)
    head.set_text(f"red: where a step of descent moves each row (rate {RATE})")
    return {
        "loss": f"-ln {p[target]:.5g} = {loss:.3f}",
        "sum of dz": signed(dz.sum(), 3),
        "sum of the rows of dE": _told(dE.sum(axis=0)),
        f"dE[{values['target']}]": _told(dE[target]),
        "dh": _told(dh),
    }


def _told(numbers: np.ndarray) -> str:
    return " ".join(signed(x, 3) for x in numbers)


SIMULATION = Simulation(
    "Softmax gradient: who is pulled, who is pushed",
    (
        Control("target", WORDS, "sat", "The right word"),
        Control("angle", tuple(range(0, 360, 15)), 45, "Direction of h, degrees", play=True),
        Control("length", (0.5, 1.0, 1.5, 2.0), 1.5, "Length of h", page=(0.5, 1.5)),
    ),
    Notice(
        "h points at cat and dog, and the right word is sat. In which direction will the row of "
        "cat move: away from sat, toward the origin, or against h?",
        "Every red arrow lies along h: the target's toward it, all others against it, the longer "
        "the surer the model was of them. They add up to nothing, as dz does. When the right "
        "word has all the probability, nothing moves; when h is short, little does.",
    ),
    _build,
    _update,
    (6.4, 7.4),
)
