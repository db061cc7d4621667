"""Local derivatives of the tied cross-entropy, through the logits that it never holds all at once.

dh[n,d] = sum over v of dlogits[n,v] weight[v,d],   dlogits[n,v] = scale (p[n,v] - [v = target n])
"""

from __future__ import annotations

import numpy as np

from scratch_embed.digits import short
from scratch_embed.trace.slopes.slope import (
    Index,
    Middle,
    Slopes,
    dot,
    entry,
    exp_sum,
    factor,
)
from scratch_embed.trace.walk import ForwardStep
from scratch_embed.working import Line

MOST_PRODUCTS = 100_000_000  # numbers multiplied to find the probabilities of one entry's terms


def through_logits(at: ForwardStep, place: int, index: Index) -> Slopes:
    """h of one position moves all of its logits, weight of one row a logit of each position.

    Raises TypeError for an entry of weight whose terms would need too many logits.
    """
    h, weight = (given.value for given in at.inputs[:2])
    scale = at.node.saved.scale
    if place == 0:
        *position, column = index
        n = int(np.ravel_multi_index(position, h.shape[:-1])) if position else 0
        rows = np.arange(len(weight)) if scale[n] else np.arange(0)
        lines = np.full(len(rows), n)
        values, other = weight[rows, column], at.inputs[1].name
    else:
        row, column = index
        lines = np.flatnonzero(scale)
        rows = np.full(len(lines), row)
        if len(lines) * weight.size > MOST_PRODUCTS:
            raise TypeError(
                f"each of its {len(lines):,} terms needs all {len(weight):,} logits of its position"
            )
        values, other = h.reshape(len(scale), h.shape[-1])[lines, column], at.inputs[0].name
    lead = np.stack(np.unravel_index(lines, h.shape[:-1]), axis=1) if h.ndim > 1 else None
    places = np.column_stack([lead, rows]) if lead is not None else rows[:, None]

    def said(o: Index) -> tuple[str, ...]:
        return (entry(other, (o[-1] if place == 0 else o[:-1], column) if place == 0
                      else (*o[:-1], column)),)  # fmt: skip

    return Slopes(places, values.astype(float), said, middle=_logits(at, lines, rows))


def _logits(at: ForwardStep, lines: np.ndarray, rows: np.ndarray) -> Middle:
    """The logits at these positions and rows, and their gradient."""
    h, weight = (given.value.astype(float) for given in at.inputs[:2])
    saved = at.node.saved
    flat = h.reshape(len(saved.scale), h.shape[-1])

    def shares(n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logits and probabilities of some positions, (n, V)."""
        z = flat[n] @ weight.T
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return z, e / e.sum(axis=1, keepdims=True)

    def gradient(dout: np.ndarray) -> np.ndarray:
        distinct, which = np.unique(lines, return_inverse=True)
        p = np.zeros(len(lines))
        for start in range(0, len(distinct), 64):  # a few positions at a time
            now = (which >= start) & (which < start + 64)
            p[now] = shares(distinct[start : start + 64])[1][which[now] - start, rows[now]]
        return float(dout) * saved.scale[lines] * (p - (saved.targets[lines] == rows))

    def told(dout: np.ndarray, o: Index) -> Line:
        *position, v = o
        n = int(np.ravel_multi_index(position, h.shape[:-1])) if position else 0
        (z,), (p,) = shares(np.array([n]))
        true, scale = int(saved.targets[n] == v), float(saved.scale[n] * dout)
        value = scale * (p[v] - true)
        less = " - 1" if true else ""
        ends = [f"{entry('p', o)}{less}", f"{short(p[v])}{less}"]
        if scale != 1:
            ends = [f"{factor(scale)}*" + (f"({text})" if less else text) for text in ends]
        share = Line(
            entry("p", o),
            (f"e^{entry('logits', o)} / sum of e^{entry('logits', (*position, ':'))}",
             f"e^{factor(z[v])} / {exp_sum(z)}", short(p[v])), float(p[v]),
        )  # fmt: skip
        pairs = [(entry(at.inputs[0].name, (*position, d)), entry(at.inputs[1].name, (v, d)))
                 for d in range(h.shape[-1])]  # fmt: skip
        score = dict.fromkeys([*dot(pairs, flat[n], weight[v]), short(z[v])])
        score = Line(entry("logits", o), tuple(score), float(z[v]))
        stages = tuple(dict.fromkeys([*ends, short(value)]))
        return Line(entry("dlogits", o), stages, float(value), parts=(share, score))

    return Middle(lambda o: entry("logits", o), gradient, told)
