"""One entry worked out where something is odd: kinks, infinities, no rows, moved inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import pytest

from scratch_embed import SGD, Tensor
from scratch_embed import functional as F
from scratch_embed.tensor import differentiable
from scratch_embed.trace import trace
from tests.trace.learners import own


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


def test_what_a_forward_prints_is_not_printed_again_for_each_nudge(capsys):
    def forward(x):
        print("forward of", x.shape)
        return x * x, x

    square = differentiable(forward, lambda dout, x: 2 * dout * x, name="square")
    loss = square(leaf(3)).sum()
    walk = trace(loss)
    assert "agrees" in walk.entry(len(walk)).text()
    assert capsys.readouterr().out == "forward of (3,)\n"


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


def test_the_rule_of_an_entry_that_moves_nothing_is_0_whatever_backward_made():
    everyone = differentiable(lambda x: (x.max(), x), lambda d, x: d * np.ones(3), name="greatest")
    walk = trace(everyone(Tensor([1.0, 3.0, 2.0], requires_grad=True, name="x")))
    entry = walk.entry(2, (0, (0,)))
    assert entry.lines[0].whole == "dx[0] = 0" and "DIFFERS" in entry.text()


HIDES = differentiable(
    lambda x: (np.where(np.tri(2, dtype=bool), x, -np.inf), ()),
    lambda dout, _: np.where(np.tri(2, dtype=bool), dout, 0),
    name="causal",
)


@pytest.mark.parametrize(
    "op",
    [
        lambda z: z.reshape(1, 2, 2), lambda z: z.T, lambda z: z[[1, 0]],
        lambda z: F.concatenate(z, np.full((1, 2), -np.inf)), HIDES,
    ],
    ids=["reshape", "T", "getitem", "concatenate", "own"],
)  # fmt: skip
def test_an_infinity_beside_an_entry_adds_no_terms_to_its_rule(op):
    """Infinity less infinity is nan, and nan is no slope of 0."""
    z = Tensor(np.array([[0.1, -np.inf], [0.3, 0.4]]), requires_grad=True, name="z")
    out = op(z)
    dout = np.random.default_rng(0).standard_normal(out.shape)
    walk = trace(out, dout)
    out.backward(dout)
    for index in ((0, 0), (1, 0), (1, 1)):
        assert walk.entry(len(walk), (0, index)).value == pytest.approx(z.grad[index], rel=1e-9)
    assert "nan" not in walk.entry(len(walk), (0, (1, 0))).text(everything=True)


def test_the_rule_of_a_masked_score_is_0_where_a_softmax_of_ones_own_takes_it():
    def shares(z):
        e = np.exp(z - z.max())
        return e / e.sum(), e / e.sum()

    own = differentiable(shares, lambda dout, p: p * (dout - (p * dout).sum()))
    z = Tensor(np.array([0.1, -np.inf, 0.4]), requires_grad=True)
    walk = trace(own(z), np.array([1.0, 2.0, 3.0]))
    assert walk.entry(len(walk), (0, (1,))).lines[0].value == 0


def test_what_copies_a_number_beyond_all_nudges_moves_with_it():
    z = Tensor(np.array([[1e17, 2.0], [0.3, 0.7]]), requires_grad=True, name="z")
    walk = trace(z.reshape(4), np.array([1.5, 2, 3, 4]))
    assert walk.entry(len(walk), (0, (0, 0))).value == 1.5


def test_an_array_that_was_an_option_may_change_after_the_trace_was_taken():
    z = Tensor(np.array([[0.1, 0.2, 0.3]]), requires_grad=True)
    weight = np.array([1.0, 2.0, 3.0])
    walk = trace(F.cross_entropy(z, [1], weight=weight, reduction="sum"))
    before = walk.entry(2).text()
    weight[:] = 7
    assert walk.entry(2).text() == before and "agrees" in before


def test_the_rule_of_what_answers_in_float32_is_measured_by_steps_that_show():
    """A buffer of float32, as a table in float32 suggests: a nudge of 1e-8 is lost in it."""

    def added(E):
        out = np.zeros((1, 2), np.float32)
        for row in E:
            out[0] += row
        return out, E.shape

    own = differentiable(added, lambda dout, shape: np.broadcast_to(dout, shape).copy())
    rows = np.random.default_rng(0).standard_normal((3, 2)).astype(np.float32)
    y = own(Tensor(rows, requires_grad=True))
    walk = trace((y * y).sum())
    for index in np.ndindex(3, 2):
        entry = walk.entry(len(walk), (0, index))
        assert entry.lines[0].value == pytest.approx(entry.value, rel=1e-3)
        assert "measured, by a nudge of 0.0" in entry.text(everything=True)


def test_a_step_that_computes_nothing_has_no_entry():
    x = Tensor([1.0], requires_grad=True, name="x")
    for walk in (trace(x, grad=np.ones(1)), trace(x.sum())):
        with pytest.raises(IndexError, match="step 0 gives no numbers to choose from"):
            walk.entry(0)


def test_what_is_infinite_is_shown_and_warned_of_by_the_operation_alone(recwarn):
    x = Tensor([1.0, 2.0], requires_grad=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        walk = trace(x / np.array([0.0, 2.0]), np.array([0.0, 1.5]))
    assert "inf" in walk.entry(2, (0, (0,))).text(everything=True) and not recwarn.list
