"""gradcheck catches every planted bug and calls it by its name, and does not cry wolf."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed import functional as F
from scratch_embed.gradcheck import catalogue, gradcheck
from scratch_embed.gradcheck.causes import HYPOTHESES
from tests.gradcheck import planted, planted_patterns  # noqa: F401  it adds to the others
from tests.gradcheck.leaves import leaf

IDS = planted.IDS


# ---- a learner's own lookup, whose saved tuple has no field called ids -----------------------


def learners_lookup(backward):
    def forward(weight, ids):
        return weight[ids], (weight.shape, ids)

    return differentiable(forward, backward, name="mine")


def overwriting(dout, saved):
    dweight = np.zeros(saved[0])
    dweight[saved[1]] += dout
    return dweight


def reversing(dout, saved):
    dweight = np.zeros(saved[0])
    np.add.at(dweight, saved[1][::-1], dout)
    return dweight


def nothing(dout, saved):
    return np.zeros(saved[0])


@pytest.mark.parametrize(
    ("backward", "cause"), [(overwriting, "overwritten"), (reversing, "reversed scatter")]
)
def test_a_lookup_of_ones_own_is_recognised_and_its_bug_named(backward, cause):
    mine = learners_lookup(backward)
    report = gradcheck(lambda E: mine(E, np.array([1, 2, 1, 4])), leaf(6, 3))
    assert report.cause == cause
    assert {row.index[0]: row.uses for row in report.rows} == {0: 0, 1: 2, 2: 1, 3: 0, 4: 1, 5: 0}


def test_a_lookup_of_ones_own_is_sampled_by_use_in_a_big_table():
    mine = learners_lookup(nothing)
    assert not gradcheck(lambda E: mine(E, np.array([17, 4_000, 17])), leaf(5_000, 4)).passed


def counting_from_one(dout, saved):
    dweight = np.ones(saved[0])
    np.add.at(dweight, saved[1], dout)
    return dweight


def test_a_gradient_that_does_not_start_from_zeros_is_named():
    mine = learners_lookup(counting_from_one)
    (cause,) = gradcheck(lambda E: mine(E, np.array([1, 2, 1, 4])), leaf(6, 3)).causes
    assert cause.name == "stale gradient"
    assert "to 1 everywhere" in cause.sentence


# ---- a learner's own tied table: one operation that reads rows and scores against all of them ----


def lookup_part(dout, E, ids, h):
    dE = np.zeros_like(E)
    np.add.at(dE, ids, dout @ E)
    return dE


def score_part(dout, E, ids, h):
    return dout.T @ h


def both_parts_overwritten(dout, E, ids, h):
    dE = dout.T @ h
    dE[ids] += dout @ E
    return dE


@pytest.mark.parametrize(
    ("backward", "cause", "words"),
    [
        (lookup_part, "missing path", "only the rows that its ids name"),
        (score_part, "missing path", "every row is right but those"),
        (both_parts_overwritten, "overwritten", "more than once"),
    ],
)
def test_a_tied_table_in_one_operation_misses_a_path_by_name(backward, cause, words):
    def forward(E, ids):
        return E[ids] @ E.T, (E, ids, E[ids])

    mine = differentiable(forward, lambda dout, saved: backward(dout, *saved), name="mine")
    ids = np.array([4, 1, 4, 0])
    for fn in (lambda E: mine(E, ids), lambda E: F.cross_entropy(mine(E, ids), ids[::-1])):
        (found,) = gradcheck(fn, leaf(6, 3)).causes
        assert (found.name, found.op) == (cause, "mine")
        assert words in found.sentence


def test_a_forgotten_target_is_seen_through_a_forgotten_mean():
    def forward(z, targets):
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        return -np.log(p[np.arange(len(z)), targets]).mean(), p

    mine = differentiable(forward, lambda dout, p: dout * p, name="mine")
    assert gradcheck(lambda z: mine(z, np.array([2, 0, 1])), leaf(3, 4)).cause == (
        "no shift by the target"
    )


# ---- an operation that writes into what another computed -----------------------------------------


def relu_in_place(x):
    x[x < 0] = 0
    return x.copy(), x > 0


def add_one_in_place(x):
    x += 1
    return x.copy(), np.ones_like(x)


@pytest.mark.parametrize("forward", [relu_in_place, add_one_in_place])
def test_writing_into_what_another_operation_computed_is_named(forward):
    mine = differentiable(forward, lambda dout, slope: dout * slope, name="mine")

    def used_twice(x):
        h = F.tanh(x)
        return mine(h) + h

    report = gradcheck(used_twice, leaf(4, 3))
    assert [(cause.name, cause.op) for cause in report.causes] == [("in-place input", "mine")]


def test_writing_into_the_ids_is_named():
    def forward(E, ids):
        out, saved = E[ids], (E.shape, ids.copy())
        ids.sort()
        return out, saved

    def backward(dout, saved):
        dE = np.zeros(saved[0])
        np.add.at(dE, saved[1], dout)
        return dE

    mine, ids = differentiable(forward, backward, name="mine"), np.array([3, 1, 3])
    report = gradcheck(lambda E: mine(E, ids), leaf(6, 3))
    assert report.cause == "in-place input"


# ---- planted bugs, each by its name --------------------------------------------------------------


@functools.cache
def planted_report(mutant, seed):
    fn, tensors = mutant.build(np.random.default_rng(seed))
    return gradcheck(fn, *tensors, seed=seed)


@pytest.mark.parametrize("mutant", planted.MUTANTS, ids=lambda mutant: mutant.name)
def test_planted_bugs_are_caught_and_named(mutant):
    for seed in range(2):
        report = planted_report(mutant, seed)
        assert not report.passed
        assert report.cause == mutant.cause, f"{report}"
        assert max(map(len, str(report).splitlines())) <= 80, report


@pytest.mark.parametrize("mutant", planted.MUTANTS, ids=lambda mutant: mutant.name)
def test_a_direction_catches_and_names_them_too(mutant):
    fn, tensors = mutant.build(np.random.default_rng(5))
    assert gradcheck(fn, *tensors, mode="directional").cause == mutant.cause


POSITIVE = Tensor(np.arange(1.0, 13).reshape(4, 3) / 4, requires_grad=True, name="x")
SLIPS = {  # of operations that `planted` leaves out, and there is one for each of the others
    "log": ("dout passed on", lambda g, s: g),
    "sqrt": ("constant factor", lambda g, s: g / s[0]),
    "neg": ("wrong sign", lambda g, s: g),
    "log_sigmoid": ("wrong slope", lambda g, s: g * 0.5 * (1 + np.tanh(0.5 * s[0]))),
    "tied_cross_entropy": (
        "no shift by the target",
        lambda g, s: (F.tied_cross_entropy.backward(g, s)[0], _weight_without_target(g, s)),
    ),
}


def _weight_without_target(dout, saved):
    logits = saved.h @ saved.weight.T
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return dout * (saved.scale[:, None] * p).T @ saved.h


@pytest.mark.parametrize("op", SLIPS)
def test_slips_in_the_other_operations_are_caught_and_named(op):
    cause, backward = SLIPS[op]
    wrong = planted.broken(op, backward)
    if op == "tied_cross_entropy":
        h, E = leaf(4, 3, name="h"), leaf(6, 3, seed=1, name="E")
        report = gradcheck(lambda h, E: wrong(h, E, planted.TARGETS), h, E)
    else:
        report = gradcheck(wrong, POSITIVE)
    assert [(found.name, found.op) for found in report.causes] == [(cause, op)]


def test_every_operation_has_a_bug_that_is_caught():
    blamed = set(SLIPS)
    for mutant in planted.MUTANTS:
        blamed |= {cause.op for cause in planted_report(mutant, 0).causes}
    assert set(F.__all__) <= blamed


def test_every_hypothesis_has_a_bug_that_it_names():
    assert {h.name for h in HYPOTHESES} <= {mutant.cause for mutant in planted.MUTANTS}


def test_the_operation_at_fault_is_named_and_no_other():
    wrong_tanh = planted.broken("tanh", lambda g, s: -g * (1 - s[0] * s[0]))

    def model(E):
        return F.cross_entropy(F.project(wrong_tanh(F.lookup(E, IDS)), E), IDS[:, ::-1])

    (cause,) = gradcheck(model, leaf(6, 3, name="E")).causes
    assert (cause.name, cause.op) == ("wrong sign", "tanh")


def test_the_half_at_fault_is_named_and_not_the_forward():
    """A learner's own pair bears the name of its forward, which is right."""

    def square_forward(x):
        return x * x, x

    def square_backward(dout, x):
        return dout * x

    square = differentiable(square_forward, square_backward, name="square_f")
    (cause,) = gradcheck(square, leaf(4, 3)).causes
    assert cause.sentence.startswith("backward of square_f is off by a constant factor")
    assert cause.op == "square_f"


