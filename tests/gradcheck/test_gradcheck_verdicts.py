"""gradcheck's verdicts, and the three numerators behind them."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Embedding, Tensor, differentiable, kernels
from scratch_embed import functional as F
from scratch_embed.gradcheck import catalogue, exact, gradcheck, reentrant, slopes, step_study
from scratch_embed.gradcheck.numeric import METHODS
from scratch_embed.gradcheck.report import KINK, NO_NUMBER, NOISE, OK, SURROGATE, UNUSED, WRONG
from tests.gradcheck import planted
from tests.gradcheck.leaves import leaf, of

IDS = planted.IDS


# ---- verdicts ------------------------------------------------------------------------------------


def test_documented_surrogates_pass_with_the_derivative_beside_them():
    E = leaf(6, 3, name="E")
    report = gradcheck(lambda E: F.lookup(E, IDS, padding_idx=4), E, method="all")
    assert report.passed
    by_row = {row.index[0]: row for row in report.rows}
    assert by_row[4].verdict == f"{SURROGATE} (padding_idx)"
    assert by_row[4].analytic == 0.0 != by_row[4].true
    assert by_row[1].verdict == OK
    assert by_row[5].verdict == UNUSED

    report = gradcheck(lambda E: F.lookup(E, IDS, scale_grad_by_freq=True), E)
    by_row = {row.index[0]: row for row in report.rows}
    assert report.passed
    assert by_row[4].verdict == f"{SURROGATE} (scale_grad_by_freq)"
    assert by_row[4].true == pytest.approx(3 * by_row[4].analytic)  # row 4 is used three times
    assert by_row[0].verdict == OK  # once: nothing to divide
    assert "derivative" in report.table().splitlines()[0]


def test_padding_of_a_tied_table_is_not_zero():
    """padding_idx is frozen against lookups only: the head still sends gradient into its row."""

    def tied(E):
        return F.project(F.tanh(F.lookup(E, IDS, padding_idx=4)), E)

    report = gradcheck(tied, leaf(6, 3), method="all")
    assert report.passed
    row = next(row for row in report.rows if row.index[0] == 4)
    assert row.verdict == f"{SURROGATE} (padding_idx)"
    assert row.analytic != 0


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3.0])
def test_active_max_norm_follows_its_formula(norm_type):
    layer = Embedding(6, 3, max_norm=0.8, norm_type=norm_type, dtype=np.float64, rng=3)
    before = layer.weight.data.tobytes()
    report = gradcheck(lambda _: F.tanh(layer(IDS)), layer.weight, method="all")
    assert report.passed, report
    surrogates = [row for row in report.rows if row.verdict == f"{SURROGATE} (max_norm)"]
    assert surrogates
    assert any(abs(row.true - row.analytic) > 1e-3 for row in surrogates)
    assert layer.weight.data.tobytes() == before


def test_a_wrong_gradient_behind_max_norm_is_still_wrong():
    layer = Embedding(6, 3, max_norm=0.8, dtype=np.float64, rng=3)
    minus = planted.broken("tanh", lambda g, s: -g * (1 - s[0] * s[0]))
    report = gradcheck(lambda _: minus(layer(IDS)), layer.weight)
    assert (report.passed, report.cause) == (False, "wrong sign")


@pytest.mark.parametrize("x", [3e-6, -3e-6, 0.0])
@pytest.mark.parametrize("method", ["central", "richardson", "all"])
def test_kinks_are_told_from_mistakes(x, method):
    """Beside a kink a shorter step finds the slope; on it there is none."""
    report = gradcheck(F.relu, of(1.0, x, -1.0), method=method)
    assert report.passed
    verdicts = {row.index: row.verdict for row in report.rows}
    assert verdicts == {(0,): OK, (1,): OK if x else KINK, (2,): OK}
    assert ("kink" in str(report)) is (x == 0)
    wrong = planted.broken("relu", lambda g, s: 1.5 * np.where(s[0], g, -g))
    verdicts = {row.index: row.verdict for row in gradcheck(wrong, of(1.0, x, -1.0)).rows}
    assert set(verdicts.values()) == {WRONG}


def test_what_noise_hides_is_not_called_right():
    def drowned(x):
        return F.tanh(x) * 1e-6 + 1e6

    report = gradcheck(drowned, of(0.3, -0.2))
    assert {row.verdict for row in report.rows} == {NOISE}
    assert not report.passed  # nothing could be told
    assert "method='richardson'" in str(report)
    assert gradcheck(drowned, of(0.3, -0.2), method="complex").passed


@pytest.mark.parametrize("slope", [1e-3, -5e-3])  # right, and wrong in sign and size
@pytest.mark.parametrize("method", [*METHODS, "all"])
def test_a_gradient_below_the_rounding_of_a_huge_loss_is_not_called_right(slope, method):
    scaled = differentiable(lambda a: (1e-3 * a, ()), lambda g, s: slope * g, "scaled")
    report = gradcheck(lambda x: scaled(x) + 1e13, of(0.3, -0.2), method=method)
    assert {row.verdict for row in report.rows} == {NOISE}
    assert not report.passed


def test_what_rounding_leaves_of_an_exact_zero_is_no_alarm():
    """Softmax over one column is 1 whatever its score, so its gradient is 0 up to rounding."""
    x = leaf(4, 1)
    assert gradcheck(lambda x: F.softmax(x) * F.tanh(x * 0.0 + 0.5), x).passed


def test_rounding_inside_is_measured_and_no_false_alarm():
    """The output is small, but computed as the difference of large numbers."""
    report = gradcheck(lambda x: (x * x + 1e7) - 1e7, of(0.7, 1.3))
    assert report.passed
    assert report.worst.noise > 1e-6


# ---- numerators ----------------------------------------------------------------------------------


def test_all_numerators_agree_and_the_report_closes_on_it():
    report = gradcheck(lambda E: F.tanh(F.lookup(E, IDS)), leaf(6, 3), method="all")
    assert set(report.gaps) == set(METHODS)
    gaps = report.gaps
    assert gaps["complex"] < 1e-15 < gaps["richardson"] < gaps["central"] < 1e-9
    last = report.notes()[-1]
    assert last.startswith("central, complex and richardson agree with each other to")
    two = gradcheck(F.tanh, of(1.0), method=("complex", "central"))
    assert two.methods == ["central", "complex"]


def test_the_error_estimate_of_richardson_is_honest():
    from scratch_embed.gradcheck.numeric import Line, Loss, richardson

    for x in np.linspace(-2, 2, 21):
        tensor = of(x)
        found = richardson(Line(Loss(F.tanh, (tensor,), np.ones(1)), tensor, (0,)), 1e-16)
        assert abs(found.value - (1 - np.tanh(x) ** 2)) <= found.error + 8 * found.noise
        assert found.error < 1e-9


@pytest.mark.parametrize("judge", [gradcheck, step_study, exact])
def test_what_is_no_tensor_is_told(judge):
    with pytest.raises(TypeError, match="argument 0 is a numpy.ndarray; gradcheck nudges Tensors"):
        judge(F.tanh, np.ones(3))
    with pytest.raises(TypeError, match=r"argument 0 is a function: fn comes first, as \(fn, x\)"):
        judge(leaf(3), F.tanh)
    with pytest.raises(ValueError, match="argument 0 was computed"):
        judge(F.tanh, leaf(3) * 2)


def test_operations_that_are_not_analytic_are_not_blamed():
    absolute = differentiable(lambda a: (np.abs(a), (np.sign(a),)), lambda g, s: g * s[0], "abs")
    report = gradcheck(absolute, of(0.5, -2.0), method="all")
    assert report.passed
    assert "stands alone" in str(report)
    assert gradcheck(absolute, of(0.5, -2.0), method="complex").passed  # a real step arbitrates
    for nothing in (0.0, 0.5):  # the complex step says 0 as well
        wrong = differentiable(lambda a: (np.abs(a), a), lambda g, a, k=nothing: k * g * a, "abs")
        assert not gradcheck(wrong, of(0.5, -2.0), method="complex").passed

    floats = differentiable(lambda a: (np.floor(a) + a, ()), lambda g, s: g, "floors")
    report = gradcheck(floats, of(0.5, -2.2), method="all")
    assert report.passed
    assert "no complex step" in str(report)
    with pytest.raises(TypeError, match="richardson"):
        gradcheck(floats, of(0.5), method="complex")


@pytest.mark.parametrize("seed", [12, 13, 16, 17])
def test_a_complex_step_that_is_a_little_off_blames_nobody(seed):
    """abs drops what is imaginary: of softplus at x e^-|x|, less than the real steps see."""
    softplus = differentiable(
        lambda x: (np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), x),
        lambda dout, x: dout / (1 + np.exp(-x)),
        name="softplus",
    )
    x = Tensor(10 * np.random.default_rng(seed).standard_normal((4, 4)), requires_grad=True)
    for method in ("all", "complex"):
        assert gradcheck(lambda x: F.sigmoid(softplus(x)), x, method=method, seed=seed).agrees


@pytest.mark.parametrize("constant", [1e4, 1e8])
@pytest.mark.parametrize("method", ["central", "richardson"])
def test_a_large_loss_hides_whether_a_gradient_is_0(constant, method):
    """Its rounding is larger than the slope that a backward of zeros leaves out."""
    forgot = differentiable(lambda x: (np.tanh(x), ()), lambda d, _: np.zeros_like(d), "forgot")
    for seed in range(5):
        x = leaf(3, 3, seed=seed)
        report = gradcheck(lambda x: forgot(x) * 1e-4 + constant, x, method=method, seed=seed)
        assert not report.passed and not any(row.verdict == OK for row in report.rows)
    assert gradcheck(lambda x: F.softmax(x[:, :1]) + 10.0, x, method=method).passed  # a right 0


def test_a_nudge_that_makes_the_loss_no_number_blames_nobody():
    report = gradcheck(lambda x: x**1.5, of(0.0, 1.0))  # right of 0 only
    assert report.agrees and [row.verdict for row in report.rows] == [NO_NUMBER, OK]
    masked = Tensor([[1.0, -np.inf, 2.0]], requires_grad=True, name="scores")
    report = gradcheck(F.log_softmax, masked)
    assert report.agrees and not report.passed
    assert "a nudge makes the loss no number" in str(report) and "no pass" in str(report)
    nan = differentiable(lambda x: (np.sqrt(x), x), lambda d, x: d * np.nan * x, name="nan")
    assert not gradcheck(nan, of(0.0, 1.0)).agrees


@pytest.mark.parametrize("slope", [1.0, 1.1])
def test_a_forward_that_rounds_within_is_told(slope):
    """It answers in float64, and "transposed" or "wrong slope" was the cause told."""

    def forward(x):
        out = np.zeros(x.shape)
        for row, numbers in zip(out, np.asarray(x, np.float32)):
            row[:] = np.exp(numbers)
        return out, x

    op = differentiable(forward, lambda d, x: slope * d * np.exp(x), name="my_exp")
    for seed in (0, 1):
        report = gradcheck(op, leaf(3, 2, seed=seed), seed=seed)
        assert report.passed == (slope == 1)  # as long steps tell, in which its own are small
        told = [cause.name for cause in report.causes]
        assert told == ([] if slope == 1 else ["single precision"])
        assert slope == 1 or "forward of my_exp rounds to float32" in report.causes[0].sentence


def test_a_layer_in_float32_that_is_closed_over_hides_nothing():
    """What depends on W is in float64; the lookup before it was given a table in float32."""
    layer = Embedding(6, 3, rng=0)
    for fn in (lambda W: layer([1, 2, 1]) @ W, lambda W: F.layer_norm(layer([1, 2, 1])) @ W):
        W = leaf(3, 4)
        report = gradcheck(fn, W)
        assert report.passed and not report.causes and {r.verdict for r in report.rows} == {OK}
        wrong = planted.broken("matmul", lambda g, s: (g @ s.b.T, 1.01 * s.a.T @ g))
        assert not gradcheck(lambda W, wrong=wrong: wrong(layer([1, 2, 1]), W), W).passed


@pytest.mark.parametrize("scale", [20.0, 60.0])
def test_a_confident_softmax_is_no_lookup(scale):
    """It answers with rows of v, bit for bit, and 1e-20 of the others: these are used, too."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        z = Tensor(scale * rng.standard_normal((2, 3)), requires_grad=True, name="z")
        v = Tensor(rng.standard_normal((3, 4)), requires_grad=True, name="v")
        report = gradcheck(lambda z, v: F.softmax(z) @ v, z, v, seed=seed)
        assert report.agrees, report


