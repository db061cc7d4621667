"""gradcheck checked: no false alarm on right gradients, and every planted bug is caught."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Embedding, Tensor, differentiable, layers
from scratch_embed import functional as F
from scratch_embed.gradcheck import GradcheckError, catalogue, gradcheck, slopes
from scratch_embed.gradcheck.numeric import METHODS
from scratch_embed.gradcheck.report import OK, UNUSED, WRONG
from scratch_embed.tensor import no_grad

IDS = np.array([[4, 1, 1], [0, 4, 4]])  # 4 three times, 1 twice, 0 once; 2, 3 and 5 never


def leaf(*shape: int, seed: int = 0, name: str | None = None) -> Tensor:
    data = np.random.default_rng(seed).standard_normal(shape)
    return Tensor(data, requires_grad=True, name=name)


# ---- no false alarm -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_right_gradients_pass_at_many_seeds(seed):
    """Every operation and layer, by every method; the command does seed 0."""
    for case in catalogue.cases(seed):
        gradcheck(case.fn, *case.tensors, method="all", seed=seed).raise_if_wrong()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_right_gradients_pass_whatever_their_size(scale):
    """A small model with a tied table, at thirty seeds."""
    for seed in range(30):
        ids = np.random.default_rng(seed).integers(0, 6, 5)
        E = leaf(6, 2, seed=seed)

        def loss(E, ids=ids):
            return F.cross_entropy(F.tanh(F.lookup(E, ids)) @ E.T, ids[::-1]) * scale

        gradcheck(loss, E, seed=seed).raise_if_wrong()


def test_both_methods_measure_the_same():
    def loss(E):
        return F.cross_entropy(F.tanh(F.lookup(E, IDS)) @ E.T, IDS)

    reports = [gradcheck(loss, leaf(6, 3), method=method) for method in METHODS]
    by_entry = [{row.index: row.numeric for row in report.rows} for report in reports]
    assert by_entry[0].keys() == by_entry[1].keys()
    for index, central in by_entry[0].items():
        assert central == pytest.approx(by_entry[1][index], abs=1e-9)
    assert max(row.difference for row in reports[1].rows) < 1e-14  # nothing lost to rounding


def test_every_operation_and_layer_has_a_case():
    assert {case.name for case in catalogue.cases()} == {*F.__all__, *layers.__all__}


# ---- planted bugs -------------------------------------------------------------------------------


def lookup_with(scatter):
    """A lookup whose backward fills the table's gradient by `scatter(dE, ids, dout)`."""

    def forward(E, ids):
        return F.lookup.forward(E, ids)

    def backward(dout, saved):
        dE = np.zeros((saved.num_rows, dout.shape[-1]))
        scatter(dE, saved.ids.reshape(-1), dout.reshape(-1, dout.shape[-1]))
        return dE

    return differentiable(forward, backward, name="lookup")


def right(dE, ids, dout):
    np.add.at(dE, ids, dout)


def lose_duplicates(dE, ids, dout):
    dE[ids] += dout


def keep_the_last(dE, ids, dout):
    dE[ids] = dout


def scatter_by_reversed_ids(dE, ids, dout):
    np.add.at(dE, ids[::-1], dout)


def shift_ids(dE, ids, dout):
    np.add.at(dE, (ids + 1) % len(dE), dout)


def flip_the_sign(dE, ids, dout):
    np.add.at(dE, ids, -dout)


def divide_by_counts(dE, ids, dout):
    np.add.at(dE, ids, dout / np.bincount(ids)[ids][:, None])


def skip_the_first_row(dE, ids, dout):
    np.add.at(dE, ids[ids != 0], dout[ids != 0])


def touch_an_unused_row(dE, ids, dout):
    np.add.at(dE, ids, dout)
    dE[5] = 1e-12


def forget_everything(dE, ids, dout):
    pass


def swap_columns(dE, ids, dout):
    np.add.at(dE, ids, dout[:, ::-1])


LOOKUP_BUGS = [
    lose_duplicates, keep_the_last, scatter_by_reversed_ids, shift_ids, flip_the_sign,
    divide_by_counts, skip_the_first_row, touch_an_unused_row, forget_everything, swap_columns,
]  # fmt: skip


def broken(name: str, backward, **options):
    """The operation `name` of the package with another backward."""
    return differentiable(getattr(F, name).forward, backward, name=name, **options)


def detached(x: Tensor) -> Tensor:
    return Tensor(x.data)


