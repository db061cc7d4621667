"""max_norm: rows that were shrunk are short enough, to the last place, and stay as they are."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed.ops.renorm import renorm_

NORM_TYPES = [0.5, 1.0, 2.0, 3.0, np.inf]


def long_rows(dtype, max_norm: float, columns: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    lengths = 10 ** rng.uniform(-1, 3, (300, 1))
    return (rng.standard_normal((300, columns)) * lengths * max_norm).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("norm_type", NORM_TYPES)
@pytest.mark.parametrize(("max_norm", "columns"), [(1.0, 100), (0.1, 3), (3.7, 768), (1e-30, 5)])
def test_no_row_is_left_too_long_and_a_second_call_changes_nothing(
    dtype, norm_type, max_norm, columns
):
    table = long_rows(dtype, max_norm, columns)
    before = table.copy()
    renorm_(table, np.arange(300), max_norm, norm_type)
    for wide in (table, table.astype(np.float64)):
        assert np.linalg.norm(wide, ord=norm_type, axis=1).max() <= max_norm
    once = table.copy()
    renorm_(table, [3], max_norm, norm_type)
    renorm_(table, np.arange(300)[::-1], max_norm, norm_type)
    np.testing.assert_array_equal(table, once)

    with np.errstate(over="ignore"):
        was = np.linalg.norm(before.astype(np.float64), ord=norm_type, axis=1)
    expected = before * np.minimum(1, max_norm / was)[:, None]  # shrunk to it, not far below
    np.testing.assert_allclose(table, expected, rtol=20 * np.finfo(dtype).eps)


def test_rows_whose_square_overflows_are_shrunk_and_not_lost():
    table = np.array([[3e20, 4e20]], np.float32)
    renorm_(table, [0], 1.0)
    np.testing.assert_allclose(table, [[0.6, 0.8]], rtol=1e-6)


@pytest.mark.parametrize(
    ("row", "max_norm", "norm_type", "dtype"),
    [([3.0, 0.0], 5, 100, "f4"), ([3.0, 4.0], 10, 1000, "f8"), ([1e20, 1e20], 1e25, 2, "f4")],
)
def test_a_row_within_the_limit_stays_though_its_powers_overflow(row, max_norm, norm_type, dtype):
    table = np.array([row], dtype)
    renorm_(table, [0], max_norm, norm_type)
    assert table.tolist() == np.array([row], dtype).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [200, 2000, 1e6])
def test_where_powers_are_0_the_length_is_not(p, dtype):
    """||(0.6, 5)||_p is 5 for a large p, and of five equal numbers 5^(1/p) times one."""
    table = np.array([[0.6, 5, 0, 0, 0], [6, -6, 6, 6, 6], [0, 0, 0, 0, 0]], dtype)
    renorm_(table, [0, 1, 2], 1.0, p)
    each = 5 ** (-1 / p)
    expected = [[0.12, 1, 0, 0, 0], [each, -each, each, each, each], [0] * 5]
    np.testing.assert_allclose(table, expected, rtol=1e-5)


def test_a_power_that_leaves_the_range_of_floats_is_refused():
    with pytest.raises(ValueError, match=r"norm_type is 0\.01; at least 0\.1"):
        renorm_(np.ones((2, 4096)), [0], 1.0, 0.01)


def test_a_row_whose_square_no_float_holds_is_shrunk():
    table = np.array([[1e200, 1e200]])
    renorm_(table, [0], 1.0)
    np.testing.assert_allclose(table, [[0.5**0.5, 0.5**0.5]])


def test_rows_at_the_bottom_of_the_numbers_end_too():
    tiny = np.finfo(np.float64).smallest_subnormal
    table = np.full((1, 10), tiny)  # nine tenths of the smallest number round to itself
    renorm_(table, [0], 9 * tiny, 1.0)
    assert np.abs(table).sum() <= 9 * tiny


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_left_where_they_are(bad):
    table = np.array([[bad, 3.0], [3.0, 4.0]])
    renorm_(table, [0, 1, 1], 1.0)
    np.testing.assert_array_equal(table[0], [bad, 3.0])
    assert np.linalg.norm(table[1]) <= 1


@pytest.mark.parametrize(
    ("max_norm", "norm_type", "words"),
    [
        (0, 2, "max_norm is 0"),
        (np.nan, 2, "max_norm is nan"),
        (True, 2, "max_norm is True"),
        (1, -1, "norm_type is -1"),
        (1, np.nan, "norm_type is nan"),
        (1, True, "norm_type is True"),
    ],
)
def test_a_limit_that_is_none_is_explained(max_norm, norm_type, words):
    with pytest.raises(ValueError, match=words):
        renorm_(np.ones((2, 2)), [0], max_norm, norm_type)


def test_a_row_is_shrunk_by_a_factor_that_its_dtype_does_not_hold():
    table = np.full((2, 4), 1e22, np.float32)
    renorm_(table, [1], 1e-25)
    assert np.linalg.norm(table[1].astype(float)) == pytest.approx(1e-25, rel=1e-5)
    assert (table[0] == np.float32(1e22)).all()
