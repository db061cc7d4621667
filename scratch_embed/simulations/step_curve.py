"""The step of a difference quotient: too long and the curve bends, too short and digits are lost.

    quotient = (f(x + h) - f(x - h)) / 2h        off by about h^2 f'''/6, and by eps |f| / h

f is the loss of a softmax over three rows, as one number of the table moves.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from scratch_embed import plot
from scratch_embed.gradcheck.quotient import quotient
from scratch_embed.simulations.simulation import Control, Notice, Simulation

STEPS = tuple(float(f"{10.0**-e:.3g}") for e in np.arange(0, 14.01, 0.25))
TABLE = np.array([[0.4, -0.7], [1.1, 0.3], [-0.6, 0.9]])
HIDDEN, TARGET, ENTRY = np.array([1.9, 0.8]), 2, (1, 0)


def loss(nudge: float, dtype=np.float64) -> float:
    """-ln p of the target after E[1, 0] grew by `nudge`, in this type throughout."""
    table = TABLE.astype(dtype)
    table[ENTRY] = dtype(TABLE[ENTRY]) + dtype(nudge)
    z = (table * HIDDEN.astype(dtype)).sum(axis=1, dtype=dtype)
    return float(np.log(np.exp(z - z.max()).sum(dtype=dtype)) - (z[TARGET] - z.max()))


def slope() -> float:
    """The derivative by the rule: p_1 h_0.

    >>> round(slope(), 3)
    1.606
    """
    z = TABLE @ HIDDEN
    return float(np.exp(z[1]) / np.exp(z).sum() * HIDDEN[0])


@lru_cache(maxsize=1024)
def measured(step: float, precision: str, sides: str) -> float:
    """The quotient at a step: of both sides or of one."""
    dtype = {"float64": np.float64, "float32": np.float32}[precision]
    if sides == "both":
        return quotient(lambda t: loss(t, dtype), step)
    return (loss(step, dtype) - loss(0.0, dtype)) / step


@lru_cache(maxsize=8)
def _errors(precision: str, sides: str) -> np.ndarray:
    found = np.array([measured(h, precision, sides) for h in STEPS])
    return np.maximum(np.abs(found - slope()), 1e-14)


def _arm(h: float, dtype, sides: str) -> str:
    """What most of the error at a step is to be expected of."""
    order, at = (2, 1e-2) if sides == "both" else (1, 1e-4)  # there nearly all of it is curvature
    curvature = _errors("float64", sides)[STEPS.index(at)] * (h / at) ** order
    rounding = np.finfo(dtype).eps * loss(0.0) / h
    if max(curvature, rounding) < 10 * min(curvature, rounding):
        return "a little of both"
    return "curvature" if curvature > rounding else "rounding"


def _build(figure):
    top, low = figure.subplots(2, 1, height_ratios=[1, 1.15])
    at = np.linspace(-1.1, 1.1, 111)
    top.plot(at, [loss(x) for x in at], color=plot.CYCLE[0], lw=2)
    top.axline((0, loss(0.0)), slope=slope(), color="0.6", ls="--", lw=1.2)
    secant = top.plot([0, 0], [0, 0], "o-", color=plot.CYCLE[1], ms=7, lw=1.6)[0]
    top.set(xlim=(-1.1, 1.1), xlabel="nudge of E[1, 0]", ylabel="loss f")
    curve = low.plot(STEPS, np.ones(len(STEPS)), color=plot.CYCLE[0], lw=2)[0]
    dot = low.plot([1], [1], "o", color=plot.CYCLE[1], ms=10)[0]
    low.set(xscale="log", yscale="log", xlim=(3, 3e-15), ylim=(3e-15, 30), ylabel="error",
            xlabel="step h (long on the left, short on the right)")  # fmt: skip
    low.set_yticks([1e-12, 1e-9, 1e-6, 1e-3, 1])
    low.set_xticks([1, 1e-3, 1e-6, 1e-9, 1e-12])
    low.minorticks_off()
    heads = [ax.set_title("x", loc="left") for ax in (top, low)]
    return secant, curve, dot, heads


def _update(artists, values: dict) -> dict[str, str]:
    secant, curve, dot, heads = artists
    h, kind, sides = values["step"], values["precision"], values["sides"]
    dtype = np.float64 if kind == "float64" else np.float32
    low = -h if sides == "both" else 0.0
    ends = loss(h, dtype), loss(low, dtype)
    secant.set_data([low, h], ends[::-1])
    errors = _errors(kind, sides)
    curve.set_ydata(errors)
    error = errors[STEPS.index(h)]
    dot.set_data([h], [error])
    found, true = measured(h, kind, sides), slope()
    best = STEPS[int(errors.argmin())]
    heads[0].set_text(f"quotient {found:.9g}, true {true:.9g}")
    heads[1].set_text(f"h = {h:.3g}: what is wrong is {_arm(h, dtype, sides)}")
    name = "f(-h)" if sides == "both" else "f(0)"
    return {
        "f(h)": f"{ends[0]:.16f}",
        name: f"{ends[1]:.16f}",
        "difference": f"{ends[0] - ends[1]:.6g}",
        "quotient": f"{found:.12g}",
        "error": f"{abs(found - true):.2g}",
        "best step": f"{best:.3g}",
    }


SIMULATION = Simulation(
    "The step of a nudge: long or short?",
    (
        Control("step", STEPS, 1.0, "Step h", play=True),
        Control("sides", ("both", "one"), "both", "Nudge to"),
        Control("precision", ("float64", "float32"), "float64", "Numbers kept as"),
    ),
    Notice(
        "Make the step shorter and shorter. Will the measured slope become better all the way?",
        "First better, by the square of the step: the secant turns into the tangent. Then worse "
        "again: f(h) and f(-h) agree in more and more digits, and their difference keeps few. The "
        "best is near 1e-5 in float64, near 1e-2 in float32; to one side only it is far worse.",
    ),
    _build,
    _update,
    (6.4, 7.2),
)
