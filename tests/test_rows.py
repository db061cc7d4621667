"""RowGrad: the same gradient as a dense one, holding only the rows that it names."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import RowGrad, kernels

SHAPE = (7, 3)
ROWS = {
    "unique": [5, 0, 3],
    "repeated": [5, 0, 5, 5, 0, 6],
    "all equal": [2, 2, 2],
    "reversed": [6, 5, 4, 3, 2, 1, 0],
    "empty": np.empty(0, np.int64),
    "small integers": np.array([1, 6, 1], np.uint8),
}


@pytest.fixture(params=ROWS, ids=str)
def rows(request) -> np.ndarray:
    return np.asarray(ROWS[request.param])


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def dense_scatter(rows, values) -> np.ndarray:
    dense = np.zeros(SHAPE, values.dtype)
    kernels.scatter_add(dense, rows, values)
    return dense


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_merges_sorts_and_equals_the_dense_scatter_bit_for_bit(rows, rng, dtype):
    values = rng.standard_normal((len(rows), 3)).astype(dtype)
    grad = RowGrad(rows, values, SHAPE)
    assert grad.rows.dtype == np.int64
    assert grad.rows.tolist() == sorted(set(rows.tolist()))
    assert grad.dtype == dtype
    assert grad.values.shape == (len(grad.rows), 3)
    assert grad.to_dense().tobytes() == dense_scatter(rows, values).tobytes()
    assert grad.nbytes == len(grad.rows) * (8 + 3 * np.dtype(dtype).itemsize)


def test_many_repeats_in_single_precision_equal_the_dense_scatter_too(rng):
    rows = rng.integers(0, 2, 5000)  # each row some 2,500 times
    values = rng.standard_normal((5000, 3)).astype(np.float32)
    grad = RowGrad(rows, values, SHAPE)
    assert grad.to_dense().tobytes() == dense_scatter(rows, values).tobytes()


def test_sum_of_two(rows, rng):
    values, others = rng.standard_normal((len(rows), 3)), rng.standard_normal((2, 3))
    one, other = RowGrad(rows, values, SHAPE), RowGrad([6, 1], others, SHAPE)
    both = one + other
    assert isinstance(both, RowGrad)
    assert both.rows.tolist() == sorted({*rows.tolist(), 1, 6})
    np.testing.assert_array_equal(both.to_dense(), one.to_dense() + other.to_dense())
    np.testing.assert_array_equal(one.to_dense(), dense_scatter(rows, values))  # left as it was


def test_several_are_summed_as_numbers_are():
    a, b = RowGrad([1], np.ones((1, 2)), (3, 2)), RowGrad([1, 2], np.ones((2, 2)), (3, 2))
    assert sum([a, b]).to_dense().tolist() == [[0, 0], [2, 2], [1, 1]]
    assert isinstance(sum([a]), RowGrad) and np.array_equal(sum([a]), a)


def test_sum_with_a_dense_array_is_dense_and_leaves_it_alone(rows, rng):
    dense = rng.standard_normal(SHAPE)
    before = dense.copy()
    grad = RowGrad(rows, rng.standard_normal((len(rows), 3)), SHAPE)
    for total in (grad + dense, dense + grad):
        assert isinstance(total, np.ndarray)
        np.testing.assert_array_equal(total, dense + grad.to_dense())
    np.testing.assert_array_equal(dense, before)
    assert (grad.astype(np.float32) + dense).dtype == np.float64


def test_it_is_scaled_and_taken_away_as_an_array_is(rows, rng):
    grad = RowGrad(rows, rng.standard_normal((len(rows), 3)), SHAPE)
    dense, E = grad.to_dense(), rng.standard_normal(SHAPE)
    for scaled, same in (
        (0.5 * grad, 0.5 * dense),
        (grad * np.float32(3), 3 * dense),
        (grad / 3, dense / 3),
        (-grad, -dense),
        (grad - 0.1 * grad, dense - 0.1 * dense),
        (E - 0.1 * grad, E - 0.1 * dense),
        (grad - E, dense - E),
        (grad - np.ones(E.shape, np.uint8), dense - 1),
    ):
        assert np.array_equal(np.asarray(scaled), same)
    grad.values *= 0.5
    assert np.array_equal(grad.to_dense(), 0.5 * dense)
    single = grad.astype(np.float32)
    assert (0.1 * single).dtype == (np.float64(2) * single).dtype == np.float32
    for wrong in (True, "2", grad):
        with pytest.raises(TypeError):
            grad * wrong
    with pytest.raises(ValueError, match="do not fit this RowGrad, which has"):
        grad.values = np.ones((9, 9))


def test_numpy_reads_it_and_astype_converts():
    grad = RowGrad([1], np.array([[1.0, 2.0, 3.0]]), (2, 3))
    assert np.asarray(grad).tolist() == [[0, 0, 0], [1, 2, 3]]
    assert np.asarray(grad, dtype=np.float32).dtype == np.float32
    assert np.asarray(grad.astype(np.float32)).dtype == np.float32
    assert grad.astype(np.float32).values.dtype == np.float32
    assert grad.astype(np.float64, copy=False) is grad


def test_values_are_its_own():
    values = np.ones((1, 3))
    grad = RowGrad([1], values, SHAPE)
    values[:] = 9
    assert grad.values.tolist() == [[1, 1, 1]]


def test_repr_shows_rows_and_cuts_the_middle():
    grad = RowGrad([4, 1, 4], np.array([[1.0, 1.0], [2.0, 2.0], [10.0, 10.0]]), (50_257, 2))
    assert repr(grad) == (
        "RowGrad: 2 of 50,257 rows, 2 columns\n  row 1  [2., 2.]\n  row 4  [11., 11.]"
    )
    many = repr(RowGrad(np.arange(100), np.ones((100, 2)), (100, 2))).splitlines()
    assert [line.split()[1] for line in many[1:5]] == ["0", "1", "2", "3"]
    assert many[5].strip() == "..."
    assert [line.split()[1] for line in many[6:]] == ["97", "98", "99"]
    assert repr(RowGrad([], np.empty((0, 2)), (3, 2))) == "RowGrad: 0 of 3 rows, 2 columns"


def test_repr_gives_every_number_the_room_of_the_largest():
    lines = repr(RowGrad([3, 4, 120], np.ones((3, 1)), (200, 1))).splitlines()
    assert lines[1:] == ["  row 3    [1.]", "  row 4    [1.]", "  row 120  [1.]"]


def test_repr_cuts_from_nine_rows_and_nine_columns_on():
    eight = repr(RowGrad(np.arange(8), np.full((8, 8), 1 / 3), (8, 8))).splitlines()
    assert [line.split()[1] for line in eight[1:]] == [str(v) for v in range(8)]
    assert eight[1].count("0.3333,") == 7 and "33333" not in eight[1]
    nine = repr(RowGrad(np.arange(9), np.full((9, 9), 1 / 3), (9, 9))).splitlines()
    assert len(nine) == 1 + 4 + 1 + 3 and "..." in nine[1] and nine[1].count("0.3333") == 6


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: RowGrad([7], np.ones((1, 3)), SHAPE), IndexError, r"rows\[0\] = 7 .*0\.\.6"),
        (lambda: RowGrad([0, -1], np.ones((2, 3)), SHAPE), IndexError, r"rows\[1\] = -1"),
        (lambda: RowGrad([0.5], np.ones((1, 3)), SHAPE), TypeError, r"rows\[0\] = 0\.5"),
        (lambda: RowGrad([0], np.ones((2, 3)), SHAPE), ValueError, r"\(1,\).*\(2, 3\)"),
        (lambda: RowGrad([0], np.ones((1, 2)), SHAPE), ValueError, r"number of rows, 3"),
        (lambda: RowGrad([[0]], np.ones((1, 3)), SHAPE), ValueError, r"rows \(1, 1\)"),
        (lambda: RowGrad([0], np.ones((1, 3)), (7,)), ValueError, r"\(7,\).*two axes"),
        (lambda: RowGrad([0], np.ones((1, 3)), SHAPE) + np.ones(3), ValueError, r"added to \(3,\)"),
        (lambda: RowGrad([0], np.ones((1, 3)), SHAPE) + RowGrad([0], np.ones((1, 3)), (8, 3)),
         ValueError, r"\(7, 3\).*\(8, 3\)"),
    ],
)  # fmt: skip
def test_bad_input_is_named(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_a_row_used_too_often_for_a_running_sum_is_summed_before_it_is_handed_out():
    for often, at_once in ((kernels.tables.LONG, False), (kernels.tables.LONG + 1, True)):
        grad = RowGrad.of_batch(np.zeros(often, np.int64), np.ones((often, 1), np.float32), (2, 1))
        values, groups = grad.grouped()
        assert len(values) == (1 if at_once else often) == len(groups.order)


def test_a_batch_is_summed_when_asked_for_and_equals_the_eager_one(rows, rng):
    values = rng.standard_normal((len(rows), 3))
    later, now = RowGrad.of_batch(rows, values, SHAPE), RowGrad(rows, values, SHAPE)
    given, groups = later.grouped()
    assert given is values and later.rows.tolist() == now.rows.tolist()
    assert kernels.sum_groups(given, groups).tobytes() == now.values.tobytes()
    assert later.values.tobytes() == now.values.tobytes()
    summed, groups = later.grouped()  # from here on each row stands alone
    assert summed is later.values and groups.order.tolist() == list(range(len(now.rows)))
    assert groups.starts.tolist() == list(range(len(now.rows) + 1))
    assert (later + now).to_dense().tobytes() == (now + now).to_dense().tobytes()


def test_two_threads_may_ask_for_the_values_at_a_time(rng, monkeypatch):
    """Values that are summed, beside groups that are not yet, would be put in order twice."""
    rows, values = rng.permutation(40), rng.standard_normal((40, 3))
    grad, Groups, came = RowGrad.of_batch(rows, values, (40, 3)), kernels.Groups, []

    def another_comes_now(*parts):
        monkeypatch.setattr(kernels, "Groups", Groups)
        came.append(grad.values)
        return Groups(*parts)

    monkeypatch.setattr(kernels, "Groups", another_comes_now)
    assert np.array_equal(grad.values[rows], values) and np.array_equal(came[0][rows], values)


def test_rows_are_not_written_to():
    """An optimiser's compiled loop goes by them."""
    grad = RowGrad([3, 1, 3], np.ones((3, 2)), (6, 2))
    with pytest.raises(ValueError, match="read-only"):
        grad.rows[:] = 10**8
    assert grad.rows.tolist() == [1, 3]


