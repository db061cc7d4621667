"""One entry worked out where rounding hides something: large losses, float32, lost digits."""

from __future__ import annotations

import re

import numpy as np
import pytest

from scratch_embed import Embedding, Tensor
from scratch_embed import functional as F
from scratch_embed.layers import LayerNorm, Linear
from scratch_embed.tensor import differentiable
from scratch_embed.trace import trace
from tests.trace.learners import own


def verdict(walk, step, index) -> str:
    return walk.entry(step, (0, index)).text(everything=True).rpartition("backward made")[2]


OWN = differentiable(
    lambda x: (np.tanh(x).sum(1), x), lambda d, x: d[:, None] * (1 - np.tanh(x) ** 2), name="own"
)


STEPS = differentiable(lambda x: (np.where(x > 0, 3 * x, 1.0), x), lambda d, x: 0 * d, name="steps")


def test_what_single_precision_rounds_away_is_asked_in_double():
    """Over two columns the terms of a layer norm's gradient cancel. A wrong one stays wrong."""

    def half(dout, saved):
        return [0.5 * g for g in F.layer_norm.backward(dout, saved)]

    told = {F.layer_norm: set(), differentiable(F.layer_norm.forward, half): set()}
    for norm, seen in told.items():
        for seed in range(30):
            data = np.random.default_rng(seed).normal(size=(2, 2)).astype(np.float32)
            x, gamma = Tensor(data, requires_grad=True), Tensor(np.ones(2, np.float32))
            walk = trace(F.cross_entropy(norm(x, gamma), [0, 1]))
            for row in (0, 1):
                said = verdict(walk, len(walk.forward) + 2, (row, 0))
                seen.add("double" if "in float64" in said else said.split()[1])
    right, wrong = told.values()
    r = np.random.default_rng(8)
    E, W, norm = Embedding(6, 2, rng=r), Linear(2, 2, rng=r), LayerNorm(2)
    h = norm(W(E(r.integers(0, 6, 5))))
    walk = trace(F.cross_entropy(h @ E.weight.T, r.integers(0, 6, 5)))  # what arrives is a rest
    for k, step in enumerate(walk.backward, start=len(walk.forward) + 1):
        for p, part in enumerate(step.parts):
            for index in np.ndindex(part.value.shape):
                assert "DIFFERS" not in walk.entry(k, (p, index)).text(everything=True)
    assert right == {"agrees", "double"} and "DIFFERS" in wrong and "double" not in wrong


def test_a_computed_table_that_is_looked_up_sparsely_in_float32(tmp_path):
    """Its gradient comes as a RowGrad, and goes on through what computed it."""
    rng = np.random.default_rng(0)
    data = (100 + 0.01 * rng.standard_normal((4, 4))).astype(np.float32)
    E = Tensor(data, requires_grad=True, name="E")
    rows = F.lookup(F.layer_norm(E), [1, 2, 1], sparse=True)
    walk = trace((rows * rng.standard_normal((3, 4)).astype(np.float32)).sum())
    steps = [n for n, step in enumerate(walk.steps, 1) if getattr(step, "parts", None)]
    for step in steps:
        for part, given in enumerate(walk.steps[step - 1].parts):
            for index in np.ndindex(given.value.shape):
                assert str(walk.entry(step, (part, index)))
    assert steps and walk.html(tmp_path / "walk.html").exists()


@pytest.mark.parametrize(("slope", "verdict"), [(2.0, "agrees"), (2.02, "DIFFERS")])
def test_a_small_gradient_beside_a_large_loss_is_judged_by_steps_that_tell(slope, verdict):
    """Of a loss of 30 the quotient of a step of 1e-8 is rounded by 1 % of such a gradient."""
    square = differentiable(lambda x: (x * x, x), lambda dout, x: slope * dout * x, name="square")
    x = Tensor(np.array([[0.5, -0.3], [0.2, 0.7]]), requires_grad=True, name="x")
    walk = trace((square(x) * 5e-4).sum() + 30)
    for index in np.ndindex(x.shape):
        assert verdict in walk.entry(len(walk), (0, index)).text()


def test_what_one_is_taken_from_keeps_the_digits_that_are_left():
    z = Tensor([[10.0, 0.0], [0.0, 1.0]], requires_grad=True)
    told = trace(F.cross_entropy(z, [0, 1], reduction="sum")).entry(2, (0, (0, 0))).text(True)
    assert "0.9999546 - 1" in told, told


@pytest.mark.parametrize(
    ("op", "number", "told"),
    [
        (OWN, 0.5, ""),
        (OWN, 1e-9, ""),
        (OWN, 9.5, ", up to .* of rounding"),
        (STEPS, 0.0, "; a shorter one says otherwise"),
    ],
)
def test_a_measured_derivative_says_how_well_it_is_known(op, number, told):
    x = Tensor([[number, 0.7, 1.3]], requires_grad=True, name="x")
    walk = trace(op(x).sum())
    said = walk.entry(len(walk), (0, (0, 0))).lines[0].parts[0].stages[0]
    assert re.fullmatch(rf"measured, by a nudge of \S+?{told}", said)


