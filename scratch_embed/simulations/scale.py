"""Scale balance: token rows times a factor, plus sinusoidal position rows. Who is heard?

    x = factor * e + PE_t         |e| about 1 (entries of std 1/sqrt(D)), |PE_t| = sqrt(D / 2)

Two mean cosines tell what is left in the sum. Near 1 the first says that at one position all TOKENS
look alike, the second that one token looks the same at all POSITIONS. For random rows the first is
about (D / 2) / (factor^2 + D / 2). The bars are equal at the factor sqrt(D / 2), not at sqrt(D).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from scratch_embed import geometry, plot
from scratch_embed.positions import sinusoidal
from scratch_embed.simulations.artists import Bars, Cells
from scratch_embed.simulations.simulation import Control, Notice, Simulation

TOKENS, PLACES, STRIDE = 64, 16, 31  # positions 0, 31, ... 465

# Ten even steps a decade, by the preferred numbers of ISO 3 (series R10).
R10 = (1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8)
FACTORS = (*(round(r * 10.0**e, 6) for e in range(-2, 3) for r in R10), 1000.0)


class Readout(NamedTuple):
    """What the two rows weigh, and what their sum can tell."""

    token: float  # mean |factor * e|
    position: float  # mean |PE|
    tokens_alike: float  # mean cosine of two tokens at one position
    positions_alike: float  # mean cosine of one token at two positions


@lru_cache(maxsize=16)
def rows(d_model: int) -> tuple[np.ndarray, np.ndarray]:
    """Random token rows (64, D) of standard deviation 1/sqrt(D), and 16 position rows (16, D)."""
    tokens = np.random.default_rng(0).standard_normal((TOKENS, d_model)) * d_model**-0.5
    places = sinusoidal((PLACES - 1) * STRIDE + 1, d_model)[::STRIDE]
    tokens.flags.writeable = places.flags.writeable = False  # the cache hands them to everybody
    return tokens, places


def alike(tokens: np.ndarray, places: np.ndarray, factor: float) -> tuple[float, float]:
    """Mean cosine of (two tokens, one place) and of (one token, two places).   (N, D), (M, D)

    Every dot product of two sums is made of those of their parts, so no sum is formed.
    """
    return _alike(tokens @ tokens.T, tokens @ places.T, places @ places.T, factor)


def _alike(tt: np.ndarray, tp: np.ndarray, pp: np.ndarray, factor: float) -> tuple[float, float]:
    """The same from the dot products (N, N), (N, M), (M, M)."""
    tt, tp = factor**2 * tt, factor * tp
    length = np.sqrt(np.diag(tt)[:, None] + 2 * tp + np.diag(pp))  # (N, M)
    found = []
    for own, cross, other, sides in ((tt, tp, pp, length), (pp, tp.T, tt, length.T)):
        n = len(own)  # pairs of these, at one of the others
        dots = own[:, :, None] + cross[:, None] + cross[None, :] + np.diag(other)
        cosines = dots / (sides[:, None] * sides[None, :])
        found.append(float(cosines[~np.eye(n, dtype=bool)].mean()))
    return found[0], found[1]


@lru_cache(maxsize=1024)
def readout(scale: float = 1.0, d_model: int = 512) -> Readout:
    """The numbers of the simulation. By default token : position = 1.0 : 16.0."""
    tokens, places = rows(d_model)
    lengths = geometry.norms(scale * tokens).mean(), geometry.norms(places).mean()
    return Readout(*map(float, lengths), *alike(tokens[:16], places, scale))


SHOWN = 12  # columns of the sums
TELL = ("token A, place 0", "token B, place 0", "token A, place 31", "token B, place 31")


def _build(figure):
    top, middle, low = figure.subplots(3, 1, height_ratios=[0.6, 1.05, 1.5])
    bars = Bars(top, ["token", "position"], (0, 1.25), "orange", lying=True, fmt=None, fontsize=11)
    top.set(xticks=[], xlabel="mean length, as a share of the longer")
    cells = Cells(middle, (4, SHOWN), 1.0, rows=TELL, fmt=None)
    middle.tick_params(axis="y", labelsize=9.5)
    middle.set_xticks([])
    curves = [
        low.plot(FACTORS, np.zeros(len(FACTORS)), dash, color=color, lw=2, label=label)[0]
        for label, color, dash in (("two tokens, one place", plot.CYCLE[0], "-"),
                                   ("one token, two places", plot.CYCLE[1], "--"))
    ]  # fmt: skip
    dots = low.plot([1, 1], [0, 0], "o", color="black", ms=8)[0]
    marks = [low.axvline(1, color="0.5", lw=1, ls=":") for _ in range(2)]
    names = [low.text(1, 1.1, name, ha=side, fontsize=10.5)
             for name, side in ((" √(d/2) ", "right"), (" √d ", "left"))]  # fmt: skip
    low.set(xscale="log", ylim=(-0.3, 1.2), xlim=(0.009, 1100), xlabel="scale factor",
            ylabel="mean cosine")  # fmt: skip
    low.legend(loc="lower left", frameon=False)
    heads = [ax.set_title("x", loc="left", fontsize=11.5) for ax in (top, middle, low)]
    return bars, cells, curves, dots, marks, names, heads


def _update(artists, values: dict) -> dict[str, str]:
    bars, cells, curves, dots, marks, names, heads = artists
    factor, d_model = values["scale"], values["d_model"]
    now = readout(factor, d_model)
    bars.set(np.array(now[:2]) / max(now[:2]), [f" {n:.3g}" for n in now[:2]], ["orange", "green"])
    tokens, places = rows(d_model)
    columns = np.linspace(0, d_model - 1, SHOWN).astype(int)
    sums = (factor * tokens[None, :2] + places[:2, None]).reshape(4, d_model)[:, columns]
    cells.set(sums / np.abs(sums).max())
    every = _curves(d_model)
    for curve, cosines in zip(curves, every):
        curve.set_ydata(cosines)
    dots.set_data([factor] * 2, now[2:])
    for at, mark, name in zip((d_model / 2, d_model), marks, names):
        mark.set_xdata([at**0.5] * 2)
        name.set_x(at**0.5)
    heads[0].set_text(f"factor {factor:g}, d = {d_model}: token : position = "
                      f"{now.token:.3g} : {now.position:.3g}")  # fmt: skip
    heads[1].set_text(f"The sums: {SHOWN} of {d_model} columns of two tokens at two places")
    heads[2].set_text("How alike are the sums? 1: they cannot be told apart")
    return {
        "length of a token row": f"{now.token:.4g}",
        "length of a position row": f"{now.position:.4g}",
        "two tokens, one place": f"cosine {now.tokens_alike:.3f}",
        "one token, two places": f"cosine {now.positions_alike:.3f}",
    }


@lru_cache(maxsize=16)
def _curves(d_model: int) -> np.ndarray:
    """(2, factors): both mean cosines at every factor."""
    tokens, places = rows(d_model)
    dots = tokens[:16] @ tokens[:16].T, tokens[:16] @ places.T, places @ places.T
    return np.array([_alike(*dots, factor) for factor in FACTORS]).T


SIMULATION = Simulation(
    "Scale: who is heard, the token or the position?",
    (
        Control("scale", FACTORS, 1.0, "Scale factor", play=True, page=FACTORS[::2]),
        Control("d_model", (8, 16, 32, 64, 128, 256, 512, 1024, 2048), 512, "Columns d",
                page=(8, 64, 512, 2048)),
    ),
    Notice(
        "Token rows of length 1, position rows of length 16 (d = 512). At which factor are the "
        "two bars equal?",
        "Equal at the square root of d/2, 16 here; the usual square root of d gives 1.41 to 1. "
        "With a small factor rows differ by their place only, so all tokens look alike (blue "
        "line near 1); with a large one the places vanish (dashed line near 1). Look at the "
        "four sums too: which pairs of rows become the same?",
    ),
    _build,
    _update,
    (6.4, 7.4),
)  # fmt: skip
