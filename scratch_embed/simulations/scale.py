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
from scratch_embed.simulations.controls import Control, check_values, defaults

TOKENS, PLACES, STRIDE = 64, 16, 31  # positions 0, 31, ... 465

# Ten even steps a decade, by the preferred numbers of ISO 3 (series R10).
R10 = (1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8)
FACTORS = (*(round(r * 10.0**e, 6) for e in range(-2, 3) for r in R10), 1000.0)

CONTROLS = [
    Control("scale", FACTORS, 1.0, "Scale factor"),
    Control("d_model", (8, 16, 32, 64, 128, 256, 512, 1024, 2048), 512, "d_model"),
]


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

    Of n unit rows the cosines of all pairs add up to |their sum|^2 - n, so no pair is visited.
    """
    grid = factor * tokens[:, None] + places
    grid = geometry.unit_rows(grid.reshape(-1, grid.shape[-1])).reshape(grid.shape)
    found = []
    for axis in (0, 1):
        n, together = grid.shape[axis], grid.sum(axis=axis)
        found.append(float((((together**2).sum(axis=1) - n) / (n * (n - 1))).mean()))
    return found[0], found[1]


@lru_cache(maxsize=1024)
def readout(scale: float = 1.0, d_model: int = 512) -> Readout:
    """The numbers of the simulation. By default token : position = 1.0 : 16.0."""
    tokens, places = rows(d_model)
    lengths = geometry.norms(scale * tokens).mean(), geometry.norms(places).mean()
    return Readout(*map(float, lengths), *alike(tokens[:16], places, scale))


def draw(figure, **values) -> None:
    """Draw the balance into a Matplotlib figure, whatever was in it before.

    values: of CONTROLS, by name; the rest take their defaults. Left the mean lengths of both rows,
    right the two cosines at every factor, with this one marked.
    """
    from matplotlib import rc_context

    check_values(CONTROLS, values)
    v = {**defaults(CONTROLS), **values}
    factor, d_model = v["scale"], v["d_model"]
    now = readout(factor, d_model)
    figure.clear()
    figure.set_layout_engine("constrained")
    with rc_context(plot.STYLE):
        left, right = figure.subplots(1, 2, width_ratios=[1, 1.7])
        drawn = left.bar(["token", "position"], now[:2], edgecolor="black", linewidth=0.5,
                         color=[plot.PALETTE["orange"], plot.PALETTE["green"]])  # fmt: skip
        left.bar_label(drawn, labels=[f"{n:.3g}" for n in now[:2]], padding=2)
        left.margins(y=0.12)
        left.set(ylabel="mean length of a row",
                 title=f"token : position = {now.token:.1f} : {now.position:.1f}")  # fmt: skip
        _sweep(right, factor, d_model)


def _sweep(ax, factor: float, d_model: int) -> None:
    every = [readout(f, d_model) for f in FACTORS]
    names = {"tokens alike": "tokens_alike", "positions alike": "positions_alike"}
    plot.lines(ax, FACTORS, {k: [getattr(r, n) for r in every] for k, n in names.items()},
               logx=True, xlabel="scale factor", ylabel="mean cosine")  # fmt: skip
    now = readout(factor, d_model)
    ax.plot([factor] * 2, now[2:], "o", color="black", ms=7)
    for at, name in (((d_model / 2) ** 0.5, "√(d/2)"), (d_model**0.5, "√d")):
        ax.axvline(at, color="0.5", lw=1, ls=":")
        side = "right" if "/" in name else "left"
        ax.text(at, 1.08, f" {name} ", ha=side, fontsize=10, color="0.25", va="center")
    ax.set(ylim=(min(-0.1, *(min(r[2:]) for r in every)), 1.15))
    ax.set_title(f"factor {factor:g}, d = {d_model}: {now.tokens_alike:.3f} tokens, "
                 f"{now.positions_alike:.3f} positions alike")  # fmt: skip
    ax.legend(fontsize=10, loc="center left")
