"""Softmax and log-softmax along any axis, and its edges."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import functional as F
from scratch_embed.ops.softmax import (
    log_softmax_backward,
    log_softmax_forward,
    softmax_backward,
    softmax_forward,
)
from tests.wrong_backward import caught, leaf

PAIRS = [
    (softmax_forward, softmax_backward),
    (log_softmax_forward, log_softmax_backward),
]


@pytest.mark.parametrize(("forward", "backward"), PAIRS, ids=["softmax", "log_softmax"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_an_axis_is_the_last_one_after_it_was_moved_there(forward, backward, axis):
    rng = np.random.default_rng(0)
    logits, dout = rng.standard_normal((2, 2, 3, 4))
    out, saved = forward(logits, axis)
    last, saved_last = forward(np.moveaxis(logits, axis, -1))
    np.testing.assert_allclose(np.moveaxis(out, axis, -1), last, rtol=1e-15)
    np.testing.assert_allclose(
        np.moveaxis(backward(dout, saved), axis, -1),
        backward(np.moveaxis(dout, axis, -1), saved_last),
        atol=1e-15,
    )


def test_columns_by_hand():
    p, saved = softmax_forward(np.array([[0.0, 1.0], [np.log(3), 1.0]]), axis=0)
    np.testing.assert_allclose(p, [[0.25, 0.5], [0.75, 0.5]])
    # column 0: p (dout - 4), column 1: p (dout - 1)
    dz = softmax_backward(np.array([[16.0, 2.0], [0.0, 0.0]]), saved)
    np.testing.assert_allclose(dz, [[3, 0.5], [-3, -0.5]])


@pytest.mark.parametrize(("forward", "backward"), PAIRS, ids=["softmax", "log_softmax"])
def test_a_backward_along_the_wrong_axis_is_caught(forward, backward):
    def wrong(dout, saved):
        return backward(dout, saved._replace(axis=-1))

    assert caught(forward, wrong, leaf(3, 3), axis=0)
    assert not caught(forward, backward, leaf(3, 3), axis=0)


def test_an_empty_batch_is_empty_and_nothing_to_share_among_is_explained():
    assert F.softmax(np.ones((0, 3))).shape == (0, 3)
    assert F.log_softmax(np.ones((3, 0)), axis=0).shape == (3, 0)
    for name in ("softmax", "log_softmax"):
        with pytest.raises(ValueError, match=r"shape \(2, 0\): along axis -1 there is nothing"):
            getattr(F, name)(np.ones((2, 0)))
        for axis in (2, -3, None, (0, 1), 1.0, True):
            with pytest.raises(ValueError, match=r"axis is .*shape \(2, 3\) have no such axis"):
                getattr(F, name)(np.ones((2, 3)), axis=axis)
        with pytest.raises(ValueError, match="axis is -1; logits of shape"):
            getattr(F, name)(3.0)
