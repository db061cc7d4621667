"""LayerNorm and RMSNorm, forward and backward."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import functional as F
from scratch_embed.layers import LayerNorm, RMSNorm
from scratch_embed.ops.norm import (
    layer_norm_backward,
    layer_norm_forward,
    rms_norm_backward,
    rms_norm_forward,
)
from tests.wrong_backward import caught, leaf

X = np.array([[1.0, 2.0, 3.0, 4.0]])  # mean 2.5, variance 1.25


def test_layer_norm_by_hand():
    gamma, beta = np.array([1.0, 2.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0, 5.0])
    out, saved = layer_norm_forward(X, gamma, beta, eps=0.0)
    step = 1 / np.sqrt(1.25)
    np.testing.assert_allclose(out, [[-1.5 * step, -step, 0.5 * step, 1.5 * step + 5]])
    # g = [1, 0, 0, 0], mean 1/4, x_hat_0 = -1.5 step, so mean(g x_hat) = -0.375 step
    dx, dgamma, dbeta = layer_norm_backward(np.array([[1.0, 0.0, 0.0, 0.0]]), saved)
    x_hat = np.array([-1.5, -0.5, 0.5, 1.5]) * step
    np.testing.assert_allclose(dx[0], (np.array([0.75, -0.25, -0.25, -0.25])
                                       + 0.375 * step * x_hat) * step)  # fmt: skip
    np.testing.assert_allclose(dgamma, [-1.5 * step, 0, 0, 0])
    assert dbeta.tolist() == [1, 0, 0, 0]


def test_rms_norm_by_hand():
    out, saved = rms_norm_forward(np.array([3.0, -4.0]), np.array([1.0, 2.0]), eps=0.0)
    root = np.sqrt(12.5)
    np.testing.assert_allclose(out, [3 / root, -8 / root])
    dx, dgamma = rms_norm_backward(np.array([1.0, 0.0]), saved)
    np.testing.assert_allclose(dx, [(1 - 9 / 25) / root, 12 / 25 / root])
    np.testing.assert_allclose(dgamma, [3 / root, 0])


def test_norms_come_out_as_sqrt_d_and_ignore_scale_and_shift():
    x = np.random.default_rng(0).standard_normal((50, 64))
    layer, rms = LayerNorm(64, dtype=np.float64), RMSNorm(64, dtype=np.float64)
    np.testing.assert_allclose(np.linalg.norm(layer(x).data, axis=1), 8, rtol=1e-4)
    np.testing.assert_allclose(layer(100 * x + 7).data, layer(x).data, atol=1e-4)
    np.testing.assert_allclose(rms(100 * x).data, rms(x).data, atol=1e-4)
    assert np.abs(rms(100 * x + 7).data - rms(x).data).max() > 0.01


def no_mean(dout, saved):
    _, dgamma, dbeta = layer_norm_backward(dout, saved)
    return (
        saved.gamma * dout * saved.inverse,
        dgamma,
        dbeta,
    )  # mean and variance taken for constants


def no_gamma(dout, saved):
    dx, dgamma, dbeta = layer_norm_backward(dout, saved._replace(gamma=np.ones(4)))
    return dx, dgamma, dbeta


@pytest.mark.parametrize("wrong", [no_mean, no_gamma])
def test_planted_bugs_are_caught(wrong):
    assert caught(layer_norm_forward, wrong, leaf(3, 4), leaf(4, seed=1), leaf(4, seed=2))


def test_a_planted_bug_in_rms_norm_is_caught():
    def wrong(dout, saved):
        return saved.gamma * dout * saved.inverse, rms_norm_backward(dout, saved)[1]

    assert caught(rms_norm_forward, wrong, leaf(3, 4), leaf(4, seed=1))


@pytest.mark.parametrize("shape", [(4,), (2, 3, 4), (0, 4)])
def test_every_leading_shape_and_float32(shape):
    x, ones = np.ones(shape, np.float32), np.ones(4, np.float32)
    out, saved = layer_norm_forward(x, ones, ones)
    grads = layer_norm_backward(out, saved)
    assert [g.shape for g in grads] == [shape, (4,), (4,)]
    assert {out.dtype, *(g.dtype for g in grads)} == {np.dtype(np.float32)}


def test_bad_input_is_explained():
    with pytest.raises(ValueError, match=r"x \(1, 4\) and gamma \(3,\) do not fit"):
        F.layer_norm(X, np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match=r"beta \(1, 4\) do not fit"):
        F.layer_norm(X, np.ones(4), np.ones((1, 4)))
    with pytest.raises(ValueError, match="eps is -1"):
        F.rms_norm(X, np.ones(4), eps=-1)
