"""What may be handed to the hot operations: tables, ids and values of every kind, or an error."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed.kernels import (
    Groups,
    gather,
    group_rows,
    scatter_add,
    sum_groups,
    table_loops,
    tables,
    words,
)
from tests.kernels.test_tables import added_by_hand, gathered_by_hand, normal

# ----------------------------------------------------------------- tables of every kind


@pytest.mark.parametrize(
    "view", [lambda a: a.T, lambda a: a[:, ::2], lambda a: a[::-1], lambda a: a[1:, 1:]]
)
def test_a_table_that_is_not_contiguous(view):
    ids, whole = np.array([2, 0, 2]), normal((6, 6))
    table = view(whole)
    expected = table.copy()
    assert np.array_equal(gather(table, ids), expected[ids])
    values = normal((3, table.shape[1]), seed=1)
    scatter_add(table, ids, values)
    assert np.array_equal(table, added_by_hand(expected, ids, values))
    assert np.shares_memory(table, whole) and np.array_equal(view(whole), table)


@pytest.mark.parametrize("columns", [slice(None), slice(1, None), slice(None, None, 2)])
def test_long_rows_are_copied_whole_wherever_they_lie(columns):
    for width in (511, 512, 513, 1030):  # float32: from 512 numbers on a row is copied by memcpy
        table = normal((5, width), "float32")[:, columns]
        out = np.full((6, table.shape[1]), np.nan, np.float32)
        gather(table, [4, 0, 0, 3, 1, 4], out)
        assert np.array_equal(out, table[[4, 0, 0, 3, 1, 4]])


def test_a_mask_is_not_ignored():
    masked, table = np.ma.array(normal((4, 2)), mask=normal((4, 2)) > 0), normal((4, 2))
    with pytest.raises(TypeError, match="table is a masked array"):
        gather(masked, [0])
    with pytest.raises(TypeError, match="values is a masked array"):
        scatter_add(table, np.arange(4), masked)
    with pytest.raises(TypeError, match="values is a masked array"):
        sum_groups(masked, group_rows(np.arange(4), 4))


def test_a_read_only_table_can_be_read():
    table = normal((4, 2))
    table.flags.writeable = False
    assert np.array_equal(gather(table, [3, 3]), table[[3, 3]])
    with pytest.raises(ValueError, match=r"table is read-only.*table\.copy\(\)"):
        scatter_add(table, [0], np.ones((1, 2)))


def test_a_memory_mapped_table(tmp_path):
    np.save(tmp_path / "table.npy", normal((4, 2)))
    table = np.load(tmp_path / "table.npy", mmap_mode="r+")
    rows = gather(table, [1, 1])
    assert type(rows) is np.ndarray and np.array_equal(rows, np.asarray(table)[[1, 1]])
    expected = np.array(table)
    scatter_add(table, [1, 1], np.ones((2, 2)))
    table.flush()
    expected[1] += 2
    assert np.array_equal(np.load(tmp_path / "table.npy"), expected)


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2), ()])
def test_a_table_must_be_2d(shape):
    with pytest.raises(ValueError, match=r"table must be 2-D.*\(V, D\)"):
        gather(np.ones(shape), [0])
    with pytest.raises(ValueError, match=r"table must be 2-D"):
        scatter_add(np.ones(shape), [0], np.ones((1, 2)))


@pytest.mark.parametrize("dtype", ["int64", "float16", "bool", ">f4", "object", "longdouble"])
def test_a_table_must_hold_floats(dtype):
    if np.dtype(dtype) == np.float64:
        pytest.skip("long double is double here")
    with pytest.raises(TypeError, match=r"table has dtype .* must be float32, float64"):
        gather(np.ones((2, 2)).astype(dtype), [0])


def test_a_table_to_add_to_must_be_an_array():
    with pytest.raises(TypeError, match="table must be a NumPy array .* got list"):
        scatter_add([[1.0]], [0], [[1.0]])


def test_bad_ids_never_reach_compiled_code():
    table = normal((3, 2))
    for operation in (
        lambda ids: gather(table, ids),
        lambda ids: scatter_add(table, ids, np.ones((2, 2))),
        lambda ids: group_rows(ids, 3),
    ):
        with pytest.raises(IndexError, match=r"ids\[1\] = 3 .*0\.\.2"):
            operation([0, 3])
        with pytest.raises(IndexError, match=r"ids\[0\] = -1 "):
            operation([-1, 0])
        with pytest.raises(TypeError, match="fractional"):
            operation([0.5, 0])


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("D", [0, 1, 3])
@pytest.mark.parametrize(("V", "N"), [(0, 0), (1, 0), (3, 0), (1, 4), (3, 1), (3, 4)])
def test_no_rows_no_columns_or_no_ids(V, N, D, dtype):
    table, ids = normal((V, D), dtype), np.arange(N) % max(V, 1)
    values, zeros = normal((N, D), dtype, seed=1), np.zeros((V, D), dtype)
    assert np.array_equal(gather(table, ids), gathered_by_hand(table, ids))
    scatter_add(zeros, ids, values)
    assert np.array_equal(zeros, added_by_hand(np.zeros((V, D), dtype), ids, values))
    groups = group_rows(ids, V)
    assert np.array_equal(sum_groups(values, groups), zeros[np.unique(ids)])


def test_no_row_can_be_looked_up_in_a_table_without_rows():
    for operation in (
        lambda: gather(np.ones((0, 3)), [0]),
        lambda: scatter_add(np.ones((0, 3)), [0], np.ones((1, 3))),
        lambda: group_rows([0], 0),
    ):
        with pytest.raises(IndexError, match="no rows"):
            operation()


@pytest.mark.parametrize("num_rows", [-1, 2.5, True, "3", None])
def test_num_rows_is_a_count(num_rows):
    with pytest.raises(ValueError, match="num_rows is .* whole number of at least 0"):
        group_rows([], num_rows)


# ----------------------------------------------------------------- out


def test_gather_into_out():
    table, out = normal((4, 3), "float32"), np.empty((2, 2, 3), np.float32)
    assert gather(table, [[1, 1], [3, 0]], out=out) is out
    assert np.array_equal(out, table[[[1, 1], [3, 0]]])


def test_out_must_fit():
    table = np.ones((4, 3))
    read_only = np.ones((2, 3))
    read_only.flags.writeable = False
    for out, message in [
        (np.ones((3, 2)), r"out is float64 of shape \(3, 2\), but .* \(2, 3\)"),
        (np.ones((2, 3), np.float32), "out is float32"),
        (np.ones((3, 2)).T, "writable and C-contiguous"),
        (read_only, "writable and C-contiguous"),
        (table[:2], "shares memory with the table"),
    ]:
        with pytest.raises(ValueError, match=message):
            gather(table, [0, 1], out=out)
    with pytest.raises(ValueError, match="shares memory with the table"):
        gather(table, [1, 2, 3, 0], out=table)  # each row would be read after it was written
    with pytest.raises(TypeError, match="out must be a NumPy array, got list"):
        gather(table, [0, 1], out=[[0.0] * 3] * 2)


# ----------------------------------------------------------------- values


def ids_inside(array, count):
    """Ids that rise, and lie in the memory of a float array: writing to it writes over them."""
    ids = array.reshape(-1).view(np.int64)[:count]
    ids[:] = np.arange(count)
    return ids


def test_ids_that_share_memory_with_out_are_read_first():
    table, out = normal((500, 2)), np.zeros((500, 2))
    gather(table, ids_inside(out, 500), out)
    assert np.array_equal(out, table)


def test_ids_that_share_memory_with_the_table_are_read_first():
    table, values = np.zeros((500, 2)), normal((500, 2))
    ids = ids_inside(table, 500)
    expected = table + values
    scatter_add(table, ids, values)
    assert np.array_equal(table, expected)


def test_values_that_share_memory_with_the_table_are_read_first():
    table = normal((4, 2))
    expected = added_by_hand(table, np.array([1, 2, 3]), table[:3].copy())
    scatter_add(table, [1, 2, 3], table[:3])
    assert np.array_equal(table, expected)


def test_values_are_cast_as_plus_equals_would():
    for values in (np.ones((2, 3), int), np.ones((2, 3), np.float64), [[1.0] * 3] * 2):
        table = np.zeros((2, 3), np.float32)
        scatter_add(table, [1, 1], values)
        assert table.tolist() == [[0] * 3, [2] * 3]
    with pytest.raises(TypeError, match="complex128 cannot be added to a table of dtype float64"):
        scatter_add(np.zeros((2, 3)), [1], np.ones((1, 3), complex))


def test_values_of_any_layout():
    for values in (np.broadcast_to(np.arange(3.0), (4, 3)), normal((3, 4)).T, normal((8, 3))[::2]):
        table, ids = np.zeros((2, 3)), np.array([1, 0, 1, 1])
        scatter_add(table, ids, values)
        assert np.array_equal(table, added_by_hand(np.zeros((2, 3)), ids, values))
        assert np.array_equal(table, sum_groups(values, group_rows(ids, 2)))


@pytest.mark.parametrize("shape", [(3,), (2, 2), (3, 3), (2, 1, 3), ()])
def test_values_must_have_a_row_for_each_id(shape):
    table = np.zeros((4, 3))
    with pytest.raises(ValueError, match=r"values has shape .*ids\.shape \+ \(D,\) = \(2, 3\)"):
        scatter_add(table, [0, 1], np.ones(shape))
    assert not table.any()


# ----------------------------------------------------------------- sum_groups looks, too


def test_groups_must_fit_the_values():
    groups = group_rows([1, 0, 1], 2)
    for values in (np.ones((2, 3)), np.ones((7, 0))):  # rows without columns are counted, too
        with pytest.raises(ValueError, match="made from 3 ids"):
            sum_groups(values, groups)
    with pytest.raises(ValueError, match="single number"):
        sum_groups(1.0, groups)
    with pytest.raises(TypeError, match="values has dtype .*int64"):
        sum_groups(np.ones((3, 2), np.int64), groups)


def test_groups_made_by_hand_are_looked_at():
    rows, order, starts = (np.array(part) for part in ([0, 1], [1, 0, 2], [0, 1, 3]))
    values = np.ones((3, 2))
    assert sum_groups(values, Groups(rows, order, starts)).tolist() == [[1, 1], [2, 2]]
    empty = Groups(rows, order, np.array([0, 0, 3]))  # a group may hold nothing
    assert sum_groups(values, empty).tolist() == [[0, 0], [3, 3]]
    for other in (">i8", np.int32):  # compiled code would read past the end
        given = Groups(rows, order.astype(other), starts.astype(other))
        assert sum_groups(values, given).tolist() == [[1, 1], [2, 2]]
    with pytest.raises(IndexError, match=r"groups\.order\[2\] = 3"):
        sum_groups(values, Groups(rows, order + [0, 0, 1], starts))
    for bad in ([0, 1], [0, 1, 4], [0, 4, 3], [1, 1, 3], [0, 1, 2, 3]):
        with pytest.raises(ValueError, match=r"groups\.starts must rise from 0 to 3 in 2 steps"):
            sum_groups(values, Groups(rows, order, np.array(bad)))


# ----------------------------------------------------------------- ids that change meanwhile


class Filled:
    """Ids that another thread fills anew as soon as each has been looked at."""

    def __init__(self, ids, anew):
        self.left = [[anew, n] for n in ids]

    def __len__(self):
        return len(self.left)

    def __getitem__(self, n):
        return self.left[n].pop() if len(self.left[n]) > 1 else self.left[n][0]


@pytest.mark.parametrize("anew", [10**12, -1, 4])
def test_loops_use_no_id_that_they_did_not_look_at(anew, monkeypatch):
    """Between the look at the ids and their use another thread may write: that was a crash."""
    for word in ("prange", "prefetch", "copy_row", "next_part"):
        monkeypatch.setattr(table_loops, word, getattr(words, word))  # plain Python again
    table, out = normal((4, 3)), np.zeros((3, 3))
    assert not table_loops.gather(out, table, Filled([1, 3, 1], anew), 1)
    assert not out.any()
    own = np.zeros(3, np.int64)
    assert table_loops.copy_ids(own, Filled([1, 3, 1], anew), 4)
    assert own.tolist() == [1, 3, 1]
    pairs = np.zeros(3, np.int64)
    assert table_loops.sort(pairs, own, Filled([1, 3, 1], anew), 3, 1, 2, 2) == 2
    assert (pairs >> 2).tolist() == [1, 1, 3]


def test_ids_that_another_thread_fills_anew(monkeypatch):
    """A gather tells; what is added goes where the ids said when they were looked at."""
    table, ids, run = np.zeros((4, 3)), np.array([1, 3, 1]), tables.run

    def filled_after(loop, *rest):
        done = run(loop, *rest)
        ids[:] = 2
        return done

    monkeypatch.setattr(tables, "run", filled_after)
    scatter_add(table, ids, np.ones((3, 3)))
    assert table[:, 0].tolist() == [0, 2, 0, 1]
    ids[:] = 4
    with pytest.raises(RuntimeError, match="another thread writes into them"):
        gather(table, ids)
