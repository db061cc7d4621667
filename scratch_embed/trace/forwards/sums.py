"""Sums, means and bags of rows."""

from __future__ import annotations

import numpy as np

from scratch_embed.digits import short
from scratch_embed.ops import reduce
from scratch_embed.trace.slopes.slope import Index, dot, entry, factor, some
from scratch_embed.trace.walk import ForwardStep


def summed(at: ForwardStep, index: Index) -> list[str]:
    """A sum or a mean of the numbers along its axes."""
    given, saved = at.inputs[0], at.node.saved
    if given.value.ndim == 0:
        return []
    every = range(given.value.ndim)
    axes = every if saved.axis is None else saved.axis
    kept = iter(index if not saved.keepdims else [i for k, i in enumerate(index) if k not in axes])
    line = given.value[tuple(slice(None) if k in axes else next(kept) for k in every)].reshape(-1)
    if not len(line):
        return []
    shown, rest = some(line)
    text = " + ".join([*map(factor, shown), *rest])
    mean = at.node.forward is reduce.mean_forward
    return [f"({text}) / {len(line)}" if mean else text]


def pooled(at: ForwardStep, index: Index) -> list[str]:
    """The rows of one bag: added, averaged, weighed, or the largest of them."""
    b, column = index
    saved, table = at.node.saved, at.inputs[0]
    here = np.flatnonzero(saved.bags == b)
    if not len(here):
        return []
    names = [entry(table.name, (row, column)) for row in saved.ids[here]]
    values = table.value[saved.ids[here], column]
    if saved.rows is not None:
        factors = saved.factors[here]
        pairs = [(short(f), name) for f, name in zip(factors, names)]
        return dot(pairs, factors, values)
    (shown, rest), numbers = some(names), some(values)[0]
    if saved.winners is not None:
        texts = [*shown, *rest], [*map(short, numbers), *rest]
        return [f"max({', '.join(text)})" for text in texts]
    sums = [" + ".join([*texts, *rest]) for texts in (shown, map(factor, numbers))]
    return sums if saved.factors is None else [f"({text}) / {len(here)}" for text in sums]
