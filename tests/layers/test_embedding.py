"""Embedding: every option means what torch.nn.Embedding documents, in numbers by hand."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from scratch_embed import SGD, Embedding, RowGrad
from scratch_embed.layers import HashEmbedding

TABLE = [[3.0, 4.0], [0.6, 0.8], [0.0, -2.0], [1.0, 1.0]]
TABLE_64 = np.array(TABLE)
COTANGENT = [[1.0, 2.0], [10.0, 20.0], [5.0, 7.0], [100.0, 200.0]]
IDS = [1, 3, 2, 3]  # row 3 twice, row 0 never


def layer(**options) -> Embedding:
    return Embedding.from_pretrained(np.array(TABLE), freeze=False, **options)


def gradient(ids=IDS, **options) -> list:
    """The table's gradient after a lookup that is answered with COTANGENT."""
    embed = layer(**options)
    embed(ids).backward(np.array(COTANGENT))
    return np.asarray(embed.weight.grad).tolist()


# ---- options ------------------------------------------------------------------------------------


def test_plain_gradient_sums_repeated_rows():
    assert gradient() == [[0, 0], [1, 2], [5, 7], [110, 220]]


@pytest.mark.parametrize("padding_idx", [3, -1, np.int64(3)])
def test_padding_row_gets_no_gradient(padding_idx):
    assert gradient(padding_idx=padding_idx) == [[0, 0], [1, 2], [5, 7], [0, 0]]
    assert layer(padding_idx=padding_idx).padding_idx == 3


def test_padding_row_starts_at_zero_but_a_given_one_keeps_its_values():
    fresh = Embedding(4, 2, padding_idx=-2)
    assert fresh.weight.data[2].tolist() == [0, 0]
    assert (fresh.weight.data[[0, 1, 3]] != 0).all()
    assert layer(padding_idx=0)([0]).data.tolist() == [[3, 4]]


def test_padding_row_stays_what_it_is_made_to_be():
    """It is no zero by decree: written over, it is read as written, and no step moves it."""
    embed = Embedding(4, 2, padding_idx=0)
    embed.weight.data[0] = [7, 7]
    embed([0, 1]).sum().backward()
    SGD(embed.parameters(), lr=1.0).step()
    assert embed([0]).data.tolist() == [[7, 7]]


def test_padding_row_is_frozen_against_lookups_only():
    """A head that shares the table sends gradient into the padding row as into any other."""
    embed = layer(padding_idx=0)
    (embed([0, 1]) @ embed.weight.T).sum().backward()
    assert embed.weight.grad[0].tolist() == [3.6, 4.8]  # E[0] + E[1]


def test_scale_grad_by_freq_divides_by_the_count_in_the_batch():
    assert gradient(scale_grad_by_freq=True) == [[0, 0], [1, 2], [5, 7], [55, 110]]
    both = gradient(scale_grad_by_freq=True, padding_idx=1)
    assert both == [[0, 0], [0, 0], [5, 7], [55, 110]]


def test_sparse_gradient_names_the_rows_of_the_batch():
    embed = layer(sparse=True)
    embed(IDS).backward(np.array(COTANGENT))
    assert isinstance(embed.weight.grad, RowGrad)
    assert embed.weight.grad.rows.tolist() == [1, 2, 3]
    assert gradient(sparse=True) == gradient()
    assert gradient(sparse=True, padding_idx=3) == gradient(padding_idx=3)


