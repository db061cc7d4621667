"""Forwards that take real numbers only, and such as refuse what lies beside the point."""

from __future__ import annotations

import math
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


@pytest.mark.parametrize("data", [[1e-9], [3e-9, 2.0], [1e-8], [1e-7, 100.0], [1e-6]])
@pytest.mark.parametrize("power", [1, 2])
def test_beyond_a_pole_nothing_is_read_off(power, data):
    """From the first steps, which are longer than the way to it, the slope seems to be 1 / h^2."""

    def inverse(factor=1):
        def slope(g, x):
            return -factor * power * g * x ** (-power - 1)

        return differentiable(lambda x: (x ** (-float(power)), x), slope, name="inverse")

    for seed in range(3):
        assert gradcheck(inverse(), leaf(data), seed=seed).passed
        for factor in (2, -1, 1.01):
            assert not gradcheck(inverse(factor), leaf(data), seed=seed).passed


@pytest.mark.parametrize("scale", [1e10, 1e11, 1e12, 1e13])
def test_where_no_step_is_shorter_than_a_wave_nothing_is_called_wrong(scale):
    sine = differentiable(lambda x: (np.sin(x), x), lambda dout, x: dout * np.cos(x), name="sine")
    for seed in range(3):
        x = leaf(scale * np.random.default_rng(seed).standard_normal((3, 4)))
        verdicts = {row.verdict for row in gradcheck(sine, x, seed=seed).rows}
        assert "WRONG" not in verdicts


@pytest.mark.parametrize("method", ["all", "complex", "central"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_has_a_value_among_complex_numbers_alone_is_no_number(method):
    """ln(-2) = 0.69 + 3.14i, and 3.14 / 1e-20 is no slope."""
    report = gradcheck(F.log, leaf([1.0, -2.0, 3.0]), method=method)
    assert {row.verdict for row in report.rows} == {"no number"} and not report.told


@pytest.mark.parametrize("method", ["complex", "all"])
def test_a_complex_step_beside_a_pole_is_not_outvoted_by_steps_beyond_it(method):
    def inverse(factor=1.0):
        return differentiable(
            lambda x: (1 / x, x), lambda dout, x: -factor * dout / x / x, name="inverse"
        )

    for seed in range(4):
        x = leaf(1e-12 * (1 + np.abs(np.random.default_rng(seed).standard_normal((3, 4)))))
        assert gradcheck(inverse(), x, method=method).agrees
        assert not gradcheck(inverse(2.0), x, method=method).passed
