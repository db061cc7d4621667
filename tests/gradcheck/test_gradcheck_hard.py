"""Right gradients of functions that are hard to measure raise no alarm; their wrong ones do."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed import functional as F
from scratch_embed.gradcheck import gradcheck
from scratch_embed.gradcheck.numeric import METHODS
from scratch_embed.gradcheck.report import KINK, OK, WRONG
from scratch_embed.tensor import lean
from tests.gradcheck import planted


def of(*numbers: float, shape: tuple[int, ...] | None = None) -> Tensor:
    return Tensor(np.array(numbers).reshape(shape or -1), requires_grad=True, name="x")


def random(*shape: int, scale: float = 1.0, shift: float = 0.0, seed: int = 0) -> Tensor:
    data = np.random.default_rng(seed).standard_normal(shape) * scale + shift
    return Tensor(data, requires_grad=True, name="x")


def elementwise(name: str, f, slope):
    return differentiable(lambda x: (f(x), x), lambda g, x: g * slope(x), name=name)


sine = elementwise("sine", lambda x: np.sin(1000 * x), lambda x: 1000 * np.cos(1000 * x))
inverse = elementwise("inverse", lambda x: 1 / x, lambda x: -1 / x**2)
huber = elementwise(
    "huber",
    lambda x: np.where(np.abs(x) < 1, x * x / 2, np.abs(x) - 0.5),
    lambda x: np.where(np.abs(x) < 1, x, np.sign(x)),
)


def l2(x: Tensor) -> Tensor:
    return x / ((x * x).sum(axis=1, keepdims=True)) ** 0.5


def solve_forward(a):
    out = np.linalg.inv(a)
    return out, out


solve = differentiable(solve_forward, lambda g, out: -out.T @ g @ out.T, name="solve")
HILBERT = 1 / (np.arange(5)[:, None] + np.arange(5) + 1.0)
ONE = Tensor(np.ones(5))

HARD = {
    "x^3 at 0": (lambda x: x**3, of(0.0, 0.0)),
    "x^3 near 0": (lambda x: x**3, of(1e-4, -1e-5, 3e-7)),
    "log": (F.log, of(1e-4, 1e-6, 1.0)),
    "sqrt": (F.sqrt, of(1e-4, 1e-6, 1.0)),
    "1/x": (inverse, of(1e-4, 1e-3, -1e-4)),
    "short rows under l2": (l2, random(3, 4, scale=1e-4)),
    "LayerNorm of x/1000": (lambda x: F.layer_norm(x, ONE, ONE, eps=0.0), random(3, 5, scale=1e-3)),
    "LayerNorm of x+1000": (lambda x: F.layer_norm(x, ONE, ONE), random(3, 5, shift=1000)),
    "softmax at +300": (F.softmax, random(2, 4, shift=300)),
    "sin(1000 x)": (sine, random(5)),
    "temperature 1e-3": (lambda x: F.softmax(x / 1e-3), random(2, 4, scale=1e-3)),
    "Hilbert 5 x 5": (solve, Tensor(HILBERT, requires_grad=True, name="x")),
    "Huber at its joint": (huber, of(1.0, -1.0, 0.5, 3.0)),
    "relu beside 0": (F.relu, of(1e-6, -1e-7, 1e-9, 2.0)),
}


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
@pytest.mark.parametrize("method", [*METHODS, "all"])
@pytest.mark.parametrize("name", HARD)
def test_right_gradients_of_hard_functions_pass(name, method, mode):
    fn, x = HARD[name]
    for seed in range(3):
        report = gradcheck(fn, x, method=method, mode=mode, seed=seed)
        assert report.passed, report
        if name == "x^3 at 0":
            assert {row.verdict for row in report.rows} == {OK}


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
@pytest.mark.parametrize("name", HARD)
def test_a_wrong_gradient_behind_a_hard_function_is_caught(name, mode):
    fn, x = HARD[name]
    off = differentiable(lambda a: (a.copy(), ()), lambda g, s: 1.001 * g, name="off")
    added = differentiable(lambda a: (a.copy(), ()), lambda g, s: g + 1e-3, name="added")
    wrong = added if name == "x^3 at 0" else off  # 0 times 1.001 is 0, and right
    for seed in range(3):
        report = gradcheck(lambda x: wrong(fn(x)) if wrong is off else fn(wrong(x)), x, seed=seed)
        assert WRONG in {row.verdict for row in report.rows}, report


# ---- kinks ---------------------------------------------------------------------------------------

KINKS = {
    "relu": (F.relu, of(0.0, 1.0, -1.0, 0.0, 0.5)),
    "abs": (elementwise("abs", np.abs, np.sign), of(0.0, 1.0, -2.0)),
    "relu of many": (F.relu, Tensor(np.maximum(random(30, 20).data, 0), requires_grad=True)),
    "a bag's maximum": (
        lambda E: F.embedding_bag(E, np.array([[0, 1], [2, 3]]), mode="max"),
        of(1.0, 2.0, 1.0, 2.0, 0.0, 5.0, 0.0, 4.0, shape=(4, 2)),
    ),
    "a tie that bends": (
        lambda E: F.exp(-5 * F.embedding_bag(E, np.array([[0, 1]]), mode="max")),
        of(0.0, 0.0, shape=(2, 1)),
    ),
    "x + relu(x), and a bend": (lambda x: F.exp(-5 * (x + F.relu(x))), of(0.0, 0.1, 0.0)),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
@pytest.mark.parametrize("name", KINKS)
def test_an_entry_on_a_kink_is_no_alarm_in_either_mode(name, mode):
    fn, x = KINKS[name]
    for seed in range(3):
        report = gradcheck(fn, x, mode=mode, seed=seed)
        assert report.passed, report
        assert name == "abs" or KINK in {row.verdict for row in report.rows}  # its mean slope is 0


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
def test_a_wrong_gradient_beside_a_kink_is_caught_in_either_mode(mode):
    wrong = differentiable(F.relu.forward, lambda g, s: np.where(s[0], 0, 1.01 * g), name="relu")
    for name in ("relu", "relu of many"):
        assert not gradcheck(wrong, KINKS[name][1], mode=mode).passed


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
def test_a_row_of_zeros_before_several_relus_is_no_alarm(mode):
    """What they send back together lies between no two slopes, and each is right by itself."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((4, 3))
        rows[0] = 0
        E, b = Tensor(rows, requires_grad=True), Tensor(np.zeros(5), requires_grad=True)
        W = Tensor(rng.standard_normal((3, 5)), requires_grad=True)

        def loss(relu, E, W, b):
            h = relu(F.lookup(E, [0, 1, 0, 2]) @ W + b)
            return F.exp(h * 0.3).sum() - (h * np.arange(5.0)).sum()

        report = gradcheck(partial(loss, F.relu), E, W, b, mode=mode, seed=seed)
        assert report.agrees, report
        backwards = [lambda g, s: 1.01 * g * ~s[0], lambda g, s: g * ~s[0] + 3 * g * s[1]]
        for backward in backwards[: 2 if mode == "elementwise" else 1]:  # a way at a kink is blind
            wrong = differentiable(
                lambda x: (np.maximum(x, 0), (x <= 0, x == 0)), backward, name="relu"
            )
            assert not gradcheck(partial(loss, wrong), E, W, b, mode=mode, seed=seed).agrees


