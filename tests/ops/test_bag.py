"""EmbeddingBag: pooled lookups against plain loops, and who is paid in backward."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import RowGrad, Tensor
from scratch_embed import functional as F
from scratch_embed.gradcheck import gradcheck
from scratch_embed.layers import EmbeddingBag
from scratch_embed.ops.bag import embedding_bag_backward, embedding_bag_forward
from tests.wrong_backward import caught, leaf

TABLE = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 0.0]])
IDS, OFFSETS = np.array([1, 0, 1, 2]), np.array([0, 3, 3, 4])  # bags 1 0 1, none, 2


@pytest.mark.parametrize(
    ("mode", "out", "grad"),
    [
        ("sum", [[5, 50], [0, 0], [3, 0]], [[1, 2], [2, 4], [5, 6]]),
        ("mean", [[5 / 3, 50 / 3], [0, 0], [3, 0]], [[1 / 3, 2 / 3], [2 / 3, 4 / 3], [5, 6]]),
        ("max", [[2, 20], [0, 0], [3, 0]], [[0, 0], [1, 2], [5, 6]]),
    ],
)
def test_three_bags_by_hand(mode, out, grad):
    got, saved = embedding_bag_forward(TABLE, IDS, offsets=OFFSETS, mode=mode)
    np.testing.assert_allclose(got, out)
    dout = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])  # what the empty bag is sent is lost
    np.testing.assert_allclose(embedding_bag_backward(dout, saved), grad)


def plain(table, bags, mode, dout):
    """The same by loops: (out, gradient of the table)."""
    out, grad = np.zeros((len(bags), table.shape[1])), np.zeros_like(table)
    for b, bag in enumerate(bags):
        if not len(bag):
            continue
        rows = table[bag]
        out[b] = getattr(rows, mode)(axis=0)
        for n, v in enumerate(bag):
            for d in range(table.shape[1]):
                share = {"sum": 1, "mean": 1 / len(bag), "max": rows[:, d].argmax() == n}[mode]
                grad[v, d] += dout[b, d] * share
    return out, grad


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("sparse", [False, True])
def test_random_bags_equal_plain_loops(mode, sparse):
    rng = np.random.default_rng(0)
    table = rng.integers(-3, 4, (7, 3)).astype(float)  # small integers: many ties
    for _ in range(20):
        sizes = rng.integers(0, 5, 6)
        ids, offsets = rng.integers(0, 7, sizes.sum()), np.concatenate([[0], np.cumsum(sizes)])
        pad = int(rng.integers(0, 7))
        bags = [b[b != pad] for b in np.split(ids, offsets[1:-1])]
        dout = rng.standard_normal((6, 3))
        out, saved = embedding_bag_forward(
            table, ids, offsets=offsets, mode=mode, padding_idx=pad, sparse=sparse
        )
        grad = embedding_bag_backward(dout, saved)
        expected, expected_grad = plain(table, bags, mode, dout)
        assert isinstance(grad, RowGrad) is sparse
        np.testing.assert_allclose(out, expected, atol=1e-14)
        np.testing.assert_allclose(np.asarray(grad), expected_grad, atol=1e-14)


def test_rows_of_a_matrix_are_bags():
    ids = np.array([[0, 2], [1, 1]])
    flat = embedding_bag_forward(TABLE, ids.reshape(-1), offsets=np.array([0, 2, 4]))[0]
    assert np.array_equal(embedding_bag_forward(TABLE, ids)[0], flat)
    empty = np.empty((3, 0), np.int64)
    assert F.embedding_bag(TABLE, empty, mode="max").data.tolist() == [[0, 0]] * 3


def test_weights_of_samples_and_their_gradient():
    weights = np.array([2.0, 1.0, 0.5, 10.0])
    out, saved = embedding_bag_forward(TABLE, IDS, weights, offsets=OFFSETS, mode="sum")
    assert out.tolist() == [[6, 60], [0, 0], [30, 0]]  # 2 [2, 20] + [1, 10] + 0.5 [2, 20]
    dtable, _, dweights = embedding_bag_backward(np.ones((3, 2)), saved)
    assert dtable.tolist() == [[1, 1], [2.5, 2.5], [10, 10]]
    assert dweights.tolist() == [22, 11, 22, 3]
    options = {"offsets": OFFSETS, "mode": "sum", "padding_idx": 1}
    _, saved = embedding_bag_forward(TABLE, IDS, weights, **options)
    assert embedding_bag_backward(np.ones((3, 2)), saved)[2].tolist() == [0, 11, 0, 3]


def test_a_tie_pays_the_first_and_nan_is_not_hidden():
    table = np.array([[1.0], [1.0]])
    _, saved = embedding_bag_forward(table, np.array([[1, 0]]), mode="max")
    assert embedding_bag_backward(np.array([[4.0]]), saved).tolist() == [[0], [4]]
    table[0] = np.nan
    assert np.isnan(embedding_bag_forward(table, np.array([[1, 0]]), mode="max")[0]).all()


@pytest.mark.parametrize(
    ("mode", "grad"),
    [
        ("sum", [[1, 2], [1, 2], [5, 6]]),  # row 1 stands twice in its bag, and is paid once
        ("mean", [[1 / 3, 2 / 3], [1 / 3, 2 / 3], [5, 6]]),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_scale_grad_by_freq_divides_by_the_count_in_all_bags(mode, grad, sparse):
    options = {"mode": mode, "scale_grad_by_freq": True, "sparse": sparse}
    dout = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    out, saved = embedding_bag_forward(TABLE, IDS, offsets=OFFSETS, **options)
    np.testing.assert_array_equal(out, F.embedding_bag(TABLE, IDS, offsets=OFFSETS, mode=mode))
    np.testing.assert_allclose(np.asarray(embedding_bag_backward(dout, saved)), grad)
    # The same id in two bags counts twice too, and padding for nothing.
    _, saved = embedding_bag_forward(TABLE, [[2, 1], [1, 1]], padding_idx=2, **options)
    got = np.asarray(embedding_bag_backward(dout[:2], saved))
    share = [1, 1] if mode == "sum" else [1, 1 / 2]  # bag 0 holds one id without its padding
    total = share[0] * dout[0] + 2 * share[1] * dout[1]
    np.testing.assert_allclose(got, [[0, 0], total / 3, [0, 0]])


def test_max_norm_shrinks_the_rows_that_are_looked_up():
    layer = EmbeddingBag.from_pretrained(TABLE.copy(), freeze=False, mode="sum", max_norm=2.0)
    out = layer([[0, 2, 2]])
    assert layer.weight.data[1].tolist() == [2, 20]  # long, and not looked up
    np.testing.assert_allclose(np.linalg.norm(layer.weight.data[[0, 2]], axis=1), 2)
    np.testing.assert_allclose(out.data[0], layer.weight.data[0] + 2 * layer.weight.data[2])
    out.backward(np.ones((1, 2)))
    assert layer.weight.grad.tolist() == [[1, 1], [0, 0], [2, 2]]
    by_sum = EmbeddingBag.from_pretrained(TABLE.copy(), max_norm=2.0, norm_type=1.0)
    with pytest.raises(ValueError, match="less than"):  # what is wrong is told before a row shrinks
        by_sum([0, 1, 2], offsets=[0, 2, 1, 3])
    assert by_sum.weight.data.tolist() == TABLE.tolist()
    by_sum([[0]])
    np.testing.assert_allclose(by_sum.weight.data[0], TABLE[0] * 2 / 11)
    with pytest.raises(ValueError, match="max_norm is 0"):
        EmbeddingBag(3, 2, max_norm=0)


def test_gradcheck_knows_both_options_and_sees_them():
    options = {"max_norm": 0.8, "scale_grad_by_freq": True, "dtype": np.float64, "rng": 3}
    layer = EmbeddingBag(6, 3, "mean", **options)
    report = gradcheck(lambda _: F.tanh(layer([[4, 1, 1], [0, 4, 4]])), layer.weight)
    assert report.passed, report
    seen = {row.index[0]: row.verdict for row in report.rows}
    assert "scale_grad_by_freq" in seen[4] and "scale_grad_by_freq" in seen[1]


def forgot_to_divide(dout, saved):
    return embedding_bag_backward(dout, saved._replace(scale_grad_by_freq=False))


def test_a_bag_that_forgets_to_divide_by_the_count_is_caught():
    options = {"offsets": OFFSETS, "scale_grad_by_freq": True}
    assert caught(embedding_bag_forward, forgot_to_divide, leaf(3, 2), IDS, **options)
    assert not caught(embedding_bag_forward, embedding_bag_backward, leaf(3, 2), IDS, **options)


def lost_repeats(dout, saved):
    grad = np.zeros((saved.num_rows, dout.shape[1]))
    grad[saved.ids] += dout[saved.bags]
    return grad


def wrong_bag(dout, saved):
    return embedding_bag_backward(dout, saved._replace(bags=saved.bags[::-1]))


@pytest.mark.parametrize("wrong", [lost_repeats, wrong_bag])
def test_planted_bugs_are_caught(wrong):
    assert caught(embedding_bag_forward, wrong, leaf(3, 2), IDS, offsets=OFFSETS)


def test_a_mean_that_forgets_its_count_is_caught():
    def wrong(dout, saved):
        return embedding_bag_backward(dout, saved._replace(factors=None))

    assert caught(embedding_bag_forward, wrong, leaf(3, 2), IDS, offsets=OFFSETS, mode="mean")


def test_a_maximum_that_pays_everybody_is_caught():
    def wrong(dout, saved):
        return embedding_bag_backward(dout, saved._replace(winners=None))

    assert caught(embedding_bag_forward, wrong, leaf(3, 2), IDS, offsets=OFFSETS, mode="max")


def test_the_layer():
    layer = EmbeddingBag(6, 3, mode="sum", padding_idx=0, sparse=True, rng=0)
    assert not layer.weight.data[0].any()
    learned = Tensor(np.ones(4, np.float32), requires_grad=True)
    layer([4, 1, 0, 1], [0, 2, 4], learned).backward(np.ones((2, 3)))
    assert layer.weight.grad.rows.tolist() == [1, 4] and learned.grad.shape == (4,)
    assert {layer.weight.grad.dtype, learned.grad.dtype} == {np.dtype(np.float32)}
    frozen = EmbeddingBag.from_pretrained(TABLE, mode="max")
    assert frozen([[0, 1]]).data.tolist() == [[2, 20]] and not frozen.weight.requires_grad


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, ValueError, r"need offsets.*offsets=\[0, 4\]"),
        ({"offsets": [1, 4]}, ValueError, r"offsets\[0\] is 1; the first must be 0"),
        ({"offsets": [0, 2]}, ValueError, r"offsets\[1\] is 2.*the last 4"),
        ({"offsets": [0, 3, 2, 4]}, ValueError, r"offsets\[2\] = 2 is less than offsets\[1\] = 3"),
        ({"offsets": [0, 2, 2, 1, 4]}, ValueError, r"offsets\[3\] = 1 is less than offsets\[2\]"),
        ({"offsets": [0.0, 4.0]}, TypeError, "offsets are float64"),
        ({"offsets": [False, 4]}, TypeError, "offsets are object .* must be integers"),
        ({"offsets": [0, 4], "mode": "min"}, ValueError, "mode is 'min'"),
    ],
)
def test_bad_input_is_explained(options, error, words):
    with pytest.raises(error, match=words):
        F.embedding_bag(TABLE, IDS, **options)


def test_the_function_does_by_default_what_the_layer_does():
    bag = EmbeddingBag.from_pretrained(TABLE)
    np.testing.assert_array_equal(F.embedding_bag(TABLE, IDS, offsets=OFFSETS), bag(IDS, OFFSETS))


def test_what_does_not_fit_together_is_explained():
    with pytest.raises(ValueError, match="bag in each row"):
        F.embedding_bag(TABLE, IDS.reshape(2, 2), offsets=[0, 4])
    with pytest.raises(ValueError, match="no meaning for mode='mean'"):
        F.embedding_bag(TABLE, IDS, np.ones(4), offsets=OFFSETS)
    with pytest.raises(ValueError, match=r"shape of ids, \(4,\)"):
        F.embedding_bag(TABLE, IDS, np.ones(3), offsets=OFFSETS, mode="sum")
    for make in (F.embedding_bag, EmbeddingBag.from_pretrained):
        with pytest.raises(ValueError, match="scale_grad_by_freq has no meaning for mode='max'"):
            given = (TABLE, IDS) if make is F.embedding_bag else (TABLE,)
            make(*given, mode="max", scale_grad_by_freq=True)
    for whole in ([2, 1, 1, 3], np.array([2, 1, 1, 3], np.uint8)):
        with pytest.raises(ValueError, match=r"per_sample_weights are u?int.*must be floats"):
            F.embedding_bag(TABLE, IDS, whole, offsets=OFFSETS, mode="sum")
    if np.finfo(np.longdouble).bits > 64:  # of MSVC it is float64
        with pytest.raises(ValueError, match=r"per_sample_weights are .*at most 64 bits"):
            F.embedding_bag(TABLE, IDS, np.ones(4, np.longdouble), offsets=OFFSETS, mode="sum")
    for table in (3.0, TABLE[0], TABLE[None]):
        with pytest.raises(ValueError, match=r"weight has shape \(.*a table has two axes"):
            F.embedding_bag(table, [[0]])
    with pytest.raises(IndexError, match=r"ids\[3\] = 3 is too large"):
        F.embedding_bag(TABLE, [0, 1, 2, 3], offsets=OFFSETS)


def test_weights_and_offsets_that_are_no_rectangle_are_told():
    weight = np.ones((3, 2))
    with pytest.raises(ValueError, match="per_sample_weights is ragged"):
        embedding_bag_forward(weight, [[0, 1], [1, 2]], [[1.0], [1.0, 2.0]], mode="sum")
    with pytest.raises(ValueError, match="offsets is ragged"):
        embedding_bag_forward(weight, [0, 1], offsets=[[0], [1, 2]])
