"""LayerNorm and RMSNorm, and how their x_hat came about."""

from __future__ import annotations

import numpy as np

from scratch_embed.digits import short
from scratch_embed.ops import norm
from scratch_embed.trace.slopes.slope import Index, entry, factor
from scratch_embed.trace.walk import ForwardStep
from scratch_embed.working import Line


def normed(at: ForwardStep, index: Index) -> list[str]:
    """gamma x_hat + beta, with the x_hat and the inverse that were saved."""
    saved = at.node.saved
    if len(saved.vector) != 1:
        return []
    names = entry("x_hat", index)
    numbers, column = short(saved.x_hat[index]), index[-1:]
    given = [i for i in at.inputs[1:3] if i.name]
    if saved.gamma is not None:
        gamma = given.pop(0)
        names = f"{entry(gamma.name, column)}*{names}"
        numbers = f"{factor(gamma.value[column])}*{factor(saved.x_hat[index])}"
    if saved.with_beta and given:
        names = f"{names} + {entry(given[0].name, column)}"
        numbers = f"{numbers} + {factor(given[0].value[column])}"
    return [names, numbers]


def hat(at: ForwardStep, index: Index) -> tuple[Line, ...]:
    """How x_hat came from x: less the mean, times the inverse that was saved."""
    saved, x, row = at.node.saved, at.inputs[0], index[:-1]
    if len(saved.vector) != 1:
        return ()
    inverse, value = saved.inverse[(*row, 0)], float(saved.x_hat[index])
    name, own_value = entry(x.name, index), factor(x.value[index])
    times = entry("inverse", (*row, 0))
    if at.node.forward is norm.rms_norm_forward:
        stages = f"{name}*{times}", f"{own_value}*{short(inverse)}", short(value)
        return (Line(entry("x_hat", index), stages, value),)
    mean = float(np.mean(x.value[row], dtype=float))
    stages = (f"({name} - mean)*{times}", f"({own_value} - {factor(mean)})*{short(inverse)}",
              short(value))  # fmt: skip
    return (Line("mean", (f"mean of {entry(x.name, (*row, ':'))}", short(mean)), mean),
            Line(entry("x_hat", index), stages, value))  # fmt: skip