@pytest.mark.parametrize(
    ("slope", "says"),
    [(2 * (1 - 4e-7), "each entry for x is 0.9999996 times"),
     (2.2, "each entry for x is 1.1 times")],
)  # fmt: skip
def test_a_factor_has_as_many_digits_as_tell_it_from_1(slope, says):
    off = differentiable(lambda x: (x * x, x), lambda g, x: slope * x * g, name="square")
    (cause,) = gradcheck(off, leaf(4, 3), rtol=1e-9).causes
    assert says in cause.sentence


def test_two_faults_are_both_named():
    minus = planted.broken("exp", lambda g, s: -g * s[0])
    double = planted.broken("tanh", lambda g, s: 2 * g * (1 - s[0] * s[0]))
    causes = gradcheck(lambda x: double(minus(x)), leaf(4, 3)).causes
    assert {(c.name, c.op) for c in causes} == {("wrong sign", "exp"), ("constant factor", "tanh")}


def test_a_tape_that_sets_instead_of_adding_is_named(monkeypatch):
    """The last contribution replaces the first: the bug of a home-made engine."""

    def accumulate_last(self, grad=None):
        from scratch_embed.gradcheck.walk import walk

        for part in walk(self, grad).parts:
            part.tensor.grad = part.grad

    monkeypatch.setattr(Tensor, "backward", accumulate_last)
    report = gradcheck(lambda x: x * 2 + x * x, leaf(4, 3))
    assert report.cause == "missing path"
    assert "set instead of added" in report.causes[0].sentence