def largest(share):
    """The largest of each row, and to each of them `share` of what arrives."""

    def backward(dout, x):
        winners = x == x.max(axis=1, keepdims=True)
        several = winners.sum(axis=1, keepdims=True) > 1
        return np.where(winners, dout[:, None] * np.where(several, share, 1), 0.0)

    return differentiable(lambda x: (x.max(axis=1), x), backward, name="largest")


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
def test_ties_may_share_what_is_due_but_not_be_paid_twice(mode):
    x = of(2.0, 1.0, 2.0, 3.0, 3.0, 0.0, shape=(2, 3))
    assert gradcheck(largest(0.5), x, mode=mode).passed
    report = gradcheck(largest(1.0), x, mode=mode)
    assert (report.passed, report.cause) == (False, "ties"), report


@pytest.mark.parametrize(("slope", "passed"), [(1.0, True), (0.0, False)])
def test_a_missing_gradient_is_seen_beside_one_a_thousand_million_times_as_large(slope, passed):
    op = differentiable(lambda x, y: (1e9 * x + y, ()), lambda g, s: (1e9 * g, slope * g), "mine")
    assert gradcheck(op, random(3), random(3, seed=1)).agrees == passed


def test_an_infinite_number_that_nothing_reads_raises_no_alarm():
    E = of(1.0, 2.0, np.inf, 3.0, shape=(2, 2))
    for mode in ("elementwise", "directional"):
        assert gradcheck(lambda E: F.lookup(E, [0, 0]), E, mode=mode).agrees


