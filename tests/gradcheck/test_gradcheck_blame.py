"""Who gets the blame: a right operation that takes no complex step, beside a wrong one."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed import functional as F
from scratch_embed.gradcheck import gradcheck
from scratch_embed.gradcheck.nudged import gradient
from scratch_embed.gradcheck.numeric import Loss
from tests.gradcheck import planted


def leaf(*shape: int, seed: int = 0, name: str = "x") -> Tensor:
    return planted.leaf(np.random.default_rng(seed), *shape, name=name)


def vdot_backward(dout, saved):
    a, b = saved
    return dout * b, dout * a


def norm_backward(dout, saved):
    x, size = saved
    return dout[..., None] * x / size[..., None]


def var_backward(dout, x):
    return dout[..., None] * 2 * (x - x.mean(axis=-1, keepdims=True)) / x.shape[-1]


def std_backward(dout, x):
    return var_backward(dout / (2 * x.std(axis=-1)), x)


def norm(x):
    size = np.linalg.norm(x, axis=-1)
    return size, (x, size)


# Right gradients, all of them, of functions that take |z|^2 where a complex step needs z^2.
NOT_ANALYTIC = {
    "abs": (lambda x: (np.abs(x), np.sign(x.real)), lambda g, sign: g * sign),
    "var": (lambda x: (np.var(x, axis=-1), x), var_backward),
    "std": (lambda x: (np.std(x, axis=-1), x), std_backward),
    "norm": (norm, norm_backward),
    "vdot": (lambda a, b: (np.vdot(a, b), (a, b)), vdot_backward),
    "largest": (
        lambda x: (np.abs(x).max(axis=-1), (x, np.abs(x).argmax(axis=-1))),
        lambda g, s: g[..., None] * np.sign(s[0]) * (np.arange(s[0].shape[-1]) == s[1][..., None]),
    ),
}
OPS = {name: differentiable(*pair, name=name) for name, pair in NOT_ANALYTIC.items()}
WRONG = {
    "tanh": planted.broken("tanh", lambda g, s: g * (1 - s[0])),
    "exp": planted.broken("exp", lambda g, s: 2 * g * s[0]),
}


def applied(name: str, x: Tensor) -> Tensor:
    return OPS[name](x, x * 0.5) if name == "vdot" else OPS[name](x)


@pytest.mark.parametrize("name", NOT_ANALYTIC)
def test_the_operations_are_right(name):
    assert gradcheck(lambda x: applied(name, x), leaf(4, 3)).passed


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", NOT_ANALYTIC)
def test_a_right_operation_is_not_blamed_for_the_wrong_one_beside_it(name, wrong):
    for fn in (
        lambda x: WRONG[wrong](applied(name, x)),  # the wrong one after it
        lambda x: applied(name, WRONG[wrong](x * 0.3)),  # and before it
        lambda x: WRONG[wrong](x).sum() * applied(name, x).sum(),
    ):
        report = gradcheck(fn, leaf(4, 3))
        assert {cause.op for cause in report.causes} == {wrong}, report


@pytest.mark.parametrize("name", NOT_ANALYTIC)
def test_a_wrong_operation_of_this_kind_is_blamed_itself(name):
    forward, backward = NOT_ANALYTIC[name]

    def half(dout, saved):
        grads = backward(0.5 * dout, saved)
        return (grads[0], 2 * grads[1]) if name == "vdot" else grads

    wrong = differentiable(forward, half, name="wrong")
    both = (lambda x: wrong(x, Tensor(x.data))) if name == "vdot" else wrong
    report = gradcheck(lambda x: F.tanh(both(x)), leaf(4, 3))
    assert [(cause.name, cause.op) for cause in report.causes] == [("constant factor", "wrong")]


def slopes(fn, *numbers: float) -> np.ndarray:
    x = Tensor(np.array(numbers), requires_grad=True)
    return gradient(Loss(fn, (x,), np.ones(len(numbers))), x)


def test_the_complex_step_is_taken_where_the_real_ones_are_the_worse():
    """Steep, and beside a kink: there Richardson's steps of 1e-3 leave the neighbourhood."""
    steep = slopes(lambda x: F.tanh(x * 1e3), 2e-4, 1e-3)
    np.testing.assert_allclose(steep, 1e3 / np.cosh([0.2, 1.0]) ** 2, rtol=1e-12)
    np.testing.assert_array_equal(slopes(F.relu, 1e-6, -1e-6, 2.0), [1, 0, 1])
    np.testing.assert_allclose(slopes(F.log, 1e-4, 1.0), [1e4, 1], rtol=1e-12)
    np.testing.assert_allclose(slopes(OPS["abs"], 0.5, -2.0), [1, -1], rtol=1e-9)
    np.testing.assert_allclose(
        slopes(lambda x: OPS["abs"](x) + F.relu(x), 1e-3, -1e-3), [2, -1], rtol=1e-6
    )


