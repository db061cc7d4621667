"""Local derivatives of an embedding bag: a row moves the vector of every bag that its id is in."""

from __future__ import annotations

import numpy as np

from scratch_embed.digits import short
from scratch_embed.kernels.ids import count_ids
from scratch_embed.trace.slopes.slope import Index, Slopes, entry, grid
from scratch_embed.trace.walk import ForwardStep


def bag(at: ForwardStep, place: int, index: Index) -> Slopes:
    """An entry of the table, or for place 2 one of the per_sample_weights."""
    saved = at.node.saved
    if place == 2:
        return _sample_weight(at, index)
    row, column = index
    if saved.winners is not None:
        return _maximum(at, row, column)
    hits = saved.ids == row
    bags, where, times = np.unique(saved.bags[hits], return_inverse=True, return_counts=True)
    factors = np.ones(hits.sum()) if saved.factors is None else saved.factors[hits].astype(float)
    values = count_ids(where, len(bags), factors) if len(bags) else np.zeros(0)
    freq = int(hits.sum()) if saved.scale_grad_by_freq else 1
    told = dict(zip(bags.tolist(), zip(times.tolist(), (values / freq).tolist())))
    sizes = None if saved.factors is None or saved.rows is not None else count_ids(saved.bags)

    def said(o: Index) -> tuple[str, ...]:
        count, value = told[int(o[0])]
        text = f"{count}/{sizes[o[0]] * freq}" if sizes is not None else short(value)
        many = "once" if count == 1 else f"{count} times"
        size = "" if sizes is None else f" of {sizes[o[0]]}"
        often = f", and {freq} times in all" if freq > 1 else ""
        return (f"{text}, as {row} stands {many} in bag {o[0]}{size}{often}",)

    asked = "scale_grad_by_freq" if freq > 1 else ""
    return Slopes(grid(bags, np.array([column])), values / freq, said, on_purpose=asked)


def _maximum(at: ForwardStep, row: int, column: int) -> Slopes:
    """mode="max": the row that won a column of a bag is all that moves it."""
    saved = at.node.saved
    winners = saved.winners[:, column]
    bags = np.flatnonzero((winners >= 0) & (saved.ids[winners] == row)) if len(saved.ids) else []
    places = grid(np.asarray(bags, int), np.array([column]))
    return Slopes(places, np.ones(len(places)),
                  lambda o: (f"1, as row {row} is the largest of bag {o[0]} there",))  # fmt: skip


def _sample_weight(at: ForwardStep, index: Index) -> Slopes:
    """out[b] holds this weight times the row that it stands for."""
    saved, table = at.node.saved, at.inputs[0]
    kept = saved.kept.reshape(-1)
    flat = int(np.ravel_multi_index(index, saved.kept.shape))
    if not kept[flat]:
        return Slopes(np.zeros((0, 2), int), np.zeros(0), lambda o: ("0",))
    n = int(kept[:flat].sum())
    row = int(saved.ids[n])
    places = grid(np.array([saved.bags[n]]), np.arange(table.value.shape[1]))
    return Slopes(places, table.value[row].astype(float),
                  lambda o: (entry(table.name, (row, o[1])),))  # fmt: skip
