"""The curve of a difference's error over its step, and equality to the bit with whole numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed import functional as F
from scratch_embed.gradcheck import exact, step_study
from scratch_embed.gradcheck.study import STEPS, Study
from tests.gradcheck import planted
from tests.gradcheck.leaves import leaf, of

IDS = planted.IDS


def test_the_two_arms_of_a_curved_function():
    study = step_study(F.tanh, of(0.3, -1.2, 0.8))
    assert study.has_truncation("central") and study.has_rounding("central")
    assert study.best("forward")[0] <= 1e-7 < study.best("central")[0] <= 1e-4
    assert study.best("central")[0] < study.best("richardson")[0]
    assert not study.has_rounding("complex")
    step = dict(zip(np.round(np.log10(study.steps)).astype(int), study.errors["central"]))
    assert step[-2] / step[-3] == pytest.approx(100, rel=0.05)  # h^2
    assert step[-12] / step[-8] > 1e3  # 1/h


def test_a_step_that_leads_out_of_where_fn_is_defined_hides_no_arm():
    study = step_study(F.log, of(0.5))  # 0.5 - 1 has no logarithm
    assert np.isnan(study.errors["central"][0])
    assert study.has_truncation("central") and study.best("central")[1] < 1e-9
    assert "central: rounding ~ 1/h on the left, truncation ~ h^2 on the right" in str(study)


def test_linear_and_quadratic_functions_have_one_arm():
    E = leaf(6, 3)
    for fn in (lambda E: F.lookup(E, IDS), lambda E: F.project(F.lookup(E, IDS), E)):
        study = step_study(fn, E)
        assert not study.has_truncation("central")
        assert study.has_rounding("central")
        assert exact(fn, E) is True
    assert exact(F.tanh, E) is None
    with pytest.raises(ValueError, match="no tensor given requires a gradient"):
        exact(F.tanh, Tensor([1.0, 2.0]))
    assert all(exact(F.relu, of(1.0), seed=seed) is None for seed in range(20))
    assert exact(lambda E: E * E * E, E) is None
    lost = planted.broken("lookup", lambda g, s: F.lookup.backward(g, s) * 2)
    assert exact(lambda E: lost(E, IDS), E) is False


def test_the_study_is_drawn(tmp_path):
    study = step_study(F.tanh, of(0.3, -1.2), name="tanh")
    path = study.save(tmp_path / "tanh.png")
    assert path.stat().st_size > 10_000
    axes = study.figure().axes[0]
    words = {text.get_text() for text in axes.texts}
    assert {"rounding arm: error ~ 1/h", "truncation arm: error ~ h² (central)"} <= words
    assert axes.get_xlabel() == "step h"
    assert "1e-05" in str(study) and "*" in str(study)


# ---- the report ----------------------------------------------------------------------------------


def test_exact_is_not_blind_to_a_factor():
    for seed in range(20):
        for shape in ((), (1, 1), (3,)):
            wrong = differentiable(lambda x: (x.sum(), x), lambda g, x: -7 * g * np.ones(x.shape))
            assert not exact(wrong, leaf(*shape), seed=seed)
            square = differentiable(lambda x: (x * x, x), lambda g, x: g * x)
            assert not exact(square, leaf(*shape), seed=seed)


def test_of_what_is_not_analytic_the_complex_step_is_no_reference():
    study = step_study(differentiable(lambda x: (abs(x), x), lambda g, x: g * np.sign(x)), of(0.3))
    assert study.best("complex")[1] > 0.1 and study.best("central")[1] < 1e-9
    assert "least doubt" in str(study) and "complex step" in str(step_study(F.tanh, of(0.3)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("data, value", [((1.0, 0.0), "-inf at [1]"), ((-1.0,), "nan at [0]")])
def test_a_point_outside_the_domain_has_no_error_to_study(data, value):
    words = re.escape(f"fn has the value {value}: there is no error to study")
    with pytest.raises(ValueError, match=words):
        step_study(F.log, of(*data))


def test_a_study_says_that_it_stands_on_a_kink():
    words = "no central difference comes near it"
    assert words in str(step_study(lambda x: (x * x) ** 0.5, of(0.0, 1.0)))
    assert words in str(step_study(F.relu, of(0.0, 1.0)))
    assert words in str(step_study(lambda x: x**0.5, of(0.0, 1.0)))
    assert words not in str(step_study(F.relu, of(0.5, 1.0)))
    assert words not in str(step_study(lambda x: F.softmax(x * 1000), of(0.0, 1.0)))


def test_a_study_names_an_arm_only_where_the_errors_follow_it():
    """Rounding beside a constant, a kink within reach and steps that are off everywhere do not."""
    absolute = differentiable(lambda x: (np.abs(x), x), lambda dout, x: dout * np.sign(x))
    arms = {
        "line": step_study(lambda x: 3 * x + 1000.0, of(0.3, -1.2)),
        "kink": step_study(F.relu, of(0.3, -1.2)),
        "abs": step_study(absolute, of(0.3, -1.2)),
        "cube": step_study(lambda x: x * x * x, of(0.3, -1.2)),
        "tanh": step_study(F.tanh, of(0.3, -1.2)),
    }
    for name, falls in (("line", 0), ("kink", 0), ("abs", 0), ("cube", 2), ("tanh", 3)):
        orders = ("forward", "central", "richardson")
        assert sum(map(arms[name].has_truncation, orders)) == falls, arms[name]
    assert "off on the right, not as h^2" in arms["kink"].arms("central")
    assert arms["abs"].arms("complex") == "none: off at every step"
    assert arms["line"].arms("complex") == "none: exact at every step"


def test_no_error_is_told_to_be_less_than_what_the_reference_leaves_in_doubt():
    square = differentiable(lambda a: ((a * np.conj(a)).real, a), lambda dout, a: 2 * dout * a)
    study = step_study(square, of(0.3, 1.0))  # a central difference of it is exact at 1
    step, least = study.best("central")
    assert step == 1 and 1e-11 < least < 1e-7 and f"{least:.0e} or more" in str(study)
    assert all(errors.min() >= least for errors in study.errors.values())


def test_a_fall_that_rounding_cuts_short_tells_no_power():
    """As measured of sqrt with steps of which 1 leads out of its domain."""
    errors = [np.nan, 1.4e-9, 5.8e-14, 8.7e-13, 1.3e-11, 6.8e-11]
    study = Study("sqrt", STEPS[:6], {"richardson": np.array(errors)}, "itself")
    study.errors["central"] = np.array([np.nan, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11])
    assert study.arms("richardson").endswith("off on the right, over too few steps to tell how")
    study.errors["richardson"][2] = 1e-10  # a fall by one power of ten, far above rounding
    assert study.arms("richardson").endswith("off on the right, not as h^6")


@pytest.mark.parametrize("fn", [F.log, F.sqrt, F.exp, F.softmax])
def test_float32_has_the_arm_of_float64_though_rounding_leaves_little_of_it(fn):
    study = step_study(fn, of(0.5, 1.0, 2.0))  # a step of 1 leads out of where the log is defined
    for method in ("central", "central, float32"):
        assert study.arms(method) == "rounding ~ 1/h on the left, truncation ~ h^2 on the right"
    kinked = step_study(F.relu, of(0.3, -1.2))
    assert "not as h^2" in kinked.arms("central, float32")


@pytest.mark.parametrize(
    "fn, numbers",
    [
        (lambda x: x**3, [0.0]), (lambda x: x**3 - x * 3.0, [1.0]), (lambda x: x * x * x, [0.0]),
        (lambda x: F.softmax(x).sum(), [0.3, 0.1, -2.0]),
        (lambda x: F.layer_norm(x).sum(), [0.3, 0.1, -2.0]),
    ],
)  # fmt: skip
def test_where_the_derivative_is_0_errors_stand_by_themselves(fn, numbers):
    study = step_study(fn, of(*numbers))
    assert study.zero and study.borne_out and "derivative is 0" in str(study)
    assert "relative" not in str(study) and study.best("central")[1] < 1e-9
    assert study.figure().axes[0].get_ylabel() == "largest error"


@pytest.mark.parametrize("large", [1e7, 1e8])
def test_steps_that_move_no_last_digit_are_not_the_truth(large):
    study = step_study(lambda x: (x + large) - large, of(1.0, 2.0))
    assert study.best("complex")[1] < 1e-9  # it is 1
    assert study.errors["central"][-1] > 0.5 and study.best("central")[0] >= 1e-3
    tanh = lambda x: (np.tanh(x.astype(np.float32)), x)
    single = differentiable(tanh, lambda dout, x: dout * (1 - np.tanh(x) ** 2))
    study = step_study(single, of(0.3))
    assert study.errors["central"][-1] > 0.5 and study.best("central")[1] < 2e-3


def test_exact_is_not_taken_in_by_what_is_a_line_at_whole_numbers_only():
    for step in (np.round, np.floor, np.trunc, lambda x: x + 2.0**60):
        straight_through = differentiable(lambda x, f=step: (f(x), None), lambda dout, _: dout)
        assert exact(straight_through, of(0.3, -1.2)) is None
    assert exact(lambda x: x * x, of(0.3, -1.2)) is True