@pytest.mark.parametrize(
    ("norm_type", "max_norm", "rows"),
    [
        (2.0, 1.0, [[0.6, 0.8], [0.6, 0.8], [0, -1]]),  # norms 5, 1, 2
        (1.0, 1.4, [[0.6, 0.8], [0.6, 0.8], [0, -1.4]]),  # norms 7, 1.4, 2
        (np.inf, 1.0, [[0.75, 1], [0.6, 0.8], [0, -1]]),  # norms 4, 0.8, 2
        (2.0, 10.0, TABLE[:3]),  # nothing is longer than that
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_max_norm_shrinks_long_rows_in_place(norm_type, max_norm, rows, dtype):
    embed = Embedding.from_pretrained(
        np.array(TABLE, dtype), max_norm=max_norm, norm_type=norm_type
    )
    out = embed([[0, 1], [2, 0]])
    expected = np.array(rows)[[[0, 1], [2, 0]]]
    np.testing.assert_allclose(out.data, expected, rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(embed.weight.data[:3], out.data.reshape(4, 2)[:3])
    assert out.dtype == dtype


def test_max_norm_leaves_rows_alone_that_are_short_or_not_looked_up():
    embed = layer(max_norm=1.5)
    before = embed.weight.data.copy()
    embed([1, 2, 2])
    changed = (embed.weight.data != before).any(axis=1)
    assert changed.tolist() == [False, False, True, False]  # 0 is long, 3 short, 1 short and seen
    embed(np.empty(0, int))
    np.testing.assert_array_equal(embed.weight.data[0], before[0])


# ---- ids and tables of every kind ---------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u2"])
@pytest.mark.parametrize("shape", [(), (4,), (2, 2), (1, 4, 1), (0,), (2, 0, 3)])
def test_ids_of_any_shape_and_integer_type(dtype, shape):
    size = int(np.prod(shape))
    ids = np.array(IDS[:size] if size else [], dtype).reshape(shape)
    embed = layer()
    out = embed(ids)
    assert out.shape == (*shape, 2)
    np.testing.assert_array_equal(out.data, np.array(TABLE)[ids.astype(int)])
    out.backward(np.ones(out.shape))
    assert embed.weight.grad.sum() == 2 * size


@pytest.mark.parametrize("ids", [2, np.int16(2), [2], (2,), [[2]], [], range(3)])
def test_ids_need_not_be_arrays(ids):
    assert layer()(ids).shape == (*np.shape(ids), 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tables_that_are_read_only_or_not_contiguous(dtype):
    wide = np.arange(24, dtype=dtype).reshape(4, 6)
    read_only = wide.copy()
    read_only.flags.writeable = False
    for table in (wide[:, ::2], wide[::-1], wide.T, np.asfortranarray(wide), read_only):
        before = table.copy()
        embed = Embedding.from_pretrained(table, freeze=False)
        out = embed([1, 3, 1])
        np.testing.assert_array_equal(out.data, table[[1, 3, 1]])
        out.backward(np.ones(out.shape))
        assert embed.weight.grad[:, 0].tolist()[:4] == [0, 2, 0, 1]
        assert embed.weight.grad.dtype == out.dtype == dtype
        np.testing.assert_array_equal(table, before)


def test_two_threads_may_use_one_layer_at_once():
    embed = Embedding(1000, 64, rng=0)
    batches = np.random.default_rng(1).integers(0, 1000, (2, 5000))
    alone = [embed(ids).data for ids in batches]
    together = [None, None]

    def look_up(n: int) -> None:
        for _ in range(20):
            together[n] = embed(batches[n]).data

    threads = [threading.Thread(target=look_up, args=(n,)) for n in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(together, alone)


# ---- making one ---------------------------------------------------------------------------------


def test_from_pretrained_is_frozen_and_shared():
    array = np.array(TABLE)
    frozen = Embedding.from_pretrained(array)
    assert frozen.weight.data is array
    assert not frozen(IDS).requires_grad
    learning = Embedding.from_pretrained(array, freeze=False)
    learning(IDS).sum().backward()
    SGD([learning.weight, frozen.weight], lr=0.5).step()
    assert array[3].tolist() == [0, 0]  # 1 - 0.5 * 2, seen by both
    np.testing.assert_array_equal(frozen([3]).data, learning([3]).data)


@pytest.mark.parametrize(("init", "std"), [("N(0,1)", 1.0), ("1/sqrt(d)", 0.125), (0.02, 0.02)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_init_has_the_std_that_its_name_tells(init, std, dtype):
    table = Embedding(4096, 64, init=init, dtype=dtype, rng=5).weight.data
    assert table.dtype == dtype
    assert table.shape == (4096, 64)
    # The std of n draws is off by about std / sqrt(2 n); the mean by std / sqrt(n).
    assert table.std() == pytest.approx(std, rel=5 / np.sqrt(2 * table.size))
    assert abs(table.mean()) < 5 * std / np.sqrt(table.size)


def test_rng_decides_the_rows():
    same, again, other = (Embedding(5, 3, rng=seed).weight.data for seed in (1, 1, 2))
    np.testing.assert_array_equal(same, again)
    assert (same != other).all()
    rng = np.random.default_rng(1)
    first, second = Embedding(5, 3, rng=rng), Embedding(5, 3, rng=rng)
    np.testing.assert_array_equal(first.weight.data, same)
    assert (first.weight.data != second.weight.data).all()


def test_parameters_and_repr():
    embed = Embedding(10, 3, padding_idx=-1, max_norm=2.0, sparse=True)
    assert embed.parameters() == [embed.weight]
    assert (embed.num_embeddings, embed.embedding_dim) == (10, 3)
    assert embed.weight.requires_grad
    assert repr(embed) == "Embedding(10, 3, padding_idx=9, max_norm=2.0, sparse=True)"


# ---- wrong use ----------------------------------------------------------------------------------


def read_only() -> np.ndarray:
    table = np.array(TABLE)
    table.flags.writeable = False
    return table


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda: layer()([[0, 1], [2, 4]]), IndexError, r"ids\[1, 1\] = 4 .*0\.\.3"),
        (lambda: layer()([0, -1]), IndexError, r"ids\[1\] = -1 is negative"),
        (lambda: layer(max_norm=1.0)([4]), IndexError, r"ids\[0\] = 4"),
        (lambda: layer()([1.0]), TypeError, r"ids\[0\] = 1\.0"),
        (lambda: layer()([True, False]), TypeError, "boolean"),
        (lambda: layer()([float("nan")]), TypeError, "not a number"),
        (lambda: layer()("cat"), TypeError, "cat"),
        (lambda: layer()(IDS).backward(np.ones((4, 3))), ValueError, r"\(4, 3\).*\(4, 2\)"),
        (lambda: layer()(IDS).backward(np.ones((4, 2), complex)), TypeError, "grad is complex"),
        (lambda: Embedding(0, 2), ValueError, "num_embeddings is 0"),
        (lambda: Embedding(4, -1), ValueError, "embedding_dim is -1"),
        (lambda: Embedding(4.0, 2), ValueError, r"num_embeddings is 4\.0"),
        (lambda: Embedding(True, 2), ValueError, "num_embeddings is True"),
        (lambda: Embedding(4, 2, padding_idx=4), ValueError, r"padding_idx is 4; .*-4\.\.3"),
        (lambda: Embedding(4, 2, padding_idx=-5), ValueError, "padding_idx is -5"),
        (lambda: Embedding(4, 2, padding_idx=1.5), TypeError, r"padding_idx is 1\.5"),
        (lambda: Embedding(4, 2, padding_idx=True), TypeError, "padding_idx is True"),
        (lambda: Embedding(4, 2, max_norm=0), ValueError, "max_norm is 0"),
        (lambda: Embedding(4, 2, max_norm=float("nan")), ValueError, "max_norm is nan"),
        (lambda: Embedding(4, 2, max_norm=1, norm_type=0), ValueError, "norm_type is 0"),
        (lambda: Embedding(4, 2, dtype=np.float16), TypeError, "float16"),
        (lambda: Embedding(4, 2, sparse="no"), TypeError, "sparse is 'no'; .*True or False"),
        (lambda: Embedding(4, 2, scale_grad_by_freq=0), TypeError, "scale_grad_by_freq is 0"),
        (lambda: Embedding.from_pretrained(TABLE_64, "no"), TypeError, "freeze is 'no'"),
        (lambda: HashEmbedding(4, 2, signed=-1), TypeError, "signed is -1"),
        (lambda: Embedding(4, 2, init="xavier"), ValueError, r"'xavier'.*'N\(0,1\)'"),
        (lambda: Embedding(4, 2, init=-1.0), ValueError, r"init is -1\.0"),
        (lambda: Embedding.from_pretrained([1.0, 2.0]), ValueError, r"\(2,\).*two axes"),
        (lambda: Embedding.from_pretrained([[1, 2]]), TypeError, "int64.*float32 or float64"),
        (lambda: Embedding.from_pretrained(read_only(), max_norm=1.0)([0]), ValueError,
         "read-only.*row 0"),
    ],
)  # fmt: skip
def test_wrong_use_is_named(use, error, words):
    with pytest.raises(error, match=words):
        use()