def test_a_row_that_no_one_hot_row_names_is_unused_and_gets_exactly_0():
    hot = np.eye(4)[[1, 1, 3]]
    read = differentiable(lambda E: (hot @ E, ()), lambda d, _: hot.T @ d + 1e-300, name="read")
    report = gradcheck(read, leaf(4, 2, name="E"))
    assert {row.index[0] for row in report.rows if row.verdict == WRONG} == {0, 2}


# ---- doing it again ------------------------------------------------------------------------------


def test_right_operations_are_reentrant():
    for case in catalogue.cases(1):
        assert reentrant(case.fn, *case.tensors) == [], case.name


def test_threads_do_not_change_the_bits_of_a_large_table():
    ids = np.random.default_rng(0).zipf(1.3, 6000) % 3000
    table = leaf(3000, 64, name="table")
    assert reentrant(lambda table: F.lookup(table, ids), table) == []


def test_an_answer_that_depends_on_the_threads_is_told():
    race = planted.broken("exp", lambda g, s: g * s[0] / kernels.get_num_threads())
    before = kernels.get_num_threads()
    (problem,) = reentrant(race, leaf(3))
    assert "between one thread and many" in problem
    assert kernels.get_num_threads() == before


def test_random_functions_are_told_to_start_their_generator_afresh():
    rng = np.random.default_rng(0)
    report = gradcheck(lambda x: F.dropout(x, 0.5, rng), leaf(4, 5))
    assert not report.passed
    assert "start its Generator afresh" in str(report)


