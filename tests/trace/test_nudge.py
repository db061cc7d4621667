"""The verdict on one entry where the loss is large, the gradient small, or a number on a kink."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from scratch_embed import Tensor
from scratch_embed import functional as F
from scratch_embed.tensor import differentiable
from scratch_embed.trace import trace
from tests.trace.learners import own


def verdict(out, place: int = 0) -> str:
    """What is said of an entry of the leaf, which the last step gives its gradient."""
    walk = trace(out)
    lines = walk.entry(len(walk), (0, (place,))).lines
    return next(line.value for line in lines if isinstance(line.value, str))


SQUARE = own("square", np.square, lambda x: 2 * x)


@pytest.mark.parametrize("offset", [30.0, 1e6, 3e10])
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e-10])
@pytest.mark.parametrize("factor", [0.02, 1.98, 0.0])
def test_a_wrong_gradient_is_told_whatever_the_size_of_the_loss(offset, scale, factor):
    x = Tensor([140.0, -3.0], requires_grad=True)
    wrong = own("square", np.square, lambda x: factor * x)
    assert verdict((SQUARE(x) * scale).sum() + offset).startswith("agrees")
    assert verdict((wrong(x) * scale).sum() + offset).startswith("DIFFERS")


def test_what_no_nudge_tells_is_not_said_to_agree_to_the_last_digit():
    """The entries of a softmax sum to 1, so its sum has a gradient of 0: 1e-11 is rounding."""
    x = Tensor([1.0, 2.0], requires_grad=True)
    for slope in (0.0, 1e-11):
        shares = own("shares", lambda x: np.exp(x) / np.exp(x).sum(), partial(np.multiply, slope))
        told = verdict(shares(x).sum())
        assert told.startswith("agrees within") and float(told.split()[2].strip(",")) < 1e-9
    wrong = own("shares", lambda x: np.exp(x) / np.exp(x).sum(), lambda x: 1e-9 * x)
    assert verdict(wrong(x).sum()).startswith("DIFFERS")


def flat(more: float, x):
    return 3 * x**2 + more


def test_a_gradient_where_a_curve_is_flat_is_asked_closely():
    x = Tensor([0.0, 2.0], requires_grad=True)
    for more, said in ((0.0, "agrees"), (1e-9, "DIFFERS"), (1e-8, "DIFFERS")):
        cubed = own("cubed", lambda x: x**3, partial(flat, more))
        assert verdict(cubed(x).sum()).startswith(said)


def test_of_tied_entries_one_alone_tells_no_more_than_two_slopes():
    both = differentiable(lambda x: (x.max(), x), lambda dout, x: dout * (x == x.max()))
    told = verdict(both(Tensor([1.0, 1.0, 0.0], requires_grad=True)) * 2.0)
    assert "between the slopes" in told and "one entry tells no more" in told


def sort_forward(x):
    order = np.argsort(x, kind="stable")
    return x[order], order


def sort_backward(dout, order):
    dx = np.empty_like(dout)
    dx[order] = dout
    return dx


def test_the_middle_of_three_equal_numbers_that_are_sorted():
    """It moves the largest or the smallest, and gets what arrived at the middle."""
    right = differentiable(sort_forward, sort_backward, name="sort")
    wrong = differentiable(sort_forward, lambda dout, order: 1.5 * sort_backward(dout, order))
    for sort, said in ((right, "slope of this step at a place beside"), (wrong, "DIFFERS")):
        x = Tensor([1.0, 1.0, 1.0], requires_grad=True)
        assert said in verdict((sort(x) * np.array([1.0, 5.0, 2.0])).sum(), 1)


def test_a_right_step_on_a_kink_is_not_blamed_for_a_wrong_one_behind_it():
    wrong = own("cubed", lambda x: (x + 1) ** 3, lambda x: (x + 1) ** 2 - 5)
    kept = own("relu", lambda x: np.maximum(x, 0), lambda x: x >= 0)
    told = verdict(wrong(kept(Tensor([0.0, 0.5], requires_grad=True))).sum())
    assert told.startswith("on a kink, where this step is right by itself; of what arrives")


def test_float32_behind_a_step_that_answers_none():
    """In float64 nothing arrives at it either; the entry is worked out all the same."""
    rounded = differentiable(lambda x: (np.round(8 * x), ()), lambda dout, saved: None)
    wrong = own("cubed", lambda x: x**3, lambda x: np.float32(3.1) * x * x)
    x = Tensor(np.array([0.3, 0.6], np.float32), requires_grad=True)
    h = wrong(x)
    assert verdict((h + rounded(h)).sum()).startswith("DIFFERS")
    assert verdict((h + rounded(wrong(h)) * h).sum())


@pytest.mark.parametrize("fast", [1.0, 1e3, 1e5])
def test_the_rule_of_a_fast_operation_is_measured_by_a_nudge_that_is_short_enough(fast):
    wave = own("wave", lambda x: np.sin(fast * x), lambda x: fast * np.cos(fast * x))
    walk = trace(wave(Tensor([0.3, 1.0], requires_grad=True)).sum())
    told = walk.entry(len(walk), (0, (0,)))
    assert told.lines[0].value == pytest.approx(told.value, rel=1e-6)


def test_a_gradient_far_below_its_output_is_not_told_by_a_nudge_that_changes_nothing():
    """e^-40 moves no digit of a loss, nor of what the step makes. A kink it is not, either."""
    for gap in (18, 22, 30, 40):
        z = Tensor([[0.0, gap]], requires_grad=True)
        walk = trace(F.cross_entropy(z, [1]))
        told = walk.entry(len(walk), (0, (0, 0)))
        assert told.value == pytest.approx(np.exp(-gap), rel=1e-4)
        assert any(str(line.value).startswith("agrees") for line in told.lines)
    b = Tensor([[1.0], [1.0]], requires_grad=True)
    walk = trace((np.array([[1e-13, 1.0]]) @ b).sum())
    told = walk.entry(len(walk), (0, (0, 0)))
    assert told.value == 1e-13 and any("agrees within" in str(line.value) for line in told.lines)


@pytest.mark.parametrize("reduce", [F.sum, F.mean])
def test_a_loss_that_is_a_small_rest_of_large_numbers_is_rounded_as_these(reduce):
    for place in range(3):
        x = Tensor([1e6, -1e6, 3.25], requires_grad=True)
        assert verdict(reduce(x), place).startswith("agrees")
    wrong = differentiable(lambda x: (x.sum(), x), lambda dout, x: 1.001 * dout * np.ones(3))
    assert verdict(wrong(Tensor([1e6, -1e6, 3.25], requires_grad=True))).startswith("DIFFERS")


@pytest.mark.parametrize("slope", [0.01, 1e-4])
@pytest.mark.parametrize("at", [-3e-7, -3e-8, -1e-8, 3e-8, 1e-7])
def test_a_small_gradient_close_to_a_kink_is_judged_on_its_own_side(at, slope):
    x = Tensor([at, 1.0], requires_grad=True)
    assert "DIFFERS" not in verdict((F.relu(x) * np.array([slope, 1.0])).sum())
    wrong = own("relu", lambda x: np.maximum(x, 0), lambda x: x <= 0)
    assert "DIFFERS" in verdict((wrong(x) * np.array([slope, 1.0])).sum())


def test_float32_whose_terms_cancel_is_asked_in_double_before_it_differs():
    told = set()
    for seed in range(20):
        x = np.random.default_rng(seed).standard_normal((2, 2)).astype(np.float32)
        y = F.layer_norm(Tensor(x, requires_grad=True))
        walk = trace((y / (y * y + 1.0)).sum())
        for index in np.ndindex(2, 2):
            lines = walk.entry(len(walk), (0, index)).lines
            told |= {line.value.split()[0] for line in lines if isinstance(line.value, str)}
    assert told == {"agrees"}


def test_of_a_forward_that_rounds_to_float32_there_is_no_verdict():
    """Most of a nudge is rounded away in it: right and lost gradients look alike."""

    def forward(x):
        return np.tanh(x.astype(np.float32)).astype(np.float64), x

    for factor in (1.0, 0.0):
        coarse = differentiable(forward, partial(_tanh_slope, factor), name="coarse")
        told = verdict(coarse(Tensor([0.3, -0.8], requires_grad=True)).sum())
        assert told.startswith("no verdict, for forward rounds to float32")


def _tanh_slope(factor: float, dout, x):
    return factor * dout * (1 - np.tanh(x) ** 2)


def test_what_leaks_to_what_is_masked_is_not_blamed_on_the_mask():
    hidden = np.array([[False, True], [False, False]])
    softmax = differentiable(
        lambda s: F.softmax.forward(s), lambda g, p: F.softmax.backward(g, p) + hidden, name="leak"
    )
    for far in (-np.inf, -1e9):
        s = Tensor([[0.3, 0.1], [0.2, -0.4]], requires_grad=True)
        out = (softmax(s + np.where(hidden, far, 0.0)) * np.array([[1.0, -2.0], [0.5, 3.0]])).sum()
        walk = trace(out)
        lines = walk.entry(len(walk), (0, (0, 1))).lines
        told = next(line.value for line in lines if isinstance(line.value, str))
        assert told.startswith("DIFFERS, as what arrives does: this step is right")


@pytest.mark.parametrize("at", [0.9995, 0.5])
def test_a_limit_close_by_is_no_rounding_to_float32(at):
    """A nudge of 0.0012 from 0.9995 leads to 1.0, which float32 holds, as it holds 0.5."""
    for f, slope in (
        (lambda x: np.clip(x, -1, 1), lambda x: 2.0 * (np.abs(x) < 1)),
        (lambda x: np.maximum(0, 1 - x), lambda x: 1.0 * (x < 1)),
    ):
        x = Tensor([at, 0.1], requires_grad=True)
        assert verdict((own("near", f, slope)(x) * np.array([1.3, -0.7])).sum()) == "DIFFERS"
    x = Tensor([at - 1.0005, 0.1], requires_grad=True)
    assert verdict((own("sign", np.sign, lambda x: 0 * x)(x) * np.array([1.3, -0.7])).sum()) == (
        "agrees"
    )


def test_at_a_jump_there_is_no_verdict():
    zero = lambda x: 0 * x
    for f, at in ((np.floor, 1.0), (np.round, -0.5), (lambda x: np.round(x * 127) / 127, 1 / 254)):
        told = verdict((own("steps", f, zero)(Tensor([at], requires_grad=True)) * 1.3).sum())
        assert told == "no verdict, for the loss jumps here, and has no slope"
    told = verdict((own("sign", np.sign, zero)(Tensor([0.0], requires_grad=True)) * 1.3).sum())
    assert told == "no verdict, for the loss jumps here, and has no slope"


@pytest.mark.parametrize("gap", [1e-5, 3e-7, 6e-8])
def test_rows_that_are_close_together_have_a_distance_whose_slope_is_told(gap):
    """It bends within the gap, which a nudge has to be shorter than."""

    def forward(u, v):
        return np.sqrt(((u - v) ** 2).sum(-1)), u - v

    def backward(dout, d, factor):
        du = factor * (dout / np.sqrt((d * d).sum(-1)))[..., None] * d
        return du, -du

    rng = np.random.default_rng(0)
    rows = rng.standard_normal((4, 3))
    for factor in (1.0, 1.1):
        distance = differentiable(forward, partial(backward, factor=factor), name="distance")
        u = Tensor(rows, requires_grad=True, name="u")
        walk = trace(distance(u, rows + gap * np.random.default_rng(1).normal(size=(4, 3))).sum())
        for index in np.ndindex(4, 3):
            lines = walk.entry(len(walk), (0, index)).lines
            told = next(line.value for line in lines if isinstance(line.value, str))
            assert told.startswith("agrees") == (factor == 1.0), told


def test_of_a_zero_beside_a_large_loss_this_step_alone_is_told():
    lost = own("lost", np.square, lambda x: 0 * x)  # whose gradient should be 2e-4
    x = Tensor([1.0, 2.0], requires_grad=True)
    for more, said in ((1e7, "agrees, by a nudge of this step alone"), (0.0, "DIFFERS, as what")):
        assert verdict((lost(x * 1.0) * 1e-4).sum() + more).startswith(said)


def test_what_is_said_to_agree_within_a_doubt_does():
    wrong = own("square", np.square, lambda x: -2 * x)
    out = wrong(SQUARE(Tensor([0.3, 30.0], requires_grad=True))) * np.array([1e-4, 0.1])
    told = verdict(out.sum() + 1e6)
    assert told.startswith("agrees within")
    assert float(told.split()[2].strip(",")) > 2e-4 * 2 * 0.3**2 * 2 * 0.3  # what it is off by


@pytest.mark.parametrize("slope", [0.0, 1.0])
def test_a_kink_of_a_later_step_beside_a_large_loss(slope):
    clip = own("clip", lambda x: np.clip(x, -1, 1), lambda x: np.where(x < 1, 1.0, slope))
    both = (clip(SQUARE(Tensor([1.0, -0.5], requires_grad=True))) * 8e-6).sum() + 1e3
    assert "between the slopes from left and right" in verdict(both)
    at = clip(Tensor([1.0, -0.5], requires_grad=True) * 1.0)
    assert "between the slopes from left and right" in verdict((at * 5e-6).sum() + 1e4)
    wrong = own("clip", lambda x: np.clip(x, -1, 1), lambda x: -1.0 + 0 * x)
    both = (wrong(SQUARE(Tensor([1.0, -0.5], requires_grad=True))) * 8e-6).sum() + 1e3
    assert verdict(both).startswith("DIFFERS")


@pytest.mark.parametrize("offset", [1e3, 1e4, 1e8])
def test_right_where_large_numbers_cancel(offset):
    """The loss moves in steps longer than a nudge, or the entry does."""
    x = Tensor(np.array([0.3, -1.2, 2.0, 0.1]) + offset, requires_grad=True)
    walk = trace((x * x).mean() - x.mean() * x.mean())
    said = [walk.entry(step).lines for step in range(len(walk) // 2 + 1, len(walk) + 1)]
    said += [walk.entry(len(walk), (0, (at,))).lines for at in range(4)]
    verdicts = [line.value for lines in said for line in lines if isinstance(line.value, str)]
    assert len(verdicts) == len(said) and all(told.startswith("agrees") for told in verdicts)
    wrong = own("twice", lambda x: x - offset, lambda x: 2.0 + 0 * x)
    assert verdict(wrong(Tensor([offset + 0.5], requires_grad=True)).sum()).startswith("DIFFERS")


@pytest.mark.parametrize("eps", [1e-8, 1e-10, 1e-12])
def test_a_kink_on_a_steep_curve(eps):
    def slope(x):
        return eps / (x * x + eps) ** 1.5

    unit = own("unit", lambda x: x / np.sqrt(x * x + eps), slope)
    leaky = own("leaky", lambda h: np.maximum(h, 0.1 * h), lambda h: np.where(h > 0, 1.0, 0.1))
    x = Tensor([0.0, 1.0], requires_grad=True)
    assert verdict((leaky(unit(x)) * 1.3).sum()).startswith("on a kink")
    wrong = own("unit", lambda x: x / np.sqrt(x * x + eps), lambda x: -slope(x))
    assert verdict((leaky(wrong(x)) * 1.3).sum()).startswith("DIFFERS")


def test_a_right_step_in_float32_where_something_wrong_arrives():
    """float32 leaves 0.5 % of what cancels in attention: in float64 it is right."""
    half = own("sine", np.sin, lambda x: np.float32(0.5) * np.cos(x))
    draws = np.random.default_rng(9).standard_normal((4, 4)) * 2
    x = Tensor(draws.astype(np.float32), requires_grad=True)
    walk = trace(F.cross_entropy(half(F.layer_norm(F.attention(x, x, x))), [0, 1, 2, 3]))
    lines = walk.entry(len(walk), (2, (2, 3))).lines
    (told,) = [line.value for line in lines if isinstance(line.value, str)]
    assert told.startswith("DIFFERS, as what arrives does: this step is right")


def test_a_kink_beside_numbers_that_hide_it_at_short_nudges():
    x = Tensor([0.0, 1e9, -1.0], requires_grad=True)
    assert "between the slopes" in verdict((F.relu(x) * np.array([-212.7, 1.0, 1.0])).sum())


@pytest.mark.parametrize("off", [1e-2, 1e-3, 1e-4, 1e-5, 3e-6])
def test_a_step_behind_that_is_wrong_by_a_little_is_no_kink(off):
    """Where all is smooth a place beside has nearly the slope that is due, which proves nothing."""
    cube = own("cube", lambda x: x**3, lambda x: 3 * x**2 * (1 + off))
    x = Tensor(np.random.default_rng(0).standard_normal(12), requires_grad=True)
    for step in (F.tanh, lambda x: F.layer_norm(x.reshape(3, 4))):
        for place in range(12):
            told = verdict(F.mean(cube(step(x))), place)
            assert "kink" not in told, told


@pytest.mark.parametrize("factor", [1.0, 0.5, -1.0, 0.0])
def test_in_float32_a_loss_that_hides_a_small_gradient_does_not_speak_for_it(factor):
    """A weight decay without its 2, beside the rest of a loss: the step by itself tells."""
    square = own("square", lambda w: w * w, lambda w: np.float32(2 * factor) * w)
    w = Tensor(np.array([0.01257, 0.1304], np.float32), requires_grad=True)
    told = verdict(square(w).sum() * np.float32(1e-6) + np.float32(700), 0)
    assert told.startswith("agrees" if factor == 1 else "DIFFERS"), told
