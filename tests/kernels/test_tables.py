"""The hot operations against plain loops and the one-hot product, bit for bit where promised."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed.kernels import (
    Groups,
    compiling,
    gather,
    get_num_threads,
    group_rows,
    scatter_add,
    set_num_threads,
    sum_groups,
    table_loops,
    tables,
)
from scratch_embed.kernels.threads import num_parts

DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(1, 1), (5, 3), (7, 0), (4, 17)]
PATTERNS = {
    "unique": lambda V: np.random.default_rng(1).permutation(V),
    "repeated": lambda V: np.random.default_rng(2).integers(0, V, 3 * V),
    "all equal": lambda V: np.full(9, V - 1),
    "empty": lambda V: np.zeros(0, np.int64),
    "reversed": lambda V: np.arange(V)[::-1],
    "2-D": lambda V: np.random.default_rng(3).integers(0, V, (3, 4)),
    "0-d": lambda V: np.array(V - 1),
}


def normal(shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * rng.standard_normal(shape)
    return numbers.astype(dtype)


def gathered_by_hand(table, ids):
    out = np.empty((*ids.shape, table.shape[1]), table.dtype)
    for n in np.ndindex(ids.shape):
        for d in range(table.shape[1]):
            out[(*n, d)] = table[ids[n], d]
    return out


def added_by_hand(table, ids, values):
    out = table.copy()
    for n in np.ndindex(ids.shape):
        for d in range(table.shape[1]):
            out[ids[n], d] += values[(*n, d)]
    return out


def one_hot(ids, num_rows):
    return (ids.reshape(-1, 1) == np.arange(num_rows)).astype(float)


@pytest.fixture
def threads():
    """Sets the number of threads, and takes it back afterwards."""
    before = get_num_threads()
    yield set_num_threads
    set_num_threads(before)


# ----------------------------------------------------------------- the calculation


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("V, D", SHAPES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_gather(pattern, V, D, dtype):
    table, ids = normal((V, D), dtype), PATTERNS[pattern](V)
    rows = gather(table, ids)
    assert rows.dtype == table.dtype
    assert np.array_equal(rows, gathered_by_hand(table, ids))
    product = one_hot(ids, V) @ table
    assert np.allclose(rows.reshape(product.shape), product, rtol=1e-6)


def scatter_add_is_right(scatter, pattern, V, D, dtype) -> bool:
    table, ids = normal((V, D), dtype), PATTERNS[pattern](V)
    values = normal((*ids.shape, D), dtype, seed=5)
    result = table.copy()
    scatter(result, ids, values)
    product = table + one_hot(ids, V).T @ values.reshape(ids.size, D)
    return np.array_equal(result, added_by_hand(table, ids, values)) and np.allclose(
        result, product, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("V, D", SHAPES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_scatter_add(pattern, V, D, dtype):
    assert scatter_add_is_right(scatter_add, pattern, V, D, dtype)


def fancy_plus_equals(table, ids, values):
    """The bug that this whole package is about: NumPy keeps the last of several repeats."""
    table[ids] += values


def row_plus_equals_to_the_wrong_place(table, ids, values):
    np.add.at(table, ids.reshape(-1)[::-1].reshape(ids.shape), values)


@pytest.mark.parametrize("pattern", ["repeated", "all equal", "2-D"])
def test_a_scatter_that_loses_repeats_is_caught(pattern):
    assert not scatter_add_is_right(fancy_plus_equals, pattern, 5, 3, "float64")
    assert scatter_add_is_right(fancy_plus_equals, "unique", 5, 3, "float64")


@pytest.mark.parametrize("pattern", ["unique", "repeated", "reversed", "2-D"])
def test_a_scatter_that_mixes_up_the_ids_is_caught(pattern):
    assert not scatter_add_is_right(row_plus_equals_to_the_wrong_place, pattern, 5, 3, "float64")


@pytest.mark.parametrize("V", [1, 2, 3, 2047, 2048, 2049, 50_257, 1_000_000, 2**33, 2**45])
@pytest.mark.parametrize("N", [0, 1, 2, 1000])
def test_group_rows(V, N):
    rng = np.random.default_rng(V % 1000 + N)
    for ids in (rng.integers(0, V, N), rng.integers(0, min(V, 7), N), np.full(N, V - 1)):
        rows, order, starts = group_rows(ids, V)
        assert {rows.dtype, order.dtype, starts.dtype} == {np.dtype(np.int64)}
        assert np.array_equal(rows, np.unique(ids))
        assert np.array_equal(order, np.argsort(ids, kind="stable"))
        assert np.array_equal(np.repeat(rows, np.diff(starts)), ids[order])
        assert len(starts) == len(rows) + 1 and starts[0] == 0 and starts[-1] == N


def test_group_rows_counts_positions_through_a_flat_batch():
    groups = group_rows([[3, 1], [1, 3]], num_rows=4)
    assert [part.tolist() for part in groups] == [[1, 3], [1, 2, 0, 3], [0, 2, 4]]


def test_group_rows_says_when_its_integers_are_too_short():
    with pytest.raises(ValueError, match=r"num_rows = .* too large to group 1000 ids.*2\*\*53"):
        group_rows(np.zeros(1000, np.int64), 2**60)
    last = 2**62 - 1  # 62 bits for the id and 1 for its place, of two, are 63
    assert group_rows([last, 1], 2**62).rows.tolist() == [1, last]
    with pytest.raises(ValueError, match=r"too large to group 2 ids: it must be at most 2\*\*62"):
        group_rows([last, 1], 2**62 + 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_sum_groups_has_the_bits_of_scatter_add(pattern, dtype):
    ids = PATTERNS[pattern](5)
    values = normal((*ids.shape, 3), dtype)
    dense = np.zeros((5, 3), dtype)
    scatter_add(dense, ids, values)
    groups = group_rows(ids, 5)
    sums = sum_groups(values, groups)
    assert sums.dtype == values.dtype and sums.shape == (len(groups.rows), 3)
    assert np.array_equal(sums, dense[groups.rows])
    assert not np.delete(dense, groups.rows, axis=0).any()


# ----------------------------------------------------------------- threads

V, D, N = 300, 8, 6000


def large_ids(pattern):
    rng = np.random.default_rng(7)
    if pattern == "all equal":
        return np.full(N, 123)
    if pattern == "Zipf":  # row 0 is hit more than LONG times
        frequency = 1 / np.arange(1, V + 1) ** 1.8
        return rng.choice(V, N, p=frequency / frequency.sum())
    return rng.integers(0, V, N)


def all_results(dtype, ids):
    table, values = normal((V, D), dtype), normal((N, D), dtype, seed=1)
    added = table.copy()
    scatter_add(added, ids, values)
    zeros = np.zeros_like(table)
    scatter_add(zeros, ids, values)
    groups = group_rows(ids, V)
    sums = sum_groups(values, groups)
    assert np.array_equal(sums, zeros[groups.rows])
    return gather(table, ids), added, sums


def test_sums_of_groups_have_the_bits_of_a_scatter_onto_zeros():
    """Also of -0.0, which added to 0.0 is 0.0, and of a group that holds nothing."""
    values = np.array([[-0.0, 1.0], [2.0, -0.0], [-0.0, -0.0], [3.0, np.nan]], np.float32)
    ids, zeros = np.array([5, 2, 0, 5]), np.zeros((6, 2), np.float32)
    scatter_add(zeros, ids, values)
    groups = group_rows(ids, 6)
    assert sum_groups(values, groups).tobytes() == zeros[groups.rows].tobytes()
    by_hand = Groups(np.arange(3), np.arange(4), np.array([0, 1, 1, 4]))
    expected = np.stack([np.zeros(2) + values[0], np.zeros(2), np.zeros(2) + values[1:].sum(0)])
    np.testing.assert_array_equal(sum_groups(values, by_hand), expected)


def test_a_row_hit_exactly_as_often_as_is_allowed_beside_one_hit_once_more(monkeypatch):
    monkeypatch.setattr(tables, "LONG", 3)
    ids, table = np.array([0, 1, 0, 1, 0, 1, 1]), np.zeros((4, 2), np.float32)
    scatter_add(table, ids, np.ones((7, 2), np.float32))
    assert table[:, 0].tolist() == [3, 4, 0, 0]


def test_a_row_hit_seldom_beside_one_hit_often_whose_last_bits_it_has(monkeypatch):
    monkeypatch.setattr(tables, "LONG", 3)
    ids, table = np.array([0, 4096, 0, 0, 0]), np.zeros((4097, 2), np.float32)
    scatter_add(table, ids, np.ones((5, 2), np.float32))
    assert table[[0, 4096], 0].tolist() == [4, 1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("pattern", ["uniform", "Zipf", "all equal"])
def test_any_number_of_threads_gives_the_same_bits(pattern, dtype, threads, monkeypatch):
    part = N * D // 5  # so small that the loops are cut into four
    monkeypatch.setattr("scratch_embed.kernels.threads.PART", part)
    monkeypatch.setattr(tables, "LONG", 1000)
    monkeypatch.setattr(tables, "RUN", 100)
    ids = large_ids(pattern)
    assert (np.bincount(ids).max() > tables.LONG) == (pattern != "uniform")
    threads(1)
    serial = all_results(dtype, ids)
    for n in (2, 4):
        threads(n)
        assert num_parts(N * D) == n
        for threaded, expected in zip(all_results(dtype, ids), serial):
            assert threaded.tobytes() == expected.tobytes()
    if not compiling.is_interpreted():
        threaded = {(table_loops.gather, True), (table_loops.scatter_add_parts, True)}
        assert threaded <= set(compiling.compiled)

    table, values = normal((V, D), dtype), normal((N, D), dtype, seed=1)
    assert np.array_equal(serial[0], table[ids])
    if dtype == "float64" or pattern == "uniform":  # no row of single precision is hit too often
        np.add.at(table, ids, values)
        assert np.array_equal(serial[1], table)


@pytest.mark.parametrize("hot", [0, 40, 57, 99])
def test_a_frequent_row_goes_to_the_part_that_has_less(hot):
    """A fifth of all ids name one row: left of a border or right of it, one part may have 2/3."""
    rng = np.random.default_rng(hot)
    ids = np.concatenate([np.full(20_000, hot), rng.integers(0, 100, 80_000)])
    edges = tables._row_edges(rng.permutation(ids), 100, parts=2)
    largest = np.histogram(ids, edges)[0].max() / len(ids)
    assert edges[0] == 0 and edges[-1] == 100 and largest < 0.62


@pytest.mark.parametrize("rows", [1024, 1025, 5000])  # a piece, a row more, and some pieces
def test_threads_share_out_the_pieces_of_a_gather(rows, threads, monkeypatch):
    monkeypatch.setattr("scratch_embed.kernels.threads.PART", 1 << 13)
    table, ids = normal((V, table_loops.PIECE // 1024), "float32"), np.arange(rows) * 7 % V
    for n in (1, 2, 4):
        threads(n)
        out = np.full((rows, table.shape[1]), np.nan, np.float32)
        assert num_parts(out.size) == n
        assert np.array_equal(gather(table, ids, out), table[ids])


def test_the_parts_of_groups_meet_and_do_not_overlap(threads, monkeypatch):
    """Two threads that wrote one row would race, and mostly the sum would be right all the same."""
    cuts = []

    def run(loop, parts, *given):
        cuts.append(given[-1])
        return threads_run(loop, parts, *given)

    threads_run, groups = tables.run, group_rows(np.arange(40) % 11, 11)
    monkeypatch.setattr("scratch_embed.kernels.threads.PART", 25)
    monkeypatch.setattr(tables, "run", run)
    threads(4)
    sum_groups(normal((40, 3)), groups)
    edges = cuts[-1]
    assert len(edges) == 5 and (np.diff(edges) > 0).all() and edges[[0, -1]].tolist() == [0, 11]


def test_the_number_of_threads_can_be_set_and_read(threads):
    threads(3)
    assert get_num_threads() == 3
    for bad in (0, -1, True):
        with pytest.raises(ValueError, match="from 1 up"):
            threads(bad)
    with pytest.raises(TypeError):
        threads(1.5)


# ----------------------------------------------------------------- accuracy


def error_in_ulps(result, exact):
    return abs(float(result) - exact) / float(np.spacing(np.float32(exact)))


def test_a_row_hit_millions_of_times_is_right_to_the_last_place():
    count = 2**22
    ids, values = np.zeros(count, np.int64), np.full((count, 1), 0.1, np.float32)
    exact = 1.0 + count * float(np.float32(0.1))
    table = np.ones((2, 1), np.float32)
    scatter_add(table, ids, values)
    assert error_in_ulps(table[0, 0], exact) <= 1
    assert table[1, 0] == 1
    assert error_in_ulps(sum_groups(values, group_rows(ids, 2))[0, 0], exact - 1) <= 1
    running = np.cumsum(values[:, 0], dtype=np.float32)[-1]  # what a plain loop gives
    assert error_in_ulps(running, exact) > 100_000


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("hits", [200, 201, 1000])
def test_a_frequent_row_among_rare_ones(hits, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    rare = rng.integers(5000, 9000, 900)
    neighbour = np.full(200, 17 + 4096)  # ends on the same 12 bits as the frequent row
    ids = rng.permutation(np.concatenate((rare, neighbour, np.full(hits, 17))))
    values, start = normal((len(ids), 3), dtype) + np.float32(1), normal((9000, 3), dtype)
    wide = tables.WIDER[np.dtype(dtype)]
    once = start[17].astype(wide) + values[ids == 17].sum(axis=0, dtype=wide)

    table = start.copy()
    monkeypatch.setattr(tables, "LONG", 10**9)
    scatter_add(table, ids, values)
    assert np.array_equal(table, added_by_hand(start, ids, values))
    one_by_one, table = table, start.copy()
    monkeypatch.setattr(tables, "LONG", 200)
    monkeypatch.setattr(tables, "RUN", 64)
    scatter_add(table, ids, values)
    assert np.array_equal(np.delete(table, 17, axis=0), np.delete(one_by_one, 17, axis=0))
    if hits > 200:  # summed in double precision and rounded once
        assert np.array_equal(table[17], once.astype(dtype))
        assert not np.array_equal(table[17], one_by_one[17])
    else:
        assert np.array_equal(table[17], one_by_one[17])