def test_a_right_gradient_has_no_cause():
    report = gradcheck(lambda E: F.lookup(E, IDS), leaf(6, 3))
    assert report.passed
    assert report.causes == []
    assert report.cause is None


@pytest.mark.parametrize("half", [lambda d, x: d @ x.T, lambda d, x: x.T @ d, lambda d, x: d @ x])
def test_half_of_the_gradient_of_a_square_is_not_transposed(half):
    square = differentiable(lambda x: (x @ x, x), half, name="square")
    (cause,) = gradcheck(square, leaf(3, 3, seed=7)).causes
    assert cause.op == "square" and "no known pattern fits" in cause.sentence


@pytest.mark.parametrize("x", [[0.0, 0.0, -1.0], [2.0, -1.0, 0.0], [0.0, -1.0, -2.0, 3.0]])
def test_a_wrong_slope_is_shown_off_the_kinks(x):
    leaky = differentiable(
        lambda x: (np.maximum(x, x / 10), x), lambda d, x: d * np.where(x > 0, 1, 0.3), name="leaky"
    )
    (cause,) = gradcheck(leaky, Tensor(x, requires_grad=True)).causes
    assert cause.name == "wrong slope" and "at 0 it" not in cause.sentence
    assert "it is 0.1, and backward takes 0.3" in cause.sentence


HALF_SINE = differentiable(lambda x: (np.sin(x), x), lambda d, x: 0.5 * d * np.cos(x), name="sine")


def own_norm_forward(x):
    r = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return (x - x.mean(-1, keepdims=True)) * r, ((x - x.mean(-1, keepdims=True)) * r, r)


def own_norm_backward(dout, saved):
    xh, r = saved
    return r * (dout - dout.mean(-1, keepdims=True) - xh * (dout * xh).mean(-1, keepdims=True))


