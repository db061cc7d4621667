"""Dropout: the mask, its scale, and the two modes of the layer."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Tensor
from scratch_embed import functional as F
from scratch_embed.layers import BERTInput, Dropout
from scratch_embed.ops.dropout import dropout_backward, dropout_forward
from tests.wrong_backward import caught, leaf


def test_kept_numbers_are_scaled_and_the_gradient_takes_the_same_way():
    x = np.arange(1.0, 7.0)
    out, saved = dropout_forward(x, 0.5, rng=0)
    assert set(out[saved.kept] / x[saved.kept]) == {2.0} and not out[~saved.kept].any()
    assert dropout_backward(np.ones(6), saved).tolist() == (2.0 * saved.kept).tolist()
    assert 0 < saved.kept.sum() < 6


def test_the_mean_stays():
    x = np.ones(200_000)
    out, saved = dropout_forward(x, 0.1, rng=0)
    assert out.mean() == pytest.approx(1, abs=0.005)
    assert saved.kept.mean() == pytest.approx(0.9, abs=0.005)


def test_nothing_and_everything():
    x = np.arange(5.0)
    assert dropout_forward(x, 0.0, rng=0)[0].tolist() == x.tolist()
    assert dropout_forward(x, 1.0, rng=0)[0].tolist() == [0] * 5


def test_one_generator_decides_whatever_the_dtype():
    x = np.ones((4, 5))
    first, second = (dropout_forward(x, 0.5, np.random.default_rng(3))[1].kept for _ in "ab")
    low = dropout_forward(x.astype(np.float32), 0.5, np.random.default_rng(3))
    assert np.array_equal(first, second) and np.array_equal(first, low[1].kept)
    assert low[0].dtype == np.float32
    rng = np.random.default_rng(3)
    assert np.array_equal(dropout_forward(x, 0.5, rng)[1].kept, first)
    assert not np.array_equal(dropout_forward(x, 0.5, rng)[1].kept, first)  # it moved on


@pytest.mark.parametrize(
    "wrong",
    [
        lambda d, s: d * s.kept,  # the scale forgotten
        lambda d, s: d / (1 - s.p),  # the mask forgotten
        lambda d, s: dropout_backward(d, s._replace(kept=~s.kept)),
    ],
)
def test_planted_bugs_are_caught(wrong):
    assert caught(dropout_forward, wrong, leaf(4, 5), p=0.4, rng=1)


def test_train_and_eval():
    layer, x = Dropout(0.5, rng=0), Tensor(np.ones(100))
    assert 0 < np.count_nonzero(layer(x).data) < 100
    assert layer.eval()(x) is x
    assert np.count_nonzero(layer.train()(x).data) < 100
    bundle = BERTInput(5, 4, max_len=3, p=0.5, rng=0).eval()
    assert not bundle.dropout.training and np.array_equal(bundle([1, 2]).data, bundle([1, 2]).data)
    bundle.train()
    assert not np.array_equal(bundle([1, 2, 3]).data, bundle([1, 2, 3]).data)


def test_bad_input_is_explained():
    for p in (-0.1, 1.5, np.nan, True):
        with pytest.raises(ValueError, match="p is .*0..1"):
            F.dropout(np.ones(3), p, 0)
    with pytest.raises(TypeError, match="rng is None; give a numpy.random.Generator"):
        F.dropout(np.ones(3), 0.5)
    for bad in (None, True, False):  # elsewhere the third argument says whether to drop
        with pytest.raises(TypeError, match=f"rng is {bad}"):
            F.dropout(np.ones(3), 0.5, bad)
    with pytest.raises(TypeError, match="rng is True"):
        Dropout(0.5, True)