def test_a_random_forward_is_named_and_no_backward_is_blamed():
    rng = np.random.default_rng(0)
    noisy = differentiable(lambda x: (x * rng.random(x.shape), x), lambda g, x: g, name="noisy")
    (cause,) = gradcheck(noisy, random(3)).causes
    assert cause.name == "not deterministic" and "forward of noisy is random" in cause.sentence
    wrong = planted.broken("exp", lambda g, s: -g * s[0])  # a Generator made afresh is not random
    fresh = gradcheck(lambda x: wrong(F.dropout(x, 0.5, np.random.default_rng(0))), random(3, 4))
    assert [(c.name, c.op) for c in fresh.causes] == [("wrong sign", "exp")]


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
def test_where_every_entry_is_on_a_kink_nothing_is_told_and_nobody_blamed(mode):
    report = gradcheck(F.relu, of(0.0, 0.0, 0.0), mode=mode)
    assert not report.passed
    assert report.causes == []
    assert "nothing could be told" in str(report)


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
def test_a_kink_or_a_pole_nearer_than_the_steps_is_no_rounding(mode):
    """Third differences at steps of 1e-9 took the kink for noise of 1e-10, and blamed backward."""
    near = np.random.default_rng(3).standard_normal(6) * 1e-9
    for fn, numbers in ((F.relu, near), (huber, near + 1), (inverse, [1e-6, -2e-6, 1e-7])):
        for seed in range(5):
            assert gradcheck(fn, of(*numbers), mode=mode, seed=seed).agrees


def test_what_rounding_leaves_where_the_loss_is_always_0():
    """One class: the loss is 0, p is 1 to rounding, and backward answers 2.8e-17 or 0."""
    for seed in range(20):
        logit = Tensor(np.random.default_rng(seed).standard_normal((1, 1)), requires_grad=True)
        fn = partial(F.cross_entropy, targets=np.array([0]), label_smoothing=0.1)
        assert gradcheck(lambda z, fn=fn: fn(z), logit, seed=seed).agrees
    twice = planted.broken("mul", lambda g, s: (g * s[1], 2 * g * s[0]))  # tiny errors are seen
    assert not gradcheck(lambda y: twice(np.array([1e-17]), y), of(1.0)).passed


@pytest.mark.parametrize("method", ["central", "richardson", "complex", "all"])
@pytest.mark.parametrize("constant", [1e10, 1e12, 1e14])
def test_a_gradient_of_zero_does_not_pass_because_rounding_hides_the_true_one(constant, method):
    x = Tensor(np.random.default_rng(0).normal(size=(3, 2)), requires_grad=True, name="x")

    def forward(x):
        return constant + np.sin(x), (x,)

    zero = differentiable(forward, lambda d, saved: 0 * d, name="op")
    assert not gradcheck(zero, x, method=method).passed
    if method == "complex" and constant < 1e14:  # which has the slope to the last digit
        right = differentiable(forward, lambda d, saved: d * np.cos(saved[0]), name="op")
        assert gradcheck(right, x, method=method).passed


def test_inputs_far_below_the_step_do_not_let_a_gradient_of_zero_pass():
    x = Tensor([3e-20, 7e-20], requires_grad=True, name="x")
    assert not gradcheck(
        differentiable(lambda x: (1 / x, (x,)), lambda d, saved: 0 * d, name="inverse"), x
    ).passed


def test_a_lean_tape_is_looked_at_whole():
    rng = np.random.default_rng(0)
    E, W = (Tensor(rng.normal(size=s), requires_grad=True) for s in ((5, 3), (3, 3)))

    def f(E, W):
        with lean():
            return F.tanh(F.lookup(E, [0, 1, 1], padding_idx=0) @ W)

    assert gradcheck(f, E, W).passed
    with lean():
        report = gradcheck(f, E, W)
    assert report.passed and "as documented (padding_idx)" in {row.verdict for row in report.rows}


@pytest.mark.parametrize("options", [{"padding_idx": 0}, {"scale_grad_by_freq": True}])
def test_what_an_option_leaves_out_is_known_above_a_table_that_was_computed(options):
    E, s = Tensor(np.random.default_rng(0).normal(size=(5, 3)), requires_grad=True), Tensor(2.0)
    s.requires_grad = True
    ids = [0, 1, 1]
    report = gradcheck(lambda E, s: F.lookup(F.tanh(E * s), ids, **options), E, s)
    assert report.passed and f"as documented ({next(iter(options))})" in {
        row.verdict for row in report.rows
    }
    wrong = differentiable(lambda x: (2 * x, ()), lambda d, saved: 3 * d, name="twice")
    assert not gradcheck(lambda E: F.lookup(wrong(E), ids, **options), E).passed


