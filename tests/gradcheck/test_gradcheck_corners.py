"""Points without a derivative where no single entry shows it: right choices pass, others not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed import functional as F
from scratch_embed.gradcheck import gradcheck

EQUAL = {
    "all five": np.ones((1, 5)),
    "three of five": np.array([[2.0, 2.0, 2.0, 1.0, 0.0], [3.0, 1.0, 1.0, 1.0, 0.5]]),
}
MODES = ("elementwise", "directional")


def leaf(data, name: str = "x") -> Tensor:
    return Tensor(np.array(data, dtype=float), requires_grad=True, name=name)


def taking(ranks: slice, pays: float = 1.0, order=None):
    """The numbers of each row that have these ranks, from the least on; of equal ones those first
    that stand first in `order`."""

    def forward(x):
        turned = np.arange(x.shape[-1]) if order is None else order
        ids = turned[np.argsort(x[..., turned], axis=-1, kind="stable")[..., ranks]]
        return np.take_along_axis(x, ids, -1), (ids, x.shape)

    def backward(g, saved):
        ids, shape = saved
        dx = np.zeros(shape)
        np.put_along_axis(dx, ids, pays * g, -1)
        return dx

    return differentiable(forward, backward, name="taking")


RANKS = {"median": slice(2, 3), "sort": slice(0, 5), "two largest": slice(3, 5)}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("x", EQUAL.values(), ids=EQUAL)
@pytest.mark.parametrize("ranks", RANKS.values(), ids=RANKS)
def test_who_of_equal_numbers_is_paid_is_free_and_how_much_is_not(ranks, x, mode):
    for seed in range(3):
        right = gradcheck(taking(ranks), leaf(x), mode=mode, seed=seed)
        assert right.passed, right
        for wrong in (2.0, 0.5, 0.0, -1.0):
            assert not gradcheck(taking(ranks, wrong), leaf(x), mode=mode, seed=seed).passed


def test_medians_of_many_rows_to_some_of_which_next_to_nothing_arrives():
    """Beside a cotangent of 2 one of 0.01 makes a gap that might be rounding, or what is curved."""
    ratings = np.random.default_rng(0).integers(1, 3, (60, 5)).astype(float)
    assert gradcheck(taking(slice(2, 3)), leaf(ratings)).passed
    for wrong in (1.05, 0.9, 0.0):
        assert not gradcheck(taking(slice(2, 3), wrong), leaf(ratings)).passed


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [3, 7])
def test_equal_numbers_may_share_what_one_of_them_is_due(size, mode):
    def shared(pays):
        def backward(g, x):
            mine = x == np.median(x)
            return g * (pays / size if mine.all() else mine)

        return differentiable(
            lambda x: (np.median(x), x), lambda g, x: backward(g, x) * np.ones(size), name="median"
        )

    x = np.full(size, 0.5)
    report = gradcheck(shared(1.0), leaf(x), mode=mode)
    assert report.passed and "lies between such" in " ".join(str(report).split())
    for wrong in (1.1, 0.5, 0.0):
        assert not gradcheck(shared(wrong), leaf(x), mode=mode).passed


@pytest.mark.parametrize("mode", MODES)
def test_two_equal_largest_that_stand_where_they_are_clipped(mode):
    """The slope is one of them only where both are below the bound: on half of all sides or less
    nobody has one. Backward may pay either, or nobody, or what lies between."""

    def clipped(pays):
        def backward(g, x):
            if np.array_equal(x, [1, 1, 0.5]):
                return g * np.array(pays, dtype=float)
            return g * (x == x.max()) * (x < 1)

        return differentiable(lambda x: (np.minimum(x.max(), 1.0), x), backward, name="clipped")

    for seed in range(3):
        for right in ((1, 0, 0), (0, 1, 0), (0, 0, 0), (0.5, 0.5, 0), (0.3, 0.4, 0)):
            assert gradcheck(clipped(right), leaf([1, 1, 0.5]), mode=mode, seed=seed).passed
        for wrong in ((0.7, 0.4, 0), (2, 0, 0), (-1, 0, 0), (1, 1, 0), (0, 0, 1)):
            assert not gradcheck(clipped(wrong), leaf([1, 1, 0.5]), mode=mode, seed=seed).passed


@pytest.mark.parametrize("size", [3, 5, 12])
def test_of_equal_numbers_any_may_be_the_one(size):
    rng = np.random.default_rng(size)
    for ranks in (slice(size // 2, size // 2 + 1), slice(0, size), slice(size - 2, size)):
        for seed in range(2):
            right = taking(ranks, order=rng.permutation(size))
            assert gradcheck(right, leaf(np.ones((2, size))), seed=seed).passed
            wrong = taking(ranks, 1.5, order=rng.permutation(size))
            assert not gradcheck(wrong, leaf(np.ones((2, size))), seed=seed).passed


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(2, 3), (20, 12)], ids=["all entries", "a sample"])
def test_a_tie_of_two_tensors_that_is_half_paid_is_refused_in_every_mode(shape, mode):
    """Half is what lies midway between the slopes from left and right, so b alone seems right."""

    def pays(share):
        return lambda g, s: (g * (1 + np.sign(s[0] - s[1])) / 2, g * (share(s[0], s[1])))

    for share, passes in (
        (lambda a, b: (1 - np.sign(a - b)) / 2, True),
        (lambda a, b: b > a, False),
    ):
        larger = differentiable(
            lambda a, b: (np.maximum(a, b), (a, b)), pays(share), name="maximum"
        )
        a = np.random.default_rng(0).standard_normal(shape)
        b = np.where(np.arange(a.size).reshape(shape) % 5, -a, a)
        for seed in range(3):
            report = gradcheck(larger, leaf(a, "a"), leaf(b, "b"), mode=mode, seed=seed)
            assert report.passed == passes, report


def fused(at_zero: float):
    """relu(x @ W) @ V in one operation, whose outputs each mix several kinks."""

    def forward(x, W, V):
        z = x @ W
        return np.maximum(z, 0) @ V, (x, W, V, z)

    def backward(g, saved):
        x, W, V, z = saved
        dz = (g @ V.T) * np.where(z == 0, at_zero, z > 0)
        return dz @ W.T, x.T @ dz, np.maximum(z, 0).T @ g

    return differentiable(forward, backward, name="fused")


@pytest.mark.parametrize("seed", range(5))
def test_kinks_that_one_operation_mixes_may_each_take_a_side(seed):
    rng = np.random.default_rng(seed)
    x, W, V = (rng.standard_normal(shape) for shape in ((3, 4), (4, 8), (8, 4)))
    x[1] = 0  # as where padding stands
    given = leaf(x, "x"), leaf(W, "W"), leaf(V, "V")
    for side in (0.0, 0.5):
        assert gradcheck(fused(side), *given, seed=seed).passed
    for wrong in (5.0, -3.0):
        assert not gradcheck(fused(wrong), *given, seed=seed).passed


def test_a_row_of_equal_numbers_has_no_variance_and_no_slope():
    """What rounding leaves of x + h beside numbers of size 1 is no slope."""

    def forward(x):
        return ((x - x.mean(-1, keepdims=True)) ** 2).sum(-1) / 3, x

    def backward(g, x):
        return g[:, None] * 2 / 3 * (x - x.mean(-1, keepdims=True))

    variance = differentiable(forward, backward, name="var")
    for seed in range(10):
        for size in (1.0, 0.3, 7.7):
            assert gradcheck(variance, leaf(np.full((3, 4), size)), seed=seed).passed
    short = differentiable(forward, lambda g, x: backward(g, x) / 2, name="var")
    assert not gradcheck(short, leaf(np.arange(12.0).reshape(3, 4))).passed


def test_many_equal_pairs_are_all_looked_at():
    """Of 24 entries on kinks each shares one with one of the others."""
    a, b = leaf(np.ones((3, 4)), "a"), leaf(np.ones((3, 4)), "b")

    def backward(g, saved, lost=(2, 3)):
        a, b = saved
        da = g * (a >= b)
        da[lost] = 0.0
        return da, g * (b > a)

    larger = differentiable(lambda a, b: (np.maximum(a, b), (a, b)), backward, name="maximum")
    assert gradcheck(larger, a, b).cause == "ties"


def test_where_a_function_leaps_nothing_can_be_told():
    leaps = differentiable(
        lambda a, b: (np.where(a > b, 2 * a, 3 * b), (a, b)),
        lambda g, s: (g * 2.0 * (s[0] > s[1]), g * 3.0 * (s[0] <= s[1])),
        name="leaps",
    )
    for seed in range(3):
        report = gradcheck(leaps, leaf(np.ones((3, 4)), "a"), leaf(np.ones((3, 4)), "b"), seed=seed)
        assert report.agrees and not report.told
    assert gradcheck(lambda x: F.relu(x) * 3.0, leaf([-1.0, 2.0])).passed


@pytest.mark.parametrize(
    "x", [[2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0, 1.0], [3.0, 0.0, 0.0, 0.0, -1.0]]
)
def test_a_kink_that_no_two_of_four_entries_share_is_shared_by_all(x):
    """Of the sum of the k largest, the numbers that equal the k-th share what is left."""
    k = 2 + (x[0] > x[1])

    def forward(x):
        return np.sort(x, -1)[:, -k:].sum(-1), x

    def paying(all_of_it):
        def backward(g, x):
            last = np.sort(x, -1)[:, -k][:, None]
            over, equal = x > last, x == last
            left = k - over.sum(-1, keepdims=True) if all_of_it else 1
            return g[:, None] * (over + equal * left / equal.sum(-1, keepdims=True))

        return differentiable(forward, backward, name="top")

    for mode in MODES:
        for seed in range(3):
            assert gradcheck(paying(True), leaf([x, x[::-1]]), mode=mode, seed=seed).passed
            assert not gradcheck(paying(False), leaf([x, x[::-1]]), mode=mode, seed=seed).passed


def test_x_does_not_hide_behind_minus_x():
    """Of three equal sizes one is negative: moved together with two others it seems to be alone."""

    def pays(share):
        def backward(g, x):
            largest = abs(x) == abs(x).max()
            return share * g * np.sign(x) * largest / largest.sum()

        return differentiable(lambda x: (abs(x).max(), x), backward, name="size")

    for x in ([2.0, 2.0, -2.0], [2.0, -2.0, 2.0], [1.0, -1.0, -1.0, 0.5]):
        assert gradcheck(pays(1.0), leaf(x)).passed
        assert not gradcheck(pays(2.0), leaf(x)).passed


def test_beside_a_number_near_zero_a_step_leads_out_of_the_domain_and_tells_nothing():
    for fn in (F.sqrt, F.log):
        for x in ([[2.0, 3.0, 4.0], [1.0, 2.0, 1e-12]], [[1e4, 1e-10]]):
            for seed in range(3):
                assert gradcheck(fn, leaf(x), seed=seed).passed


def test_a_tiny_leak_beside_large_gradients_is_no_corner():
    """1e-6 of the largest gradient where nothing is due."""

    def leaks(g, x):
        dx = 2 * x * g
        dx[-1] += 1e-5
        return dx

    square = differentiable(lambda x: (x * x, x), leaks, name="square")
    assert not gradcheck(square, leaf([3.0, -2.0, 0.0])).passed


def test_ties_of_two_large_tensors_are_paired():
    x = np.ones((14, 14))
    for share, passes in ((0.5, True), (1.0, False), (0.0, False)):

        def both(g, saved, share=share):
            a, b = saved
            return g * np.where(a == b, share, a > b), g * np.where(a == b, share, b > a)

        larger = differentiable(lambda a, b: (np.maximum(a, b), (a, b)), both, name="maximum")
        assert gradcheck(larger, leaf(x, "a"), leaf(x, "b")).passed == passes


@pytest.mark.parametrize("mode", MODES)
def test_an_entry_alone_on_its_kink_has_no_more_than_its_two_slopes(mode):
    """abs at 0, and two equal largest: to 1.5 and -0.5 the sum is right, and neither is."""

    def size(at_zero):
        return lambda g, x: g * np.where(x == 0, at_zero, np.sign(x))

    def largest(first, second):
        paid = np.array([first, second, 0.0])
        return lambda g, x: g * (paid if x[0] == x[1] else x == x.max())

    for seed in range(3):
        for at_zero in (-1.1, -1.0, 0.3, 1.0, 1.1, 2.0):
            op = differentiable(lambda x: (abs(x), x), size(at_zero), name="size")
            report = gradcheck(op, leaf([0.0, 1.0, -0.5, 2.0]), mode=mode, seed=seed)
            assert report.passed == (abs(at_zero) <= 1), at_zero
            assert report.passed or report.cause == "beyond a kink"
        for first in (1.5, 1.1, 1.0, 0.6, 0.0, -0.1):
            op = differentiable(lambda x: (x.max(), x), largest(first, 1 - first), name="max")
            report = gradcheck(op, leaf([1.0, 1.0, 0.5]), mode=mode, seed=seed)
            assert report.passed == (0 <= first <= 1), first


@pytest.mark.parametrize("mode", MODES)
def test_of_a_median_that_no_single_entry_moves_somebody_is_paid(mode):
    for seed in range(5):
        for x in ([[-2, 0, 0, 0, 0], [1, 1, 0, 1, 2], [0, -2, 0, 1, 0]], np.zeros((3, 5))):
            assert gradcheck(taking(slice(2, 3)), leaf(x), mode=mode, seed=seed).passed
            report = gradcheck(taking(slice(2, 3), 0.0), leaf(x), mode=mode, seed=seed)
            assert report.cause == "ties"


@pytest.mark.parametrize("mode", MODES)
def test_equal_numbers_beside_such_as_are_clipped(mode):
    """1, 0 and 1 between two that are cut off: the median is a 1 where both are a little less, and
    the largest of the two is paid. One 1 alone among such moves nothing, and is paid all the same:
    no slope of the whole, of two right operations."""

    def clipped(x):
        return taking(slice(2, 3))(clip(x))

    clip = differentiable(lambda x: (x.clip(-1, 1), abs(x) <= 1), lambda g, kept: g * kept)
    pair = [[1.5, 0.5, 0, 0, -1], [0.5, -1, 0.5, -1.5, -0.5], [1.5, 1, 0, 1, 1.5]]
    for seed in range(3):
        assert gradcheck(clipped, leaf(pair), mode=mode, seed=seed).passed
        report = gradcheck(clipped, leaf([[2.0, 1, 2, 2, -1]]), mode=mode, seed=seed)
        assert {cause.name for cause in report.causes} == {"kinks that cancel"}, report


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 2)])
def test_the_larger_of_two_tensors_that_stand_where_it_is_clipped(shape, mode):
    def larger(pays):
        def backward(g, saved):
            a, b = saved
            return pays * g * (a >= b), pays * g * (a < b)

        return differentiable(lambda a, b: (np.maximum(a, b), (a, b)), backward, name="larger")

    clip = differentiable(lambda x: (x.clip(-1, 1), abs(x) <= 1), lambda g, kept: g * kept)
    a, b = leaf(np.ones(shape), "a"), leaf(np.ones(shape), "b")
    for seed in range(3):
        right, wrong = (
            gradcheck(lambda a, b, n=n: clip(larger(n)(a, b)), a, b, mode=mode, seed=seed)
            for n in (1, 2)
        )
        assert right.passed and not wrong.passed


SMOOTH = {  # a place, forward, and a derivative that is not it
    "one large number": ([130993.167], np.sin, lambda x: -np.cos(x)),
    "beside a large number": ([0.22, -1.01, 126304.054], np.tanh, lambda x: 1 - np.tanh(x)),
    "fast": ([5.3, 1.7], lambda x: np.sin(3217 * x), lambda x: 3072 * np.cos(3217 * x)),
    "near the end": ([4.28e-7], np.log, lambda x: 1 / (2 * x + 1e-6)),
    "near a pole": ([4.28e-7], lambda x: 1 / x, lambda x: -0.5 / x**2),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SMOOTH)
def test_what_is_curved_is_no_corner(name, mode):
    """However much the slope differs a little beside the point: nearer to it, it does not."""
    x, forward, wrong = SMOOTH[name]
    op = differentiable(lambda x: (forward(x), x), lambda g, x: g * wrong(x), name="curved")
    report = gradcheck(op, leaf(x), mode=mode)
    assert not report.passed and "a corner" not in str(report)


@pytest.mark.parametrize("times", [1, 2])
def test_an_output_that_is_masked_by_infinity_is_judged(times):
    kept = np.tril(np.ones((3, 3), bool))
    x = np.random.default_rng(1).normal(size=(3, 3))
    mask = differentiable(
        lambda x: (np.where(kept, x, -np.inf), 0), lambda g, _: times * np.where(kept, g, 0)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradcheck(lambda x: F.softmax(mask(x)), leaf(x)).passed == (times == 1)
        gradcheck(mask, leaf(x))