# what is wrong: (function, shapes of its inputs)
BUGS = {
    "mean without 1/n": (broken("mean", F.sum.backward), [(4, 3)]),
    "matmul not transposed": (broken("matmul", lambda d, s: (d @ s.b, s.a @ d)), [(3, 3), (3, 3)]),
    "matmul swapped": (broken("matmul", lambda d, s: (s.a.T @ d, d @ s.b.T)), [(3, 3), (3, 3)]),
    "product with itself": (broken("mul", lambda d, s: (d * s[0], d * s[1])), [(4, 3), (4, 3)]),
    "quotient not squared": (
        broken("div", lambda d, s: (d / s[1], -d * s[0] / s[1])), [(4, 3), (4, 3)]),
    "difference with a plus": (broken("sub", lambda d, s: (d, d)), [(4, 3), (4, 3)]),
    "only one of the copies": (broken("add", lambda d, s: (d, d[0])), [(4, 3), (3,)]),
    "mean over the copies": (broken("add", lambda d, s: (d, d.mean(axis=0))), [(4, 3), (3,)]),
    "exp of the output": (broken("exp", lambda d, s: d * np.exp(s[0])), [(4, 3)]),
    "tanh without the square": (broken("tanh", lambda d, s: d * (1 - s[0])), [(4, 3)]),
    "exponent forgotten": (
        lambda x: broken("power", lambda d, s: d * s[0] ** 2)(x, 3), [(4, 3)]),
    "relu leaks": (broken("relu", lambda d, s: np.where(s[0], 0.01 * d, d)), [(4, 3)]),
    "transpose not undone": (
        lambda x: broken("transpose", lambda d, s: d.transpose(s[0]))(x, (1, 2, 0)), [(3, 3, 3)]),
    "reshape in column order": (
        lambda x: broken("reshape", lambda d, s: d.reshape(s[0], order="F"))(x, (2, 6)), [(4, 3)]),
    "index loses repeats": (
        lambda x: broken("getitem", lambda d, s: (g := np.zeros(s[0]), g.__setitem__(s[1], d))[0])(
            x, [1, 1, 2]), [(4,)]),
    "parts in the wrong order": (
        broken("concatenate", lambda d, s: F.concatenate.backward(d, s)[::-1]), [(4, 3), (4, 3)]),
    "softmax as if diagonal": (broken("softmax", lambda d, s: d * s[0] * (1 - s[0])), [(4, 5)]),
    "log-softmax without p": (broken("log_softmax", lambda d, s: d - d.sum(-1)[:, None]), [(4, 5)]),
    "cross-entropy without one-hot": (
        lambda z: broken("cross_entropy", lambda d, s: d * np.exp(s.log_p) * s.scale[:, None])(
            z, [4, 1, 1, 0]), [(4, 5)]),
    "cross-entropy summed": (
        lambda z: broken("cross_entropy", lambda d, s: F.cross_entropy.backward(
            d, s._replace(scale=np.ones(4))))(z, [4, 1, 1, 0]), [(4, 5)]),
    "tied head left out": (lambda E: F.lookup(E, IDS) @ detached(E).T, [(6, 3)]),
    "tied lookup left out": (lambda E: F.lookup(detached(E), IDS) @ E.T, [(6, 3)]),
    "nothing recorded": (lambda x: detached(x) * 2, [(4, 3)]),
    "used beside the tape": (lambda E: F.lookup(E, [1]) + E.data[5], [(6, 3)]),
    "twice too large": (broken("exp", lambda d, s: 2 * d * s[0]), [(4, 3)]),
    "a ten-thousandth too large": (broken("exp", lambda d, s: 1.0001 * d * s[0]), [(4, 3)]),
    "not a number": (broken("exp", lambda d, s: d * s[0] * np.nan), [(4, 3)]),
    "infinite": (broken("exp", lambda d, s: d * s[0] + np.inf), [(4, 3)]),
}  # fmt: skip


def test_the_right_scatter_passes():
    assert gradcheck(lambda E: lookup_with(right)(E, IDS), leaf(6, 3)).passed


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bug", LOOKUP_BUGS, ids=lambda bug: bug.__name__)
def test_planted_bugs_in_a_lookup_are_caught(bug, method):
    with pytest.raises(GradcheckError, match=WRONG):
        gradcheck(lambda E: lookup_with(bug)(E, IDS), leaf(6, 3), method=method).raise_if_wrong()


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_in_operations_are_caught(bug):
    fn, shapes = BUGS[bug]
    tensors = [leaf(*shape, seed=i) for i, shape in enumerate(shapes)]
    for seed in range(5):
        assert not gradcheck(fn, *tensors, seed=seed).passed


def test_lost_duplicates_show_as_exactly_the_repeated_rows():
    report = gradcheck(lambda E: lookup_with(lose_duplicates)(E, IDS), leaf(6, 3))
    assert {row.index[0] for row in report.rows if not row.passed} == {1, 4}
    assert all(row.passed == (row.uses < 2) for row in report.rows)