# ---- the curve -----------------------------------------------------------------------------------


def test_a_direction_that_sees_what_the_sample_does_not_is_believed():
    def backward(dout, saved):
        grad = np.zeros(saved[0])
        np.add.at(grad, saved[1], dout)
        grad.flat[16_118] *= 1.0017
        return grad

    op = differentiable(lambda w, i: (w[i], (w.shape, i)), backward, name="lk")
    E = Tensor(np.random.default_rng(0).standard_normal((500, 40)), requires_grad=True)
    ids = np.arange(500)
    report = gradcheck(lambda w: op(w, ids), E, mode="directional", seed=2)
    assert not report.passed and len(report.rows) == 1  # a later direction would have passed


def test_what_disagrees_after_many_wrong_entries_is_not_looked_at_as_long():
    def calls(size):
        made = []
        bad = differentiable(lambda x: (np.tanh(x), x), lambda dout, x: dout * x, name="bad")
        report = gradcheck(lambda x: made.append(x) or bad(x), leaf(size))
        assert not report.passed and len(report.rows) == size
        return len(made)

    few, many, most = calls(64), calls(100), calls(200)
    assert few > 80 * 64 and most - many < 40 * 100


def test_chance_between_the_operations_is_no_missing_path():
    rng = np.random.default_rng(0)
    x = Tensor(np.ones((2, 2)), requires_grad=True)
    report = gradcheck(lambda x: x * rng.random((2, 2)), x)
    assert not report.passed and report.cause == "not deterministic"