def unit(x):
    n = np.sqrt((x * x).sum(axis=-1, keepdims=True))
    return x / n, (x / n, n)


def without_the_sum(g, s):
    return (g - s[0] * (g * s[0])) / s[1]


def batch_norm(x):
    c = x - x.mean(axis=0)
    std = np.sqrt((c * c).mean(axis=0) + 1e-5)
    return c / std, (c / std, std)


def no_std(g, s):
    return g - g.mean(axis=0) - s[0] * (g * s[0]).mean(axis=0)


def hinge(s, y):
    rows = np.arange(len(s))
    m = s - s[rows, y][:, None] + 1
    m[rows, y] = 0
    return np.where(m.real > 0, m, 0).sum(), (m.real > 0, y)


def test_no_cause_is_told_that_is_not_there():
    """A sum that was forgotten has no time steps, a norm of columns no rows, a hinge loss no p, and
    gradients in one array were stretched by nobody."""
    (cause,) = gradcheck(differentiable(unit, without_the_sum, name="mine"), leaf(4, 3)).causes
    assert cause.name == "coupling ignored"
    (cause,) = gradcheck(differentiable(batch_norm, no_std, name="mine"), leaf(6, 3)).causes
    assert cause.name == "local derivative"
    targets = np.array([0, 2, 1, 4])
    mine = differentiable(hinge, lambda g, s: (g * s[0], None), name="mine")
    (cause,) = gradcheck(lambda s: mine(s, targets), leaf(4, 5)).causes
    assert "p - 1" not in cause.sentence
    stacked = differentiable(
        lambda a, b: (a * b, (a, b)), lambda g, s: np.stack([g * s[1], g * s[0]]), name="mine"
    )
    (cause,) = gradcheck(stacked, leaf(2, 3), leaf(2, 3, seed=1, name="y")).causes
    assert cause.name == "wrong shape" and "return a tuple" in cause.sentence


def test_a_class_for_each_row_is_no_row_that_is_looked_up():
    """A hinge loss whose backward forgets the margin: which rows are wrong hangs on chance."""

    def no_margin(g, saved):
        s, y = saved
        rows = np.arange(len(s))
        on = (s > s[rows, y][:, None]).astype(float)
        on[rows, y] = -on.sum(axis=1)
        return g * on, None

    mine = differentiable(lambda s, y: (hinge(s, y)[0], (s, y)), no_margin, name="mine")
    rng = np.random.default_rng(0)
    for seed in range(40):
        count, classes = rng.integers(3, 6, size=2)
        targets = rng.integers(0, classes, count)
        report = gradcheck(lambda s, y=targets: mine(s, y), leaf(count, classes, seed=seed))
        assert not report.passed and not any(" ids " in cause.sentence for cause in report.causes)


# ---- the numbers that a cause tells --------------------------------------------------------------


def normed(std_kept: bool):
    """(x - mean) / std of each row; backward may lose 1 / std."""

    def forward(x):
        std = x.std(axis=1, keepdims=True)
        y = (x - x.mean(axis=1, keepdims=True)) / std
        return y, (y, std)

    def backward(dout, saved):
        y, std = saved
        dx = dout - dout.mean(axis=1, keepdims=True) - y * (dout * y).mean(axis=1, keepdims=True)
        return dx / std if std_kept else dx

    return differentiable(forward, backward, name="normed")


def test_a_norm_without_its_std_is_told_by_the_factor_of_each_row():
    x = Tensor(np.random.default_rng(0).standard_normal((4, 6)), requires_grad=True, name="x")
    told = str(gradcheck(normed(std_kept=False), x))
    std = x.data.std(axis=1)
    at = int(np.argmax(np.abs(std - 1)))
    told = " ".join(told.split())
    assert f"what sample {at} sends back comes times {std[at]:.4g}, each other one" in told
    assert "as where 1 / std or 1 / count is left out" in told
    assert gradcheck(normed(std_kept=True), x).passed


