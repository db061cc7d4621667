"""Attention, and how its weights came from scores."""

from __future__ import annotations

import numpy as np

from scratch_embed.digits import short
from scratch_embed.trace.slopes.slope import MOST, Index, dot, entry, exp_sum, factor, own
from scratch_embed.trace.walk import ForwardStep, Input
from scratch_embed.working import Line


def attended(at: ForwardStep, index: Index) -> list[str]:
    """A mixture of values, by the weights of this query."""
    *lead, t, e = index
    v, lead_shape = at.inputs[2], at.out.shape[:-2]
    weights = at.node.saved.weights
    row = weights[own(weights.shape[:-1], (*lead, t))]
    looked = np.flatnonzero(row)
    held = np.broadcast_to(v.value, (*lead_shape, *v.value.shape[-2:]))[(*lead, slice(None), e)]
    if not len(looked):
        return []
    pairs = [(entry("weights", own(weights.shape, (*lead, t, s))),
              entry(v.name, own(v.value.shape, (*lead, s, e)))) for s in looked]  # fmt: skip
    return dot(pairs, row[looked], held[looked])


def looked_at(at: ForwardStep, index: Index) -> tuple[Line, ...]:
    """How the largest weights of this query came from its scores. Not where a mask was added."""
    q, k, weights, scale = at.inputs[0], at.inputs[1], at.node.saved.weights, at.node.saved.scale
    masks = [*(i.value for i in at.inputs[3:4]), at.node.options.get("mask")]
    if any(getattr(mask, "dtype", np.dtype(bool)) != bool for mask in masks if mask is not None):
        return ()
    *lead, t, _ = index
    row = weights[own(weights.shape[:-1], (*lead, t))]
    keys = np.flatnonzero(row)
    if not len(keys):
        return ()
    asked = own(q.value.shape[:-1], (*lead, t))
    held = [own(k.value.shape[:-1], (*lead, s)) for s in keys]
    scores = np.array([scale * float(q.value[asked] @ k.value[where]) for where in held])
    total = exp_sum(scores)
    lines = []
    for n in np.sort(np.argsort(-row[keys], kind="stable")[:MOST]):  # the largest, in their order
        s, z = keys[n], scores[n]
        name, every = entry("scores", (*lead, t, s)), entry("scores", (*lead, t, ":"))
        stages = f"e^{name} / sum of e^{every}", f"e^{factor(z)} / {total}", short(row[s])
        score = Line(name, _score(q, asked, k, held[n], scale, z), float(z))
        weight = entry("weights", own(weights.shape, (*lead, t, s)))
        lines.append(Line(weight, stages, float(row[s]), parts=(score,)))
    return tuple(lines)


def _score(q: Input, asked: Index, k: Input, held: Index, scale: float, z: float) -> tuple:
    """The stages of one score: a row of q times a row of k, and the scale."""
    pairs = [(entry(q.name, (*asked, d)), entry(k.name, (*held, d)))
             for d in range(q.value.shape[-1])]  # fmt: skip
    texts = dot(pairs, q.value[asked], k.value[held])
    if scale != 1:
        texts = [f"{short(scale)}*({text})" for text in texts]
    return tuple(dict.fromkeys([*texts, short(z)]))
