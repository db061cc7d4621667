"""Local derivatives of attention, through the scores: who asks whom, and how strongly.

    dq[t,d] = sum over s of dscores[t,s] (scale k[s,d])
    dscores[t,s] = weights[t,s] (dweights[t,s] - mean),   mean = sum over s of weights dweights
    dweights[t,s] = sum over e of dout[t,e] v[s,e]

The first is what `attention` returns, the others are what each dscores opens into.
"""

from __future__ import annotations

import numpy as np

from scratch_embed.digits import short
from scratch_embed.trace.slopes.slope import Index, Middle, Slopes, dot, entry, factor, own, reached
from scratch_embed.trace.walk import ForwardStep
from scratch_embed.working import Line


def attention(at: ForwardStep, place: int, index: Index) -> Slopes:
    """q and k move the scores of one query or of one key, v moves the answers themselves."""
    lead, (length, keys) = at.out.shape[:-2], at.node.saved.weights.shape[-2:]
    weights = np.broadcast_to(at.node.saved.weights, (*lead, length, keys))
    batch = reached(index[:-2], at.inputs[place].value.shape[:-2], lead)
    line, column = index[-2:]
    moving = np.arange(keys) if place == 0 else np.arange(length)
    batch, moving = np.repeat(batch, len(moving), axis=0), np.tile(moving, len(batch))
    still = np.full(len(moving), line)
    asking, key = (still, moving) if place == 0 else (moving, still)
    looks = weights[(*batch.T, asking, key)] != 0  # nothing comes back where nobody looked
    batch, asking, key = batch[looks], asking[looks], key[looks]
    if place == 2:
        places = np.column_stack([batch, asking, np.full(len(key), column)])
        values = weights[(*batch.T, asking, key)].astype(float)
        return Slopes(places, values, lambda o: (_weight(at, (*o[:-1], line)),))
    other, row = at.inputs[1 - place], key if place == 0 else asking
    there = np.broadcast_to(other.value, (*lead, *other.value.shape[-2:]))
    numbers, scale = there[(*batch.T, row, column)].astype(float), at.node.saved.scale
    places = np.column_stack([batch, asking, key])

    def said(o: Index) -> tuple[str, ...]:
        *lead, t, s = o
        where = own(other.value.shape, (*lead, s if place == 0 else t, column))
        name, value = entry(other.name, where), factor(other.value[where])
        if scale == 1:
            return (name,)
        return f"{short(scale)}*{name}", f"{short(scale)}*{value}"

    return Slopes(places, scale * numbers, said, middle=_scores(at, places))


def _scores(at: ForwardStep, places: np.ndarray) -> Middle:
    """The scores at these places (..., t, s), and their gradient."""
    lead, v = at.out.shape[:-2], at.inputs[2]
    values = np.broadcast_to(v.value, (*lead, *v.value.shape[-2:]))
    weights = np.broadcast_to(at.node.saved.weights, (*lead, *at.node.saved.weights.shape[-2:]))

    def gradient(dout: np.ndarray) -> np.ndarray:
        query, key = tuple(places[:, :-1].T), (*places[:, :-2].T, places[:, -1])
        apart = values[key].astype(float) - at.out[query]  # the mean of v is the answer
        return weights[tuple(places.T)] * (dout[query] * apart).sum(axis=1)

    def told(dout: np.ndarray, o: Index) -> Line:
        *batch, t, s = o
        row, held = weights[(*batch, t)].astype(float), values[tuple(batch)].astype(float)
        dweights = held @ dout[(*batch, t)]
        mean = float(row @ dweights)
        value = float(row[s] * (dweights[s] - mean))
        stages = (
            f"{_weight(at, o)}*({entry('dweights', o)} - mean)",
            f"{short(row[s])}*({short(dweights[s])} - {factor(mean)})",
            short(value),
        )
        pairs = [
            (
                entry(f"d{at.name}", (*batch, t, e)),
                entry(v.name, own(v.value.shape, (*batch, s, e))),
            )
            for e in range(held.shape[1])
        ]
        looked = np.flatnonzero(row)
        shares = [(_weight(at, (*batch, t, k)), entry("dweights", (*batch, t, k))) for k in looked]
        parts = (_dot_line(entry("dweights", o), pairs, dout[(*batch, t)], held[s]),
                 _dot_line("mean", shares, row[looked], dweights[looked]))  # fmt: skip
        return Line(entry("dscores", o), stages, value, parts=parts)

    return Middle(lambda o: entry("scores", o), gradient, told)


def _weight(at: ForwardStep, o: Index) -> str:
    return entry("weights", own(at.node.saved.weights.shape, o))


def _dot_line(name: str, pairs: list[tuple[str, str]], a: np.ndarray, b: np.ndarray) -> Line:
    value = float(a @ b)
    return Line(name, tuple(dict.fromkeys([*dot(pairs, a, b), short(value)])), value)
