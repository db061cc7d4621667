"""Local derivatives of sums, lookups, matrix products and rotations: all that is linear."""

from __future__ import annotations

import numpy as np

from scratch_embed.ops import reduce
from scratch_embed.trace.slopes.slope import Index, Slopes, entry, grid, own
from scratch_embed.trace.walk import ForwardStep


def sum_or_mean(at: ForwardStep, place: int, index: Index) -> Slopes:
    """A sum moves as its terms do, a mean n times less."""
    saved = at.node.saved
    summed = set(range(len(index)) if saved.axis is None else saved.axis)
    o = [0 if k in summed else i for k, i in enumerate(index)]
    o = o if saved.keepdims else [i for k, i in enumerate(o) if k not in summed]
    count = at.inputs[0].value.size // max(at.out.size, 1)
    mean = at.node.backward is reduce.mean_backward
    text = f"1/{count}" if mean else "1"
    value = 1 / count if mean else 1.0
    return Slopes(np.array([o], int), np.array([value]), lambda o: (text,))


def table(at: ForwardStep, place: int, index: Index) -> Slopes:
    """A row of a table moves every place that it was copied to."""
    saved, (row, column) = at.node.saved, index
    ids = saved.ids
    found, asked = np.argwhere(ids == row), ""
    if row == saved.padding_idx and len(found):
        found, asked = found[:0], "padding_idx"
    share = max(len(found), 1) if saved.scale_grad_by_freq else 1
    if share > 1:
        asked = "scale_grad_by_freq"
    name = at.inputs[1].name if len(at.inputs) > 1 else "ids"
    text, often = ("1", "") if share == 1 else (f"1/{share}", f", as {share} of the ids are")
    places = np.column_stack([found, np.full(len(found), column)])

    def said(o: Index) -> tuple[str]:
        return (f"{text}, as {entry(name, o[:-1])} is {row}{often}",)

    return Slopes(places, np.full(len(places), 1 / share), said, on_purpose=asked)


def projection(at: ForwardStep, place: int, index: Index) -> Slopes:
    """logits = h @ weight.T + bias"""
    h, weight = at.inputs[0], at.inputs[1]
    lead = [np.arange(n) for n in at.out.shape[:-1]]
    if place == 0:
        *position, j = index
        places = grid(*map(np.atleast_1d, position), np.arange(len(weight.value)))
        return Slopes(places, weight.value[:, j], lambda o: (entry(weight.name, (o[-1], j)),))
    places = grid(*lead, np.array([index[0]]))
    if place == 2:
        return Slopes(places, np.ones(len(places)), lambda o: ("1",))
    j = index[1]
    return Slopes(places, h.value[..., j].reshape(-1), lambda o: (entry(h.name, (*o[:-1], j)),))


def product(at: ForwardStep, place: int, index: Index) -> Slopes | None:
    """a @ b of two matrices, or stacks of them that do not broadcast both ways."""
    a, b = at.inputs
    if a.value.ndim < 2 or b.value.ndim < 2 or a.value.shape[:-2] != at.out.shape[:-2]:
        return None
    if b.value.ndim > 2 and b.value.shape[:-2] != at.out.shape[:-2]:
        return None
    if place == 0:
        *lead, n, k = index
        own = tuple(lead) if b.value.ndim > 2 else ()
        places = grid(*map(np.atleast_1d, (*lead, n)), np.arange(at.out.shape[-1]))
        return Slopes(places, b.value[(*own, k)], lambda o: (entry(b.name, (*own, k, o[-1])),))
    *lead, k, m = index
    lead = [np.array([i]) for i in lead] or [np.arange(n) for n in at.out.shape[:-2]]
    places = grid(*lead, np.arange(at.out.shape[-2]), np.array([m]))
    values = a.value[(*places[:, :-1].T, k)]
    return Slopes(places, values, lambda o: (entry(a.name, (*o[:-1], k)),))


def one_hot(at: ForwardStep, place: int, index: Index) -> Slopes:
    """onehot @ weight: of a row of the table only the positions count that hold some of it."""
    onehot, weight = at.inputs[0], at.inputs[1]
    if place == 0:
        *position, row = index
        places = grid(*map(np.atleast_1d, position), np.arange(weight.value.shape[1]))
        return Slopes(places, weight.value[row], lambda o: (entry(weight.name, (row, o[-1])),))
    row, column = index
    found = np.argwhere(onehot.value[..., row] != 0)
    places = np.column_stack([found, np.full(len(found), column)])
    values = onehot.value[(*found.T, row)] if len(found) else np.zeros(0)
    return Slopes(places, np.reshape(values, len(found)),
                  lambda o: (entry(onehot.name, (*o[:-1], row)),))  # fmt: skip


def turned(at: ForwardStep, place: int, index: Index) -> Slopes:
    """rotary: a and b of a pair become a cos - b sin and a sin + b cos."""
    saved, (*position, column) = at.node.saved, index
    half = at.out.shape[-1] // 2
    if saved.layout == "interleaved":
        pair, second = column // 2, column % 2
        columns = np.array([2 * pair, 2 * pair + 1])
    else:
        pair, second = column % half, column // half
        columns = np.array([pair, pair + half])
    where = own(saved.cos.shape, (*position, pair))
    cos, sin = float(saved.cos[where]), float(saved.sin[where])
    names = [entry("cos", where), ("-" if second else "") + entry("sin", where)]
    values = [cos, -sin if second else sin]
    if second:
        names, values = names[::-1], values[::-1]
    places = grid(*map(np.atleast_1d, position), columns)
    return Slopes(places, np.array(values), lambda o: (names[list(columns).index(o[-1])],))
