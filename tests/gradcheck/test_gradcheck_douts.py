"""A backward that is right for one dout, and not for another."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import functional as F
from scratch_embed.gradcheck import gradcheck, reentrant
from scratch_embed.ops.attention import attention_backward, attention_forward
from scratch_embed.tensor import Tensor, differentiable


def test_where_the_table_agrees_the_operation_that_is_not_linear_is_named():
    clip = differentiable(
        lambda x: (3 * x, ()), lambda dout, _: 3 * np.clip(dout, -1e9, 1e9), name="clips"
    )
    x = Tensor([[0.1, 0.2]], requires_grad=True, name="x")
    report = gradcheck(lambda x: (clip(x) * 0.5).sum(), x)
    assert all(row.passed for row in report.rows) and not report.passed
    assert report.cause == "dout not linear" and report.causes[0].op == "clips"
    assert report.problems == ["backward of clips is not right for every dout"]
    assert "-2^40 times dout does not give" in report.causes[0].sentence


def test_a_backward_that_drops_what_is_small():
    drops = differentiable(
        lambda x: (3 * x, ()), lambda d, _: 3 * np.where(np.abs(d) < 1e-9, 0, d), name="drops"
    )
    x = Tensor([[0.1, 0.2]], requires_grad=True, name="x")
    report = gradcheck(lambda x: (drops(x) * 0.5).sum(), x)
    assert (report.cause, report.causes[0].op) == ("dout not linear", "drops")
    assert "2^-40 times dout does not give" in report.causes[0].sentence


def test_a_backward_that_shortens_what_it_hands_back_does_not_ignore_dout():
    short = differentiable(
        lambda x: (2 * x, ()), lambda dout, _: dout / np.linalg.norm(dout), name="short"
    )
    x = Tensor([[0.1, 0.2], [1.0, -3.0]], requires_grad=True, name="x")
    assert gradcheck(short, x).cause == "dout not linear"


def strided(dout):
    return np.lib.stride_tricks.as_strided(dout, dout.shape, (8 * dout.shape[1], 8))


def in_place(dout):
    dout = dout[:]
    dout.shape = -1
    return dout.reshape(3, 2)


READ_AS_IT_LIES = {
    "K": lambda dout: dout.ravel("K").reshape(dout.shape),
    "A": lambda dout: dout.ravel("A").reshape(dout.shape),
    "strides": strided,
    "in place": in_place,
    "buffer": lambda dout: np.frombuffer(dout).reshape(dout.shape),
}


@pytest.mark.parametrize("how", READ_AS_IT_LIES)
def test_a_backward_that_reads_dout_as_it_lies_in_memory(how):
    """The tape hands on a dout that was transposed as it is; this one happens to lie in order."""
    op = differentiable(
        lambda x: (3 * x, ()), lambda dout, _: 3 * READ_AS_IT_LIES[how](dout), name="triples"
    )
    x = Tensor(np.ones((3, 2)), requires_grad=True, name="x")
    report = gradcheck(lambda x: (op(x) * x).sum(), x)
    assert all(row.passed for row in report.rows) and not report.passed
    assert (report.cause, report.causes[0].op) == ("memory order", "triples")


@pytest.mark.parametrize("size", [1e-290, 1e-30, 1.0, 1e30, 1e290, 1e305])
def test_multiples_of_dout_accuse_nobody_who_multiplies_it(size):
    rng = np.random.default_rng(0)
    E = Tensor(size * rng.standard_normal((5, 3)), requires_grad=True, name="E")
    report = gradcheck(lambda E: F.lookup(E, [[1, 2], [1, 4]]).sum(axis=1) * (1 / size), E)
    assert report.passed, report


def test_a_gradient_that_a_tensor_on_the_way_retains_is_left_as_it_was():
    x, W = (Tensor(np.ones((2, 2)), requires_grad=True) for _ in range(2))
    h = F.tanh(x)
    h.retain_grad()
    h.grad = np.full((2, 2), 5.0)
    assert gradcheck(lambda W: h @ W, W).passed and not reentrant(lambda W: h @ W, W)
    assert h.grad.tolist() == [[5, 5], [5, 5]] and x.grad is None


def clipped_attention():
    def backward(dout, saved):
        return attention_backward(np.clip(dout, -0.5, 0.5), saved)

    return differentiable(attention_forward, backward, name="attention")


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
def test_attention_to_equal_tokens_of_large_numbers_whose_gradients_are_rests_of_rounding(mode):
    """Each score is as large as every other: dq is 0 but for the last digits of 1e4."""
    row = 100 * np.random.default_rng(0).standard_normal(7)[3:]
    q, k, v = (Tensor(np.tile(row, (6, 1)), requires_grad=True, name=n) for n in "qkv")
    assert gradcheck(F.attention, q, k, v, mode=mode).passed
    wrong = gradcheck(clipped_attention(), q, k, v, mode=mode)
    assert not wrong.passed and wrong.causes[0].op == "attention"


@pytest.mark.parametrize("cut", [lambda d: max(d, 0.0), int, lambda d: np.clip(d, 0, 1)])
def test_all_zeros_for_this_dout_are_no_missing_path_and_no_shift(cut):
    total = differentiable(
        lambda x: (x.sum(), x.shape), lambda d, shape: np.full(shape, float(cut(float(d))))
    )
    x = Tensor(np.random.default_rng(5).standard_normal((3, 4)), requires_grad=True)
    for seed in range(4):
        assert gradcheck(total, x, seed=seed).cause == "dout not linear"


IDS = np.array([1, 2, 1, 0, 1])


def _scattered(ids, dout):
    dE = np.zeros((4, 3))
    np.add.at(dE, ids, dout)
    return dE


@pytest.mark.parametrize(
    "behind", [F.sum, F.mean, lambda x: F.sum(x, axis=0)], ids=["sum", "mean", "sum of rows"]
)
@pytest.mark.parametrize(
    ("backward", "cause"),
    [
        (lambda dout, _: _scattered(IDS[::-1], dout), "reversed scatter"),
        (lambda dout, _: _scattered(IDS, np.full_like(dout, dout.mean(0))), "local derivative"),
    ],
    ids=["reversed", "of a mean"],
)
def test_rows_that_are_exchanged_where_all_arrive_alike(backward, cause, behind):
    """Which row of dout goes where nobody sees behind a sum: every one is the same."""
    rows = differentiable(lambda E: (E[IDS], ()), backward, name="rows")
    E = Tensor(np.random.default_rng(0).standard_normal((4, 3)), requires_grad=True)
    for mode in ("elementwise", "directional"):
        report = gradcheck(lambda E: behind(rows(E)), E, mode=mode)
        assert not report.passed and report.rows_agree
        assert (report.cause, report.causes[0].op) == (cause, "rows")
        assert "wrong for another dout" in report.problems[0]


@pytest.mark.parametrize("x", [np.zeros((3, 4)), np.ones((3, 4)), 300 * np.eye(3, 4)])
def test_what_is_right_for_every_dout_is_right_behind_a_sum(x):
    for fn in (F.relu, F.tanh, F.softmax, F.layer_norm, F.log_softmax, lambda x: x @ x.T):
        assert gradcheck(lambda x, fn=fn: fn(x).sum(), Tensor(x, requires_grad=True)).agrees
    bag = differentiable(lambda x: (x.max(0), x), _one_of_the_largest, name="largest")
    assert gradcheck(lambda x: bag(x).mean(), Tensor(x, requires_grad=True)).agrees
    bends = Tensor(0 * x, requires_grad=True)  # where the slope is 0, and that of a nudge is h^2
    assert gradcheck(lambda x: (x**3).mean(), bends).passed


def test_what_a_sum_hides_is_found_beside_kinks_and_options_too():
    flip = differentiable(lambda x: (x[::-1], ()), lambda dout, _: dout, name="flip")
    E = Tensor(np.random.default_rng(0).standard_normal((4, 3)), requires_grad=True)
    x = Tensor(np.array([[0.0, 1.0], [-1.0, 2.0]]), requires_grad=True)  # with a 0 into relu
    for fn, tensor in (
        (lambda E: flip(F.lookup(E, IDS, padding_idx=0)).sum(), E),
        (lambda E: flip(F.lookup(E, IDS, scale_grad_by_freq=True)).sum(), E),
        (lambda x: flip(F.relu(x)).sum(), x),
    ):
        for mode in ("elementwise", "directional"):
            report = gradcheck(fn, tensor, mode=mode)
            assert not report.passed and [cause.op for cause in report.causes] == ["flip"]
    right = differentiable(lambda x: (x[::-1], ()), lambda dout, _: dout[::-1], name="flip")
    assert gradcheck(lambda E: right(F.lookup(E, IDS, padding_idx=0)).sum(), E).passed
    assert gradcheck(lambda x: right(F.relu(x)).sum(), x).passed


def _unit(x):
    length = np.sqrt((x * x).sum(-1, keepdims=True))
    return x / length, (x / length, length)


@pytest.mark.parametrize("factor", [1.0, 2.0, 0.0])
def test_a_norm_is_asked_for_more_where_its_length_is_the_loss(factor):
    """Whatever x is, the length of x / |x| is 1: no gradient, right or wrong."""

    def backward(dout, saved):
        y, length = saved
        return factor * (dout - y * (dout * y).sum(-1, keepdims=True)) / length

    unit = differentiable(_unit, backward, name="unit")
    x = Tensor(np.random.default_rng(0).standard_normal((3, 4)), requires_grad=True)
    for fn in (lambda x: (unit(x) ** 2).sum(), lambda x: F.sum(unit(x) * unit(x), axis=1)):
        report = gradcheck(fn, x)
        assert report.passed == (factor == 1)
        assert factor == 1 or report.causes[0].op == "unit"


def test_a_padded_row_hides_no_mistake_that_other_numbers_show():
    """An option lets gradients be no slopes, so the operations are moved each by itself."""

    def norm(x, gamma):
        centred = x - x.mean(-1, keepdims=True)
        std = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return centred / std * gamma, (centred / std, std, gamma)

    def backward(dout, saved):
        n, std, gamma = saved
        dn = dout * (gamma if kept else 1)
        dx = dn - dn.mean(-1, keepdims=True) - n * (dn * n).mean(-1, keepdims=True)
        return dx / std, (dout * n).sum(0)

    E = Tensor(np.random.default_rng(0).standard_normal((4, 3)), requires_grad=True)
    ones, op = Tensor(np.ones(3), requires_grad=True), differentiable(norm, backward)
    for kept in (True, False):
        report = gradcheck(lambda E, g: op(F.lookup(E, IDS, padding_idx=0), g), E, ones)
        assert report.passed == kept


def test_ties_are_no_mistake_of_what_is_behind_a_sum():
    def put_back(dout, order):
        dx = np.empty_like(dout)
        dx[order] = dout
        return dx

    ranks = differentiable(lambda x: (np.sort(x), np.argsort(x, kind="stable")), put_back)
    for numbers in ([0, 0, 0, 0, -0.88], [1, 1, 1, 2, 2], [0.5] * 6):
        for mode in ("elementwise", "directional"):
            x = Tensor(np.array(numbers, float), requires_grad=True)
            assert gradcheck(lambda x: ranks(x).mean(), x, mode=mode).passed


def _one_of_the_largest(dout, x):
    dx = np.zeros_like(x)
    dx[x.argmax(0), np.arange(x.shape[1])] = dout
    return dx
