"""One entry of what came out of a step, from the numbers that went in: forward by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scratch_embed.ops import (
    arithmetic,
    cross_entropy,
    elementwise,
    lookup,
    matmul,
    project,
    reduce,
    softmax,
)
from scratch_embed.trace.longer import LONGER, OPENED
from scratch_embed.trace.rule import code_lines
from scratch_embed.trace.slopes import Index, entry
from scratch_embed.trace.slopes.entrywise import operand
from scratch_embed.trace.slopes.slope import MOST, dot, factor, short
from scratch_embed.trace.walk import ForwardStep
from scratch_embed.working import Line, Working

Stages = list[str]


def forward_entry(at: ForwardStep, index: Index) -> Working:
    """The working of entry `index` of what came out: its expression, with the numbers put in.

    Of an operation that has no form here, as a learner's own, it tells the value alone.
    """
    name, value = entry(at.name, index), at.out[index]
    rule = FORMS.get(at.node.forward)
    stages = rule(at, index) if rule else []
    opened = OPENED.get(at.node.forward)
    parts = opened(at, index) if opened else ()
    line = Line(name, tuple(dict.fromkeys([*stages, short(value)])), float(value), parts=parts)
    return Working(name, (line, *code_lines(at.node.forward, "", 0)), float(value))


def _unary(form: str) -> Callable[[ForwardStep, Index], Stages]:
    def stages(at: ForwardStep, index: Index) -> Stages:
        given = at.inputs[0]
        return [form.format(a) for a in (entry(given.name, index), factor(given.value[index]))]

    return stages


def _binary(sign: str) -> Callable[[ForwardStep, Index], Stages]:
    def stages(at: ForwardStep, index: Index) -> Stages:
        pair = at.inputs[:2]
        arrays = [np.asarray(given.value, float) for given in pair]
        names = [operand(given, array, index) for given, array in zip(pair, arrays)]
        numbers = [np.broadcast_to(array, at.out.shape)[index] for array in arrays]
        return [sign.join(names), sign.join(factor(x) for x in numbers)]

    return stages


def _lookup(at: ForwardStep, index: Index) -> Stages:
    *position, column = index
    row = int(at.node.saved.ids[tuple(position)])
    ids = at.inputs[1].name if len(at.inputs) > 1 else "ids"
    return [f"{entry(at.inputs[0].name, (row, column))}, as {entry(ids, position)} is {row}"]


def _project(at: ForwardStep, index: Index) -> Stages:
    h, weight, *bias = at.inputs
    *position, row = index
    pairs = [(entry(h.name, (*position, j)), entry(weight.name, (row, j)))
             for j in range(h.value.shape[-1])]  # fmt: skip
    more = [(entry(bias[0].name, (row,)), bias[0].value[row])] if bias and bias[0].name else []
    return dot(pairs, h.value[tuple(position)], weight.value[row], more)


def _matmul(at: ForwardStep, index: Index) -> Stages:
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


def _softmax(at: ForwardStep, index: Index) -> Stages:
    axis = at.node.saved.axis % len(index)
    scores = at.inputs[0]
    line = scores.value[tuple(slice(None) if k == axis else i for k, i in enumerate(index))]
    told = [f"e^{factor(z)}" for z in (line if len(line) <= MOST + 1 else line[:MOST])]
    told += [f"... ({len(line) - MOST:,} more)"] if len(line) > MOST + 1 else []
    all_of = entry(scores.name, index).removesuffix("]").rpartition(",")[0]
    name = f"{all_of},:]" if all_of else f"{scores.name}[:]"
    sums = f"e^{entry(scores.name, index)} / sum of e^{name}" if axis == len(index) - 1 else ""
    ratio = f"e^{factor(scores.value[index])} / ({' + '.join(told)})"
    if at.node.forward is softmax.log_softmax_forward:
        sums, ratio = (f"ln({text})" if text else "" for text in (sums, ratio))
    return [text for text in (sums, ratio) if text]


def _cross_entropy(at: ForwardStep, index: Index) -> Stages:
    saved = at.node.saved
    shape = at.inputs[0].value.shape[:-1]
    kept = np.flatnonzero(saved.scale)
    if at.out.ndim:
        kept = np.array([np.ravel_multi_index(index, shape)])
    shown = kept if len(kept) <= MOST + 1 else kept[:MOST]
    names, numbers = [], []
    for n in shown:
        o = (*np.unravel_index(n, shape), saved.targets[n]) if shape else (saved.targets[n],)
        if saved.spread is None:
            counts = "" if saved.hit[n] == 1 else f"{short(saved.hit[n])}*"
            names.append(f"{counts}ln {entry('p', o)}")
            numbers.append(f"{counts}ln {short(np.exp(saved.log_p[n, saved.targets[n]]))}")
        else:  # every class counts
            log_p = saved.log_p[n]
            counted = saved.hit[n] * log_p[saved.targets[n]] + log_p @ saved.spread
            names.append(f"sum of q*ln {entry('p', (*o[:-1], ':'))}")
            numbers.append(factor(counted))
    rest = [f"... ({len(kept) - len(shown):,} more)"] if len(kept) > len(shown) else []
    share = "" if saved.scale[kept[0]] == 1 else f" / {short(1 / saved.scale[kept[0]])}"
    told = (" + ".join([*texts, *rest]) for texts in (names, numbers))
    return [f"-({text}){share}" for text in told]


def _sum(at: ForwardStep, index: Index) -> Stages:
    given, saved = at.inputs[0], at.node.saved
    if given.value.ndim == 0:
        return []
    every = range(given.value.ndim)
    axes = every if saved.axis is None else np.atleast_1d(saved.axis) % given.value.ndim
    kept = iter(index if not saved.keepdims else [i for k, i in enumerate(index) if k not in axes])
    line = given.value[tuple(slice(None) if k in axes else next(kept) for k in every)].reshape(-1)
    shown = line if len(line) <= MOST + 1 else line[:MOST]
    rest = [f"... ({len(line) - len(shown):,} more)"] if len(line) > len(shown) else []
    text = " + ".join([*map(factor, shown), *rest])
    mean = at.node.forward is reduce.mean_forward
    return [f"({text}) / {len(line)}" if mean else text]


FORMS: dict[Callable, Callable[[ForwardStep, Index], Stages]] = {
    elementwise.exp_forward: _unary("e^{}"),
    elementwise.log_forward: _unary("ln {}"),
    elementwise.sqrt_forward: _unary("sqrt {}"),
    elementwise.tanh_forward: _unary("tanh {}"),
    elementwise.sigmoid_forward: _unary("1 / (1 + e^-{})"),
    elementwise.log_sigmoid_forward: _unary("-ln(1 + e^-{})"),
    elementwise.relu_forward: _unary("max({}, 0)"),
    arithmetic.neg_forward: _unary("-{}"),
    arithmetic.add_forward: _binary(" + "),
    arithmetic.sub_forward: _binary(" - "),
    arithmetic.mul_forward: _binary(" * "),
    arithmetic.div_forward: _binary(" / "),
    lookup.lookup_forward: _lookup,
    project.project_forward: _project,
    matmul.matmul_forward: _matmul,
    softmax.softmax_forward: _softmax,
    softmax.log_softmax_forward: _softmax,
    cross_entropy.cross_entropy_forward: _cross_entropy,
    reduce.sum_forward: _sum,
    reduce.mean_forward: _sum,
} | LONGER
