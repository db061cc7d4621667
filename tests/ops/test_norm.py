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


def test_an_eps_of_numpy_makes_no_float64_of_float32():
    x = np.ones((2, 4), np.float32)
    for norm in (F.layer_norm, F.rms_norm):
        assert norm(x, eps=np.float64(1e-5)).dtype == np.float32


@pytest.mark.parametrize("norm", [F.layer_norm, F.rms_norm])
@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e20), (np.float64, 1e200)])
def test_a_vector_whose_square_overflows_is_no_vector_of_zeros(norm, dtype, size):
    """It would hide that a run diverged. The others stay what they are."""
    x = np.array([[1, 2, 4], [size, 2 * size, 4 * size]], dtype)
    with np.errstate(over="ignore"):
        out = norm(x).data
    assert np.isnan(out[1]).all()
    np.testing.assert_array_equal(out[0], norm(x[0]).data)


def test_bad_input_is_explained():
    with pytest.raises(ValueError, match=r"x \(1, 4\) and gamma \(3,\) do not fit"):
        F.layer_norm(X, np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match=r"beta \(1, 4\) do not fit"):
        F.layer_norm(X, np.ones(4), np.ones((1, 4)))
    with pytest.raises(ValueError, match="eps is -1"):
        F.rms_norm(X, np.ones(4), eps=-1)


# ---- over several axes, and without gamma and beta ----------------------------------------------


@pytest.mark.parametrize("norm", ["layer_norm", "rms_norm"])
def test_several_axes_are_one_long_one(norm):
    forward, backward = getattr(F, norm).forward, getattr(F, norm).backward
    rng = np.random.default_rng(0)
    x, dout = rng.standard_normal((2, 5, 2, 3))
    learned = list(rng.standard_normal((2 if norm == "layer_norm" else 1, 2, 3)))
    out, saved = forward(x, *learned)
    flat, saved_flat = forward(x.reshape(5, 6), *(a.reshape(6) for a in learned))
    assert out.shape == x.shape
    np.testing.assert_array_equal(out.reshape(5, 6), flat)
    grads, flat_grads = backward(dout, saved), backward(dout.reshape(5, 6), saved_flat)
    assert [g.shape for g in grads] == [(5, 2, 3), *[(2, 3)] * len(learned)]
    for grad, flat_grad in zip(grads, flat_grads, strict=True):
        np.testing.assert_array_equal(grad.reshape(flat_grad.shape), flat_grad)


def test_a_matrix_by_hand():
    """The numbers 1 to 4 again, now as one vector of two axes."""
    out, _ = layer_norm_forward(X.reshape(1, 2, 2), eps=0.0, normalized_shape=(2, 2))
    step = 1 / np.sqrt(1.25)
    np.testing.assert_allclose(out, [[[-1.5 * step, -0.5 * step], [0.5 * step, 1.5 * step]]])
    by_rows, _ = layer_norm_forward(X.reshape(1, 2, 2), eps=0.0)
    np.testing.assert_allclose(by_rows, [[[-1, 1], [-1, 1]]])  # the last axis alone


def test_leaving_out_gamma_and_beta_is_a_factor_of_one_and_nothing_added():
    rng = np.random.default_rng(0)
    x, dout = rng.standard_normal((2, 3, 4))
    ones, zeros = np.ones(4), np.zeros(4)
    full, saved = layer_norm_forward(x, ones, zeros)
    dx, dgamma, dbeta = layer_norm_backward(dout, saved)
    for given, grads in [
        ((), (dx,)),
        ((ones,), (dx, dgamma)),
        ((None, zeros), (dx, None, dbeta)),
        ((ones, None), (dx, dgamma)),
    ]:
        out, saved = layer_norm_forward(x, *given)
        np.testing.assert_array_equal(out, full)
        for got, expected in zip(layer_norm_backward(dout, saved), grads, strict=True):
            assert (got is None) == (expected is None)
            assert got is None or np.array_equal(got, expected)
    bare, saved = rms_norm_forward(x)
    np.testing.assert_array_equal(bare, rms_norm_forward(x, ones)[0])
    assert len(rms_norm_backward(dout, saved)) == 1


def test_layers_without_affine_have_no_weights():
    x = np.random.default_rng(0).standard_normal((2, 3, 4))
    assert LayerNorm(4, elementwise_affine=False).parameters() == []
    assert RMSNorm((3, 4), elementwise_affine=False).parameters() == []
    layer = LayerNorm((3, 4), bias=False)
    assert [w.shape for w in layer.parameters()] == [(3, 4)] and layer.beta is None
    np.testing.assert_array_equal(layer(x).data, F.layer_norm(x, normalized_shape=(3, 4)).data)
    assert repr(layer) == "LayerNorm((3, 4), eps=1e-05, bias=False)"
    assert repr(RMSNorm(4, 1e-6, False)) == "RMSNorm(4, eps=1e-06, elementwise_affine=False)"


def means_of_the_last_axis(dout, saved):
    x_hat = saved.x_hat.reshape(saved.shape)
    inner = (dout * x_hat).mean(axis=-1, keepdims=True)
    dx = dout - dout.mean(axis=-1, keepdims=True) - x_hat * inner
    return dx * saved.inverse.reshape(-1, 1, 1)


def gamma_of_one_column(dout, saved):
    dx, dgamma = rms_norm_backward(dout, saved)
    return dx, np.broadcast_to(dgamma.sum(axis=0), dgamma.shape)


def test_planted_bugs_over_several_axes_are_caught():
    x, gamma = leaf(4, 2, 3), leaf(2, 3, seed=1)
    assert caught(layer_norm_forward, means_of_the_last_axis, x, normalized_shape=(2, 3))
    assert not caught(layer_norm_forward, layer_norm_backward, x, normalized_shape=(2, 3))
    assert caught(rms_norm_forward, gamma_of_one_column, x, gamma)
    assert not caught(rms_norm_forward, rms_norm_backward, x, gamma)


def test_shapes_of_vectors_that_do_not_fit_are_explained():
    x = np.ones((5, 2, 3))
    with pytest.raises(TypeError, match=r"gamma is \(2, 2\): .* normalized_shape=\(2, 2\)"):
        layer_norm_forward(np.ones((5, 2, 2)), (2, 2))  # as PyTorch has it
    with pytest.raises(ValueError, match=r"x \(5, 2, 3\) and normalized_shape \(3, 2\) do not"):
        F.layer_norm(x, normalized_shape=(3, 2))
    with pytest.raises(ValueError, match=r"normalized_shape \(3,\) and gamma \(2, 3\) do not fit"):
        F.layer_norm(x, np.ones((2, 3)), normalized_shape=3)
    with pytest.raises(ValueError, match=r"x \(5, 0\) and normalized_shape \(0,\) do not fit"):
        F.rms_norm(np.ones((5, 0)))
    with pytest.raises(ValueError, match=r"x \(\) and"):
        F.rms_norm(3.0)
    with pytest.raises(ValueError, match=r"x \(4,\) and gamma \(1, 4\) do not fit"):
        F.rms_norm(np.ones(4), np.ones((1, 4)))


@pytest.mark.parametrize("size", [3, 10, 48, 768])
def test_numbers_that_are_all_alike_leave_nothing(size):
    alike = np.random.default_rng(size).uniform(0.01, 10, 100).astype(np.float32)
    out, _ = layer_norm_forward(np.repeat(alike[:, None], size, axis=1), eps=1e-12)
    assert np.abs(out).max() <= 1e-6