@pytest.mark.parametrize("seed", [1, 4])
def test_a_small_right_gradient_is_not_blamed_for_the_rounding_of_nudges(seed):
    """Of two numbers a norm makes 1 and -1: the gradient is small; var takes no complex step."""
    norm = differentiable(own_norm_forward, own_norm_backward, name="norm")
    x = leaf(4, 2, seed=seed)
    report = gradcheck(lambda x: norm(HALF_SINE(x)), x)
    assert [cause.op for cause in report.causes] == ["sine"]
    wrong = differentiable(
        own_norm_forward, lambda d, s: own_norm_backward(d, s) + 1e-3 * d, name="norm"
    )
    report = gradcheck(lambda x: wrong(HALF_SINE(x)), x)
    assert {cause.op for cause in report.causes} == {"sine", "norm"}


@pytest.mark.parametrize("seed", [13, 32, 33])
def test_the_complex_step_through_var_is_no_measure_to_the_last_digit(seed):
    """It leaves out what goes through |z|^2: of tiny numbers 1e-7 of the gradient."""

    def forward(x):
        r = 1 / np.sqrt(x.var(0) + 1e-3)
        return (x - x.mean(0)) * r, ((x - x.mean(0)) * r, r)

    def backward(dout, saved):
        xh, r = saved
        return r * (dout - dout.mean(0) - xh * (dout * xh).mean(0))

    norm = differentiable(forward, backward, name="norm")
    x = Tensor(1e-5 * np.random.default_rng(seed).standard_normal((3, 4)), requires_grad=True)
    report = gradcheck(lambda x: norm(HALF_SINE(x)), x)
    assert [cause.op for cause in report.causes] == ["sine"]


@pytest.mark.parametrize("close", [-1.57e-8, -1e-7, 5e-9])
def test_right_beside_a_kink_that_every_nudge_crosses(close):
    size = differentiable(lambda x: (np.abs(x), x), lambda d, x: d * np.sign(x), name="size")
    x = Tensor([close, 1300.0, -0.7], requires_grad=True, name="x")
    for both in (lambda x: HALF_SINE(size(x)), lambda x: size(HALF_SINE(x))):
        assert [cause.op for cause in gradcheck(both, x).causes] == ["sine"]
    wrong = differentiable(lambda x: (np.abs(x), x), lambda d, x: -d * np.sign(x), name="size")
    assert [cause.op for cause in gradcheck(wrong, x).causes] == ["size"]


def test_data_from_the_same_seed_do_not_hide_a_transpose():
    """With dout equal to x, x.T @ dout is symmetric and its transpose would pass."""
    twisted = planted.broken("matmul", lambda g, s: (g @ s.b.T, g.T @ s.a))
    for seed in range(5):
        x = np.random.default_rng(seed).standard_normal((4, 3))
        fixed = Tensor(x)
        assert not gradcheck(lambda w, x=fixed: twisted(x, w), leaf(3, 3), seed=seed).passed


# ---- no false alarm ------------------------------------------------------------------------------


def random_model(rng: np.random.Generator):
    """A small model of random shape on random ids, many of them repeated."""
    V, D, B, T = rng.integers(2, 9), rng.integers(1, 6), rng.integers(1, 4), rng.integers(1, 6)
    ids, targets = rng.integers(0, V, (2, B, T)) if rng.random() < 0.7 else np.zeros((2, B, T), int)
    E = Tensor(rng.standard_normal((V, D)) * 10.0 ** rng.uniform(-2, 1), requires_grad=True)
    W = Tensor(rng.standard_normal((D, D)), requires_grad=True)
    P = Tensor(rng.standard_normal((T, D)), requires_grad=True)
    gamma = Tensor(rng.standard_normal(D), requires_grad=True)
    models = [
        (lambda E: F.cross_entropy(F.project(F.tanh(F.lookup(E, ids)), E), targets), [E]),
        (lambda E, P: F.sigmoid(F.lookup(E, ids) + P), [E, P]),
        (lambda E, W: F.relu(F.lookup(E, ids) @ W), [E, W]),
        (lambda E, P, g: F.layer_norm(F.lookup(E, ids) * P, g, g, eps=0.1), [E, P, gamma]),
        (lambda E: F.embedding_bag(E, ids, mode="mean"), [E]),
        (lambda E: F.embedding_bag(E, ids, mode="max"), [E]),
        (lambda E, W: F.attention(*[F.lookup(E, ids) @ W] * 3, causal=True), [E, W]),
        (lambda E: F.lookup(E, ids, sparse=True) ** 2, [E]),
        (lambda E: F.lookup(E, ids, padding_idx=0, scale_grad_by_freq=True), [E]),
        (lambda E: F.log_softmax(F.lookup(E, ids)).mean(axis=0), [E]),
        (lambda E, W: F.softmax(F.tanh(E @ W))[ids], [E, W]),
    ]
    return models[rng.integers(len(models))]


