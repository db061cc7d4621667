"""The name of a mistake where more than one would explain the numbers at hand."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed import functional as F
from scratch_embed.gradcheck import gradcheck

IDS = np.array([1, 1, 3, 1, 0])


def leaf(*numbers: float, name: str = "x") -> Tensor:
    return Tensor(np.array(numbers), requires_grad=True, name=name)


def causes(fn, *tensors) -> list[tuple[str, str]]:
    report = gradcheck(fn, *tensors)
    assert not report.passed
    return [(cause.name, cause.op) for cause in report.causes]


def averaged(dout, shape):
    grad = np.zeros(shape)
    np.add.at(grad, IDS, dout)
    return grad / np.maximum(np.bincount(IDS, minlength=shape[0]), 1)[:, None]


def overwritten(dout, shape):
    grad = np.zeros(shape)
    grad[IDS] = dout
    return grad


@pytest.mark.parametrize(
    ("backward", "name"), [(averaged, "averaged repeats"), (overwritten, "overwritten")]
)
@pytest.mark.parametrize("summed", [True, False])
def test_a_mean_of_repeats_is_told_from_the_last_also_where_all_arrive_alike(
    backward, name, summed
):
    rows = differentiable(lambda E: (E[IDS], E.shape), backward, name="rows")
    E = Tensor(np.arange(10.0).reshape(5, 2) / 7, requires_grad=True, name="E")
    assert causes(lambda E: rows(E).sum() if summed else rows(E), E) == [(name, "rows")]


maximum = differentiable(
    lambda x, y: (np.maximum(x, y), (x, y)),
    lambda dout, s: (dout * (s[0] >= s[1]), dout * (s[1] >= s[0])),
    name="maximum",
)


def _first_use(dout, saved):
    (ids, places), dE = np.unique(saved[0], return_index=True), np.zeros(saved[1])
    dE[ids] = dout[places]
    return dE


def _all_but_the_last(dout, saved):
    ids, dE = saved[0], np.zeros(saved[1])
    np.add.at(dE, ids[:-1], dout[:-1])
    return dE


@pytest.mark.parametrize("behind", [lambda x: x, F.sum, F.mean], ids=["alone", "sum", "mean"])
@pytest.mark.parametrize(
    ("backward", "says"),
    [(_first_use, "only the first use"), (_all_but_the_last, "leaves out the last position")],
)
def test_the_words_are_those_of_a_dout_that_differs_from_place_to_place(backward, says, behind):
    """Behind a sum the first use of a row gets what the last one gets."""
    E = Tensor(np.random.default_rng(0).standard_normal((4, 3)), requires_grad=True)
    ids = np.array([1, 2, 1, 0, 1])
    rows = differentiable(lambda E: (E[ids], (ids, E.shape)), backward, name="rows")
    assert says in gradcheck(lambda E: behind(rows(E)), E).causes[0].sentence


@pytest.mark.parametrize(
    "fn",
    [lambda x: maximum(x, x), lambda x: maximum(x, x).sum(), lambda x: F.tanh(maximum(x, x * 1.0))],
    ids=["twice itself", "behind a sum", "a copy"],
)
def test_a_maximum_of_two_equal_inputs_that_pays_both_is_named(fn):
    assert causes(fn, leaf(0.3, 0.5, -1.0)) == [("ties", "maximum")]


def test_two_relus_of_zeros_in_one_operation_may_each_take_a_side():
    relus = differentiable(
        lambda x, y: (np.maximum(x, 0) + np.maximum(y, 0), (x, y)),
        lambda dout, s: (dout * (s[0] > 0), dout * (s[1] > 0)),
    )
    assert gradcheck(lambda z: relus(z, z * 1.0), leaf(0.0, 0.0, 1.0)).passed


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_wrong_operation_behind_a_tie_is_named_before_the_tie(factor):
    """Nine tenths of what is due at a tie lie between its slopes, and do not sum to the whole."""
    first = differentiable(
        lambda x: (x.max(), x), lambda dout, x: dout * (np.arange(x.size) == x.argmax())
    )
    wrong = differentiable(
        lambda x: (np.tanh(x), x), lambda dout, x: factor * dout * (1 - np.tanh(x) ** 2), "wrong"
    )
    ((_, op),) = causes(lambda t: wrong(first(t)), leaf(1.0, 1.0, 0.5))
    assert op == "wrong"


def test_a_right_kink_is_not_named_where_another_tensor_is_unused():
    absolute = differentiable(lambda x: (np.abs(x), x), lambda dout, x: dout * np.sign(x))
    assert causes(lambda a, unused: absolute(a), leaf(0.0, 1.0), leaf(1.0, name="u")) == []


def test_an_infinite_slope_is_told_beside_what_a_nudge_gives():
    root = differentiable(lambda x: (np.cbrt(x), x), lambda dout, x: dout / 3 / np.cbrt(x) ** 2)
    with np.errstate(all="ignore"):
        (cause,) = gradcheck(root, leaf(0.0, 1.0)).causes
    assert "inf at [0], where nudging its forward gives" in cause.sentence
    assert "may be infinite there" in cause.sentence
    broken = differentiable(lambda x: (x * x, x), lambda dout, x: dout * x / (x * x), name="square")
    with np.errstate(all="ignore"):
        (cause,) = gradcheck(broken, leaf(0.0, 1.0)).causes
    assert "nan at [0], where" in cause.sentence and "infinite" not in cause.sentence


def _skips_rows(dout, shape):
    """It leaves out what is 0, and not the ids that belong to it."""
    there = dout.any(axis=1)
    grad = np.zeros(shape)
    np.add.at(grad, IDS[: there.sum()], dout[there])
    return grad


def _divides(dout, shape):
    with np.errstate(invalid="ignore"):
        largest = np.abs(dout).max(axis=1, keepdims=True)
        return _right(dout / largest * largest, shape)


def _right(dout, shape):
    grad = np.zeros(shape)
    np.add.at(grad, IDS, dout)
    return grad


def _of_a_sum(dout, shape):
    return _right(dout, shape) * (2 if np.ptp(dout) == 0 else 1)


@pytest.mark.parametrize("backward", [_skips_rows, _divides, _of_a_sum])
def test_a_backward_that_is_wrong_for_douts_with_zeros_or_equal_numbers(backward):
    """As they come from a loss that masks, or from a sum: a random one has neither."""
    E = Tensor(np.arange(10.0).reshape(5, 2) / 7, requires_grad=True, name="E")
    rows = differentiable(lambda E: (E[IDS], E.shape), backward, name="rows")
    assert causes(rows, E) == [("dout not linear", "rows")]
    assert gradcheck(differentiable(lambda E: (E[IDS], E.shape), _right), E).passed


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
def test_a_lost_id_is_found_also_where_zeros_meet_a_relu(mode):
    """A direction through all entries meets too many kinks, so it is asked a little beside."""
    rng = np.random.default_rng(1)
    ids = rng.integers(500, size=2000)

    def backward(dout, lost):
        grad = np.zeros((500, 4))
        np.add.at(grad, ids[lost:], dout[lost:])
        return grad

    table = rng.standard_normal((500, 4)) * (rng.random((500, 4)) > 0.5)
    for lost in (0, 1):
        rows = differentiable(lambda E, lost=lost: (E[ids], lost), backward, name="rows")
        E = Tensor(table, requires_grad=True, name="E")
        assert gradcheck(lambda E: F.relu(rows(E)), E, mode=mode).passed == (not lost)  # noqa: B023


@pytest.mark.parametrize("gap", [21, 23, 26, 35])
def test_what_cancels_on_the_way_to_a_loss_is_not_called_wrong(gap):
    z = Tensor([[0.0, gap, -1.0]], requires_grad=True, name="z")
    for method in ("central", "all"):
        report = gradcheck(lambda z: F.cross_entropy(z, [1]), z, method=method)
        assert not report.causes and all(row.passed for row in report.rows), report
    half = differentiable(
        F.cross_entropy.forward, lambda *given: 0.5 * F.cross_entropy.backward(*given)
    )
    assert not gradcheck(lambda z: half(z, [1]), z).passed


def test_what_rounding_leaves_of_a_gradient_of_zero_is_linear_enough():
    """Over one column p is 1, and with label smoothing p - 1 may be 3e-17."""
    z = Tensor(np.zeros((2, 1)), requires_grad=True, name="z")
    for smoothing in (0.1, 0.2, 0.3, 0.45):
        report = gradcheck(lambda z, s=smoothing: F.cross_entropy(z, [0, 0], label_smoothing=s), z)
        assert report.agrees, report


def test_a_kink_so_faint_that_rounding_hides_it_from_short_steps_is_one():
    """Where relu lets numbers of another size pass, layer_norm moves by 1e-6 along a kink."""
    for x in ([[0, 2], [2, -1]], [[-1, -1, -2, 2], [2, 0, 0, 0]], [[0, -1, -1], [0, -2, 2]]):
        E = Tensor(np.array(x, float), requires_grad=True, name="E")
        for seed in range(4):
            report = gradcheck(lambda E: F.layer_norm(F.relu(E)), E, seed=seed)
            assert not report.causes and all(row.passed for row in report.rows), report
        half = differentiable(
            F.layer_norm.forward, lambda g, saved: 0.5 * F.layer_norm.backward(g, saved)[0]
        )
        assert not gradcheck(lambda E: half(F.relu(E)), E).passed  # noqa: B023


def test_a_step_is_no_tie():
    """x / |x| of a row of zeros: its slope is the 1e12 of what keeps it from 0 / 0, or none."""

    def forward(x):
        n = np.maximum(np.sqrt((x * x).sum(-1, keepdims=True)), 1e-12)
        return x / n, (x / n, n)

    def backward(dout, saved):
        y, n = saved
        along = np.where(n > 1e-12, (y * dout).sum(-1, keepdims=True), 0)
        return (dout - y * along) / n

    table = np.random.default_rng(0).standard_normal((5, 3))
    table[0] = 0
    E, normalize = Tensor(table, requires_grad=True, name="E"), differentiable(forward, backward)
    for fn in (normalize, lambda E: normalize(F.lookup(E, [0, 1, 2, 1], padding_idx=0))):
        report = gradcheck(fn, E)
        assert not report.causes and all(row.passed for row in report.rows), report


@pytest.mark.parametrize("high", [2.0, 3.0])
def test_a_mask_that_was_forgotten_is_no_transpose_though_forward_passes_a_small_dout(high):
    """Of a dout cut off at 3, nothing is: so backward answers what forward makes of it."""
    cut = differentiable(
        lambda x: (np.minimum(x, high), x), lambda dout, x: dout.copy(), name="cut"
    )
    assert causes(cut, leaf(0.4, 5.0, -1.7)) == [("leak", "cut")]


@pytest.mark.parametrize("x", [700.0, 709.0])
def test_what_is_too_small_for_a_multiple_of_it_is_linear(x):
    """What arrives at exp(700) behind ln(1 + exp(x)) is 1e-304; of 2^-40 of that digits go."""
    assert gradcheck(lambda x: F.log(1 + F.exp(x)), leaf(x, 1.0)).passed


def test_where_every_entry_was_asked_a_direction_across_a_pole_is_no_news():
    report = gradcheck(lambda x: 1 / x, leaf(1e-5, 1.0, 1e5))
    assert report.passed and all(row.index is not None for row in report.rows)


def doubled(forward, backward, name):
    return differentiable(forward, lambda dout, saved: 2 * backward(dout, saved), name=name)


@pytest.mark.parametrize(
    "op",
    [
        doubled(lambda E: (E[IDS], E.shape), _right, "lookup"),
        doubled(lambda E: (E.sum(), E.shape), lambda d, shape: np.full(shape, d), "sum"),
        doubled(lambda E: ((E * E).sum(), E), lambda d, E: 2 * d * E, "sum_of_squares"),
        doubled(lambda E: (E.max(axis=0), E), lambda d, E: d * (E == E.max(axis=0)), "maximum"),
    ],
)
def test_twice_the_gradient_of_what_takes_no_mean_is_no_mean_that_was_not_divided(op):
    E = Tensor(np.random.default_rng(7).standard_normal((6, 2)), requires_grad=True, name="E")
    assert causes(op, E) == [("constant factor", op.__name__)]


@pytest.mark.parametrize(
    ("forward", "backward"),
    [
        (lambda x: (x.mean(), x.shape), lambda d, shape: np.full(shape, d)),
        (lambda x: ((x**2).mean(axis=0), x), lambda d, x: 2 * d * x),
        (lambda x: (np.log(np.exp(x).mean(axis=0)), x),
         lambda d, x: len(x) * d * np.exp(x) / np.exp(x).sum(axis=0)),
    ],
)  # fmt: skip
def test_a_mean_that_is_not_divided_is_told_by_showing_each_number_twice(forward, backward):
    x = Tensor(np.random.default_rng(7).standard_normal((6, 2)), requires_grad=True, name="x")
    mean = differentiable(forward, backward, name="mean")
    assert causes(mean, x) == [("missing mean factor", "mean")]


@pytest.mark.parametrize(
    ("forward", "backward", "sentence"),
    [
        (lambda x: (x[::-1], ()), lambda d, _: d, "the rows that are due run one way"),
        (lambda x: (np.repeat(x, 2, axis=0), ()), lambda d, _: d[::2], "copies of one row are"),
        (lambda x: (x.reshape(-1), x.shape), lambda d, shape: d.reshape(shape, order="F"),
         "fills what it hands x column by column"),
    ],
)  # fmt: skip
def test_of_what_has_no_ids_none_are_told(forward, backward, sentence):
    x = Tensor(np.random.default_rng(7).standard_normal((4, 3)), requires_grad=True, name="x")
    report = gradcheck(differentiable(forward, backward, name="moves"), x)
    told = report.causes[0].sentence
    assert sentence in told and "id" not in told.split() and "ids" not in told
    assert "np.add.at" not in told and "x @ W" not in told


def length(x):
    return np.sqrt((x * x).sum(axis=-1, keepdims=True))


COUPLED = {  # of each: forward, and a backward that takes every entry alone
    "of length 1": (lambda x: (x / length(x), x), lambda dout, x: dout / length(x)),
    "mirror": (lambda x: (x + x[:, ::-1] / 2, x), lambda dout, x: 2 * dout),
}


@pytest.mark.parametrize("pair", COUPLED.values(), ids=COUPLED)
@pytest.mark.parametrize("shape", [(1, 2), (2, 2), (2, 3), (3, 3)])
@pytest.mark.parametrize("seed", [0, 1])
def test_what_couples_two_entries_of_a_small_input_does_not_go_entry_by_entry(pair, shape, seed):
    x = Tensor(np.random.default_rng(seed).standard_normal(shape), requires_grad=True)
    report = gradcheck(differentiable(*pair), x, seed=seed)
    assert [cause.name for cause in report.causes] == ["coupling ignored"]


def log_softmax(z):
    z = z - z.max(axis=-1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=-1, keepdims=True))
    return log_p, np.exp(log_p)


def softmax(z):
    p = log_softmax(z)[1]
    return p, p


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "mine"])
@pytest.mark.parametrize(
    ("forward", "rule"),
    [(softmax, "dz = p (dout - sum of p dout)"), (log_softmax, "dz = dout - p (sum of dout)")],
)
def test_a_softmax_and_its_logarithm_are_told_apart_whatever_they_are_called(name, forward, rule):
    op = differentiable(forward, lambda dout, p: dout * (1 - p), name=name)
    report = gradcheck(op, Tensor([[0.3, -1.0, 0.5], [2.0, 0.1, 0.0]], requires_grad=True))
    assert report.causes[0].name == "softmax diagonal" and rule in report.causes[0].sentence


def test_what_is_only_called_a_softmax_is_told_no_rule_of_it():
    cold = differentiable(lambda z: softmax(3 * z), lambda dout, p: dout * p, name="softmax")
    z = Tensor([[0.3, -1.0, 0.5], [2.0, 0.1, 0.0]], requires_grad=True, name="z")
    assert causes(cold, z) == [("coupling ignored", "softmax")]


def test_a_mixture_of_rows_is_no_mean_of_as_many_as_another_axis_has():
    """Keys and values that come twice change no answer; the 4 numbers of a key are no mean."""

    def backward(dout, saved):
        dq, dk, dv = F.attention.backward(dout, saved)
        return 4 * dq, 4 * dk, dv

    op = differentiable(F.attention.forward, backward, name="attention")
    rng = np.random.default_rng(0)
    q, k, v = (Tensor(rng.standard_normal(s), requires_grad=True) for s in ((2, 4), (3, 4), (3, 2)))
    assert causes(op, q, k, v) == [("constant factor", "attention")] * 2


def _minus_shared(dout, x):
    largest = x == x.max(axis=0)
    return -(largest * dout) / largest.sum(axis=0)


SPECIAL = {  # of each: forward, wrong backward, numbers at which another mistake explains it too
    "dout passed on": (lambda x: (np.tanh(x), x), lambda dout, x: dout, np.ones((2, 3))),
    "local derivative": (lambda x: (x @ x.T, x), lambda dout, x: dout @ x, np.eye(3)),
    "wrong sign": (lambda x: (x.max(axis=0), x), _minus_shared, np.ones((4, 3))),
    "coupling ignored": (
        lambda x: (x / x.sum(axis=-1, keepdims=True), x),
        lambda dout, x: dout / x.sum(axis=-1, keepdims=True),
        np.full((3, 2), 0.5),
    ),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_a_name_that_other_inputs_refute_is_not_told(name):
    forward, backward, numbers = SPECIAL[name]
    x = Tensor(numbers, requires_grad=True, name="x")
    assert causes(differentiable(forward, backward, name="op"), x) == [(name, "op")]


def test_a_backward_that_closes_over_its_numbers_is_asked_at_these_alone():
    """At other inputs 2 y would not be twice the slope of y x, which it is here."""
    x, y = leaf(0.5, -2.0, 3.0), np.array([0.5, -2.0, 3.0])
    square = differentiable(lambda x: (x * x, ()), lambda dout, _: 4 * y * dout, name="square")
    assert causes(square, x) == [("constant factor", "square")]


MASKED = np.array([[1, 2, 0, 0], [3, 3, 4, 0]]), np.array([[1, 1, 0, 0], [1, 1, 1, 0]])


def _mean_of_the_masked(E, ids, mask):
    count = mask.sum(axis=1, keepdims=True)
    return (E[ids] * mask[..., None]).sum(axis=1) / count, (E.shape, mask, count)


def _scattered_by_the_mask(dout, saved):
    shape, mask, count = saved
    dE = np.zeros(shape)
    np.add.at(dE, mask, mask[..., None] * (dout / count)[:, None])
    return dE


def test_a_mask_of_integers_is_not_taken_for_ids():
    """Its ones and zeros name rows, too, and forward reads none of them by it."""
    mean = differentiable(_mean_of_the_masked, _scattered_by_the_mask, name="mean")
    E = Tensor(np.random.default_rng(0).standard_normal((6, 3)), requires_grad=True, name="E")
    assert causes(lambda E: mean(E, *MASKED), E) == [("local derivative", "mean")]


def test_what_another_dout_weighs_otherwise_is_no_weight():
    """Each row has one entry that anything goes back to, so that any number is a multiple."""
    first = differentiable(
        lambda x: (2 * x[:, [0, 0]], x.shape),
        lambda dout, shape: np.pad(2 * dout[:, 1:], ((0, 0), (0, 2))),
        name="first",
    )
    x = Tensor(np.random.default_rng(0).standard_normal((3, 3)), requires_grad=True, name="x")
    assert causes(first, x) == [("local derivative", "first")]
