"""gradcheck: calculations full of kinks, at numbers of which many are equal or 0.

What is right where there is no derivative is told from outside: a gradient that backward has at
many points around this one may be given here. An entry that is the same at all of them has no kink,
and whoever changes it is wrong.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from scratch_embed import Tensor, differentiable
from scratch_embed.gradcheck import gradcheck
from tests.properties import draw

AROUND = 48  # points around the one that is checked
NEAR = 1e-6  # how far off they are
SAME = 1e-4  # of the largest slope: by as much do those of what is curved differ there
OFTEN = 6  # points of AROUND that have a gradient, for it to be one that anybody may give


class Rule(NamedTuple):
    """An operation by its two halves: forward(*inputs) and backward(dout, *inputs)."""

    forward: object
    backward: object


def sorted_rows(x):
    return np.sort(x, axis=-1)


def unsorted(g, x):
    dx = np.empty_like(x)
    np.put_along_axis(dx, np.argsort(x, axis=-1, kind="stable"), g, -1)
    return dx


def first_largest(g, x):
    dx = np.zeros_like(x)
    np.put_along_axis(dx, x.argmax(-1)[..., None], g, -1)
    return dx


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax_backward(g, x):
    p = softmax(x)
    return p * (g - (g * p).sum(-1, keepdims=True))


ONE = {
    "relu": Rule(lambda x: np.maximum(x, 0), lambda g, x: g * (x > 0)),
    "leaky": Rule(lambda x: np.where(x > 0, x, x / 4), lambda g, x: g * np.where(x > 0, 1, 0.25)),
    "abs": Rule(np.abs, lambda g, x: g * np.sign(x)),
    "clip": Rule(lambda x: np.clip(x, -1, 1), lambda g, x: g * (np.abs(x) <= 1)),
    "sort": Rule(sorted_rows, unsorted),
    "max": Rule(lambda x: x.max(-1, keepdims=True), first_largest),
    "cumsum": Rule(lambda x: x.cumsum(-1), lambda g, x: g[..., ::-1].cumsum(-1)[..., ::-1]),
    "square": Rule(lambda x: x * x / 2, lambda g, x: g * x),
    "tanh": Rule(np.tanh, lambda g, x: g * (1 - np.tanh(x) ** 2)),
    "softmax": Rule(softmax, softmax_backward),
    "centre": Rule(lambda x: x - x.mean(0), lambda g, x: g - g.mean(0)),
}
TWO = {
    "maximum": Rule(np.maximum, lambda g, a, b: (g * (a >= b), g * (a < b))),
    "minimum": Rule(np.minimum, lambda g, a, b: (g * (a <= b), g * (a > b))),
    "mul": Rule(lambda a, b: a * b, lambda g, a, b: (g * b, g * a)),
    "sub": Rule(lambda a, b: a - b, lambda g, a, b: (g, -g)),
    "matmul": Rule(lambda a, b: a @ b.T, lambda g, a, b: (g @ b, g.T @ a)),
}


def after(one: Rule, other: Rule) -> Rule:
    """Both as a single operation."""
    return Rule(
        lambda *inputs: other.forward(one.forward(*inputs)),
        lambda g, *inputs: one.backward(other.backward(g, one.forward(*inputs)), *inputs),
    )


def operation(rule: Rule, change=lambda grads: grads):
    """It, and `change` of the gradients that its backward returns."""

    def backward(g, inputs):
        grads = rule.backward(g, *inputs)
        return change([np.array(d) for d in (grads if isinstance(grads, tuple) else (grads,))])

    return differentiable(lambda *inputs: (rule.forward(*inputs), inputs), backward, name="own")


class Case(NamedTuple):
    """A calculation, the point, and how it is checked."""

    rules: list[Rule]
    arrays: list[np.ndarray]
    mode: str
    seed: int

    def function(self, change=lambda grads: grads):
        """The calculation, its first operation with a changed backward."""
        first, *others = self.rules
        first, others = operation(first, change), [operation(rule) for rule in others]

        def fn(*tensors):
            out = first(*tensors)
            for other in others:
                out = other(out)
            return out

        return fn

    def check(self, change=lambda grads: grads):
        tensors = [Tensor(a, requires_grad=True, name=n) for a, n in zip(self.arrays, "ab")]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return gradcheck(self.function(change), *tensors, mode=self.mode, seed=self.seed)

    def gradients(self) -> tuple[list[np.ndarray], np.ndarray]:
        """Those at the point, for a cotangent of their own, and around it: (tensor, point, ...)."""
        rng, fn, found = np.random.default_rng(self.seed), self.function(), []
        cotangent = rng.standard_normal(fn(*map(Tensor, self.arrays)).shape)
        for turn in range(1 + AROUND):
            moved = [a + NEAR * bool(turn) * rng.standard_normal(a.shape) for a in self.arrays]
            tensors = [Tensor(array, requires_grad=True) for array in moved]
            fn(*tensors).backward(cotangent)
            found.append([tensor.grad for tensor in tensors])
        here, *around = found
        return here, [np.stack(grads) for grads in zip(*around)]


@st.composite
def cases(draw_) -> Case:
    names = draw_(st.lists(st.sampled_from(list(ONE)), min_size=1, max_size=3))
    rules, shape = (
        [ONE[name] for name in names],
        (draw_(st.integers(1, 2)), draw_(st.integers(1, 4))),
    )
    count = draw_(st.integers(1, 2))
    if count == 2:
        rules = [TWO[draw_(st.sampled_from(list(TWO)))], *rules[:2]]
    if len(rules) > 1 and draw_(st.booleans()):
        rules = [after(*rules[:2]), *rules[2:]]
    rng, whole = np.random.default_rng(draw_(draw.seeds)), draw_(st.integers(0, 3))
    arrays = [rng.integers(-1, 2, shape).astype(float) for _ in range(count)]
    if not whole:
        arrays = [rng.standard_normal(shape) for _ in range(count)]
    mode = draw_(st.sampled_from(["elementwise", "directional"]))
    return Case(rules, arrays, mode, draw_(st.integers(0, 999)))


@st.composite
def tied(draw_) -> Case:
    """The larger or the smaller of two tensors, of which many entries are equal, and then what has
    no kinks."""
    smooth = st.sampled_from(["cumsum", "square", "tanh", "softmax", "centre"])
    rules = [TWO[draw_(st.sampled_from(["maximum", "minimum"]))]]
    rules += [ONE[name] for name in draw_(st.lists(smooth, max_size=2))]
    if len(rules) > 1 and draw_(st.booleans()):
        rules = [after(*rules[:2]), *rules[2:]]
    rng, shape = np.random.default_rng(draw_(draw.seeds)), (2, draw_(st.integers(1, 4)))
    arrays = [rng.integers(-1, 2, shape).astype(float) for _ in range(2)]
    mode = draw_(st.sampled_from(["elementwise", "directional"]))
    return Case(rules, arrays, mode, draw_(st.integers(0, 999)))


def largest(around: list[np.ndarray]) -> float:
    return max(float(np.abs(grads).max()) for grads in around)


@given(cases())
def test_a_gradient_that_is_one_around_the_point_is_not_refused(case):
    here, around = case.gradients()
    size = largest(around)
    near = [np.abs(there - at) <= SAME * size for at, there in zip(here, around)]
    both = np.all([each.reshape(AROUND, -1).all(1) for each in near], axis=0)
    assume(both.sum() >= OFTEN)
    report = case.check()
    assert report.agrees, str(report)


@given(cases(), st.data())
def test_a_gradient_that_is_wrong_at_an_entry_without_a_kink_is_refused(case, data):
    here, around = case.gradients()
    smooth = [
        (position, tuple(index))
        for position, (at, there) in enumerate(zip(here, around))
        for index in np.argwhere(
            (np.abs(there - at) <= SAME * largest(around)).all(0) & (np.abs(at) > 0.01)
        )
    ]
    assume(smooth)
    position, index = data.draw(st.sampled_from(smooth))
    times = data.draw(st.sampled_from([0.0, -1.0, 0.5, 1.01, 2.0]))

    def change(grads):
        grads[position][index] *= times
        return grads

    report = case.check(change)
    assert not report.passed, str(report)


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(tied(), st.data())
def test_of_two_entries_that_share_a_kink_the_sum_is_not_free(case, data):
    """Each has several slopes around the point, and both together one: what lies between is too
    much or too little, unless the other one gives way."""
    here, around = case.gradients()
    flat, them = (
        np.concatenate([np.ravel(at) for at in here]),
        [a.reshape(AROUND, -1) for a in around],
    )
    them, size = np.concatenate(them, axis=1), largest(around)
    kinked = np.flatnonzero((np.abs(them - flat) > 0.05).any(0))
    pairs = [
        (one, two)
        for one in kinked
        for two in kinked[kinked > one]
        if np.abs(them[:, one] + them[:, two] - flat[one] - flat[two]).max() <= SAME * size
    ]
    assume(pairs)
    one, _ = data.draw(st.sampled_from(pairs))
    ends = them[:, one].min(), them[:, one].max()
    other = max(ends, key=lambda end: abs(end - flat[one]))
    more = (other - flat[one]) * data.draw(st.sampled_from([0.25, 0.5, 1.0]))

    def change(grads):
        both = np.concatenate([grad.reshape(-1) for grad in grads])
        both[one] += more
        ends = np.cumsum([grad.size for grad in grads])
        return [part.reshape(g.shape) for part, g in zip(np.split(both, ends[:-1]), grads)]

    report = case.check(change)
    assert not report.passed, str(report)
