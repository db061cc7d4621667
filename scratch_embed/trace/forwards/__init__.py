"""One entry of what came out of a step, from the numbers that went in: forward by hand.

The counterpart of `slopes`. A form answers for one entry of the output with its stages: the
expression in the names of the trace, then with the numbers put in.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from scratch_embed.digits import short, written_out
from scratch_embed.ops import (
    arithmetic,
    bag,
    cross_entropy,
    dropout,
    elementwise,
    lookup,
    matmul,
    norm,
    onehot,
    patches,
    project,
    reduce,
    rotary,
    sgns,
    shape,
    softmax,
    tied_cross_entropy,
)
from scratch_embed.ops import attention as attention_op
from scratch_embed.trace.forwards import attention, entrywise, losses, moves, norms, products, sums
from scratch_embed.trace.rule import code_lines
from scratch_embed.trace.slopes.slope import Index, entry
from scratch_embed.trace.walk import ForwardStep
from scratch_embed.trace.within import forward_of
from scratch_embed.working import Line, Working

__all__ = ["forward_entry"]


def forward_entry(at: ForwardStep, index: Index) -> Working:
    """The working of entry `index` of what came out: its expression, with the numbers put in.

    Of an operation that has no form here, as a learner's own, it tells the value alone.
    """
    name, value = entry(at.name, index), at.out[index]
    if is_complex(at):
        return complex_entry(name, value)
    line = written_out(partial(_formed, at, index, name, value))
    code = code_lines(at.node.forward, "", 0, partial(forward_of, at))
    return Working(name, (line, *code), float(value))


def _formed(at: ForwardStep, index: Index, name: str, value) -> Line:
    """The entry by its form."""
    form, opened = FORMS.get(at.node.forward), OPENED.get(at.node.forward)
    stages = form(at, index) if form else []
    parts = opened(at, index) if opened else ()
    return Line(name, tuple(dict.fromkeys([*stages, short(value)])), float(value), parts=parts)


def is_complex(at: ForwardStep) -> bool:
    """Whether there are complex numbers among what goes in and what comes out."""
    numbers = [at.out, *(held.value for held in at.inputs if isinstance(held.value, np.ndarray))]
    return any(map(np.iscomplexobj, numbers))


def complex_entry(name: str, value) -> Working:
    """All that is told of an entry where complex numbers come in."""
    text = f"{name} = {value:.4g}; complex numbers are not worked out here"
    return Working(name, (Line("", (text,), value),), value)


FORMS: dict[Callable, Callable[[ForwardStep, Index], list[str]]] = {
    elementwise.exp_forward: entrywise.unary("e^{}"),
    elementwise.log_forward: entrywise.unary("ln {}"),
    elementwise.sqrt_forward: entrywise.unary("sqrt {}"),
    elementwise.tanh_forward: entrywise.unary("tanh {}"),
    elementwise.sigmoid_forward: entrywise.unary("1 / (1 + e^-{})"),
    elementwise.log_sigmoid_forward: entrywise.unary("-ln(1 + e^-{})"),
    elementwise.relu_forward: entrywise.unary("max({}, 0)"),
    arithmetic.neg_forward: entrywise.unary("-{}"),
    arithmetic.add_forward: entrywise.binary(" + "),
    arithmetic.sub_forward: entrywise.binary(" - "),
    arithmetic.mul_forward: entrywise.binary(" * "),
    arithmetic.div_forward: entrywise.binary(" / "),
    arithmetic.power_forward: entrywise.powered,
    dropout.dropout_forward: entrywise.let_through,
    shape.reshape_forward: moves.copied,
    shape.transpose_forward: moves.copied,
    shape.getitem_forward: moves.copied,
    shape.concatenate_forward: moves.copied,
    patches.unfold_forward: moves.copied,
    patches.fold_forward: moves.copied,
    lookup.lookup_forward: products.looked_up,
    project.project_forward: products.projected,
    matmul.matmul_forward: products.multiplied,
    onehot.onehot_product_forward: products.mixed,
    rotary.rotary_forward: products.turned,
    reduce.sum_forward: sums.summed,
    reduce.mean_forward: sums.summed,
    bag.embedding_bag_forward: sums.pooled,
    norm.layer_norm_forward: norms.normed,
    norm.rms_norm_forward: norms.normed,
    attention_op.attention_forward: attention.attended,
    softmax.softmax_forward: losses.shares,
    softmax.log_softmax_forward: losses.shares,
    cross_entropy.cross_entropy_forward: losses.surprised,
    tied_cross_entropy.tied_cross_entropy_forward: losses.surprised_when_tied,
    sgns.sgns_forward: losses.compared,
    sgns.cbow_forward: losses.compared,
}
# What stands in a form under a name of its own, opened: the x_hat of a norm, attention's weights.
OPENED: dict[Callable, Callable[[ForwardStep, Index], tuple[Line, ...]]] = {
    norm.layer_norm_forward: norms.hat,
    norm.rms_norm_forward: norms.hat,
    attention_op.attention_forward: attention.looked_at,
}
