"""Scores that are masked, by infinities or by numbers that are nearly as far away."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed import functional as F
from scratch_embed.gradcheck import gradcheck

HIDDEN = np.triu(np.ones((4, 4)), 1) > 0
FAR = {
    "-inf": -np.inf,
    "-1e9": -1e9,
    "-1e15": -1e15,
    "float32": float(np.finfo(np.float32).min),
    "float64": float(np.finfo(float).min),
}


def forward(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p, p


def right(dout, p):
    return p * (dout - (p * dout).sum(axis=-1, keepdims=True))


WRONG = {
    "wrong sign": lambda dout, p: -right(dout, p),
    "constant factor": lambda dout, p: 2 * right(dout, p),
    "softmax diagonal": lambda dout, p: p * (1 - p) * dout,
    "rows": lambda dout, p: right(dout, p) * np.array([1, 1, 1, 0])[:, None],
    "plain sum": lambda dout, p: p * (dout - dout.sum(axis=-1, keepdims=True)),
    "leak": lambda dout, p: right(dout, p) + (p == 0),
    "1 % off": lambda dout, p: right(dout, p) * np.array([1, 1, 1, 1.01])[:, None],
}


def ways(backward, far):
    """The mask added on the way, and in the leaf."""
    scores = np.random.default_rng(0).standard_normal((4, 4))
    mask, softmax = np.where(HIDDEN, far, 0.0), differentiable(forward, backward, name="softmax")
    yield lambda s: softmax(s + mask), Tensor(scores, requires_grad=True, name="s")
    yield softmax, Tensor(np.where(HIDDEN, far, scores), requires_grad=True, name="s")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("far", FAR.values(), ids=FAR)
def test_a_right_backward_passes(far):
    for mode in ("elementwise", "directional"):
        for fn, s in ways(right, far):
            assert gradcheck(fn, s, mode=mode).passed


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("far", FAR.values(), ids=FAR)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_backward_is_refused_and_blamed_on_nobody_else(name, far):
    for fn, s in ways(WRONG[name], far):
        report = gradcheck(fn, s)
        assert not report.passed
        assert {cause.op for cause in report.causes} <= {"softmax"}, report
        if " " in name and name not in ("1 % off", "plain sum"):
            assert [cause.name for cause in report.causes] == [name]


@pytest.mark.parametrize("far", [-np.inf, -1e9])
@pytest.mark.parametrize(
    ("factor", "name"), [(1, None), (-1, "wrong sign"), (2, "constant factor")]
)
def test_an_operation_that_masks_is_told_what_is_wrong_with_it(far, factor, name):
    fill = differentiable(
        lambda s: (np.where(HIDDEN, far, s), None),
        lambda dout, _: factor * np.where(HIDDEN, 0, dout),
        name="masked_fill",
    )
    s = Tensor(np.random.default_rng(0).standard_normal((4, 4)), requires_grad=True, name="s")
    causes = gradcheck(lambda s: F.softmax(fill(s)), s).causes
    assert [(cause.name, cause.op) for cause in causes] == [(name, "masked_fill")] * (factor != 1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["central", "richardson", "directional"])
@pytest.mark.parametrize("op", [F.tanh, F.sigmoid, F.relu], ids=["tanh", "sigmoid", "relu"])
def test_one_infinity_hides_nothing_of_the_others(op, method):
    options = {"mode": method} if method == "directional" else {"method": method}
    for far in (-np.inf, -1e12, *[np.inf, 1e12] * (op is not F.relu)):  # which answers these
        x = Tensor(np.array([0.3, -0.7, far, 1.2]), requires_grad=True, name="x")
        for factor in (-1, 2, 1.01):
            wrong = differentiable(op.forward, lambda g, s, k=factor: k * op.backward(g, s))
            assert not gradcheck(wrong, x, **options).passed
        assert gradcheck(op, x, **options).passed


@pytest.mark.parametrize("seed", range(4))
def test_a_kink_beside_a_mask_whose_rounding_hides_short_steps(seed):
    mask = Tensor(np.triu(np.full((3, 3), -1e9), 1))
    x = Tensor(np.random.default_rng(seed).integers(-2, 3, (3, 3)).astype(float))
    x.requires_grad = True
    report = gradcheck(lambda x: F.relu(x) + mask, x, seed=seed)
    assert report.agrees, report
    away = differentiable(lambda x: (np.maximum(x, 0), x), lambda d, x: d * (x <= 0), name="away")
    assert not gradcheck(lambda x: away(x) + mask, x, seed=seed).agrees


# ---- where all is 0, nothing is rounded, and beside it much ----------------------------------

NOTHING = {
    "deviations": lambda x: F.sum(x - F.mean(x, axis=0)),
    "layer norm": lambda x: F.sum(F.layer_norm(x)),
    "both": lambda x: F.mean(F.layer_norm(x) - F.mean(F.layer_norm(x), axis=0)),
}


@pytest.mark.parametrize("fn", NOTHING.values(), ids=NOTHING)
@pytest.mark.parametrize("fill", [0.0, 1.0])
@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (2, 4)])
def test_a_sum_that_is_always_0_at_numbers_that_are_all_alike(fn, fill, shape):
    x = Tensor(np.full(shape, fill), requires_grad=True, name="x")
    for method in ("central", "richardson", "complex"):
        report = gradcheck(fn, x, method=method)
        assert report.agrees, report
    passes = differentiable(lambda x: (x - x.mean(0), ()), lambda d, saved: d, name="passes")
    assert not gradcheck(lambda x: F.sum(passes(x)), x).agrees


WHOLE = np.array([[True, True, False], [False, False, False]])  # the second asker sees nobody
INSIDE = {  # of the scores: softmax of what is masked, in steps, or all in one
    "on the tape": lambda far, backward: (
        lambda z: differentiable(forward, backward, name="softmax")(z + np.where(WHOLE, 0, far))
    ),
    "in one": lambda far, backward: differentiable(
        lambda z: forward(z + np.where(WHOLE, 0, far)), backward, name="softmax"
    ),
}


@pytest.mark.parametrize("far", [-1e8, -1e9])
@pytest.mark.parametrize("where", INSIDE)
def test_a_row_that_is_masked_whole_moves_in_steps_of_the_last_digit(where, far):
    """Of scores beside -1e9 a short nudge moves nothing: 0 agreed, and what is right did not."""
    z = Tensor([[0.3, -0.2, 0.1], [0.4, -0.5, 0.2]], requires_grad=True, name="z")
    report = gradcheck(INSIDE[where](far, right), z)
    assert report.passed and not report.causes, report
    for wrong in (
        lambda dout, p: right(dout, p) * np.array([[1], [0]]),
        lambda dout, p: 1.1 * right(dout, p),
    ):
        assert not gradcheck(INSIDE[where](far, wrong), z).passed


def test_the_softmax_of_this_package_behind_such_a_mask_is_right():
    q, k, v = (
        Tensor(np.random.default_rng(i).standard_normal((2, 3)), requires_grad=True, name=name)
        for i, name in enumerate("qkv")
    )
    mask = np.where([[True, False], [False, False]], 0, -1e9)
    report = gradcheck(lambda q, k, v: F.softmax(q @ k.T * 3**-0.5 + mask) @ v, q, k, v)
    assert report.passed, report


@pytest.mark.parametrize("z", [20.0, 22.0, 24.0, 26.0])
def test_a_surprise_that_has_lost_most_of_its_digits_is_measured_by_long_steps(z):
    """-ln(1 - sigmoid(z)): of 1 - p only the last digits are left where p is nearly 1."""
    x = Tensor([z, 1.0], requires_grad=True, name="z")
    assert gradcheck(lambda x: -F.log(1 - F.sigmoid(x)), x).passed
    for due, passes in ((1.0, True), (0.0, False), (-1.0, False)):
        surprise = differentiable(
            lambda z: (-np.log(1 - 1 / (1 + np.exp(-z))), z),
            lambda dout, z, due=due: dout / (1 + np.exp(-z)) * np.where(z > 19, due, 1),
            name="surprise",
        )
        assert gradcheck(surprise, x).passed == passes
