"""What holds of the kernels for every table, every layout and every batch of ids."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratch_embed import kernels
from scratch_embed.kernels import sums, tables, threads
from scratch_embed.kernels.ids import check_ids
from tests.properties import draw
from tests.properties.draw import changed, numbers, same_bits

PARTS = st.sampled_from([1, 2, 3]) if draw.MANY else st.just(1)  # threads: compiled apart


@given(st.data(), draw.tables(), PARTS)
def test_gather_reads_what_indexing_reads(data, table, parts):
    ids = data.draw(draw.ids_of(len(table)))
    with changed(threads, PART=8 if parts > 1 else 1 << 19, _num_threads=parts):
        out = kernels.gather(table, ids)
        assert same_bits(out, table[ids.astype(np.int64)])
        room = np.full(out.shape, np.nan, out.dtype)
        assert kernels.gather(table, ids, out=room) is room
    assert same_bits(room, out)


@given(st.data(), draw.tables(), PARTS)
def test_scatter_add_adds_in_the_order_of_the_ids(data, table, parts):
    ids = data.draw(draw.ids_of(len(table)))
    values = data.draw(
        draw.laid_out(numbers(data.draw(draw.seeds), (*ids.shape, table.shape[1]), table.dtype))
    )
    expected = table.copy()
    np.add.at(expected, ids.astype(np.int64), values)
    with changed(threads, PART=8 if parts > 1 else 1 << 19, _num_threads=parts):
        kernels.scatter_add(table, ids, values)
    assert same_bits(table, expected)


@given(st.data(), draw.tables(least_rows=1))
def test_a_scatter_of_a_table_into_itself_reads_before_it_writes(data, table):
    ids = data.draw(draw.ids_of(len(table))).reshape(-1)[: len(table)]
    values, expected = table[: len(ids)], table.copy()
    np.add.at(expected, ids.astype(np.int64), values.copy())
    kernels.scatter_add(table, ids, values)
    assert same_bits(table, expected)


@given(st.data(), st.integers(0, 3000))
def test_groups_are_a_stable_sort(data, num_rows):
    ids = data.draw(draw.ids_of(min(num_rows, 100)))
    rows, order, starts = kernels.group_rows(ids, num_rows)
    flat = ids.reshape(-1).astype(np.int64)
    assert same_bits(order, np.argsort(flat, kind="stable"))
    assert same_bits(rows, np.unique(flat))
    assert same_bits(np.diff(starts), np.array([(flat == row).sum() for row in rows], np.int64))


@given(st.data(), draw.sizes, draw.dtypes, st.booleans())
def test_summed_groups_have_the_bits_of_a_scatter(data, width, dtype, long):
    ids = data.draw(draw.ids_of(9)).reshape(-1)
    values = data.draw(draw.laid_out(numbers(data.draw(draw.seeds), (len(ids), width), dtype)))
    expected = np.zeros((9, width), dtype)
    with changed(tables, LONG=3 if long else 1 << 14, RUN=2 if long else 1 << 10):
        groups = kernels.group_rows(ids, 9)
        kernels.scatter_add(expected, ids, values)
        assert same_bits(kernels.sum_groups(values, groups), expected[groups.rows])


@given(st.data(), st.lists(st.integers(0, 5), min_size=1, max_size=4), draw.dtypes, st.booleans())
def test_a_sum_over_any_axes_is_right_to_the_last_place(data, shape, dtype, small):
    array = data.draw(draw.laid_out(numbers(data.draw(draw.seeds), tuple(shape), dtype)))
    axis = tuple(data.draw(st.sets(st.integers(0, len(shape) - 1))))
    keepdims = data.draw(st.booleans())
    with changed(sums, SMALL=1 if small else 1 << 13, BLOCK=2 if small else 1 << 10):
        found = sums.sum_over(array, axis, keepdims)
    exact = array.sum(axis=axis, dtype=np.clongdouble, keepdims=keepdims)
    size = np.abs(array).sum(axis=axis, dtype=np.longdouble, keepdims=keepdims)
    assert found.shape == exact.shape and found.dtype == array.dtype
    eps = np.finfo(dtype).eps  # single precision is rounded once, double at every addition
    slack = eps if dtype in (np.float32, np.complex64) else 64 * eps
    assert (np.abs(found - exact) <= slack * size).all()


@given(st.data(), draw.tables(), st.sampled_from([-1, 0, 5, 2**31, -(2**63), 2**63 - 1]))
def test_a_bad_id_is_found_wherever_it_stands_and_nothing_moves(data, table, bad):
    bad = len(table) + bad if bad == 0 or bad == 5 else bad
    good = data.draw(draw.ids_of(len(table))).reshape(-1).astype(np.int64)
    at = data.draw(st.integers(0, len(good)))
    ids, before = np.insert(good, at, bad), table.copy()
    for call in (
        lambda: kernels.gather(table, ids),
        lambda: kernels.scatter_add(table, ids, np.ones((len(ids), table.shape[1]), table.dtype)),
        lambda: kernels.group_rows(ids, len(table)),
        lambda: check_ids(ids, len(table)),
    ):
        with pytest.raises(IndexError, match=str(bad)):
            call()
    assert same_bits(table, before)


@given(
    st.one_of(
        st.floats(), st.booleans(), st.text(), st.binary(), st.none(),
        st.lists(st.one_of(st.floats(), st.integers(), st.lists(st.integers())), min_size=1),
        st.fractions(), st.complex_numbers(), st.dates(),
    )
)  # fmt: skip
def test_what_is_no_id_is_refused_in_words(what):
    """Only lists of whole numbers in range pass, and they come out as they went in."""
    try:
        found = check_ids(what, 5)
    except (TypeError, ValueError, IndexError) as error:
        assert len(str(error)) > 20
    else:
        assert found.dtype == np.int64 and found.tolist() == what
        assert not isinstance(what, Fraction)
