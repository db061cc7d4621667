"""Projection and cross-entropy in chunks equals the two operations that it replaces."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from scratch_embed import Tensor
from scratch_embed import functional as F
from scratch_embed.ops import tied_cross_entropy as op
from tests.wrong_backward import caught, leaf


def both_ways(h, weight, targets, **options):
    """(loss, dh, dweight) in chunks, and by the plain operations."""
    chunk = {"chunk": options.pop("chunk", None)}
    for loss_of in (
        lambda h, E: F.tied_cross_entropy(h, E, targets, **options, **chunk),
        lambda h, E: F.cross_entropy(F.project(h, E), targets, **options),
    ):
        tensors = [Tensor(array, requires_grad=True) for array in (h, weight)]
        loss = loss_of(*tensors)
        loss.backward(np.array(0.7))
        yield loss.data, *(t.grad for t in tensors)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("chunk", [None, 1, 7, 10**15])
@pytest.mark.parametrize("options", [{}, {"ignore_index": 3}, {"reduction": "sum"}])
def test_equals_project_and_cross_entropy(dtype, chunk, options, monkeypatch):
    monkeypatch.setattr(op, "TILE", 5 * 10)  # ten rows of the table at a time
    rng = np.random.default_rng(0)
    h, weight = (rng.standard_normal(shape).astype(dtype) for shape in ((3, 8, 5), (33, 5)))
    targets = rng.integers(0, 9, (3, 8))
    for fused, plain in zip(*both_ways(h, weight, targets, chunk=chunk, **options)):
        assert fused.dtype == dtype and fused.shape == plain.shape
        np.testing.assert_allclose(fused, plain, atol=1e-5 if dtype == np.float32 else 1e-13)


def test_large_logits_and_ignored_rubbish_stay_finite():
    h = np.array([[1000.0, 0.0], [np.nan, np.nan]])
    fused, _ = both_ways(h, np.array([[1.0, 0.0], [-1.0, 0.0]]), [1, -1], ignore_index=-1)
    assert fused[0] == 2000
    np.testing.assert_allclose(fused[2], [[700, 0], [-700, 0]])
    assert not fused[1][1].any()  # an ignored position has no gradient


def test_each_backward_owns_its_gradients():
    h, E = leaf(4, 3), leaf(5, 3)
    loss = F.tied_cross_entropy(h, E, [0, 1, 4, 4])
    loss.backward()
    first = E.grad.copy()
    E.grad *= 0  # an array that nothing else holds
    loss.backward()
    np.testing.assert_array_equal(E.grad, first)
    loss.backward(np.array(2.0))
    np.testing.assert_allclose(E.grad, 3 * first)


def test_nothing_of_order_n_by_v_is_held():
    h, weight = np.ones((400, 4), np.float32), np.ones((5000, 4), np.float32)
    op.tied_cross_entropy_forward(h, weight, np.zeros(400, int))
    tracemalloc.start()
    op.tied_cross_entropy_forward(h, weight, np.zeros(400, int), chunk=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.15 * 400 * 5000 * 4


def no_target(dout, saved):
    dh, dweight = op.tied_cross_entropy_backward(dout, saved)
    hits = np.zeros_like(dweight)
    np.add.at(hits, saved.targets, saved.scale[:, None] * saved.h)
    return dh, dweight + hits


def last_chunk_only(dout, saved):
    dh, _ = op.tied_cross_entropy_backward(dout, saved)
    short = saved._replace(scale=saved.scale * (np.arange(len(saved.scale)) >= 2))
    return dh, op._in_chunks(short)[2] * dout


@pytest.mark.parametrize("wrong", [no_target, last_chunk_only])
def test_planted_bugs_are_caught(wrong):
    args = leaf(4, 3), leaf(5, 3, seed=1), np.array([1, 1, 0, 4])
    assert caught(op.tied_cross_entropy_forward, wrong, *args, chunk=2)
    assert not caught(op.tied_cross_entropy_forward, op.tied_cross_entropy_backward, *args)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"h": np.ones((2, 4))}, ValueError, r"h \(2, 4\) and weight \(5, 3\) do not fit"),
        ({"targets": [0]}, ValueError, r"targets \(1,\) do not fit logits \(2, 5\)"),
        ({"targets": [0, 5]}, IndexError, r"targets\[1\] = 5 is too large"),
        ({"chunk": 0}, ValueError, "chunk is 0"),
        ({"reduction": "none"}, ValueError, "reduction is 'none'"),
    ],
)
def test_bad_input_is_explained(change, error, words):
    given = {"h": np.ones((2, 3)), "weight": np.ones((5, 3)), "targets": [0, 1], **change}
    with pytest.raises(error, match=words):
        F.tied_cross_entropy(given.pop("h"), given.pop("weight"), given.pop("targets"), **given)