def test_a_tensor_that_fn_does_not_look_at_is_not_passed():
    """Closed over another one of the same numbers: every backward would agree with slopes of 0."""
    table, given = (Tensor(np.ones((3, 2)), requires_grad=True, name=name) for name in "ET")
    report = gradcheck(lambda T: F.lookup(table, [0, 1]), given)
    assert not report.passed and "fn does not use T, which it is given" in str(report)
    both = gradcheck(lambda T, E: F.lookup(T, [0, 1]) + F.lookup(T, [2, 2]), given, table)
    assert not both.passed and "fn does not use E" in str(both)
    assert gradcheck(lambda T: F.lookup(T, [0, 1]) * 0.0, given).passed  # used, and of slope 0


@pytest.mark.parametrize("power", [34, 35])
def test_a_nudge_is_as_long_up_as_down_beside_a_power_of_two(power):
    for sign in (1, -1):
        x = sign * 2.0**power
        assert slopes(lambda w: w.sum() - x, [x]).tolist() == [1.0]  # noqa: B023


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
@pytest.mark.parametrize("factor, passed", [(1.0, True), (0.5, False)])
def test_a_function_may_give_its_tensor_another_array_of_the_same_numbers(factor, passed, mode):
    """As a max_norm by hand does: the next nudge began where the last one had ended."""
    slope = differentiable(
        lambda x: (np.tanh(x), x), lambda g, x: factor * g * (1 - np.tanh(x) ** 2), name="tanh"
    )

    def fn(x):
        x.data = np.clip(x.data, -10, 10)
        return slope(x)

    x = Tensor(np.random.default_rng(0).standard_normal((3, 2)), requires_grad=True, name="x")
    assert gradcheck(fn, x, mode=mode).passed is passed
