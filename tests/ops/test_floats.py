"""What goes in as whole numbers comes out as floats, and NaN is never hidden."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from scratch_embed import Tensor
from scratch_embed import functional as F
from scratch_embed.ops.floats import floating

X = np.array([[3, 1, 4, 1], [5, 9, 2, 6]])
SHARES = {  # answers that need not be whole
    "exp": F.exp,
    "log": F.log,
    "sqrt": F.sqrt,
    "tanh": F.tanh,
    "sigmoid": F.sigmoid,
    "log_sigmoid": F.log_sigmoid,
    "relu": F.relu,
    "power -1": lambda x: F.power(x, -1),
    "power 0.5": lambda x: F.power(x, 0.5),
    "mean": lambda x: F.mean(x, axis=1),
    "dropout": lambda x: F.dropout(x, 0.1, 3),
    "rotary": F.rotary,
    "rotary, halves": lambda x: F.rotary(x, [7, 2], layout="concatenated"),
    "layer_norm": lambda x: F.layer_norm(x, x[0], x[1]),
    "rms_norm": lambda x: F.rms_norm(x, x[0]),
    "attention": lambda x: F.attention(x, x, x, causal=True),
    "softmax": F.softmax,
    "log_softmax": F.log_softmax,
    "cross_entropy": lambda x: F.cross_entropy(x, [2, 0]),
    "tied_cross_entropy": lambda x: F.tied_cross_entropy(x, x[::-1], [1, 0]),
    "sgns": lambda x: F.sgns(x, x[::-1], x[:, None]),
    "cbow": lambda x: F.cbow(np.stack([x, x + 1], axis=1), x, x[:, None]),
}


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_integers_give_what_the_same_floats_give(name, dtype):
    expected = SHARES[name](X.astype(np.float64)).data
    given = SHARES[name](X.astype(dtype)).data
    assert given.dtype == np.float64
    np.testing.assert_array_equal(given, expected)


def test_what_only_adds_multiplies_or_moves_keeps_integers():
    kept = [F.add(X, X), F.mul(X, X), F.neg(X), F.power(X, 2), F.matmul(X, X.T), F.unfold(X, 2)]
    kept += [F.reshape(X, (8,)), F.transpose(X), F.getitem(X, 0), F.concatenate(X, X), F.sum(X)]
    assert {out.dtype.kind for out in kept} == {"i"}
    assert F.div(X, X).dtype == np.float64


@pytest.mark.parametrize("name", ["dropout", "rotary"])
def test_an_integer_cotangent_given_by_hand_is_not_cut(name):
    operation, options = getattr(F, name), {"p": 0.1, "rng": 3} if name == "dropout" else {}
    _, saved = operation.forward(X.astype(float), **options)
    whole = np.full(X.shape, 10)
    expected = operation.backward(whole.astype(float), saved)
    np.testing.assert_array_equal(operation.backward(whole, saved), expected)


def test_lists_are_taken_for_arrays():
    assert F.add([1.0], [2.0]).data.tolist() == [3.0]  # and not joined
    assert F.neg([1.0]).data.tolist() == [-1.0]
    assert F.matmul([[1, 2]], [[3], [4]]).data.tolist() == [[11]]
    assert F.reshape([1, 2], (2, 1)).data.tolist() == [[1], [2]]
    assert F.transpose([[1, 2]]).data.tolist() == [[1], [2]]
    assert F.getitem([5, 6, 7], [0, 2]).data.tolist() == [5, 7]
    assert F.concatenate([1], [2, 3]).data.tolist() == [1, 2, 3]
    for name, f in SHARES.items():
        if name not in ("layer_norm", "tied_cross_entropy", "sgns", "cbow", "mean"):
            with np.errstate(all="ignore"):
                rows = X.tolist()
                np.testing.assert_array_equal(f(rows).data, f(X).data)


def test_what_is_floating_is_handed_back_as_it_is():
    for dtype in (np.float32, np.float64, np.complex128):
        x = np.ones(2, dtype)
        assert floating(x) is x
    with pytest.raises(TypeError, match="logits is not an array of numbers: NumPy made it <U1"):
        F.softmax(["a", "b"])


# ---- NaN ----------------------------------------------------------------------------------------

ELEMENTWISE = ["exp", "log", "sqrt", "tanh", "sigmoid", "log_sigmoid", "relu", "neg"]


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nan_goes_in_and_comes_out_alone(name, dtype):
    x = np.array([2.0, np.nan, 3.0], dtype)
    out, saved = getattr(F, name).forward(x)
    assert np.isnan(out).tolist() == [False, True, False]
    grad = getattr(F, name).backward(np.array([1.0, np.nan, 1.0], dtype), saved)
    assert np.isnan(grad).tolist() == [False, True, False]
    assert out.dtype == grad.dtype == dtype


def test_relu_of_complex_numbers_goes_by_the_real_part():
    out, saved = F.relu.forward(np.array([1 + 2j, -1 + 2j, 0j]))
    assert out.tolist() == [1 + 2j, 0, 0] and saved[0].tolist() == [False, True, True]


def test_relu_sends_the_gradient_through_nan_and_stops_it_at_zero_and_below():
    _, saved = F.relu.forward(np.array([np.nan, 0.0, -0.0, -1.0, -np.inf, np.inf]))
    assert F.relu.backward(np.full(6, 7.0), saved).tolist() == [7, 0, 0, 0, 0, 7]


def test_dropout_does_not_drop_nan():
    x = np.full(50, np.nan)
    out, saved = F.dropout.forward(x, 0.5, 0)
    assert not saved.kept.all() and np.isnan(out).all()
    assert np.isnan(F.dropout.backward(x, saved)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_quotient_has_a_gradient_where_the_square_of_its_divisor_is_no_float(dtype):
    limits = np.finfo(dtype)
    rng = np.random.default_rng(0)
    a, b = np.exp2(rng.uniform(-0.9, 0.9, (2, 500)) * limits.maxexp).astype(dtype)
    divisor = Tensor(b, requires_grad=True)
    with np.errstate(all="ignore"):
        (Tensor(a) / divisor).sum().backward()
    there = 0
    for x, y, got in zip(a, b, divisor.grad):
        exact = Fraction(float(x)) / Fraction(float(y)) ** 2
        if limits.tiny < exact < float(limits.max) and limits.tiny < x / y < limits.max:
            assert abs(float(got) / -float(exact) - 1) < 4 * limits.eps
            there += 1
    assert there > 150


def test_whole_numbers_whose_sum_no_int64_holds_have_a_mean():
    large = np.full((2, 4), 2**62)
    assert Tensor(large).mean().item() == 2.0**62
    assert F.mean(large.astype(np.uint64) * 2, axis=1).data.tolist() == [2.0**63] * 2


def test_half_precision_is_summed_in_single():
    """By the pairs themselves, for a Tensor takes none: 70,000 ones are more than it holds."""
    halves = np.ones(70_000, np.float16)
    mean, _ = F.mean.forward(halves)
    shares, _ = F.softmax.forward(halves)
    assert mean == 1 and shares.dtype == np.float32
    np.testing.assert_allclose(shares, 1 / 70_000, rtol=1e-6)
