"""Sums over any axes: what NumPy says, to the last places also where NumPy's own sum runs off."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from scratch_embed.kernels import get_num_threads, set_num_threads, sum_over, sums

ROWS = 1 << 20
TENTH = float(np.float32(0.1))


@pytest.fixture
def compiled_always(monkeypatch):
    monkeypatch.setattr(sums, "SMALL", 1)


def random(shape, dtype):
    rng = np.random.default_rng(0)
    numbers = 5 * rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * rng.standard_normal(shape)
    return numbers.astype(dtype)


def arrays(dtype):
    """Of every number of axes, in every order of memory, and views with holes."""
    for shape in [(), (1,), (5,), (3, 4), (3, 1), (1, 70), (2, 3, 4), (2, 1, 4), (0,), (3, 0)]:
        whole = random(shape, dtype)
        for order in permutations(range(whole.ndim)):
            yield whole.transpose(order)
    yield random((4, 6), dtype)[::-1, ::2]
    yield np.broadcast_to(random((1, 5), dtype), (3, 5))


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "complex64", "complex128", "int32", "bool"]
)
@pytest.mark.parametrize("small", [1, 1 << 13])
def test_the_sums_are_those_of_numpy(dtype, small, monkeypatch):
    monkeypatch.setattr(sums, "SMALL", small)
    for array in arrays(dtype):
        for count in range(array.ndim + 1):
            for axis in [*combinations(range(-array.ndim, 0), count), None]:
                for keepdims in (True, False):
                    ours, theirs = (
                        f(array, axis=axis, keepdims=keepdims) for f in (sum_over, np.sum)
                    )
                    assert type(ours) is type(theirs) and ours.dtype == theirs.dtype
                    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
        for axis in range(array.ndim):
            np.testing.assert_allclose(sum_over(array, axis), array.sum(axis), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("width", [2, 7, 127])
def test_few_numbers_side_by_side_are_summed_in_double_whatever_the_size_of_the_array(width):
    """NumPy adds fewer than 128 one by one, and in their own precision."""
    x = random((20_000, width), np.float32)
    exact = x.astype(np.float64).sum(axis=1).astype(np.float32)
    assert np.array_equal(sum_over(x, 1), exact) and np.array_equal(sum_over(x[:5], 1), exact[:5])
    assert not np.array_equal(x.sum(axis=1), exact) or width == 2


def in_ulps(result, exact) -> float:
    """The largest distance from what is exact, in units in the last place of single precision."""
    assert np.asarray(result).real.dtype == np.float32
    gap = np.abs(np.asarray(result, np.complex128) - exact)
    return float((gap / np.spacing(np.float32(abs(exact)))).max())


FILLED = {
    "rows": lambda D: np.full((ROWS, D), 0.1, np.float32),
    "columns": lambda D: np.full((D, ROWS), 0.1, np.float32).T,
    "a part of wider rows": lambda D: np.full((ROWS, 2 * D), 0.1, np.float32)[:, :D],
    "every other row, backwards": lambda D: np.full((2 * ROWS, D), 0.1, np.float32)[::-2],
    "one number": lambda D: np.broadcast_to(np.float32(0.1), (ROWS, D)),
    "one row": lambda D: np.broadcast_to(np.full(D, 0.1, np.float32), (ROWS, D)),
    "one column": lambda D: np.broadcast_to(np.full((ROWS, 1), 0.1, np.float32), (ROWS, D)),
    "complex rows": lambda D: np.full((ROWS, D), 0.1, np.complex64),
}


@pytest.mark.parametrize("D", [1, 3])
@pytest.mark.parametrize("name", FILLED)
def test_a_million_rows_are_right_to_the_last_places(name, D):
    filled = FILLED[name](D)
    assert in_ulps(sum_over(filled, axis=0), ROWS * TENTH) <= 4
    assert in_ulps(sum_over(filled), ROWS * D * TENTH) <= 4
    if name == "rows" and D > 1:
        assert in_ulps(filled.sum(axis=0), ROWS * TENTH) > 100_000  # what NumPy says


def test_one_row_seen_as_thousands_is_summed_in_double():
    row = np.full(100, 0.1, np.float32)
    assert in_ulps(sum_over(np.broadcast_to(row, (5000, 100)), axis=0)[0], 5000 * TENTH) <= 1


@pytest.mark.parametrize("axis", [(0, 1), (0, 2), 1, (1, 2), 2, (0,)])
def test_a_million_random_numbers_over_any_axes(axis):
    array = np.random.default_rng(1).random((64, 1 << 14, 4), np.float32)
    assert in_ulps(sum_over(array, axis), array.sum(axis, dtype=np.float64)) <= 4


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("D", [3, 100])
def test_any_number_of_threads_gives_the_same_bits(D, dtype, monkeypatch):
    monkeypatch.setattr("scratch_embed.kernels.threads.PART", 1 << 13)
    values, before, answers = random((10_000, D), dtype), get_num_threads(), set()
    try:
        for threads in (1, 2, 3, 4):
            set_num_threads(threads)
            answers.add(sum_over(values, axis=0).tobytes())
    finally:
        set_num_threads(before)
    assert len(answers) == 1


def test_an_axis_that_is_not_there_or_is_named_twice(compiled_always):
    for small in (np.ones((2, 3)), np.ones((2, 3), int)):
        with pytest.raises(np.exceptions.AxisError, match="axis 2 is out of bounds"):
            sum_over(small, 2)
        with pytest.raises(ValueError, match="axis"):
            sum_over(small, (0, 0))