def test_what_rounding_hides_is_not_told_to_move_nothing():
    square = differentiable(lambda x: (x * x, x), lambda d, x: 2 * d * x, name="square")
    walk = trace(square(Tensor([1e12, 2.0], requires_grad=True, name="x")).sum())
    rule = walk.entry(4, (0, (0,))).lines[0]
    assert rule.value == pytest.approx(2e12, rel=1e-6) and "moves" not in rule.why
    faint = differentiable(lambda x: (1e-11 * x + 1e3, ()), lambda d, _: 1e-11 * d, name="faint")
    walk = trace(faint(Tensor([1.0, 2.0], requires_grad=True, name="x")).sum())
    rule = walk.entry(4, (0, (0,))).lines[0]
    assert rule.value == 1e-11 and rule.why.startswith("rounding hides whether")


def bumps(factor: float) -> Tensor:
    """A norm of small numbers beside 1000, behind a step whose backward pays `factor`."""
    rng = np.random.default_rng(2)
    x, W = (Tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((4, 3), (3, 5)))
    paid = differentiable(lambda x: (x + 1000, None), lambda dout, _: factor * dout, name="paid")
    return (F.layer_norm(paid(F.exp((x @ W) ** 2 * -1.0))) * rng.standard_normal((4, 5))).sum()


def verdicts_of(walk, name: str) -> list[str]:
    """What is said of every entry of what the backward of one operation hands back."""
    at = next(k for k, step in enumerate(walk.backward, len(walk.forward) + 1) if step.op == name)
    part = walk.backward[at - len(walk.forward) - 1].parts[0].value
    told = (walk.entry(at, (0, index)).text() for index in np.ndindex(part.shape))
    return [line for text in told for line in text.splitlines() if "backward made" in line]


def test_what_a_norm_takes_off_large_numbers_rounds_more_than_the_loss_shows():
    told = verdicts_of(trace(bumps(1.0)), "power")
    assert len(told) == 20 and all("agrees" in line for line in told)
    told = verdicts_of(trace(bumps(1.01)), "power")
    assert sum("DIFFERS" in line for line in told) > 15  # but for the flattest of the bumps


@pytest.mark.parametrize("z", [20.0, 20.5, 22.5, 23.0])
def test_a_pole_as_near_as_the_nudge_is_long_is_no_difference(z):
    """Of -ln(1 - p) at 1 - p of 1e-9 a nudge of 1e-9 comes near the pole."""
    x = Tensor([z, 1.0], requires_grad=True, name="z")
    told = verdicts_of(trace(-(F.log(1 - F.sigmoid(x))).sum()), "sub")
    assert all("agrees" in line for line in told)


@pytest.mark.parametrize("large", [1e6, 1e7, 1e8])
def test_beside_a_large_number_a_step_moves_in_jumps_of_its_last_digit(large):
    for due, says in ((1.0, "agrees"), (0.0, "DIFFERS"), (1.1, "DIFFERS")):
        beside = own("beside", lambda x: (x + large) - large, lambda x, due=due: due + 0 * x)
        told = verdicts_of(trace(beside(Tensor([0.3, -1.2], requires_grad=True)).sum()), "beside")
        assert all(says in line for line in told), told


@pytest.mark.parametrize("norm", [F.layer_norm, F.rms_norm])
def test_a_gradient_in_double_of_rows_in_single_precision_is_rounded_as_they_are(norm):
    told = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = Embedding(6, 3, rng=seed)  # float32
        gamma = Tensor(rng.standard_normal(3), requires_grad=True, name="gamma")
        walk = trace(norm(rows(rng.integers(0, 6, 8)), gamma), rng.standard_normal((8, 3)))
        parts = walk.backward[0].parts
        (place,) = (place for place, part in enumerate(parts) if part.parent == "gamma")
        at = len(walk.forward) + 1
        told += [walk.entry(at, (place, (k,))).text(everything=True) for k in range(3)]
    assert all("backward made" in text and "DIFFERS" not in text for text in told)


@pytest.mark.parametrize("score", [3.0, 20.0, 38.0, 700.0])
def test_the_error_of_a_sure_pair_is_told_with_all_its_digits(score):
    """s(38) - 1 is 0 in floating point, and the error is -s(-38)."""
    one, drawn = np.ones((1, 1)), -np.ones((1, 1, 1))
    c, o = (Tensor(x, requires_grad=True) for x in (score * one, one))
    entry = (walk := trace(F.sgns(c, o, drawn))).entry(2, (1, (0, 0)))
    assert entry.lines[0].value == pytest.approx(-score / (1 + np.exp(score)), rel=1e-12)
    assert walk.entry(2, (1, (0, 0))).value == pytest.approx(entry.lines[0].value, rel=1e-12)
    x = Tensor([score], requires_grad=True)
    assert trace(F.log_sigmoid(x).sum()).entry(4, (0, (0,))).lines[0].value > 0


@pytest.mark.parametrize("scale", [300, 1000])
def test_what_rounding_leaves_of_a_gradient_of_nothing_does_not_differ(scale):
    """All rows are alike, so no state moves the loss: (p - y) times rows of some hundreds is 0."""
    rng = np.random.default_rng(1)
    E = Tensor(np.tile(scale * rng.standard_normal(3), (3, 1)), requires_grad=True, name="E")
    h = Tensor(scale * rng.standard_normal((2, 3)), requires_grad=True, name="h")
    walk = trace(F.tied_cross_entropy(h, E, [0, 2]))
    (place,) = (k for k, part in enumerate(walk.steps[-1].parts) if part.parent == "h")
    told = [walk.entry(len(walk), (place, at)).text() for at in np.ndindex(2, 3)]
    assert all("backward made" in text and "DIFFERS" not in text for text in told)
