"""Rows that are looked up, mixed, turned and multiplied."""

from __future__ import annotations

import numpy as np

from scratch_embed.trace.slopes.slope import Index, dot, entry, factor, own
from scratch_embed.trace.walk import ForwardStep


def looked_up(at: ForwardStep, index: Index) -> list[str]:
    """The entry of the table that was copied, and the id that named its row."""
    *position, column = index
    row = int(at.node.saved.ids[tuple(position)])
    ids = at.inputs[1].name if len(at.inputs) > 1 else "ids"
    return [f"{entry(at.inputs[0].name, (row, column))}, as {entry(ids, position)} is {row}"]


def projected(at: ForwardStep, index: Index) -> list[str]:
    """h . a row of the weight, and the bias where there is one."""
    h, weight, *bias = at.inputs
    *position, row = index
    pairs = [(entry(h.name, (*position, j)), entry(weight.name, (row, j)))
             for j in range(h.value.shape[-1])]  # fmt: skip
    more = [(entry(bias[0].name, (row,)), bias[0].value[row])] if bias and bias[0].name else []
    return dot(pairs, h.value[tuple(position)], weight.value[row], more)


def multiplied(at: ForwardStep, index: Index) -> list[str]:
    """A row times a column, of two matrices, of stacks of them, or of a matrix and a vector."""
    a, b = at.inputs
    lead, ends = at.out.shape[:-2], list(index)
    column = (ends.pop(),) if b.value.ndim > 1 else ()
    row = (ends.pop(),) if a.value.ndim > 1 else ()
    if a.value.ndim > 2 or b.value.ndim > 2:
        if any(x.value.ndim > 2 and x.value.shape[:-2] != lead for x in (a, b)):
            return []  # stacks that broadcast
        row = (*ends, *row) if a.value.ndim > 2 else row
    stack = tuple(ends) if b.value.ndim > 2 else ()
    pairs = [(entry(a.name, (*row, k)), entry(b.name, (*stack, k, *column)))
             for k in range(a.value.shape[-1])]  # fmt: skip
    right = b.value[stack] if stack else b.value
    return dot(pairs, a.value[row], right[:, column[0]] if column else right)


def mixed(at: ForwardStep, index: Index) -> list[str]:
    """onehot @ weight: the rows that are taken, each with its share."""
    onehot, weight = at.inputs[:2]
    *position, column = index
    shares = onehot.value[tuple(position)]
    taken = np.flatnonzero(shares)
    pairs = [(entry(onehot.name, (*position, v)), entry(weight.name, (v, column))) for v in taken]
    return dot(pairs, shares[taken], weight.value[taken, column]) if len(taken) else []


def turned(at: ForwardStep, index: Index) -> list[str]:
    """One of the two columns of a pair, turned."""
    *position, column = index
    saved, x, half = at.node.saved, at.inputs[0], at.out.shape[-1] // 2
    near = saved.layout == "interleaved"
    pair, second = (column // 2, column % 2) if near else (column % half, column // half)
    columns = (2 * pair, 2 * pair + 1) if near else (pair, pair + half)
    where = own(saved.cos.shape, (*position, pair))
    turn = ("sin", "cos") if second else ("cos", "sin")
    sign = " + " if second else " - "
    names = [f"{entry(x.name, (*position, c))}*{entry(t, where)}" for c, t in zip(columns, turn)]
    numbers = [f"{factor(x.value[(*position, c)])}*{factor(getattr(saved, t)[where])}"
               for c, t in zip(columns, turn)]  # fmt: skip
    return [sign.join(names), sign.join(numbers)]
