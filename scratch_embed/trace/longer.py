"""Forward by hand for the long operations: norms, attention, bags, word2vec, and what only copies.

As in `forwards`: for one entry of the output the expression in names, then in numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scratch_embed.ops import (
    arithmetic,
    attention,
    bag,
    dropout,
    norm,
    onehot,
    patches,
    rotary,
    sgns,
    shape,
    tied_cross_entropy,
)
from scratch_embed.trace.replay import rerun
from scratch_embed.trace.slopes.slope import MOST, Index, dot, entry, factor, own, short
from scratch_embed.trace.walk import ForwardStep
from scratch_embed.working import Line

Stages = list[str]
UNIQUE = 1 << 24  # numbers that can be counted through without doubt, and at once


def copied(at: ForwardStep, index: Index) -> Stages:
    """Which entry of which input stands there: found by moving positions instead of numbers."""
    several = at.node.forward is shape.concatenate_forward
    inputs = dict(enumerate(at.inputs if several else at.inputs[:1]))
    start, places = 0, {}
    for k, given in inputs.items():
        size = np.size(given.value)
        places[k] = np.arange(start, start + size, dtype=float).reshape(np.shape(given.value))
        start += size
    if start > UNIQUE:
        return []
    found = int(rerun(at, places)[index])
    for k, given in inputs.items():
        if found < np.size(given.value):
            where = np.unravel_index(found, np.shape(given.value))
            return [entry(given.name, where)]
        found -= np.size(given.value)
    return []


def normed(at: ForwardStep, index: Index) -> Stages:
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


def attended(at: ForwardStep, index: Index) -> Stages:
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
    asked = own(q.value.shape[:-1], (*lead, t))
    held = [own(k.value.shape[:-1], (*lead, s)) for s in keys]
    scores = np.array([scale * float(q.value[asked] @ k.value[where]) for where in held])
    with np.errstate(over="ignore"):
        total, lines = np.exp(scores).sum(), []
    for at_most in np.sort(np.argsort(-row[keys], kind="stable")[:MOST]):
        s, where, z = keys[at_most], held[at_most], scores[at_most]
        name = entry("scores", (*lead, t, s))
        pairs = [(entry(q.name, (*asked, d)), entry(k.name, (*where, d)))
                 for d in range(q.value.shape[-1])]  # fmt: skip
        products = dot(pairs, q.value[asked], k.value[where])
        products = [text if scale == 1 else f"{short(scale)}*({text})" for text in products]
        score = Line(name, tuple(dict.fromkeys([*products, short(z)])), float(z))
        every = entry("scores", (*lead, t, ":"))
        stages = f"e^{name} / sum of e^{every}", f"e^{factor(z)} / {short(total)}", short(row[s])
        weight = entry("weights", own(weights.shape, (*lead, t, s)))
        lines.append(Line(weight, stages, float(row[s]), parts=(score,)))
    return tuple(lines)


def pooled(at: ForwardStep, index: Index) -> Stages:
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
    shown, more = slice(0, MOST if len(here) > MOST + 1 else None), len(here) - MOST
    rest = [f"... ({more:,} more)"] if len(here) > MOST + 1 else []
    if saved.winners is not None:
        texts = [*names[shown], *rest], [*map(short, values[shown]), *rest]
        return [f"max({', '.join(text)})" for text in texts]
    sums = [" + ".join([*names[shown], *rest]), " + ".join([*map(factor, values[shown]), *rest])]
    return sums if saved.factors is None else [f"({text}) / {len(here)}" for text in sums]


def mixed(at: ForwardStep, index: Index) -> Stages:
    """onehot @ weight: the rows that are taken, each with its share."""
    onehot, weight = at.inputs[:2]
    *position, column = index
    shares = onehot.value[tuple(position)]
    taken = np.flatnonzero(shares)
    pairs = [(entry(onehot.name, (*position, v)), entry(weight.name, (v, column))) for v in taken]
    return dot(pairs, shares[taken], weight.value[taken, column]) if len(taken) else []


def turned(at: ForwardStep, index: Index) -> Stages:
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


def powered(at: ForwardStep, index: Index) -> Stages:
    """a^exponent"""
    a, exponent = at.inputs[0], at.node.saved[1]
    return [f"{entry(a.name, index)}^{exponent}", f"{factor(a.value[index])}^{exponent}"]


def let_through(at: ForwardStep, index: Index) -> Stages:
    """Dropout, with the mask that was drawn."""
    x, saved = at.inputs[0], at.node.saved
    if not saved.kept[index]:
        return [f"0, as {entry(x.name, index)} was dropped"]
    return [f"{entry(x.name, index)} / (1 - {saved.p:g})",
            f"{factor(x.value[index])} / (1 - {saved.p:g})"]  # fmt: skip


def compared(at: ForwardStep, index: Index) -> Stages:
    """sgns and cbow: a sum over examples, of which each asks K + 1 questions."""
    saved = at.node.saved
    saved = getattr(saved, "sgns", saved)
    true, drawn = saved.positive_score, saved.negative_scores
    asked = []
    for n, (z, row) in enumerate(zip(true, drawn)):
        asked.append((entry("positive_score", (n,)), z))
        asked += [(f"-{entry('negative_scores', (n, k))}", -z) for k, z in enumerate(row)]
        if len(asked) > MOST + 1:
            break
    shown = asked if len(asked) <= MOST + 1 else asked[:MOST]
    more = true.size + drawn.size - len(shown)
    rest = [f"... ({more:,} more)"] if more else []
    names = [f"ln s({name})" for name, _ in shown]
    numbers = [f"ln s({short(z)})" for _, z in shown]
    return [f"-({' + '.join([*texts, *rest])})" for texts in (names, numbers)]


def surprised(at: ForwardStep, index: Index) -> Stages:
    """The tied cross-entropy: the probabilities of the targets, found again for those shown."""
    h, weight, saved = at.inputs[0].value, at.inputs[1].value.astype(float), at.node.saved
    kept = np.flatnonzero(saved.scale)
    shown = kept if len(kept) <= MOST + 1 else kept[:MOST]
    z = h.reshape(-1, h.shape[-1])[shown].astype(float) @ weight.T
    z -= z.max(axis=1, keepdims=True)
    p = np.exp(z[np.arange(len(shown)), saved.targets[shown]]) / np.exp(z).sum(axis=1)
    positions = [np.unravel_index(n, h.shape[:-1]) if h.ndim > 1 else () for n in shown]
    names = [f"ln {entry('p', (*where, saved.targets[n]))}" for n, where in zip(shown, positions)]
    rest = [f"... ({len(kept) - len(shown):,} more)"] if len(kept) > len(shown) else []
    share = "" if saved.scale[kept[0]] == 1 else f" / {short(1 / saved.scale[kept[0]])}"
    numbers = [f"ln {short(x)}" for x in p]
    return [f"-({' + '.join([*texts, *rest])}){share}" for texts in (names, numbers)]


LONGER: dict[Callable, Callable[[ForwardStep, Index], Stages]] = {
    **dict.fromkeys((shape.reshape_forward, shape.transpose_forward, shape.getitem_forward,
                     shape.concatenate_forward, patches.unfold_forward, patches.fold_forward),
                    copied),
    norm.layer_norm_forward: normed,
    norm.rms_norm_forward: normed,
    attention.attention_forward: attended,
    bag.embedding_bag_forward: pooled,
    onehot.onehot_product_forward: mixed,
    rotary.rotary_forward: turned,
    sgns.sgns_forward: compared,
    sgns.cbow_forward: compared,
    tied_cross_entropy.tied_cross_entropy_forward: surprised,
    dropout.dropout_forward: let_through,
    arithmetic.power_forward: powered,
}  # fmt: skip
OPENED: dict[Callable, Callable[[ForwardStep, Index], tuple[Line, ...]]] = {
    norm.layer_norm_forward: hat,
    norm.rms_norm_forward: hat,
    attention.attention_forward: looked_at,
}