def test_a_cotangent_of_ones_hides_what_a_random_one_shows():
    """Scattered by reversed ids, every row gets as many ones as it should: behind sum() no entry
    shows it, and only the second look of the operation by itself, with another dout, does."""
    reversed_lookup = lookup_with(scatter_by_reversed_ids)
    for agrees, fn in (
        (True, lambda E: reversed_lookup(E, IDS).sum()),
        (False, lambda E: reversed_lookup(E, IDS)),
    ):
        report = gradcheck(fn, leaf(6, 3))
        assert report.rows_agree is agrees and not report.passed
        assert report.cause == "reversed scatter"


# ---- which entries ------------------------------------------------------------------------------


def test_a_large_table_is_sampled_by_the_use_of_its_rows():
    V = 50_000
    ids = np.array([7, 30_000, 7, 7, 41_234, 30_000])
    report = gradcheck(lambda E: F.lookup(E, ids), leaf(V, 2), max_entries=40)
    assert report.passed
    assert len(report.rows) <= 40
    uses = {row.index[0]: row.uses for row in report.rows if row.index}
    assert {7: 3, 30_000: 2, 41_234: 1, 0: 0, V - 1: 0}.items() <= uses.items()
    assert sum(count == 0 for count in uses.values()) > 5
    assert {row.verdict for row in report.rows if row.uses == 0} == {UNUSED}
    assert sum(row.index is None for row in report.rows) == 1  # a direction through all entries
    assert {row.verdict for row in report.rows if row.uses} == {OK}


@pytest.mark.parametrize("bug", [b for b in LOOKUP_BUGS if b is not touch_an_unused_row])
def test_bugs_in_a_large_table_are_caught_too(bug):
    ids = np.array([0, 7, 30_000, 7, 7, 41_234, 30_000])
    assert not gradcheck(lambda E: lookup_with(bug)(E, ids), leaf(50_000, 2), max_entries=40).passed


def lose_one_id(dE, ids, dout):
    np.add.at(dE, np.delete(ids, 137), np.delete(dout, 137, axis=0))


def test_one_lost_id_of_hundreds_is_caught_by_the_default():
    """It is in few samples of 5,000 rows, but a direction goes through all of them."""
    ids = np.random.default_rng(0).permutation(5000)[:300]
    for seed in range(10):
        report = gradcheck(lambda E: lookup_with(lose_one_id)(E, ids), leaf(5000, 2), seed=seed)
        assert not report.passed
        assert report.cause == "row dropped"
        assert f"gives row {ids[137]} of" in report.causes[0].sentence


def test_a_tensor_of_small_gradients_is_held_to_its_own_size():
    """Beside gradients of 1e9 a missing one of 1 is below 1e-8 of the largest."""
    beside = differentiable(lambda x, y: (1e9 * x + y, ()), lambda g, s: (1e9 * g, 0 * g), "beside")
    for method in ("richardson", "complex"):
        report = gradcheck(beside, leaf(3, name="x"), leaf(3, seed=1, name="y"), method=method)
        assert {row.parameter for row in report.rows if not row.passed} == {"y"}


def test_other_large_tensors_are_sampled_without_repeats():
    rows = gradcheck(F.tanh, leaf(30, 40), max_entries=50).rows
    assert len({row.index for row in rows}) == len(rows) == 50
    assert rows[0].uses is None


# ---- the caller's things stay as they were ------------------------------------------------------


def test_inputs_come_out_bit_unchanged():
    E, other = leaf(6, 3), leaf(6, 3, seed=1)
    E.grad = np.full((6, 3), 7.0)
    data, bits, grad = E.data, E.data.tobytes(), E.grad
    for method in METHODS:
        gradcheck(lambda E: F.lookup(E, IDS) * other[0], E, method=method)
    assert E.data is data
    assert E.data.tobytes() == bits
    assert E.grad is grad
    assert other.grad is None  # fn closed over it, and backward went through it


def test_single_precision_is_checked_in_double():
    embed = Embedding(6, 3, rng=0, max_norm=1.0)  # renormalised rows are put back as well
    bits = embed.weight.data.tobytes()
    short = Embedding(6, 3, rng=0, init=0.02)
    report = gradcheck(lambda _: F.tanh(short(IDS)), short.weight)
    assert report.passed
    assert max(row.difference for row in report.rows) < 1e-9  # float32 would leave 1e-2
    gradcheck(lambda _: embed(IDS), embed.weight)
    assert embed.weight.data.tobytes() == bits
    assert embed.weight.dtype == np.float32