def test_a_thousand_right_gradients_raise_no_alarm():
    told = 0
    for seed in range(5):
        for case in catalogue.cases(seed):
            gradcheck(case.fn, *case.tensors, mode="directional", seed=seed).raise_if_wrong()
            told += 1
    rng = np.random.default_rng(0)
    for seed in range(600):
        fn, tensors = random_model(rng)
        mode = "elementwise" if seed % 10 == 0 else "directional"
        report = gradcheck(fn, *tensors, mode=mode, seed=seed)
        assert all(row.passed for row in report.rows) and not report.problems, report
        told += report.passed  # a saturated softmax may drown in rounding, and is then not told
    assert told > 1000


def test_a_direction_costs_few_evaluations():
    calls = []

    def fn(E):
        calls.append(1)
        return F.lookup(E, np.arange(1000) % 700)

    assert gradcheck(fn, leaf(1000, 8), mode="directional").passed
    # forward twice, once elsewhere and once more, eleven to measure the noise, two for the
    # derivative, six to look for kinks, and seven at other numbers
    assert len(calls) == 30


# ---- what looks like a mistake that it is not --------------------------------------------------


def test_a_target_of_a_square_is_no_target_of_a_softmax():
    half = differentiable(
        lambda x, t: (0.5 * ((x - t) ** 2).sum(), (x, t)), lambda d, s: (d * s[0], None)
    )
    target = np.random.default_rng(1).standard_normal((3, 4))
    assert gradcheck(lambda x: half(x, target), leaf(3, 4)).cause == "local derivative"


@pytest.mark.parametrize("fn", [np.expm1, np.tan])
def test_a_slope_that_lacks_1_is_told_as_such(fn):
    slope = {np.expm1: lambda y: y, np.tan: lambda y: y * y}[fn]
    op = differentiable(lambda x: (fn(x), fn(x)), lambda d, y: d * slope(y), name="f")
    (cause,) = gradcheck(op, leaf(3, 4)).causes
    assert "takes a slope that is 1 too small everywhere, as where of x + f(x)" in cause.sentence


@pytest.mark.parametrize(("factor", "named"), [(8, "missing mean factor"), (2, "constant factor")])
@pytest.mark.parametrize("ignored", [0, 3])
def test_a_mean_is_divided_by_as_many_as_are_counted(factor, named, ignored):
    targets = np.array([1, 0, 3, 2, 1, 1, 0, 3] + ignored * [-1])

    def forward(z, t):
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        kept = t >= 0
        return -np.log(p[np.flatnonzero(kept), t[kept]]).mean(), (p, t)

    def backward(d, saved):
        p, t = saved
        return d * factor * (p - np.eye(4)[t]) * (t >= 0)[:, None] / (t >= 0).sum(), None

    op = differentiable(forward, backward, name="ce")
    assert gradcheck(lambda z: op(z, targets), leaf(len(targets), 4)).cause == named


def test_numbers_written_over_past_the_tape_are_told_and_no_operation_blamed():
    def masked(a, b):
        y = a * b
        y.data[0] = 0
        return y

    (cause,) = gradcheck(masked, leaf(3, 4), leaf(3, 4, seed=1)).causes
    assert cause.name == "in-place output" and "4 of the 12 numbers that mul made" in cause.sentence
    assert gradcheck(lambda a, b: a * b, leaf(3, 4), leaf(3, 4, seed=1)).passed


