"""An id is an integer in 0 .. V-1. Whatever else is given is refused, and the message says why."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import scratch_embed
from scratch_embed.kernels import group_rows, sum_groups, tables
from scratch_embed.kernels.ids import check_ids, count_ids
from scratch_embed.ops.bag import embedding_bag_forward
from scratch_embed.text.word2vec import Negatives
from scratch_embed.text.word2vec_fast import noise_table

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", ">i4", "<u2"]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("shape", [(), (1,), (6,), (2, 3), (3, 1, 2), (0,), (2, 0)])
def test_every_integer_dtype_and_shape(dtype, shape):
    ids = (np.arange(int(np.prod(shape))) % 5).reshape(shape).astype(dtype)
    checked = check_ids(ids, 5)
    assert checked.dtype == np.int64 and checked.dtype.isnative
    assert checked.shape == shape and checked.flags.c_contiguous
    assert np.array_equal(checked, ids)


def test_an_int64_array_is_not_copied():
    ids = np.array([[0, 2], [1, 1]])
    assert check_ids(ids, 3) is ids
    assert check_ids(ids.T, 3).flags.c_contiguous


@pytest.mark.parametrize(
    "ids, expected",
    [
        (3, 3),
        ([2, 0, 2], [2, 0, 2]),
        ((1, 0), [1, 0]),
        (range(3), [0, 1, 2]),
        ([[0], [4]], [[0], [4]]),
    ],
)
def test_python_numbers_and_lists(ids, expected):
    assert np.array_equal(check_ids(ids, 5), expected)


def test_what_offers_itself_as_an_array():
    class Tensorlike:
        def __array__(self, dtype=None, copy=None):
            return np.array([1, 2])

    assert np.array_equal(check_ids(Tensorlike(), 3), [1, 2])


@pytest.mark.parametrize("ids, shape", [([], (0,)), ((), (0,)), ([[], []], (2, 0))])
def test_an_empty_list_is_no_ids(ids, shape):
    for num_rows in (0, 3):
        checked = check_ids(ids, num_rows)
        assert checked.shape == shape and checked.dtype == np.int64


@pytest.mark.parametrize(
    "ids, words",
    [
        (-1, ["ids = -1", "negative", "0..5", "wrap round in NumPy"]),
        ([0, 6], ["ids[1] = 6", "too large", "0..5", "6 rows"]),
        ([[0, 1], [2, -3]], ["ids[1, 1] = -3", "negative"]),
        (np.array([0, 7, -1], np.int8), ["ids[1] = 7"]),
        (np.array([2**63 + 5], np.uint64), ["ids[0] = 9223372036854775813", "too large"]),
        (np.array([2**64 - 1], np.uint64), ["ids[0] = 18446744073709551615", "too large"]),
        ([1, 2**70], ["ids[1] = 1180591620717411303424", "too large"]),
        (2**70, ["ids = 1180591620717411303424", "too large", "0..5"]),
        (-(2**70), ["ids = -1180591620717411303424", "negative"]),
        (np.array([1, 2**70]), ["ids[1] = 1180591620717411303424", "too large"]),
        ([2**63, -1], ["ids[0] = 9223372036854775808", "too large"]),
        (np.arange(12).reshape(2, 6)[:, ::-1], ["ids[1, 0] = 11"]),
    ],
)
def test_out_of_range(ids, words):
    with pytest.raises(IndexError) as error:
        check_ids(ids, 6)
    assert all(word in str(error.value) for word in words), error.value


def test_the_ends_of_the_range():
    assert np.array_equal(check_ids([0, 5], 6), [0, 5])
    for bad in (-1, 6):
        with pytest.raises(IndexError):
            check_ids([0, bad], 6)


def test_a_table_without_rows():
    with pytest.raises(IndexError, match=r"ids\[0\] = 0, but the table has no rows"):
        check_ids([0], 0)


@pytest.mark.parametrize(
    "ids, words",
    [
        (True, ["ids = True", "boolean", "np.flatnonzero"]),
        (np.array([[False, True]]), ["ids[0, 0] = False", "boolean"]),
        ([2, True], ["ids[1] = True", "boolean"]),
        ([[0, 1], [np.True_, 1]], ["ids[1, 0] = True", "boolean"]),
        (1.0, ["ids = 1.0", "whole number stored as float64", "0..5", "astype(np.int64)"]),
        (np.array([3, 1], np.float32), ["ids[0] = 3.0", "stored as float32"]),
        ([3, 1, 4.0], ["ids[2] = 4.0 is a float", "Write 4."]),
        ([1, 1.5], ["ids[1] = 1.5", "fractional part", "0..5"]),
        ([[1, 2], [3, np.nan]], ["ids[1, 1] = nan", "not a number"]),
        ([1, -np.inf], ["ids[1] = -inf", "infinite"]),
        (np.array([0.5], np.float16), ["ids[0] = 0.5", "fractional part"]),
        ("cat", ["ids = 'cat'", "str", "vocabulary"]),
        ([1, "cat"], ["ids[1] = 'cat'", "str"]),
        (None, ["ids = None", "NoneType"]),
        ([1, None], ["ids[1] = None"]),
        ({1}, ["ids = {1}", "set"]),
        ([2j], ["ids[0] = 2j", "complex"]),
        (np.array([1], "m8[s]"), ["ids[0]", "timedelta"]),
        (np.zeros(0), ["ids is empty", "float64", "dtype=np.int64"]),
        (np.array([1, 2], object), ["ids[0] = 1", "stored as object", "ids.astype(np.int64)"]),
        (np.ma.array([1, 2], mask=[0, 1]), ["ids is a masked array", "ids.filled(value)"]),
        (np.ma.array([1, 2]), ["ids is a masked array", "ids.compressed()"]),
    ],
)
def test_what_is_not_an_integer(ids, words):
    with pytest.raises(TypeError) as error:
        check_ids(ids, 6)
    assert all(word in str(error.value) for word in words), error.value


def test_whole_numbers_of_several_types_are_ids():
    """NumPy makes floats of uint64 beside int64."""
    checked = check_ids([np.uint64(1), 2, np.int8(0)], 6)
    assert checked.dtype == np.int64 and checked.tolist() == [1, 2, 0]
    with pytest.raises(IndexError, match=r"ids\[1\] = -2 is negative"):
        check_ids([np.uint64(1), -2], 6)


def test_a_ragged_list():
    with pytest.raises(ValueError, match=r"ids is ragged.*ids\[0\] holds 2, ids\[2\] 1"):
        check_ids([[1, 2], [0, 1], 3], 4)
    with pytest.raises(ValueError, match=r"ids is ragged.*ids\[0\] holds 2, ids\[1\] 1"):
        check_ids([[1, 2], [3]], 6)


def test_the_message_names_the_argument():
    with pytest.raises(IndexError, match=r"^targets\[0\] = 9 "):
        check_ids([9], 6, name="targets")


# ----------------------------------------------------------------- counting ids


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.uint8, np.int32])
def test_count_ids(dtype):
    ids = np.array([[4, 1, 4], [4, 0, 1]], dtype)
    assert count_ids(ids).tolist() == [1, 2, 0, 0, 3]
    assert count_ids(ids, 7).tolist() == [1, 2, 0, 0, 3, 0, 0]
    assert count_ids(ids[:0], 2).tolist() == [0, 0]
    weights = np.array([[0.5, 2.0, 1.0], [0.25, 3.0, -1.0]])
    assert count_ids(ids, 6, weights).tolist() == [3.0, 1.0, 0, 0, 1.75, 0]


def test_ids_are_counted_in_one_place_only():
    package = Path(scratch_embed.__file__).parent
    counting = [f for f in package.rglob("*.py") if "np.bincount(" in f.read_text(encoding="utf-8")]
    assert [file.name for file in counting] == ["ids.py"]


@pytest.fixture
def pointers_of_32_bits(monkeypatch):
    """NumPy as in a browser: what it counts or repeats by must fit a pointer without a cast."""

    def refusing_int64(function, place):
        def checked(*arguments, **options):
            given = arguments[place]
            if not isinstance(given, int) and not np.can_cast(given.dtype, np.int32):
                raise TypeError(f"Cannot cast array data from {given.dtype} to int32: not safe")
            return function(*arguments, **options)

        return checked

    monkeypatch.setattr(np, "bincount", refusing_int64(np.bincount, 0))
    monkeypatch.setattr(np, "repeat", refusing_int64(np.repeat, 1))
    monkeypatch.setattr(np, "intp", np.int32)


def test_what_is_counted_or_repeated_by_is_as_wide_as_a_pointer(pointers_of_32_bits, monkeypatch):
    monkeypatch.setattr(tables, "LONG", 3)
    with pytest.raises(TypeError, match="int64"):
        np.bincount(np.array([1, 1]))
    counts = count_ids(np.array([1, 1, 0]))
    assert counts.tolist() == [1, 2]
    assert np.unique(noise_table(Negatives(counts, 1.0))).tolist() == [0, 1]
    ids, offsets = np.array([0, 1, 1]), np.array([0, 1, 3])
    mean, _ = embedding_bag_forward(np.eye(2), ids, offsets=offsets, mode="mean")
    assert mean.tolist() == [[1, 0], [0, 1]]
    sums = sum_groups(np.ones((5, 1), np.float32), group_rows([2, 2, 2, 2, 0], 3))
    assert sums.tolist() == [[1], [4]]
