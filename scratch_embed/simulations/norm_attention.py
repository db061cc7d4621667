"""A long key in attention: it is heard more only where the dot product is above zero.

    score_i = q . k_i / sqrt(D) = |q| |k_i| cos(q, k_i) / sqrt(D),       weights = softmax(scores)

Twice the length is twice the score, whatever its sign.
"""

from __future__ import annotations

import numpy as np

from scratch_embed import plot
from scratch_embed.look.numbers import signed
from scratch_embed.ops.attention import attention_forward
from scratch_embed.simulations.artists import Bars, Words
from scratch_embed.simulations.simulation import Control, Notice, Simulation

QUERY = np.array([1.5, 0.0])
OTHERS = np.array([[0.5, 0.9], [0.4, -0.8], [-0.3, 1.0]])  # the keys b, c, d
NAMES = ("a", "b", "c", "d")
NORMS = tuple(round(k / 4, 2) for k in range(17))


def weights(angle: float, norm: float) -> tuple[np.ndarray, np.ndarray]:
    """The scores (4,) and the weights (4,) of keys a, b, c, d; a has this angle and length.

    >>> weights(90, 5.0)[0][0].round(9) == 0
    np.True_
    """
    turn = np.deg2rad(angle)
    keys = np.vstack([norm * np.array([np.cos(turn), np.sin(turn)]), OTHERS])
    _, saved = attention_forward(QUERY[None], keys, np.eye(4))
    return keys @ QUERY * QUERY.size**-0.5, saved.weights.reshape(4)


def _build(figure):
    axes = figure.subplot_mosaic([["map", "map"], ["bars", "curve"]], height_ratios=[1.35, 1])
    ax = axes["map"]
    ax.set(xlim=(-4.6, 4.6), ylim=(-2.2, 4.6), xlabel="column 0", ylabel="column 1", aspect="equal")
    ax.axvspan(-4.6, 0, color="0.94", zorder=0)
    ax.text(-4.4, -2.0, "here q · k < 0", fontsize=11)
    ax.text(0.3, -2.0, "here q · k > 0", fontsize=11)
    colors = [plot.PALETTE[c] for c in ("vermillion", "sky blue", "sky blue", "sky blue", "black")]
    tips = np.vstack([[1, 0], OTHERS, QUERY])
    zeros = np.zeros(5)
    arrows = ax.quiver(zeros, zeros, *tips.T, color=colors, angles="xy", scale_units="xy", scale=1,
                       width=0.008)  # fmt: skip
    words = Words(ax, [*(f"key {name}" for name in NAMES), "query"], fontsize=11)
    bars = Bars(axes["bars"], NAMES, (0, 1.2), "sky blue")
    axes["bars"].set(ylabel="weight", xlabel="key")
    curve = axes["curve"].plot(NORMS, np.zeros(len(NORMS)), color=plot.CYCLE[1], lw=2)[0]
    dot = axes["curve"].plot([0], [0], "o", color="black", ms=8)[0]
    axes["curve"].axhline(0.25, color="0.5", ls=":", lw=1)
    axes["curve"].set(ylim=(0, 1.05), xlabel="length of key a", xticks=range(5))
    axes["curve"].set_title("weight of a by its length", loc="left")
    return arrows, tips, words, bars, curve, dot, ax.set_title("x", loc="left")


def _update(artists, values: dict) -> dict[str, str]:
    arrows, tips, words, bars, curve, dot, head = artists
    angle, norm = values["angle"], values["norm"]
    scores, shares = weights(angle, norm)
    turn = np.deg2rad(angle)
    tips[0] = norm * np.cos(turn), norm * np.sin(turn)
    arrows.set_UVC(*tips.T)
    words.set(tips)
    bars.set(shares, colors=["vermillion", "sky blue", "sky blue", "sky blue"])
    curve.set_ydata([weights(angle, n)[1][0] for n in NORMS])
    dot.set_data([norm], [shares[0]])
    of_one = weights(angle, 1.0)[0][0]  # what each unit of length adds, also to a key of length 0
    told = "longer is louder" if of_one > 0 else "longer is quieter"
    told = told if abs(of_one) > 1e-9 else "length does not matter"
    head.set_text(f"Key a at {angle}°: its score is {signed(scores[0])}; {told}")
    return {
        "score of a": signed(scores[0], 3),
        "weight of a": f"{shares[0]:.3f}",
        "weight of the others": f"{1 - shares[0]:.3f}",
        "weight of a, twice as long": f"{weights(angle, 2 * norm)[1][0]:.3f}",
    }


SIMULATION = Simulation(
    "Norm and attention: is a long key heard more?",
    (
        Control("norm", NORMS, 1.0, "Length of key a", play=True),
        Control("angle", tuple(range(0, 181, 15)), 45, "Angle between key a and the query"),
    ),
    Notice(
        "Key a stands at 120 degrees from the query. Make it four times as long: does it get more "
        "attention, or less?",
        "Below 90 degrees length attracts, beyond it repels, at 90 it changes nothing: it "
        "multiplies a score and takes its sign along. To say that rows with large norms get more "
        "attention is half of the truth.",
    ),
    _build,
    _update,
    (6.4, 7.4),
)