def test_a_slope_that_is_forgotten_beside_an_input_passed_on_is_no_exchange():
    op = differentiable(lambda a, b: (a + np.tanh(b), b), lambda d, b: (d, d), name="op")
    assert gradcheck(op, leaf(3, 4), leaf(3, 4, seed=1)).cause != "exchanged gradients"
    scaled = differentiable(
        lambda x, g, b: (x * g + b, (x, g)), lambda d, s: (d * s[1], d.sum(0), d.sum(0))
    )
    report = gradcheck(scaled, leaf(3, 4), leaf(4, seed=1), leaf(4, seed=2))
    assert report.cause != "exchanged gradients"


def test_what_is_kept_from_call_to_call_is_not_called_random_alone():
    mean = [0.0]

    def forward(x):
        mean[0] = 0.9 * mean[0] + 0.1 * x.mean()
        return x - mean[0], ()

    report = gradcheck(differentiable(forward, lambda d, saved: d, name="norm"), leaf(3, 4))
    assert "or keeps something from call to call, as a running mean" in report.causes[0].sentence


def test_table_and_cause_name_the_same_tensor():
    product = differentiable(
        lambda x, W: (x @ W, (x, W)), lambda d, s: (d @ s[1].T, d.T @ s[0]), name="product"
    )
    x, W = np.random.default_rng(0).standard_normal((2, 4, 4))
    report = gradcheck(product, Tensor(x), Tensor(W, requires_grad=True))
    assert report.rows[0].parameter == "input 1" and "hands input 1" in report.causes[0].sentence
    two = [Tensor(np.full((60, 50), 0.5), requires_grad=True, name="W") for _ in range(2)]
    wrong = differentiable(lambda a, b: (a * b, (a, b)), lambda d, s: (d * s[1], d), name="mul")
    report = gradcheck(wrong, *two)
    assert {row.parameter for row in report.rows} == {"W (input 0)", "W (input 1)"}
    assert list(report.sizes.values()) == [3000, 3000]
    t = Tensor(2.0, requires_grad=True, name="t")
    off = differentiable(lambda x, t: (x / t, (x, t)), lambda d, s: (d / s[1], -(d * s[0]).sum()))
    assert "t, which is one number" in str(gradcheck(off, leaf(3, 4), t))


def test_a_loss_that_is_constant_but_for_rounding_is_told_to_tell_little():
    bad = differentiable(lambda x: (np.tanh(x), np.tanh(x)), lambda d, y: d * (1 - y))

    def loss(x):
        y = bad(x)
        y = y / F.sqrt((y * y).sum(axis=-1, keepdims=True))
        return (y * y).sum()

    report = gradcheck(loss, leaf(4, 5))
    assert not report.passed or "all gradients are 0 here" in str(report)


def test_segments_are_no_rows_that_ids_read():
    def backward(dout, saved):
        segments, counts = saved
        return dout[segments] / counts.max(), None

    def forward(x, segments):
        counts = np.bincount(segments)
        out = np.zeros((len(counts), x.shape[1]))
        np.add.at(out, segments, x)
        return out / counts[:, None], (segments, counts)

    mean = differentiable(forward, backward, name="mean")
    report = gradcheck(lambda x: mean(x, np.array([0, 0, 1, 2, 2, 2])), leaf(6, 2))
    assert report.cause == "wrong weights"


@pytest.mark.parametrize("segments", [[0, 0, 0, 0, 2, 3], [1, 3, 3, 3], [0, 0, 1, 1, 2, 3]])
@pytest.mark.parametrize("columns", [1, 3])
def test_segments_are_no_targets_and_name_no_rows(segments, columns):
    segments = np.array(segments)

    def forward(x, s):
        counts = np.bincount(s)
        out = np.zeros((len(counts), x.shape[1]))
        np.add.at(out, s, x)
        return out / np.maximum(counts, 1)[:, None], s

    mean = differentiable(forward, lambda dout, s: (dout[s], None), name="mean")
    report = gradcheck(lambda x: mean(x, segments), leaf(len(segments), columns))
    assert report.cause not in ("no shift by the target", "missing path", None)