# ---- the complex step where the real ones are too coarse -----------------------------------------


@pytest.mark.parametrize("method", ["complex", "all"])
@pytest.mark.parametrize(("scale", "beside"), [(1e-6, 10.0), (1e-5, 100.0), (1e-8, 1e3)])
def test_small_slopes_beside_a_large_loss_are_told_by_the_complex_step(method, scale, beside):
    """A mean over many positions has such: real steps see four digits of them, or none."""

    def fn(x, c):
        times = differentiable(lambda x: (x, ()), lambda dout, saved: dout * c, name="times")
        return (F.exp(times(x)) * scale).sum() + beside

    x = of(0.3, -0.7, 1.2)
    assert gradcheck(lambda x: fn(x, 1.0), x, method=method).passed
    for c in (0.0, 1.001, 1.1):
        report = gradcheck(lambda x, c=c: fn(x, c), x, method=method)
        assert not report.passed and OK not in {row.verdict for row in report.rows}


def test_where_the_complex_step_is_wrong_the_real_ones_overrule_it():
    size = differentiable(lambda x: (np.abs(x), np.sign(x.real)), lambda d, s: d * s, name="size")
    for scale, beside in ((1.0, 0.0), (1e-5, 10.0)):
        report = gradcheck(
            lambda x, s=scale, b=beside: (size(x) * x * s).sum() + b, of(2.0, -1.0), method="all"
        )
        assert report.passed, report


def test_a_forward_that_answers_in_single_precision_is_told_so_and_not_called_wrong():
    """Nudges of 1e-5 drown in it: what they measure is rounding, and no slope."""

    def run(backward):
        op = differentiable(lambda x: (np.exp(x).astype(np.float32), x), backward, name="short")
        x = Tensor(np.random.default_rng(3).standard_normal((3, 4)), requires_grad=True, name="x")
        return gradcheck(op, x)

    right = run(lambda dout, x: dout * np.exp(x))
    assert not right.passed and not right.told
    assert {row.verdict for row in right.rows} == {"cannot tell"}
    assert right.cause == "single precision"
    assert "forward of short answers in float32" in right.causes[0].sentence
    wrong = run(lambda dout, x: -3e4 * dout * np.exp(x))  # far beyond its rounding
    assert not wrong.agrees and wrong.cause == "single precision"


EQUAL_ROWS = {
    "mean": (lambda x: x.mean(axis=0), np.ones((5, 3))),
    "sum of zeros": (lambda x: x.sum(axis=0), np.zeros((2, 3))),
    "transpose": (lambda x: x.T, np.ones((3, 3))),
    "first column": (lambda x: x[:, 0], np.eye(3)),
}


@pytest.mark.parametrize(("fn", "data"), EQUAL_ROWS.values(), ids=EQUAL_ROWS)
@pytest.mark.parametrize("mode", ["elementwise", "directional"])
def test_what_only_looks_like_a_row_of_a_table_of_equal_rows_is_no_lookup(fn, data, mode):
    """The mean of five rows of ones is a row of ones, and yet its gradient reaches all five."""
    x = Tensor(data, requires_grad=True, name="x")
    assert gradcheck(fn, x, mode=mode).passed
    half = differentiable(lambda x: (fn(Tensor(x)).data, x), lambda g, x: np.zeros(x.shape))
    assert not gradcheck(half, x, mode=mode).passed


@pytest.mark.parametrize(("frequency", "at"), [(100, -3.9446894405696318), (50, -9.3187379632319)])
def test_rounding_on_the_way_to_the_loss_is_seen_where_steps_of_one_size_are_rounded_alike(
    frequency, at
):
    """100 x is rounded, at evenly spaced x by nearly the same amount."""
    wave = differentiable(
        lambda x: (np.cos(frequency * x), x),
        lambda dout, x: -dout * frequency * np.sin(frequency * x),
    )
    assert gradcheck(wave, Tensor(at, requires_grad=True)).passed
    off = differentiable(wave.forward, lambda dout, x: 1.00002 * wave.backward(dout, x))
    assert not gradcheck(off, Tensor(at, requires_grad=True)).agrees
