"""What used to end a check with an error of its own: single numbers, and a cache used up."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed import functional as F
from scratch_embed.gradcheck import exact, gradcheck, reentrant, step_study
from scratch_embed.gradcheck.numeric import METHODS
from scratch_embed.trace import trace
from tests.gradcheck import planted

MODES = ("elementwise", "directional")


def leaf(*shape: int, seed: int = 0, name: str = "x") -> Tensor:
    return planted.leaf(np.random.default_rng(seed), *shape, name=name)


def number(value: float = 1.5, name: str = "s") -> Tensor:
    return Tensor(np.array(value), requires_grad=True, name=name)


# ---- outputs of another shape than the input -----------------------------------------------------


@pytest.mark.parametrize("name", ["softmax_loss", "log_softmax", "norm"])
@pytest.mark.parametrize("axis", [None, -1, 0])
def test_a_wrong_loss_with_the_name_or_the_rest_of_another_operation(axis, name):
    """Rows and a constant are left over, as of a norm, in an operation that gives other shapes."""
    backward_of = {None: lambda g: g, -1: lambda g: g[:, None], 0: lambda g: g[None, :]}
    for wrong in (0.1, lambda x: 0.1 * x * x, lambda x: 0.1 * np.sin(x)):
        more = wrong if callable(wrong) else lambda x: np.full(x.shape, 0.1)

        def backward(dout, saved, more=more):
            return backward_of[axis](dout) * (np.exp(saved) + more(saved))

        mine = differentiable(lambda x: (np.exp(x).sum(axis=axis), x), backward, name=name)
        assert not gradcheck(mine, leaf(3, 5)).passed


def test_an_operation_of_ones_own_may_be_called_getitem():
    def wrong(dout, shape):
        return np.outer(np.arange(1.0, 1.0 + shape[0]), np.cos(np.arange(shape[1])) * dout)

    first = differentiable(lambda x: (x[0], x.shape), wrong, name="getitem")
    report = gradcheck(first, leaf(3, 5))
    assert not report.passed and report.causes[0].op == "getitem"


ODD = ([1, 2, 1], (0, 1), None, 3, True, "rows", np.array([0.5, 1.0]), np.array([[1, 2], [0, 1]]))
FIELDS = "ids bags factors padding_idx scale_grad_by_freq log_p sgns weights"


@pytest.mark.parametrize("held", ODD, ids=[type(odd).__name__ + str(odd)[:4] for odd in ODD])
@pytest.mark.parametrize("slip", [1.0, 1.2])
def test_what_ones_own_operation_saves_may_be_called_as_in_a_lookup(held, slip):
    """Fields named as in what the package saves, which hold something else: the same verdict."""
    saved = namedtuple("Saved", FIELDS)(*[held] * 8)

    def square(dout, saved):
        return slip * 2 * dout * saved.weights

    def rows(dout, saved):
        dweight = np.zeros((5, 3))
        np.add.at(dweight, [1, 4, 1], slip * dout)
        return dweight

    for forward, backward in (
        (lambda w: (w**2, saved._replace(weights=w)), square),
        (lambda w: (w[[1, 4, 1]], saved), rows),
    ):
        own = differentiable(forward, backward, name="own")
        report = gradcheck(own, leaf(5, 3))
        assert report.passed == (slip == 1), report
        walk = trace(own(leaf(5, 3)).sum())
        told = [walk.entry(step).text() for step in range(1, len(walk) + 1)]
        assert slip == 1 or any("DIFFERS" in text for text in told)


@pytest.mark.parametrize("slip", [1.0, 1.3, "more", "reversed"])
@pytest.mark.parametrize("refuses", ["numbers", "dtypes"])
@pytest.mark.parametrize("error", [AssertionError, KeyError, FloatingPointError])
def test_a_forward_may_refuse_in_any_way_what_the_check_shows_it(error, refuses, slip):
    """A right pair passes, and a wrong one is refused: neither ends in the error of its forward."""

    def logarithm(x):
        if (x.dtype != np.float64) if refuses == "dtypes" else (x <= 0).any():
            raise error
        return np.log(x), x

    def backward(dout, x):
        dx = dout / x
        return (
            {"more": dx + 0.01, "reversed": dx[::-1]}[slip]
            if slip in ("more", "reversed")
            else slip * dx
        )

    x = Tensor(np.random.default_rng(0).uniform(0.5, 2.0, (3, 4)), requires_grad=True)
    own = differentiable(logarithm, backward)
    for method in ("richardson", "all"):
        assert gradcheck(own, x, method=method).passed == (slip == 1.0)
    assert "complex" not in step_study(own, x).errors or refuses == "numbers"
    if refuses == "dtypes":
        with pytest.raises(TypeError, match=f"cannot be taken here .{error.__name__}."):
            gradcheck(own, x, method="complex")


def test_an_empty_tensor_beside_one_that_is_not():
    def forward(x, rest):
        return np.exp(x) * (1 + rest.sum()), (x, rest)

    def backward(dout, saved):
        x, rest = saved
        return 1.1 * dout * np.exp(x), np.zeros_like(rest)

    report = gradcheck(differentiable(forward, backward, name="mine"), leaf(3, 2), leaf(3, 0))
    assert report.cause == "constant factor"


# ---- tensors of no axis --------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", [*METHODS, "all"])
def test_a_single_number_is_checked(method, mode):
    report = gradcheck(lambda x: x * x, number(), method=method, mode=mode)
    assert report.passed, report
    assert report.worst.index == (() if mode == "elementwise" else None)
    assert "[]" in report.table() or mode == "directional"


@pytest.mark.parametrize("mode", MODES)
def test_a_scalar_parameter_beside_a_table_is_checked(mode):
    def scaled(E, temperature):
        return F.softmax(F.lookup(E, planted.IDS) * temperature)

    assert gradcheck(scaled, leaf(6, 3, name="E"), number(), mode=mode).passed


@pytest.mark.parametrize(
    ("op", "backward", "cause"),
    [
        ("exp", lambda g, s: -g * s[0], "wrong sign"),
        ("exp", lambda g, s: 3 * g * s[0], "wrong slope"),  # one ratio is no pattern
        ("exp", lambda g, s: np.zeros_like(g), "missing path"),
        ("exp", lambda g, s: s[0], "dout ignored"),
        ("mul", lambda g, s: (g * s[1], (g * s[0])[0]), "broadcast not summed"),
    ],
)
def test_a_wrong_gradient_of_a_single_number_is_caught_and_named(op, backward, cause):
    wrong = planted.broken(op, backward, broadcasts=op == "mul")
    for mode in MODES:
        if op == "mul":
            report = gradcheck(wrong, leaf(3), number(), mode=mode)
        else:
            report = gradcheck(wrong, number(), mode=mode)
        assert (report.passed, report.cause) == (False, cause)


def test_the_other_tools_take_a_single_number_too():
    assert reentrant(F.tanh, number()) == []
    assert exact(lambda x: x * x, number()) is True
    assert step_study(F.tanh, number()).has_truncation("central")


# ---- a backward that can be called once only -----------------------------------------------------


def popping(name: str = "cube"):
    """An operation that keeps its cache in a list and takes it out in backward."""

    def forward(x):
        return x**3, [x]

    def backward(dout, saved):
        return dout * 3 * saved.pop() ** 2

    return differentiable(forward, backward, name=name)


@pytest.mark.parametrize("mode", MODES)
def test_a_cache_that_backward_takes_out_is_a_verdict_with_a_cause(mode):
    cube = popping()
    report = gradcheck(lambda x: F.tanh(cube(F.sigmoid(x))), leaf(4, 3), mode=mode)
    assert not report.passed
    assert all(row.passed for row in report.rows)  # the numbers themselves are right
    (cause,) = report.causes
    assert (cause.name, cause.op) == ("called once", "cube")
    assert "backward of cube can be called once only" in cause.sentence
    assert "IndexError: pop from empty list" in str(report)
    (problem,) = reentrant(cube, leaf(4, 3))
    assert "cannot run a second time" in problem


def test_a_cache_that_is_closed_after_use_is_named_by_its_operation():
    """A dict emptied, two operations on the way: the one that backward comes to first is named."""

    def forward(x):
        return np.exp(x), {"out": np.exp(x)}

    def backward(dout, saved):
        out = saved.pop("out")
        return dout * out

    mine = differentiable(forward, backward, name="mine")
    cube = popping()
    report = gradcheck(lambda x: cube(mine(x)), leaf(3))
    assert (report.cause, report.causes[0].op) == ("called once", "cube")


def test_rows_are_still_told_by_their_uses_behind_a_cache_used_up():
    cube = popping()
    report = gradcheck(lambda E: cube(F.lookup(E, planted.IDS)), leaf(6, 3, name="E"))
    assert {row.index[0]: row.uses for row in report.rows} == {0: 1, 1: 2, 2: 0, 3: 0, 4: 3, 5: 0}


def test_an_error_in_the_first_backward_is_the_callers_to_see():
    broken = planted.broken("exp", lambda g, s: g * s["out"])
    with pytest.raises(TypeError, match="tuple indices"):
        gradcheck(broken, leaf(3))


@pytest.mark.parametrize(
    ("what", "answer"),
    [
        ("dict", lambda dout: {"x": dout}),
        ("generator", lambda dout: (each for each in [dout])),
        ("str", lambda dout: "dout"),
    ],
)
def test_a_backward_that_answers_with_no_array_is_a_verdict_with_a_cause(what, answer):
    double = differentiable(lambda x: (2 * x, ()), lambda dout, saved: answer(dout), name="double")
    report = gradcheck(double, leaf(4, 3, name="x"))
    assert (report.passed, report.cause) == (False, "no array")
    assert f"backward of double hands x a {what}, which is no array of numbers" in str(report)


def test_a_backward_that_writes_to_dout_is_named_behind_a_sum_where_dout_is_read_only():
    def doubled(dout, _):
        dout *= 2
        return dout

    double = differentiable(lambda x: (2 * x, ()), doubled, name="double")
    x = Tensor(np.ones((2, 3)), requires_grad=True)
    report = gradcheck(lambda x: double(x).sum(), x)
    assert not report.passed and "backward of double writes into dout" in report.causes[0].sentence


def test_an_index_may_be_given_by_name():
    def lost(dout, saved):
        dE = np.zeros(saved[0])
        dE[saved[1]] = dout
        return dE

    op = differentiable(F.getitem.forward, lost)
    E = Tensor(np.random.default_rng(0).standard_normal((4, 3)), requires_grad=True, name="E")
    assert gradcheck(lambda E: op(E, index=np.array([1, 2, 2])), E).cause == "overwritten"
