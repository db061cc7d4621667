"""A backward that is right at the numbers given may be wrong at all others."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed.gradcheck import gradcheck
from tests.gradcheck.leaves import of


def layer_norm_forward(x, gamma, beta):
    centered = x - x.mean(axis=-1, keepdims=True)
    std = np.sqrt((centered**2).mean(axis=-1, keepdims=True) + 1e-5)
    return centered / std * gamma + beta, (centered / std, std, gamma)


def layer_norm_backward(dout, saved, forgets=False):
    n, std, gamma = saved
    dn = dout if forgets else dout * gamma
    shared = dn.mean(axis=-1, keepdims=True) + n * (dn * n).mean(axis=-1, keepdims=True)
    return (dn - shared) / std, (dout * n).sum(axis=0), dout.sum(axis=0)


def named(name, numbers):
    return Tensor(numbers, requires_grad=True, name=name)


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
def test_a_factor_that_is_1_at_first_is_missed_when_it_is_left_out(mode):
    x = named("x", np.random.default_rng(0).standard_normal((3, 5)))
    fresh = x, named("gamma", np.ones(5)), named("beta", np.zeros(5))
    right = differentiable(layer_norm_forward, layer_norm_backward, name="norm")
    assert gradcheck(right, *fresh, mode=mode).passed
    wrong = differentiable(
        layer_norm_forward, lambda *given: layer_norm_backward(*given, forgets=True), name="norm"
    )
    report = gradcheck(wrong, *fresh, mode=mode)
    assert report.rows_agree and not report.passed
    told = " ".join(str(report).split())
    assert "at other numbers" in told and "the gradient of x is not the slope" in told
    assert "gamma left out, as if all of it were 1" in told
    np.testing.assert_array_equal(fresh[1].data, np.ones(5))  # they are where they were


def test_so_is_a_term_that_is_0_at_first():
    """As the second matrix of LoRA, beside which the first one gets no gradient at all."""

    def backward(dout, saved):
        x, a, b = saved
        return dout @ b.T @ a.T, np.zeros(a.shape), (x @ a).T @ dout

    product = differentiable(lambda x, a, b: (x @ a @ b, (x, a, b)), backward, name="low_rank")
    rng = np.random.default_rng(0)
    shapes = {"x": (3, 4), "a": (4, 2), "b": (2, 5)}
    x, a, b = (named(name, rng.standard_normal(shape)) for name, shape in shapes.items())
    assert not gradcheck(product, x, a, b).passed
    b.data[...] = 0
    report = gradcheck(product, x, a, b)
    assert report.rows_agree and not report.passed
    assert "the gradient of a is not the slope" in " ".join(report.problems)


@pytest.mark.parametrize("seed", range(6))
def test_a_transpose_is_missed_at_the_identity(seed):
    product = differentiable(
        lambda x, w: (x @ w, (x, w)), lambda dout, s: (dout @ s[1], s[0].T @ dout), name="product"
    )
    x = named("x", np.random.default_rng(0).standard_normal((3, 4)))
    report = gradcheck(product, x, named("w", np.eye(4)), seed=seed)
    assert report.rows_agree and report.cause == "transposed"


def test_a_backward_that_closes_over_its_numbers_is_right_of_these():
    """As one writes who has the array at hand: gradcheck nudges a copy of it."""
    x = np.array([0.3, -1.2, 2.0])
    for slope, passes in ((np.cos, True), (np.sin, False)):
        sine = differentiable(lambda x: (np.sin(x), ()), lambda d, _, f=slope: d * f(x))
        assert gradcheck(sine, named("x", x)).passed == passes


def test_so_is_one_that_takes_the_other_half_from_forward():
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((4, 3)), rng.standard_normal((3, 2))
    product = differentiable(lambda x, w: (x @ w, x), lambda d, x: (d @ w.T, x.T @ d))
    assert gradcheck(product, named("x", x.copy()), named("w", w.copy())).passed


HELD = np.array([0.3, -1.2, 2.0])


def reads_it_in_a_loop(dout, _):
    return np.array([d * np.cos(HELD[i]) for i, d in enumerate(dout)])


def has_it_by_name(dout, _, *, at=HELD):
    return dout * np.cos(at)


@pytest.mark.parametrize("backward", [reads_it_in_a_loop, has_it_by_name])
def test_numbers_may_be_held_in_any_way(backward):
    sine = differentiable(lambda x: (np.sin(x), ()), backward, name="sine")
    assert gradcheck(sine, named("x", HELD.copy())).passed


@pytest.mark.parametrize(
    ("forward", "backward", "at"),
    [
        (np.tanh, lambda dout, _: dout, 0),
        (np.exp, lambda dout, _: dout, 0),
        (lambda x: x**3, lambda dout, _: 3 * dout, 1),
        (np.log, lambda dout, _: np.array(dout), 1),
    ],
)
def test_one_that_reads_nothing_at_all_is_wrong_at_all_other_numbers(forward, backward, at):
    own = differentiable(lambda x: (forward(x), ()), backward, name="own")
    report = gradcheck(own, named("x", np.full((2, 3), float(at))))
    assert report.rows_agree and not report.passed


def test_what_takes_no_other_numbers_is_checked_where_it_is():
    def strict(p):
        if not np.isclose(p.real.sum(), 1, atol=1e-2):
            raise ValueError("p must be shares of 1")
        return np.log(p), p

    log = differentiable(strict, lambda dout, p: dout / p)
    assert gradcheck(log, of([0.2, 0.3, 0.5])).passed