@pytest.mark.parametrize("axis", [0, 1])
def test_what_goes_round_wrongly_is_told_by_its_factor_along_either_axis(axis):
    def forward(x):
        y = np.exp(x)
        return (y / y.sum(axis, keepdims=True),) * 2

    def backward(dout, y):
        return y * (dout - 0.3 * (dout * y).sum(axis, keepdims=True))

    x = Tensor(np.random.default_rng(0).uniform(1, 2, (4, 5)), requires_grad=True, name="x")
    told = " ".join(str(gradcheck(differentiable(forward, backward, name="mine"), x)).split())
    assert "through a sum, a mean, a norm or a turn: in one place it comes times 0.3" in told


def test_a_wrong_slope_of_one_number_is_not_told_as_a_forgotten_target():
    square = differentiable(lambda x: (x * x, x), lambda dout, x: 3 * dout * x, name="square")
    x = Tensor(0.7, requires_grad=True, name="x")
    assert gradcheck(square, x).cause == "wrong slope"


def test_what_gives_something_where_nothing_arrives_does_not_go_entry_by_entry():
    """Two of the four scores are 0 and a third is cut off, so that only one entry of dout is left:
    the slope was told as inf."""
    right = F.matmul.backward

    def backward(dout, saved):
        da, db = right(dout, saved)
        da[1, 0] *= -1
        return da, db

    product = differentiable(F.matmul.forward, backward, name="matmul")
    a = Tensor([[0.0, 0.0], [1.0, 0.0]], requires_grad=True, name="a")
    b = Tensor([[-1.0, 2.0], [1.0, 1.0]], requires_grad=True, name="b")
    report = gradcheck(lambda a, b: F.relu(product(a, b)), a, b)
    assert not report.passed
    assert report.causes and not any(cause.name == "wrong slope" for cause in report.causes), report


def test_a_wrong_operation_on_kinks_is_named_and_no_hidden_way():
    """|x_i - x_j| behind a running maximum, whose numbers repeat: between the slopes lies nearly
    everything, also a last column that gets nothing."""

    def distances(x):
        return abs(x[:, :, None] - x[:, None, :]), x

    def without_the_last(dout, x):
        signs = dout * np.sign(x[:, :, None] - x[:, None, :])
        dx = signs.sum(2) - signs.sum(1)
        dx[:, -1] = 0
        return dx

    def first_largest(dout, x):
        largest = np.maximum.accumulate(x, 1)
        first = [[row.index(value) for value in values] for row, values in zip(x.tolist(), largest)]
        dx = np.zeros_like(x)
        np.add.at(dx, (np.arange(len(x))[:, None], first), dout)
        return dx

    apart = differentiable(distances, without_the_last, name="apart")
    largest = differentiable(
        lambda x: (np.maximum.accumulate(x, 1), x), first_largest, name="largest so far"
    )
    failed = 0
    for seed in range(40):
        data = np.random.default_rng(seed).standard_normal((2, 4)).round(1)
        report = gradcheck(lambda x: apart(largest(x)), Tensor(data, requires_grad=True))
        failed += not report.passed
        assert report.passed or {cause.op for cause in report.causes} <= {"apart", ""}
        assert not any(cause.name == "missing path" for cause in report.causes), report
    assert failed > 30


def test_of_what_is_too_large_to_be_nudged_the_operation_is_named_all_the_same():
    def one_lost(dout, x):
        dx = 2 * x * dout
        dx[43, 21] = 0
        return dx

    square = differentiable(lambda x: (x * x, x), one_lost, name="square")
    x = Tensor(np.random.default_rng(0).standard_normal((100, 100)), requires_grad=True, name="x")
    report = gradcheck(lambda x: F.tanh(square(x)), x)
    assert not report.passed and [cause.op for cause in report.causes] == ["square"]
    assert "10,000 numbers are too many" in report.causes[0].sentence


def test_a_decay_is_not_told_as_wrong_statistics():
    """0.1 of the row comes on top, whatever dout is."""

    def decays(dout, saved):
        return F.softmax.backward(dout, saved) + 0.1 * X

    X = np.random.default_rng(0).standard_normal((3, 5))
    softmax = differentiable(F.softmax.forward, decays, name="softmax")
    assert gradcheck(softmax, Tensor(X, requires_grad=True)).cause == "dout not linear"
