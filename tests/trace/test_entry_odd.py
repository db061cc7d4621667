"""One entry worked out where something is odd: kinks, infinities, no rows, moved inputs."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numba
import numpy as np
import pytest

from scratch_embed import SGD, Embedding, Tensor
from scratch_embed import functional as F
from scratch_embed.layers import LayerNorm, Linear
from scratch_embed.tensor import differentiable
from scratch_embed.trace import trace

IDS = np.array([[1, 3, 1], [0, 1, 4]])  # row 1 is read three times


def leaf(*shape: int, seed: int = 0, positive: bool = False) -> Tensor:
    data = np.random.default_rng(seed).normal(size=shape)
    return Tensor(np.abs(data) + 0.5 if positive else data, requires_grad=True)


def test_what_would_take_long_is_not_nudged(monkeypatch):
    monkeypatch.setattr("scratch_embed.trace.nudge.LARGE", 10)
    assert "no nudge: it would compute more than 10 numbers" in trace(leaf(3).sum()).entry(2).text()


def test_a_row_that_was_not_looked_up_has_a_gradient_of_zero_whatever_it_is_divided_by():
    E = Tensor(np.arange(6.0).reshape(3, 2), requires_grad=True)
    walk = trace(F.lookup(E, [0, 1], scale_grad_by_freq=True).sum())
    assert walk.entry(4, (0, (2, 1))).value == 0 and walk.entry(4, (0, (1, 1))).value == 1


def test_complex_numbers_are_told_and_not_worked_out():
    x = Tensor(np.array([1 + 2j, 3.0]), requires_grad=True, name="x")
    walk = trace((x * x).sum())
    for step, expected in ((1, -3 + 4j), (2, 6 + 4j), (3, 1), (4, 1 + 2j)):
        entry = walk.entry(step, (0, (0,) if step != 2 else ()))
        assert entry.value == expected and "complex" in entry.text()


def test_a_table_without_columns_can_be_walked():
    assert "(3, 0)" in str(trace(F.lookup(Tensor(np.ones((3, 0)), requires_grad=True), [1]).sum()))


@pytest.mark.parametrize("reduction", ["sum", "none"])
def test_a_loss_without_a_target_that_counts_is_told_by_its_value(reduction):
    z = Tensor(np.ones((2, 3)), requires_grad=True)
    loss = F.cross_entropy(z, [1, 1], ignore_index=1, reduction=reduction)
    walk = trace(loss if reduction == "sum" else loss.sum())
    assert walk.entry(1).value == 0 and "cross_entropy" in str(walk)


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


@pytest.mark.parametrize("index", [(slice(None), [0, 1]), ([0, 2], 0), (0, [0, 1])])
def test_an_index_of_several_parts_can_be_walked(index):
    a = Tensor(np.arange(6.0).reshape(3, 2), requires_grad=True, name="a")
    walk = trace(a[index].sum())
    assert "DIFFERS" not in str(walk) and walk.entry(len(walk)).value == 1


def test_a_calculation_whose_inputs_were_moved_since_is_not_told():
    b, c = (Tensor([1.0, 2.0], requires_grad=True, name=name) for name in "bc")
    loss = (b + c).sum()
    loss.backward()
    SGD([b], lr=1.0).step()
    with pytest.raises(RuntimeError, match="b of add has been written to since forward"):
        trace(loss)
    assert trace((b + c).sum()).entry(1).value == 3


def test_one_neuron_and_single_numbers_can_be_walked():
    w, x, b = (Tensor(v, requires_grad=True) for v in (0.5, 2.0, -1.0))
    for loss in (F.tanh(w * x + b), F.sigmoid(w), F.sqrt((x * x).sum()), x ** np.float32(2)):
        told = str(trace(loss))
        assert "agrees" in told and "DIFFERS" not in told


@pytest.mark.parametrize(
    "loss",
    [F.log, F.sqrt, lambda x: x**-1, lambda x: (x + 1e308) ** 3.5],
    ids=["log", "sqrt", "inverse", "overflow"],
)
def test_where_an_infinity_began_can_be_looked_for(loss):
    with np.errstate(all="ignore"):
        told = str(trace(loss(Tensor([0.0, 1.0], requires_grad=True)).sum()))
    assert "inf" in told and "DIFFERS" not in told


def test_of_a_forward_that_draws_anew_there_is_no_verdict():
    rng = np.random.default_rng(0)

    def drop(x):
        kept = rng.random(x.shape) > 0.5
        return x * kept / 0.5, (kept,)

    dropped = differentiable(drop, lambda dout, saved: dout * saved[0] / 0.5, name="drop")
    walk = trace(dropped(Tensor(np.ones((4, 3)), requires_grad=True, name="E")).sum())
    assert "no verdict, for forward gives other numbers every time" in str(walk.entry(len(walk)))


def verdict(walk, step, index) -> str:
    return walk.entry(step, (0, index)).text(everything=True).rpartition("backward made")[2]


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


def test_an_operation_of_ones_own_may_be_called_transpose():
    def transpose_forward(x, shift):
        return x.T + shift, ()

    def transpose_backward(dout, saved):
        return dout.T, dout.sum(axis=0)

    own = differentiable(transpose_forward, transpose_backward)
    x = Tensor(np.ones((2, 3)), requires_grad=True)
    shift = Tensor(np.ones(2), requires_grad=True)
    assert trace(own(x, shift).sum()).forward[0].name == "transpose_1"
    cube = Tensor(np.ones((2, 3, 4)), requires_grad=True, name="cube")
    turned = F.transpose(cube, axes=(1, 0, 2)) + F.transpose(cube, axes=None).T.T.sum()
    assert [at.name for at in trace(turned.sum()).forward[:2]] == ["transpose_1", "cube.T"]


@pytest.mark.parametrize("error", [AssertionError("in quarters"), KeyError("p")])
def test_a_forward_that_refuses_other_numbers_is_told_and_gets_no_nudge(error):
    def surprise_forward(p):
        if p.dtype != np.float32 or (p * 4 % 1).any():
            raise error
        return -np.log(p), p

    surprise = differentiable(surprise_forward, lambda dout, p: -dout / p)
    p = Tensor(np.array([0.25, 0.5], np.float32), requires_grad=True)
    told = " ".join(trace(surprise(p).sum()).entry(4).text().split())
    assert f"no nudge: surprise does not run with other numbers: {type(error).__name__}" in told
    assert "no terms are told" in told and str(error) in told


@dataclass
class Tripled:
    """It compares by value, and so has no hash."""

    factor: float = 3.0

    def __call__(self, x):
        return self.factor * x, (self.factor,)


def compiled(x):
    return 3.0 * x, (3.0,)


def compiled_backward(dout, saved):
    dx = dout * saved[0]
    return dx


@pytest.mark.parametrize(
    ("forward", "backward", "shown"),
    [
        (numba.njit(compiled), compiled_backward, "return 3.0 * x, (3.0,)"),
        (compiled, numba.njit(compiled_backward), "dx = dout * saved[0]"),
        (Tripled(), compiled_backward, "return self.factor * x, (self.factor,)"),
    ],
    ids=["forward compiled", "backward compiled", "a dataclass"],
)
def test_halves_that_are_no_plain_functions_are_walked_and_shown(
    forward, backward, shown, tmp_path
):
    x = Tensor(np.array([1.0, 2.0]), requires_grad=True, name="x")
    walk = trace(differentiable(forward, backward, name="tripled")(x).sum())
    assert "test_entry_odd.py:" in str(walk) and shown in str(walk)
    assert "DIFFERS" not in str(walk)
    assert [walk.entry(step).value for step in (1, 4)] == [6.0, 3.0]
    assert walk.html(tmp_path / "walk.html").exists()


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


def test_what_a_forward_prints_is_not_printed_again_for_each_nudge(capsys):
    def forward(x):
        print("forward of", x.shape)
        return x * x, x

    square = differentiable(forward, lambda dout, x: 2 * dout * x, name="square")
    loss = square(leaf(3)).sum()
    walk = trace(loss)
    assert "agrees" in walk.entry(len(walk)).text()
    assert capsys.readouterr().out == "forward of (3,)\n"


def own(name: str, f, slope):
    return differentiable(lambda x: (f(x), x), lambda dout, x: dout * slope(x), name=name)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("x", [7e-7, 1e-5, 1e-7, 1e-6, 3e-10, 0.5])
def test_near_a_pole_or_the_end_of_a_domain_the_nudge_is_small_enough(x):
    """Of which a nudge of 1e-5 leads to the other side."""
    right = {
        "inverse": own("inverse", lambda x: 1 / x, lambda x: -1 / x**2),
        "logarithm": own("logarithm", np.log, lambda x: 1 / x),
    }
    for op in right.values():
        told = trace(op(Tensor([x, 1.0], requires_grad=True)).sum()).entry(4, (0, (0,)))
        rule, verdict = told.lines[0], told.lines[-2].value
        assert verdict == "agrees", told
        np.testing.assert_allclose(rule.value, told.value, rtol=1e-5)
    wrong = own("inverse", lambda x: 1 / x, lambda x: 1 / x**2)
    told = trace(wrong(Tensor([x, 1.0], requires_grad=True)).sum()).entry(4, (0, (0,)))
    assert told.lines[-2].value == "DIFFERS"


def test_the_slope_of_an_operation_of_ones_own_is_measured_on_one_side_of_its_kink():
    hinge = own("hinge", lambda x: np.maximum(x, 0), lambda x: x > 0)
    for x in (1e-6, 1e-7, 3e-10):
        told = trace(hinge(Tensor([x, 1.0], requires_grad=True)).sum()).entry(4, (0, (0,)))
        np.testing.assert_allclose(told.lines[0].parts[0].value, 1.0, rtol=1e-6)


def test_what_one_is_taken_from_keeps_the_digits_that_are_left():
    z = Tensor([[10.0, 0.0], [0.0, 1.0]], requires_grad=True)
    told = trace(F.cross_entropy(z, [0, 1], reduction="sum")).entry(2, (0, (0, 0))).text(True)
    assert "0.9999546 - 1" in told, told


OWN = differentiable(
    lambda x: (np.tanh(x).sum(1), x), lambda d, x: d[:, None] * (1 - np.tanh(x) ** 2), name="own"
)
STEPS = differentiable(lambda x: (np.where(x > 0, 3 * x, 1.0), x), lambda d, x: 0 * d, name="steps")


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


def test_the_rule_of_an_entry_that_moves_nothing_is_0_whatever_backward_made():
    everyone = differentiable(lambda x: (x.max(), x), lambda d, x: d * np.ones(3), name="greatest")
    walk = trace(everyone(Tensor([1.0, 3.0, 2.0], requires_grad=True, name="x")))
    entry = walk.entry(2, (0, (0,)))
    assert entry.lines[0].whole == "dx[0] = 0" and "DIFFERS" in entry.text()


def test_what_rounding_hides_is_not_told_to_move_nothing():
    square = differentiable(lambda x: (x * x, x), lambda d, x: 2 * d * x, name="square")
    walk = trace(square(Tensor([1e12, 2.0], requires_grad=True, name="x")).sum())
    rule = walk.entry(4, (0, (0,))).lines[0]
    assert rule.value == pytest.approx(2e12, rel=1e-6) and "moves" not in rule.why
    faint = differentiable(lambda x: (1e-11 * x + 1e3, ()), lambda d, _: 1e-11 * d, name="faint")
    walk = trace(faint(Tensor([1.0, 2.0], requires_grad=True, name="x")).sum())
    rule = walk.entry(4, (0, (0,))).lines[0]
    assert rule.value == 1e-11 and rule.why.startswith("rounding hides whether")


def test_a_step_that_computes_nothing_has_no_entry():
    x = Tensor([1.0], requires_grad=True, name="x")
    for walk in (trace(x, grad=np.ones(1)), trace(x.sum())):
        with pytest.raises(IndexError, match="step 0 gives no numbers to choose from"):
            walk.entry(0)
