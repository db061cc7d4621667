"""The local derivatives of an operation: how far each entry of its output moves with one input.

Every rule of backward is the chain rule, entry by entry,

    dx[i] = sum over o of dout[o] * (∂out[o] / ∂x[i])

and `Slopes` holds, for one x[i], the entries o that it moves and the derivative at each. For the
operations that a language model is built of it is written down here, in the names of the trace; for
any other, a learner's own too, it is measured by nudging that entry.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scratch_embed.gradcheck.quotient import moved
from scratch_embed.ops import (
    arithmetic,
    bag,
    cross_entropy,
    dropout,
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
from scratch_embed.trace.replay import rerun, rounds
from scratch_embed.trace.slopes import (
    attention,
    bags,
    entrywise,
    norms,
    products,
    scores,
    tied,
    word2vec,
)
from scratch_embed.trace.slopes.slope import Index, Rule, Slopes, entry, taken
from scratch_embed.trace.walk import ForwardStep

__all__ = ["Index", "Slopes", "entry", "slopes"]

EPS, SINGLE = float(np.finfo(float).eps), float(np.finfo(np.float32).eps)
H = 1e-5
NEAREST = 1e-8  # so small is the nudge of a number near 0, where a kink or a pole may be
NEAREST_SINGLE = 1e-4  # of what answers in float32
LARGER = 1e-8  # of a large number: a shorter nudge would be its rounding
CLOSER = 16  # times shorter is the next nudge
OWN = 1e-3  # of the number: one that is smaller still, where rounding lets it


def slopes(at: ForwardStep, place: int, index: Index) -> Slopes:
    """The local derivatives of a step by entry `index` of its input number `place`.

    Raises TypeError where they must be measured and the step draws random numbers.
    """
    rule = RULES.get(at.node.backward)
    found = rule(at, place, index) if rule else None
    return measured(at, place, index) if found is None else found


def measured(at: ForwardStep, place: int, index: Index) -> Slopes:
    """By two forward runs, or more where they do not agree with those of a shorter nudge. What an
    operation that copies numbers does with this one is told by a mark, exactly."""
    array, linear = at.inputs[place].value, at.node.backward in LINEAR

    def slope(h: float) -> np.ndarray:
        there, back = (rerun(at, {place: moved(array, index, t)}) for t in (h, -h))
        return np.where(_same(there, back), 0, (there - back) / (2 * h))

    h, settled, x, eps = 1.0, True, abs(float(array[index])), EPS
    with np.errstate(all="ignore"):  # it may lead to where there is no number
        if linear:
            found = _marked(at, place, index)
        elif not np.isfinite(x):
            found = _at_infinity(at, place, index)
        else:
            eps = SINGLE if rounds(at, place, index) else EPS
            h, settled = _settled(slope, at.out, x, eps)
            found = slope(h)
    places = np.argwhere(found)

    def told(o: Index) -> tuple[str]:
        if linear:
            return ("1",)
        doubt = 8 * eps * abs(float(at.out[o])) / h
        if not settled:
            how = "; a shorter one says otherwise"
        else:
            how = f", up to {doubt:.1g} of rounding" * (doubt > 1e-4 * abs(float(found[o])))
        return (f"measured, by a nudge of {h:.2g}{how}",)

    return Slopes(places, taken(found, places), told, measured=not linear)


def _marked(at: ForwardStep, place: int, index: Index) -> np.ndarray:
    """1 where a step that copies numbers puts this one, else 0."""
    blank = np.zeros(at.inputs[place].value.shape)
    without, marked = (rerun(at, {place: moved(blank, index, t)}) for t in (0.0, 1.0))
    return np.where(_same(without, marked), 0, marked - without)


def _at_infinity(at: ForwardStep, place: int, index: Index) -> np.ndarray:
    """No nudge moves it, nor what it leaves finite, as a softmax: 0; nan where it is passed on."""
    other = np.array(at.inputs[place].value, np.float64)
    other[index] = 0
    still = _same(rerun(at, {place: other}), at.out) | np.isfinite(at.out)
    return np.where(still, 0, np.nan)


def _same(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Where two answers are the same, an infinity or a nan too: their difference would be nan."""
    return (one == two) | np.isnan(one) & np.isnan(two)


def _settled(
    slope: Callable[[float], np.ndarray], out: np.ndarray, x: float, eps: float
) -> tuple[float, bool]:
    """A nudge of x that a shorter one bears out, beyond rounding, and whether there is one.

    sin(100,000 x) wants a nudge of its own, and so does a number near 0; at a jump none is.
    """
    own = OWN * (x or 1.0)
    h, nearest = min(max(H, LARGER * x), max(NEAREST, own)), NEAREST
    if eps > EPS:
        h, nearest = float(np.cbrt(eps)) * max(1.0, x), NEAREST_SINGLE
    elif own < NEAREST:
        near = slope(own)
        if (EPS * np.abs(out) / own <= 1e-6 * np.abs(near))[near != 0].all():
            return own, True
    found, settled = slope(h), True
    while h > nearest:
        shorter = slope(h / CLOSER)
        doubt = 1e-6 * np.abs(shorter) + 8 * eps * np.abs(out) * CLOSER / h
        if not (np.abs(found - shorter) > doubt).any():
            return h, True
        h, found, settled = h / CLOSER, shorter, False
    return h, settled


RULES: dict[Callable, Rule] = dict.fromkeys(entrywise.UNARY, entrywise.unary) | {
    arithmetic.power_backward: entrywise.power,
    arithmetic.add_backward: entrywise.binary(lambda a, b: (1.0, 1.0), ("1", "1")),
    arithmetic.sub_backward: entrywise.binary(lambda a, b: (1.0, -1.0), ("1", "-1")),
    arithmetic.mul_backward: entrywise.binary(lambda a, b: (b, a), ("{b}", "{a}")),
    arithmetic.div_backward: entrywise.binary(
        lambda a, b: (1 / b, -(a / b) / b), ("1/{b}", "-{a}/{b}^2")
    ),
    reduce.sum_backward: products.sum_or_mean,
    reduce.mean_backward: products.sum_or_mean,
    lookup.lookup_backward: products.table,
    project.project_backward: products.projection,
    matmul.matmul_backward: products.product,
    softmax.softmax_backward: scores.shares,
    softmax.log_softmax_backward: scores.log_shares,
    cross_entropy.cross_entropy_backward: scores.surprise,
    norm.layer_norm_backward: norms.vector,
    norm.rms_norm_backward: norms.vector,
    dropout.dropout_backward: entrywise.let_through,
    bag.embedding_bag_backward: bags.bag,
    onehot.onehot_product_backward: products.one_hot,
    rotary.rotary_backward: products.turned,
    attention_op.attention_backward: attention.attention,
    sgns.sgns_backward: word2vec.skip_gram,
    sgns.cbow_backward: word2vec.window,
    tied_cross_entropy.tied_cross_entropy_backward: tied.through_logits,
}
LINEAR = {  # they copy numbers, so each derivative is 1
    shape.reshape_backward,
    shape.transpose_backward,
    shape.getitem_backward,
    shape.concatenate_backward,
    patches.unfold_backward,
    patches.fold_backward,
}