def test_comparisons_go_number_by_number():
    grad, same = (RowGrad([1, 1], np.array([[1.0, 2.0], [3.0, 0.0]]), (3, 2)) for _ in range(2))
    dense = grad.to_dense()
    assert (grad == same).all() and (grad == dense).all() and (dense == grad).all()
    other = dense + np.eye(3, 2)
    np.testing.assert_array_equal(grad != other, np.eye(3, 2, dtype=bool))
    for number in (0, 2.0, np.float64(2), np.float32(2)):
        np.testing.assert_array_equal(grad == number, dense == number)
        np.testing.assert_array_equal(number != grad, dense != number)
    rows = ((0, 0), (4, 2), (1, 0))
    np.testing.assert_array_equal(grad == rows, dense == np.array(rows))
    assert grad != "none" and (grad == "none") is False and hash(grad) != hash(same)


def test_a_masked_array_is_neither_added_nor_subtracted():
    grad, masked = RowGrad([1], np.ones((1, 2)), (3, 2)), np.ma.array(np.ones((3, 2)), mask=True)
    for use in (lambda: grad + masked, lambda: grad - masked):
        with pytest.raises(TypeError, match="masked array"):
            use()


def test_a_loop_of_ones_own_writes_to_the_table_as_with_a_dense_gradient(rows, rng):
    grad = RowGrad(rows, rng.standard_normal((len(rows), 3)), SHAPE)
    dense, table = grad.to_dense(), rng.standard_normal(SHAPE)
    want = table - 0.1 * dense + dense
    table -= 0.1 * grad
    table += grad
    np.testing.assert_allclose(table, want, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_in_place_it_changes_under_every_name(rows, rng, dtype):
    values = rng.standard_normal((len(rows), 3)).astype(dtype)
    other = RowGrad(np.array([0, 5]), np.ones((2, 3), dtype), SHAPE)
    table, mask = rng.standard_normal(SHAPE), rng.random(SHAPE) < 0.5
    for change in (
        lambda g, f: g.__imul__(0.5), lambda g, f: g.__itruediv__(3), lambda g, f: g.__imul__(mask),
        lambda g, f: g.__iadd__(f(other)), lambda g, f: g.__isub__(f(other)),
        lambda g, f: g.__iadd__(table.astype(dtype)), lambda g, f: g.__isub__(table.astype(dtype)),
    ):  # fmt: skip
        grad = RowGrad(rows, values, SHAPE)
        dense = grad.to_dense()
        same = grad
        assert change(grad, lambda each: each) is same
        change(dense, RowGrad.to_dense)
        np.testing.assert_allclose(same.to_dense(), dense, rtol=1e-5, atol=1e-6)
        assert same.dtype == dtype and (np.diff(same.rows) > 0).all()


def test_a_sum_that_begins_with_0_is_another_one(rows, rng):
    grad, total = RowGrad(rows, rng.standard_normal((len(rows), 3)), SHAPE), 0
    before = grad.to_dense()
    total += grad
    total += grad
    np.testing.assert_array_equal(grad.to_dense(), before)
    np.testing.assert_array_equal(total.to_dense(), 2 * before)


def test_what_brackets_give_is_not_written_to(rng):
    grad = RowGrad([1], rng.standard_normal((1, 3)), SHAPE)
    with pytest.raises(ValueError, match="read-only"):
        grad[1][:] = 0
    with pytest.raises(TypeError):
        grad *= "2"


def test_a_row_of_a_table_too_large_to_be_dense_is_read():
    grad = RowGrad([5, 9], [[1.0, 2.0], [3.0, 4.0]], (10**15, 2))
    assert grad[9].tolist() == [3, 4] and grad[7].tolist() == [0, 0] and grad[-1].tolist() == [0, 0]
    for row in (10**15, -(10**15) - 1):
        with pytest.raises(IndexError, match=f"row {row} is outside a table of"):
            grad[row]


def test_numpys_functions_and_brackets_take_the_dense_gradient(rows, rng):
    grad = RowGrad(rows, rng.standard_normal((len(rows), 3)), SHAPE)
    dense = grad.to_dense()
    mask = dense > 0
    pairs = [
        (np.abs(grad), np.abs(dense)),
        (np.square(grad).sum(), np.square(dense).sum()),
        (np.linalg.norm(grad), np.linalg.norm(dense)),
        (grad * mask, dense * mask),
        (mask * grad, mask * dense),
        (grad @ dense.T, dense @ dense.T),
        (grad[1], dense[1]),
        (grad[-1], dense[-1]),
        (grad[np.int64(3)], dense[3]),
        (list(grad), list(dense)),
        (grad[:, 2], dense[:, 2]),
        (len(grad), 7),
    ]
    for got, want in pairs:
        np.testing.assert_array_equal(got, want)
    for number in (np.float64(2), np.float32(2), 2):
        assert isinstance(number * grad, RowGrad) and isinstance(grad * number, RowGrad)
    with pytest.raises(ValueError, match=r"added to \(3,\)"):  # and not spread over the rows
        dense[0] + grad
    with pytest.raises(TypeError, match="out is a RowGrad"):
        np.clip(grad, -1, 1, out=grad)
    with pytest.raises(AttributeError, match=r"no sum: write grad.to_dense\(\).sum"):
        grad.sum()
    with pytest.raises(AttributeError, match=r"no fill: write to grad.values, of grad.rows"):
        grad.fill(0)  # of a dense copy it would be thrown away
    with pytest.raises(AttributeError, match="no attribute 'vales'"):
        print(grad.vales)
