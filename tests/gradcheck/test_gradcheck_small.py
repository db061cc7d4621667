"""Inputs so small that the loss is rounded as it is at the ends of the step."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scratch_embed.functional import attention, layer_norm, tanh
from scratch_embed.gradcheck import gradcheck
from scratch_embed.tensor import Tensor, differentiable


def power(n, factor=1.0):
    return differentiable(
        lambda x: (x**n, x), lambda dout, x: factor * n * x ** (n - 1) * dout, name="power"
    )


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("size", [1e-5, 1e-10, 1e-20, 1e-50, 1e-150])
def test_a_power_of_small_numbers_is_right_or_cannot_be_told(n, size):
    for seed in range(5):
        x = Tensor(size * np.random.default_rng(seed).standard_normal((3, 4)), requires_grad=True)
        right = gradcheck(power(n), x, seed=seed)
        assert right.agrees, right
        assert right.told or size ** (n - 1) < 1e-20
        for factor in (-1, 1.5):
            wrong = gradcheck(power(n, factor), x, seed=seed)
            assert not wrong.passed, wrong


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
@pytest.mark.parametrize("size", [1, 30, 1000])
def test_of_equal_numbers_rounding_is_all_that_a_variance_leaves(size, mode):
    """Their mean is off by a last digit, and the gradient, 0, by as much."""
    adds = differentiable(lambda x: (x.copy(), ()), lambda dout, _: dout + 1e-9, name="adds")

    def variance(x):
        return (x - x.mean(axis=0)) ** 2

    for seed in range(6):
        row = size * np.random.default_rng(seed).standard_normal(3)
        x = Tensor(np.tile(row, (5, 1)), requires_grad=True)
        assert gradcheck(variance, x, mode=mode).agrees
        assert not gradcheck(lambda x: variance(adds(x)), x, mode=mode).passed


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0])
def test_a_kink_beside_large_numbers_that_rounding_nearly_hides(slope):
    def relu(above):
        return differentiable(
            lambda x: (np.maximum(x, 0), x),
            lambda dout, x: dout * np.where(x == 0, slope, above * (x > 0)),
            name="relu",
        )

    for seed in range(12):
        data = np.round(np.random.default_rng(seed).standard_normal((3, 4))) * 1e9
        x = Tensor(data, requires_grad=True)
        assert gradcheck(relu(1.0), x).agrees
        assert not gradcheck(relu(1.5), x).passed


def gelu(factor=1.0):
    def forward(x):
        share = (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2
        return x * share, (x, share)

    def backward(dout, saved):
        x, share = saved
        return factor * dout * (share + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi))

    return differentiable(forward, backward, name="gelu")


@pytest.mark.parametrize("x", [[-6.56374992], [-7.2], np.linspace(-7.5, -5, 11), [-10.0, -11.0]])
def test_a_small_gradient_is_not_called_wrong_for_last_digits_of_larger_numbers(x):
    """1 + erf(x) goes in steps of 1e-16 where it is nearly 0, and x times it in slopes between."""
    x = Tensor(x, requires_grad=True)
    report = gradcheck(gelu(), x)
    assert report.agrees, report
    assert not gradcheck(gelu(1.5), x).passed or x.size == 2  # where all is 0 as far as one can see


def test_last_digits_beside_a_larger_gradient_are_not_called_wrong():
    """1 - p loses digits from 10 on, where p = sigmoid(x) is nearly 1; nothing of it is wrong."""

    def margin(factor):
        def backward(dout, saved):
            x, rest = saved
            return dout * (rest - factor * x * rest * (1 - rest))

        return differentiable(
            lambda x: (x * (1 - 1 / (1 + np.exp(-x))), (x, 1 / (1 + np.exp(x)))), backward
        )

    for seed in range(8):
        x = Tensor(np.random.default_rng(seed).uniform(5, 30, 3), requires_grad=True)
        assert gradcheck(margin(1), x).agrees
        assert not gradcheck(margin(1.001), x).passed


def test_a_share_too_small_for_all_its_digits_is_none():
    q, k = np.array([[1.0, 0.0]]), np.array([[0.0, 0.0], [-1035.0, 0.0]])
    v = Tensor(np.ones((2, 2)), requires_grad=True)
    report = gradcheck(lambda v: attention(q, k, v), v)
    assert report.passed and 0 < np.abs([row.analytic for row in report.rows]).min() < 1e-300


@pytest.mark.parametrize("factor", [1.5, -1, 0])
@pytest.mark.parametrize("scale", [1e-8, 1e-10, 1e-12, 1e-20])
def test_a_small_gradient_that_is_wrong_is_called_so(scale, factor):
    cube = differentiable(
        lambda x: (scale * x**3, x), lambda dout, x: factor * 3 * scale * x**2 * dout, name="cube"
    )
    x = Tensor(np.random.default_rng(0).standard_normal((3, 4)), requires_grad=True)
    assert {row.verdict for row in gradcheck(cube, x).rows} == {"WRONG"}


def test_last_digits_of_a_norm_of_zeros_are_no_ties():
    """Its gradients are 0 but for rounding, of which a tiny beta lets the loss show little."""
    rng = np.random.default_rng(0)
    x, gamma = (Tensor(np.full(s, v), requires_grad=True) for s, v in (((4, 4), 0.0), (4, 0.77)))
    for seed in range(6):
        beta = Tensor(1e-8 * rng.standard_normal(4), requires_grad=True)
        report = gradcheck(
            lambda x, gamma, beta: tanh(layer_norm(x, gamma, beta)).sum(), x, gamma, beta,
            method="richardson", seed=seed,
        )  # fmt: skip
        assert report.agrees, report
