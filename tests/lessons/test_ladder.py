"""The steps of the ladder: the right ones agree, and the wrong ones lose exactly what is said."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import kernels, ladder

RIGHT = [name for name in ladder.SCATTERS if name not in ladder.LOSES_REPEATS]


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    return rng.standard_normal((40, 6)), rng.integers(0, 40, 300), rng.standard_normal((300, 6))


@pytest.mark.parametrize("name", ladder.GATHERS)
def test_every_gather_gives_the_same_rows(name, batch):
    table, ids, _ = batch
    assert np.array_equal(ladder.GATHERS[name](table, ids), table[ids])


@pytest.mark.parametrize("name", RIGHT)
def test_the_right_ways_add_repeats(name, batch):
    table, ids, values = batch
    expected = table.copy()
    for n, row in enumerate(ids):
        expected[row] += values[n]
    ladder.SCATTERS[name](table, ids, values)
    if name == "one-hot product":  # sums in an order of its own
        assert np.allclose(table, expected, rtol=1e-12, atol=1e-12)
    else:
        assert np.array_equal(table, expected)


@pytest.mark.parametrize("name", ladder.LOSES_REPEATS)
def test_the_wrong_ways_are_right_without_repeats(name, batch):
    table, _, values = batch
    ids = np.random.default_rng(1).permutation(len(table))
    expected = table.copy()
    expected[ids] = table[ids] + values[: len(ids)]
    ladder.SCATTERS[name](table, ids, values[: len(ids)])
    assert np.array_equal(table, expected)


def test_fancy_plus_equals_keeps_the_last_of_the_repeats():
    table, values = np.zeros((4, 1)), np.array([[1.0], [10.0], [5.0]])
    ladder.fancy_add(table, np.array([1, 1, 3]), values)
    assert table.ravel().tolist() == [0, 10, 0, 5]


def test_the_racing_loop_never_adds_too_much_and_is_right_on_one_thread():
    before = kernels.get_num_threads()
    ids, ones = np.zeros(1 << 18, np.int64), np.ones((1 << 18, 1), np.float32)
    try:
        for threads in (1, 2):
            kernels.set_num_threads(threads)
            table = np.zeros((1, 1), np.float32)
            ladder.racing_add(table, ids, ones)
            assert (1 << 17) <= table[0, 0] <= (1 << 18)
            assert threads == 2 or table[0, 0] == 1 << 18
    finally:
        kernels.set_num_threads(before)


def test_bytes_are_counted_as_read_and_written():
    assert ladder.gather_bytes(N=10, D=3) == (10 * 3 + 10 * 3) * 4
    assert ladder.scatter_bytes(N=10, D=3, itemsize=8) == (10 * 3 + 10 * 3 + 10 * 3) * 8
