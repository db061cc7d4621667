"""Forwards that take real numbers only, and such as refuse what lies beside the point."""

from __future__ import annotations

import math
import re
import threading
import warnings

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed import functional as F
from scratch_embed.gradcheck import gradcheck
from scratch_embed.gradcheck.numeric import METHODS
from scratch_embed.gradcheck.study import step_study


def by_loop(name: str, f, slope, real=lambda v: v):
    """A forward that fills an array of floats, number by number, as learners write it."""

    def forward(x):
        out = np.zeros(x.shape)
        for index in np.ndindex(x.shape):
            out[index] = f(real(x[index]))
        return out, x

    return differentiable(forward, lambda g, x: g * slope(x), name=name)


OPS = {  # and numbers nearer to a kink, a pole or the end of the domain than steps are long
    "relu": (by_loop("relu", lambda v: max(v, 0.0), lambda x: x > 0), [1e-3, 2e-3, -1e-3, 0.5]),
    "log": (by_loop("log", math.log, lambda x: 1 / x), [3e-3, 0.01, 0.5, 1e-4]),
    "float's log": (by_loop("log", math.log, lambda x: 1 / x, float), [3e-3, 0.01, 1e-6]),
    "inverse": (by_loop("inverse", lambda v: 1 / v, lambda x: -1 / x**2, float), [1e-5, 0.2, -0.1]),
}


def leaf(data) -> Tensor:
    return Tensor(np.array(data, dtype=float), requires_grad=True, name="x")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("op, data", OPS.values(), ids=OPS)
def test_the_wrong_operation_behind_it_is_named_and_not_it(op, data):
    wrong = differentiable(F.tanh.forward, lambda g, s: -F.tanh.backward(g, s), name="tanh")
    for mode in ("elementwise", "directional"):
        for seed in range(3):
            assert gradcheck(op, leaf(data), mode=mode, seed=seed).passed
    report = gradcheck(lambda x: wrong(op(x) * leaf([1e-5])), leaf(data))
    assert [(cause.name, cause.op) for cause in report.causes] == [("wrong sign", "tanh")]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("op, data", OPS.values(), ids=OPS)
def test_what_casts_to_real_numbers_takes_no_complex_step(op, data):
    with pytest.raises(TypeError, match="the complex step cannot be taken here"):
        gradcheck(op, leaf(data), method="complex")
    study = step_study(op, leaf(data))
    assert "complex" not in study.errors and "least doubt" in str(study)
    assert study.best("central")[1] < 1e-6


def test_of_what_is_not_analytic_the_complex_step_is_no_reference():
    study = step_study(
        differentiable(lambda x: (abs(x), x), lambda g, x: g * np.sign(x)), leaf(0.3)
    )
    assert study.best("complex")[1] > 0.1 and study.best("central")[1] < 1e-9
    assert "least doubt" in str(study) and "complex step" in str(step_study(F.tanh, leaf(0.3)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("data, value", [([1.0, 0.0], "-inf at [1]"), (-1.0, "nan")])
def test_a_point_outside_the_domain_has_no_error_to_study(data, value):
    words = re.escape(f"fn has the value {value}: there is no error to study")
    with pytest.raises(ValueError, match=words):
        step_study(F.log, leaf(data))


def test_a_study_says_that_it_stands_on_a_kink():
    words = "no central difference comes near it"
    assert words in str(step_study(lambda x: (x * x) ** 0.5, leaf([0.0, 1.0])))
    assert words in str(step_study(F.relu, leaf([0.0, 1.0])))
    assert words in str(step_study(lambda x: x**0.5, leaf([0.0, 1.0])))
    assert words not in str(step_study(F.relu, leaf([0.5, 1.0])))
    assert words not in str(step_study(lambda x: F.softmax(x * 1000), leaf([0.0, 1.0])))


@pytest.mark.parametrize("method", METHODS)
def test_at_the_end_of_a_domain_it_says_where(method):
    root = by_loop("root", math.sqrt, lambda x: x, float if method == "complex" else lambda v: v)
    error, words = ValueError, r"fn takes x\[1\] as it is, and nothing beside it .* both sides"
    if method == "complex":
        error, words = TypeError, "cannot be taken"
    with pytest.raises(error, match=words):
        gradcheck(root, leaf([1.0, 0.0]), method=method)


def test_two_threads_leave_the_rules_for_warnings_as_they_were():
    """The second begins its complex step within that of the first, if it can, and ends it later."""
    before = list(warnings.filters)
    first_begun, second_begun, first_ended = (threading.Event() for _ in range(3))

    def first(x):
        if x.dtype.kind == "c":
            first_begun.set()
            second_begun.wait(0.3)
        return F.tanh(x)

    def second(x):
        if x.dtype.kind == "c":
            second_begun.set()
            first_ended.wait(5)
        return F.tanh(x)

    def check_first():
        gradcheck(first, leaf(0.5), method="all")
        first_ended.set()

    def check_second():
        first_begun.wait()
        gradcheck(second, leaf(0.5), method="all")

    threads = [threading.Thread(target=check) for check in (check_first, check_second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert warnings.filters == before


def test_a_study_names_an_arm_only_where_the_errors_follow_it():
    """Rounding beside a constant, a kink within reach and steps that are off everywhere do not."""
    absolute = differentiable(lambda x: (np.abs(x), x), lambda dout, x: dout * np.sign(x))
    arms = {
        "line": step_study(lambda x: 3 * x + 1000.0, leaf([0.3, -1.2])),
        "kink": step_study(F.relu, leaf([0.3, -1.2])),
        "abs": step_study(absolute, leaf([0.3, -1.2])),
        "cube": step_study(lambda x: x * x * x, leaf([0.3, -1.2])),
        "tanh": step_study(F.tanh, leaf([0.3, -1.2])),
    }
    for name, falls in (("line", 0), ("kink", 0), ("abs", 0), ("cube", 2), ("tanh", 3)):
        orders = ("forward", "central", "richardson")
        assert sum(map(arms[name].has_truncation, orders)) == falls, arms[name]
    assert "off on the right, not as h^2" in arms["kink"].arms("central")
    assert arms["abs"].arms("complex") == "none: off at every step"
    assert arms["line"].arms("complex") == "none: exact at every step"
