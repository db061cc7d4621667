"""Local derivatives of LayerNorm and RMSNorm: every number of a vector moves all of it."""

from __future__ import annotations

import numpy as np

from scratch_embed.digits import short
from scratch_embed.ops import norm
from scratch_embed.trace.slopes.slope import Index, Slopes, entry, factor, grid
from scratch_embed.trace.walk import ForwardStep


def vector(at: ForwardStep, place: int, index: Index) -> Slopes | None:
    """x, gamma or beta of a norm whose vectors are the last axis."""
    saved = at.node.saved
    if len(saved.vector) != 1:
        return None
    lead, x_hat = [np.arange(n) for n in at.out.shape[:-1]], saved.x_hat
    if place:
        places = grid(*lead, np.array([index[0]]))
        if place == 2:
            return Slopes(places, np.ones(len(places)), lambda o: ("1",))
        return Slopes(places, x_hat[tuple(places.T)], lambda o: (entry("x_hat", o),))
    *position, i = index
    size, row, inverse = saved.vector[0], tuple(position), saved.inverse[(*position, 0)]
    x_hat, mean = x_hat[row], at.node.backward is norm.layer_norm_backward
    gamma = np.ones(size) if saved.gamma is None else at.inputs[1].value
    places = grid(*map(np.atleast_1d, position), np.arange(size))
    values = gamma * inverse * ((places[:, -1] == i) - mean / size - x_hat * x_hat[i] / size)

    def said(o: Index) -> tuple[str, ...]:
        k = o[-1]
        own = f"{int(k == i)} - 1/{size}" if mean else f"{int(k == i)}"
        front = "" if saved.gamma is None else f"{entry(at.inputs[1].name, (k,))} "
        names = f"{front}({own} - {entry('x_hat', o)} {entry('x_hat', index)} / {size}) / std"
        product = f"{factor(x_hat[k])}*{factor(x_hat[i])}"
        front = "" if saved.gamma is None else f"{factor(gamma[k])} "
        numbers = f"{front}({own} - {product} / {size}) * {short(inverse)}"
        return (names if mean else names.replace("std", "rms")), numbers

    return Slopes(places, values, said)
