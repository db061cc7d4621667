"""One entry worked out on a kink, or close beside one: the verdict on its nudge."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Embedding, Tensor
from scratch_embed import functional as F
from scratch_embed.layers import Linear, TransformerBlock
from scratch_embed.tensor import differentiable
from scratch_embed.trace import trace
from tests.trace.learners import own


def verdict(walk, step, index) -> str:
    return walk.entry(step, (0, index)).text(everything=True).rpartition("backward made")[2]


def test_backward_at_a_kink_lies_between_two_slopes():
    """The row of padding is zeros, so relu is on its kink; of two equal rows a bag takes one."""
    E = Embedding(3, 2, padding_idx=0, rng=0, dtype=np.float64)
    walk = trace((F.relu(E([0, 2])) * np.array([[1.0, 2.0], [3.0, 4.0]])).sum())
    told = walk.text(len(walk.forward) + 3, entry=(0, (0, 0)))
    assert "DIFFERS" not in told and "on a kink" in told
    table = Tensor([[1.0, 5.0], [1.0, 2.0]], requires_grad=True)
    walk = trace(F.embedding_bag(table, [[0, 1]], mode="max").sum())
    assert "on a kink" in walk.text(len(walk), entry=(0, (0, 0)))
    wrong = differentiable(F.relu.forward, lambda dout, saved: 3 * dout, name="wrong")
    walk = trace(wrong(Tensor([0.0], requires_grad=True)).sum())
    assert "DIFFERS" in str(walk)


def test_a_row_of_zeros_before_several_relus_is_told_as_a_kink():
    """The matrix product passes on what the relus send back, which lies between no two slopes."""
    rng, told = np.random.default_rng(0), []
    E = Tensor(np.zeros((1, 3)), requires_grad=True)
    W = Tensor(rng.standard_normal((3, 5)), requires_grad=True)
    walk = trace((F.relu(F.lookup(E, [0]) @ W) * rng.standard_normal(5)).sum())
    for step in range(len(walk.forward) + 1, len(walk) + 1):
        for place, part in enumerate(walk.steps[step - 1].parts):
            told += [walk.text(step, entry=(place, at)) for at in np.ndindex(part.value.shape)]
    assert not any("DIFFERS" in text for text in told)
    assert any("kink of several numbers at once" in " ".join(text.split()) for text in told)


def test_backward_where_a_curve_begins_agrees_and_a_wrong_one_does_not():
    """relu(x)^2 has the slope 0 at 0, and its quotient is h / 2: the rows of padding are zeros."""
    E = Embedding(4, 2, padding_idx=0, rng=0, dtype=np.float64)
    bag = Tensor(np.zeros((2, 2)), requires_grad=True)
    wrong = differentiable(F.relu.forward, lambda dout, saved: dout + 1e-6, name="wrong")
    for relu, verdict in ((F.relu, "agrees"), (wrong, "DIFFERS")):
        x = Tensor(np.zeros(2), requires_grad=True)
        walk = trace(((relu(x) * np.array([2.0, 3.0])) ** 2).sum())
        assert verdict in walk.text(len(walk))
    for loss in (
        ((F.relu(E([0, 2])) @ np.ones((2, 3))) ** 2).sum(),
        (F.embedding_bag(bag, [[0, 1]], mode="max") ** 2).sum(),
    ):
        walk = trace(loss)
        said = [walk.text(len(walk), entry=(0, (0, d))) for d in range(2)]
        assert not any("DIFFERS" in text for text in said)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_of_zeros_before_a_norm_bends_sharply_and_is_not_a_mistake(dtype):
    """A norm divides a row of zeros by sqrt(eps): what curves within 1 for others curves within
    0.003 here, and the first nudge is too long."""
    rng = np.random.default_rng(0)
    W, gain = (Tensor(rng.normal(size=s).astype(dtype), requires_grad=True) for s in ((3, 4), 4))
    target, told = rng.normal(size=(2, 4)).astype(dtype), []
    for bend in (lambda x: x * x, lambda x: F.sigmoid(x) * x, lambda x: (x - target) ** 2):
        E = Tensor(np.array([[0, 0, 0], [0.5, -1, 2]], dtype), requires_grad=True)
        x = F.lookup(E, [0, 1]) @ W
        for loss in (bend(F.rms_norm(F.relu(x), gain)).sum(), bend(F.rms_norm(x, gain)).sum()):
            walk = trace(loss)
            for step in range(len(walk.forward) + 1, len(walk) + 1):
                for place, part in enumerate(walk.steps[step - 1].parts):
                    entries = np.ndindex(part.value.shape)
                    told += [walk.entry(step, (place, at)).text() for at in entries]
    assert [text for text in told if "DIFFERS" in text] == []


@pytest.mark.parametrize("target", [0, 1])
def test_the_winner_of_a_tie_under_a_curved_loss_is_on_a_kink(target):
    """Backward pays the first: one of the two slopes, which curvature puts a little beside it."""
    h = Tensor([[0.0, 0.3], [0.0, 0.1]], requires_grad=True)
    walk = trace(F.cross_entropy(F.embedding_bag(h, [[0, 1]], mode="max"), [target]))
    for row in (0, 1):
        assert "on a kink" in verdict(walk, 4, (row, 0))


@pytest.mark.parametrize("at", [-5e-6, 5e-6, -5e-7])
def test_a_gradient_beside_a_kink_is_nudged_on_its_own_side(at):
    y = Tensor([at, 1.0], requires_grad=True)
    assert ": agrees" in verdict(trace((F.relu(y) * np.array([2.0, 1.0])).sum()), 6, (0,))


def test_a_nudge_that_ends_just_beyond_a_kink_is_followed_by_a_smaller_one():
    x = Tensor(np.array([[-1e-5, 0.1, -0.4], [0.3, 0.5, 0.9]], np.float32), requires_grad=True)
    W = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    walk = trace(F.cross_entropy(F.relu(x) @ W, [0, 1]))
    assert ": agrees" in verdict(walk, len(walk.forward) + 3, (0, 0))


def test_the_slope_of_an_operation_of_ones_own_is_measured_on_one_side_of_its_kink():
    hinge = own("hinge", lambda x: np.maximum(x, 0), lambda x: x > 0)
    for x in (1e-6, 1e-7, 3e-10):
        told = trace(hinge(Tensor([x, 1.0], requires_grad=True)).sum()).entry(4, (0, (0,)))
        np.testing.assert_allclose(told.lines[0].parts[0].value, 1.0, rtol=1e-6)


def ties(name: str, axis: int, lost: float = 1.0):
    """The largest or smallest along an axis; ties share what arrives equally, as torch.amax."""

    def forward(x):
        best = getattr(x, name)(axis, keepdims=True)
        return best, (x, best)

    def backward(dout, saved):
        hit = saved[0] == saved[1]
        return lost * dout * hit / hit.sum(axis, keepdims=True)

    return differentiable(forward, backward, name=f"{name}_{axis}")


def told_of(walk) -> dict[str, set[str]]:
    """What is said of the entries of each step, by its operation."""
    told = {}
    for number, step in enumerate(walk.backward, start=len(walk.forward) + 1):
        for index in np.ndindex(step.parts[0].value.shape):
            (said,) = (
                line.whole.partition(": ")[2]
                for line in walk.entry(number, (0, index)).lines
                if line.whole.startswith("backward made")
            )
            told.setdefault(walk.forward_of[step.name].op, set()).add(said)
    return told


@pytest.mark.parametrize("data", [np.ones((3, 3)), [[0.0, 1, 0], [1, 0, 1], [0, 0, 0]]])
def test_ties_of_two_operations_are_not_told_to_differ(data):
    x = Tensor(np.array(data), requires_grad=True, name="x")
    walk = trace(ties("max", 1)(ties("min", 0)(x)).sum())
    assert not any("DIFFERS" in said for all_said in told_of(walk).values() for said in all_said)
    wrong = trace(ties("max", 1, lost=-1.0)(ties("min", 0)(x)).sum())
    assert any("DIFFERS" in said for said in told_of(wrong)["max_1"])


@pytest.mark.parametrize("paid", [1.0, 1.1])
def test_of_three_equal_numbers_the_one_that_the_median_pays_is_on_a_corner(paid):
    """Moved alone it moves nothing, and beside the point it is the median in its turn."""

    def forward(x):
        at = np.argsort(x, kind="stable")[len(x) // 2]
        return x[at], (len(x), at)

    def backward(dout, saved):
        return paid * dout * np.eye(saved[0])[saved[1]]

    median = differentiable(forward, backward, name="median")
    x = Tensor([2.0, 2.0, 2.0, 5.0, -1.0], requires_grad=True, name="x")
    told = told_of(trace(F.tanh(median(x * 1.0)) * 0.7)).values()
    assert any("DIFFERS" in said for all_said in told for said in all_said) == (paid == 1.1)


@pytest.mark.parametrize("seed", [0, 6])
def test_rows_of_zeros_before_several_norms_and_relus_are_blamed_on_nobody(seed):
    """Each norm makes slopes 316 times as steep: a nudge of 1e-5 is far beyond where they hold."""
    given = {"dtype": np.float64, "rng": seed}
    table, head = Embedding(3, 2, padding_idx=0, **given), Linear(2, 3, **given)
    x = table([[0, 1, 2, 0]])
    for layer in (Linear(2, 2, **given), *(TransformerBlock(2, 1, **given) for _ in range(2))):
        x = layer(x)
    walk = trace(F.cross_entropy(head(x), [[1, 2, 0, 1]]))
    for number, step in enumerate(walk.backward, len(walk.forward) + 1):
        for part in range(len(step.parts)):
            if step.parts[part].value.ndim == 3:
                assert "DIFFERS" not in walk.entry(number, (part, (0, 0, 0))).text()
