"""Several kinks in one operation: each output may take a side, and nothing else is excused."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed import functional as F
from scratch_embed.gradcheck import gradcheck
from tests.gradcheck import planted


def leaf(data: np.ndarray) -> Tensor:
    return Tensor(data, requires_grad=True, name="x")


def relu_of_product(backward):
    """relu(x @ W) in one operation: at x = 0 each output is on a kink."""

    def forward(x, W):
        z = x @ W
        return np.where(z.real > 0, z, 0), (x, W, z)

    def both(g, saved):
        x, W, z = saved
        dz = backward(g, z)
        return dz @ W.T, x.T @ dz

    return differentiable(forward, both, name="relu_of_product")


@pytest.mark.parametrize("seed", range(3))
def test_where_an_operation_meets_several_kinks_each_output_may_take_a_side(seed):
    x = leaf(np.zeros((2, 3)))
    W = leaf(np.random.default_rng(seed).standard_normal((3, 4)))
    for right in (lambda g, z: g * (z > 0), lambda g, z: g * (z >= 0), lambda g, z: g / 2):
        assert gradcheck(relu_of_product(right), x, W, seed=seed).passed
    for wrong in (lambda g, z: 3 * g, lambda g, z: -g, lambda g, z: g[::-1]):
        assert not gradcheck(relu_of_product(wrong), x, W, seed=seed).passed
    bags = [[0, 1], [2, 3], [3, 1], [3, 0]]
    table = leaf(np.zeros((4, 3)))
    assert gradcheck(lambda E: F.embedding_bag(E, bags, mode="max"), table, seed=seed).passed


def test_what_cannot_be_run_again_alone_has_no_kinks():
    """A Generator has moved on: another mask makes slopes that jump at every step."""
    x = leaf(np.random.default_rng(1).standard_normal((3, 4)))
    right = F.dropout.backward
    for wrong, cause in (
        (lambda g, s: g * 1.0, "dout passed on"),
        (lambda g, s: -right(g, s), "wrong sign"),
        (lambda g, s: 0.5 * right(g, s), "constant factor"),
    ):
        dropout = planted.broken("dropout", wrong)
        report = gradcheck(lambda x, f=dropout: f(x, 0.5, np.random.default_rng(0)), x)
        assert [(c.name, c.op) for c in report.causes] == [(cause, "dropout")]