def test_a_tensor_given_twice_is_checked_once():
    x = leaf(3)
    report = gradcheck(lambda a, b: a * b, x, x)
    assert report.passed
    assert len(report.rows) == 3


# ---- the report ---------------------------------------------------------------------------------


def test_report_puts_the_worst_first_and_prints_the_rule():
    one_off = broken("exp", lambda d, s: d * s[0] + np.array([0, 0, 1e-3, 0]))
    report = gradcheck(one_off, leaf(4, name="x"), seed=3)
    assert report.worst.index == (2,)
    assert report.worst.difference == pytest.approx(1e-3, rel=1e-4)
    assert [row.verdict for row in report.rows] == [WRONG, OK, OK, OK]
    text = str(report)
    assert text.splitlines()[0] == "gradcheck exp   central difference, float64, seed 3"
    assert text.splitlines()[2].split()[:2] == ["x", "[2]"]
    assert "3 of 4 entries agree" in text
    assert "rule: |a - n| <= 1e-06 max(|a|, |n|) + 1e-8 g + noise, with a by backward" in text


def test_not_a_number_is_wrong_alone_and_first():
    nan_at_2 = broken("exp", lambda d, s: np.where(np.arange(4) == 2, np.nan, d * s[0]))
    report = gradcheck(nan_at_2, leaf(4))
    assert report.worst.index == (2,)
    assert [row.verdict for row in report.rows] == [WRONG, OK, OK, OK]


def test_long_reports_are_cut():
    text = gradcheck(F.exp, leaf(30)).table(limit=5)
    assert len(text.splitlines()) == 1 + 5 + 1
    assert text.endswith("... and 25 more, less far off for what they may be")


@pytest.mark.parametrize("x", [Tensor([1.0]), Tensor(np.zeros((0, 3)), requires_grad=True)])
def test_nothing_checked_is_not_passed(x):
    report = gradcheck(F.exp, x)
    assert not report.passed
    assert report.worst is None
    assert "nothing was checked: no tensor given has entries and requires a gradient" in str(report)


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda: gradcheck(F.exp, leaf(3), method="forward"), ValueError, "central, complex"),
        (lambda: gradcheck(F.exp, leaf(3), max_entries=0), ValueError, "max_entries is 0"),
        (lambda: gradcheck(F.exp, leaf(3), method=5), ValueError, "method is 5"),
        (lambda: gradcheck(F.exp, leaf(3), seed=-1), ValueError, "seed is -1"),
        (lambda: slopes(np.sum, [1.0], h=0), ValueError, "h is 0"),
        (lambda: slopes(np.sum, [1.0], h=np.nan), ValueError, "h is nan"),
        (lambda: slopes(np.sum, [1.0, 1e12]), ValueError, r"array\[1\] = 1e\+12 does not move"),
        (lambda: slopes(np.sum, np.ma.array([1.0])), TypeError, "array is a masked array"),
        (lambda: gradcheck(F.exp, leaf(3), rtol=np.inf), ValueError, "rtol is inf"),
        (lambda: gradcheck(F.exp, np.ones(3)), TypeError, "argument 0 is a numpy.ndarray"),
        (lambda: gradcheck(F.exp, leaf(3) * 2), ValueError, "argument 0 was computed .*mul"),
        (lambda: gradcheck(lambda x: x.data, leaf(3)), TypeError, "fn returned a ndarray"),
    ],
)
def test_wrong_use_is_named(use, error, words):
    with pytest.raises(error, match=words):
        use()


def test_without_a_tape_there_is_nothing_to_check():
    with no_grad(), pytest.raises(RuntimeError, match="no_grad"):
        gradcheck(F.exp, leaf(3))


@pytest.mark.parametrize(
    ("loss", "array", "told"),
    [
        (lambda x: None, [1.0, 2.0], "loss returned None; it must return one number"),
        (lambda x: x, [1.0, 2.0], r"loss returned numbers of shape \(2,\); it must return one"),
        (lambda x: x.sum(), ["a"], "array holds <U1; slopes are measured of real numbers"),
        (lambda x: x.sum(), [1j], "array holds complex128; slopes"),
    ],
)
def test_slopes_of_what_is_no_number_are_told(loss, array, told):
    with pytest.raises(TypeError, match=told):
        slopes(loss, array)


def test_slopes_divide_by_what_a_large_number_really_moves_by():
    """By multiples of its last digit: 1e10 + 1e-5 is 5 % less than that away."""
    np.testing.assert_allclose(slopes(lambda x: (3 * (x - 1e10)).sum(), [1e10]), 3, rtol=1e-12)
