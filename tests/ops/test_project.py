"""Projection: the tied head's two products, and what tying adds up."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Tensor
from scratch_embed import functional as F
from scratch_embed.ops.project import project_backward, project_forward
from tests.wrong_backward import caught, leaf


def test_logits_and_both_products_by_hand():
    h, weight = np.array([1.0, 2.0]), np.array([[3.0, 4.0], [5.0, 6.0], [0.0, 1.0]])
    logits, saved = project_forward(h, weight, np.array([0.0, 0.0, 10.0]))
    assert logits.tolist() == [11, 17, 12]
    dh, dweight, dbias = project_backward(np.array([10.0, -1.0, 0.0]), saved)
    assert dh.tolist() == [25, 34]  # 10 [3, 4] - [5, 6]
    assert dweight.tolist() == [[10, 20], [-1, -2], [0, 0]]
    assert dbias.tolist() == [10, -1, 0]


def test_a_tied_table_collects_from_both_ends():
    ids, cotangent = np.array([2, 0, 2]), np.random.default_rng(1).standard_normal((3, 4))
    E, read, scored = (leaf(4, 3) for _ in range(3))
    F.project(F.lookup(E, ids), E).backward(cotangent)
    F.project(F.lookup(read, ids), scored).backward(cotangent)
    np.testing.assert_allclose(E.grad, read.grad + scored.grad, rtol=1e-15)
    assert not read.grad[[1, 3]].any() and scored.grad.all()  # sparse end, dense end


def test_a_bias_of_a_batch_collects_from_every_position():
    h, E, bias = leaf(2, 3, 4), leaf(5, 4), leaf(5)
    F.project(h, E, bias).backward(np.ones((2, 3, 5)))
    assert bias.grad.tolist() == [6] * 5


@pytest.mark.parametrize(
    "wrong",
    [
        lambda d, s: (d @ s.weight, (s.h.T @ d).reshape(s.weight.shape)),  # the other way round
        lambda d, s: (d @ s.weight, d[::-1].T @ s.h),  # positions mixed up
        lambda d, s: (d @ s.weight, np.where(d.T @ s.h > 0, d.T @ s.h, 0)),
    ],
)
def test_planted_bugs_are_caught(wrong):
    assert caught(project_forward, wrong, leaf(4, 3), leaf(5, 3, seed=1))


def test_float32_stays_float32():
    h, E, b = (Tensor(x.data.astype(np.float32), True) for x in (leaf(2, 3), leaf(5, 3), leaf(5)))
    out = F.project(h, E, b)
    out.backward(np.ones((2, 5)))
    assert {out.dtype, h.grad.dtype, E.grad.dtype, b.grad.dtype} == {np.dtype(np.float32)}


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"h \(2, 3\) and weight \(5, 4\) do not fit"):
        F.project(np.ones((2, 3)), np.ones((5, 4)))
    with pytest.raises(ValueError, match=r"bias \(4,\) does not fit weight \(5, 3\)"):
        F.project(np.ones((2, 3)), np.ones((5, 3)), np.ones(4))


def test_rows_without_columns_score_nothing():
    """A sum over no products is 0; a gradient of no numbers is empty."""
    h, E, bias = leaf(2, 3, 0), leaf(5, 0), leaf(5)
    out = F.project(h, E, bias)
    np.testing.assert_array_equal(out.data, np.broadcast_to(bias.data, (2, 3, 5)))
    out.backward(np.ones((2, 3, 5)))
    assert h.grad.shape == (2, 3, 0) and E.grad.shape == (5, 0) and bias.grad.tolist() == [6] * 5
    assert not F.project(h, E).data.any()
    loss = F.tied_cross_entropy(h, E, np.zeros((2, 3), int))
    loss.backward()
    assert loss.item() == pytest.approx(np.log(5))  # all logits are equal


@pytest.mark.parametrize(("rows", "columns"), [(4, 0), (0, 3), (0, 0)])
def test_a_onehot_product_without_rows_or_columns(rows, columns):
    onehot, E = leaf(2, 3, rows), leaf(rows, columns)
    out = F.onehot_product(onehot, E)
    assert out.shape == (2, 3, columns) and not out.data.any()
    out.backward(np.ones((2, 3, columns)))
    assert not onehot.grad.any() and onehot.grad.shape == (2, 3, rows)
    assert E.grad.shape == (rows, columns)
