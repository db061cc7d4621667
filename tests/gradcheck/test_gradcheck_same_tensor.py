"""One tensor at several places of an operation: each place has its own gradient, or none."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed import functional as F
from scratch_embed.gradcheck import gradcheck
from scratch_embed.trace import trace


def leaf(*shape: int) -> Tensor:
    data = np.random.default_rng(0).standard_normal(shape)
    return Tensor(data, requires_grad=True, name="x")


def picking():
    """|x| with the sign read off another input, which gets no gradient: None at place 0."""
    return differentiable(
        lambda signs, x: (np.where(signs > 0, x, -x), signs > 0),
        lambda g, positive: (None, g * np.where(positive, 1.0, -1.0)),
        name="picking",
    )


def attending(spoil, place: int):
    """attention without softmax; one of its three gradients is spoiled."""

    def forward(q, k, v):
        return q @ k.T @ v, (q, k, v)

    def backward(g, saved):
        q, k, v = saved
        scores = g @ v.T
        grads = [scores @ k, scores.T @ q, k @ q.T @ g]
        grads[place] = spoil(grads[place])
        return tuple(grads)

    return differentiable(forward, backward, name="attending")


SPOILED = {
    "constant factor": lambda grad: 2 * grad,
    "wrong sign": lambda grad: -grad,
    "missing path": lambda grad: None,
    "row dropped": lambda grad: grad * (np.arange(len(grad)) > 0)[:, None],
}


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("cause", SPOILED)
def test_the_cause_is_that_of_the_place_that_is_wrong(cause, place):
    wrong = attending(SPOILED[cause], place)
    assert gradcheck(lambda x: wrong(x, x, x), leaf(4, 4)).cause == cause
    right = attending(lambda grad: grad, place)
    assert gradcheck(lambda x: right(x, x, x), leaf(4, 4)).passed


def test_none_for_the_first_place_is_nothing_of_the_second():
    pick, x = picking(), leaf(2, 3)
    assert gradcheck(lambda x: pick(x, x), x).passed
    y = pick(x, x)
    walk = trace((y * y).sum())
    at = next(n for n, step in enumerate(walk.steps, 1) if getattr(step, "op", "") == "picking" and
              hasattr(step, "parts"))  # fmt: skip
    text = walk.entry(at, (0, (0, 0))).text()
    assert "agrees" in text and "DIFFERS" not in text
    (part,) = walk.steps[at - 1].parts
    assert part.place == 1


def test_a_wrong_operation_beside_it_is_blamed_alone():
    pick = picking()
    double = differentiable(lambda x: (2 * x, None), lambda g, _: -2 * g, name="double")
    report = gradcheck(lambda x: F.tanh(double(pick(x, x))), leaf(2, 3))
    assert [(cause.name, cause.op) for cause in report.causes] == [("wrong sign", "double")]
