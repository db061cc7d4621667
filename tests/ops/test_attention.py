"""Attention: weights by hand, masks, blindness to order, and its gradient."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import functional as F
from scratch_embed.layers import SelfAttention, TransformerBlock
from scratch_embed.ops.attention import attention_backward, attention_forward
from tests.wrong_backward import caught, leaf

LN3 = np.log(3)


def test_one_query_and_two_keys_by_hand():
    q, k = np.array([[1.0]]), np.array([[0.0], [LN3]])  # scores 0 and ln 3: weights 1/4 and 3/4
    out, saved = attention_forward(q, k, np.array([[8.0], [4.0]]))
    np.testing.assert_allclose(saved.weights, [[0.25, 0.75]])
    np.testing.assert_allclose(out, [[5.0]])
    dq, dk, dv = attention_backward(np.array([[1.0]]), saved)
    np.testing.assert_allclose(dv, [[0.25], [0.75]])
    # dweights = [8, 4], their mean 5, so dscores = [0.25 * 3, 0.75 * -1]
    np.testing.assert_allclose(dk, [[0.75], [-0.75]])
    np.testing.assert_allclose(dq, [[-0.75 * LN3]])


def test_scores_are_divided_by_the_root_of_d():
    q = k = np.full((1, 4), 2.0)
    _, saved = attention_forward(q, np.concatenate([k, 0 * k]), np.ones((2, 1)))
    assert saved.weights[0, 0] / saved.weights[0, 1] == pytest.approx(np.exp(16 / 2))


def test_causal_and_padding_masks():
    x = np.random.default_rng(0).standard_normal((2, 3, 4))
    _, saved = attention_forward(x, x, x, causal=True)
    assert not np.triu(saved.weights, 1).any()
    np.testing.assert_allclose(saved.weights.sum(axis=-1), 1)
    real = np.array([[True, True, False], [False, False, False]])
    out, saved = attention_forward(x, x, x, mask=real[:, None, :])
    assert not saved.weights[0, :, 2].any()
    np.testing.assert_allclose(saved.weights[0].sum(axis=-1), 1)
    assert not out[1].any()  # nowhere to look: zeros, and not NaN
    assert all(np.isfinite(g).all() for g in attention_backward(out, saved))
    alone, _ = attention_forward(x[:1, :2], x[:1, :2], x[:1, :2])
    np.testing.assert_allclose(out[0, :2], alone[0])  # as if the padding were not there


def test_a_masked_score_does_not_count_however_high_it_is():
    """The highest allowed score is taken away before e^score, else all the others would be 0."""
    k = np.array([[0.0], [LN3], [5000.0]])
    _, saved = attention_forward(np.array([[1.0]]), k, k, mask=np.array([True, True, False]))
    np.testing.assert_allclose(saved.weights, [[0.25, 0.75, 0]])
    x = np.array([[1.0], [5000.0]])
    np.testing.assert_array_equal(attention_forward(x, x, x, causal=True)[1].weights, np.eye(2))


@pytest.mark.parametrize("batch", [(), (1,)])
def test_one_sequence_may_be_seen_by_several_masks(batch):
    rng = np.random.default_rng(4)
    q, k, v = (leaf(*batch, 3, 2, seed=seed) for seed in range(3))
    masks, dout = np.tri(3, dtype=bool) & (rng.random((5, 3, 3)) < 0.7), rng.random((5, 3, 2))
    F.attention(q, k, v, mask=masks).backward(dout)
    together = [t.grad for t in (q, k, v)]
    q.grad = k.grad = v.grad = None
    for mask, part in zip(masks, dout):
        F.attention(q, k, v, mask=mask).backward(part.reshape(q.shape))
    for t, grad in zip((q, k, v), together):
        np.testing.assert_allclose(grad, t.grad, rtol=1e-12)


def test_a_mask_of_floats_is_added_to_the_scores():
    q, k = np.array([[1.0]]), np.array([[0.0], [LN3]])  # scores 0 and ln 3
    v = np.array([[8.0], [4.0]])
    _, saved = attention_forward(q, k, v, mask=np.array([np.log(9), 0.0]))
    np.testing.assert_allclose(saved.weights, [[0.75, 0.25]])  # 9 against 3
    _, saved = attention_forward(q, k, v, mask=np.array([[-np.inf, 5.0]]))
    assert saved.weights.tolist() == [[0, 1]]
    out, saved = attention_forward(q, k, v, mask=np.full((1, 2), -np.inf))
    assert not out.any() and not saved.weights.any()


def test_the_least_float64_is_finite_also_for_scores_in_float32():
    """Libraries fill masks with it: a query whose keys all have it looks at all of them alike."""
    q, k, v = (np.array(x, np.float32) for x in ([[1.0]], [[1.0], [1.0]], [[8.0], [4.0]]))
    least = np.finfo(np.float64).min
    for mask, shares in (([least, least], [0.5, 0.5]), ([0, least], [1, 0]),
                         ([least / 2, least], [1, 0]), ([least, -np.inf], [1, 0])):  # fmt: skip
        out, saved = attention_forward(q, k, v, mask=np.array([mask]))
        assert saved.weights.tolist() == [shares] and out.dtype == np.float32
    # Each row goes by its own largest, and a key that nobody may look at is none.
    mask = np.array([[[least / 2, least, -np.inf]], [[least, least / 4, least / 2]]])
    _, saved = attention_forward(*(np.zeros((2, n, 1), np.float32) for n in (1, 3, 3)), mask=mask)
    assert saved.weights.tolist() == [[[1, 0, 0]], [[0, 1, 0]]]


def test_minus_infinity_is_false_and_zero_is_true():
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    look = np.random.default_rng(1).random((2, 3, 3)) < 0.5
    for causal in (False, True):
        out, saved = attention_forward(x, x, x, mask=look, causal=causal)
        added = np.where(look, 0.0, -np.inf)  # float64, and the answer is float32 all the same
        same, saved_same = attention_forward(x, x, x, mask=added, causal=causal)
        np.testing.assert_array_equal(same, out)
        assert same.dtype == np.float32
        for a, b in zip(attention_backward(out, saved), attention_backward(out, saved_same)):
            np.testing.assert_array_equal(a, b)


def test_a_slope_by_distance_makes_near_keys_count_more():
    """As ALiBi adds it (Press, Smith & Lewis 2022): equal scores, so the mask alone decides."""
    distance = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    _, saved = attention_forward(
        np.zeros((4, 2)), np.zeros((4, 2)), np.eye(4), mask=-LN3 * distance
    )
    np.testing.assert_allclose(saved.weights[0], np.array([27, 9, 3, 1]) / 40)


def test_large_scores_and_float32():
    x = np.array([[500.0, 0.0], [0.0, 500.0]], np.float32)
    out, saved = attention_forward(x, x, x, causal=True)
    grads = attention_backward(out, saved)
    assert np.array_equal(saved.weights, np.eye(2)) and np.isfinite(grads).all()
    assert {out.dtype, *(g.dtype for g in grads)} == {np.dtype(np.float32)}


def no_scale(dout, saved):
    dq, dk, dv = attention_backward(dout, saved)
    return dq / saved.scale, dk, dv


def no_sum(dout, saved):
    dscores = saved.weights * (dout @ saved.v.T) * saved.scale
    return dscores @ saved.k, dscores.T @ saved.q, saved.weights.T @ dout


def turned(dout, saved):
    dq, dk, _ = attention_backward(dout, saved)
    return dq, dk, saved.weights @ dout


@pytest.mark.parametrize("wrong", [no_scale, no_sum, turned])
@pytest.mark.parametrize("causal", [False, True])
def test_planted_bugs_are_caught(wrong, causal):
    three = [leaf(3, 4, seed=seed) for seed in range(3)]
    assert caught(attention_forward, wrong, *three, causal=causal)


@pytest.mark.parametrize("wrong", [no_scale, no_sum, turned])
def test_planted_bugs_behind_a_mask_of_floats_are_caught(wrong):
    three = [leaf(3, 4, seed=seed) for seed in range(3)]
    mask = np.random.default_rng(3).standard_normal((3, 3))
    mask[0, 2] = -np.inf
    assert caught(attention_forward, wrong, *three, mask=mask)
    assert not caught(attention_forward, attention_backward, *three, mask=mask)


def test_order_makes_no_difference_until_positions_turn_it():
    x, order = np.random.default_rng(0).standard_normal((5, 8)), [3, 1, 4, 0, 2]
    blind = SelfAttention(8, num_heads=2, rng=0, dtype=np.float64)
    np.testing.assert_allclose(blind(x[order]).data, blind(x).data[order], atol=1e-12)
    seeing = SelfAttention(8, num_heads=2, rotary=True, rng=0, dtype=np.float64)
    assert np.abs(seeing(x[order]).data - seeing(x).data[order]).max() > 1e-3


def test_heads_are_independent_slices_of_the_columns():
    layer = SelfAttention(6, num_heads=2, rng=0, dtype=np.float64)
    x = np.random.default_rng(1).standard_normal((4, 6))
    q, k, v = (part(x).data for part in (layer.query, layer.key, layer.value))
    cut = [slice(0, 3), slice(3, 6)]
    heads = [attention_forward(q[:, c], k[:, c], v[:, c]) for c in cut]
    joined = np.concatenate([out for out, _ in heads], axis=1)
    np.testing.assert_allclose(layer(x).data, layer.output(joined).data, atol=1e-12)
    np.testing.assert_allclose(layer.weights(x), np.stack([s.weights for _, s in heads]))


def test_a_padded_batch_gives_what_the_short_sentence_gives():
    block = TransformerBlock(4, num_heads=2, rng=0, dtype=np.float64)
    x = np.random.default_rng(1).standard_normal((1, 3, 4))
    real = np.array([[True, True, False]])
    np.testing.assert_allclose(block(x, real).data[:, :2], block(x[:, :2]).data, atol=1e-12)


def test_bad_input_is_explained():
    x = np.ones((2, 3, 4))
    with pytest.raises(ValueError, match=r"q \(2, 3, 4\), k \(2, 3, 5\).*same D"):
        F.attention(x, np.ones((2, 3, 5)), x)
    with pytest.raises(ValueError, match="two axes"):
        F.attention(np.ones(4), np.ones(4), np.ones(4))
    with pytest.raises(ValueError, match="at least 1"):
        F.attention(x, x[:, :0], x[:, :0])
    with pytest.raises(TypeError, match="mask is int64.*boolean"):
        F.attention(x, x, x, mask=np.ones((3, 3), np.int64))
    with pytest.raises(ValueError, match=r"mask \(2, 3\) does not fit.*real\[:, None, :\]"):
        F.attention(np.ones((2, 4, 4)), x, x, mask=np.ones((2, 3), bool))
    with pytest.raises(ValueError, match=r"mask \(3, 3\) does not fit scores \(1, 3\)"):
        F.attention(x[0, :1], x[0], x[0], mask=np.ones((3, 3), bool))
    for use in (lambda bad: F.attention(x, x, x, causal=bad), lambda bad: SelfAttention(4, 2, bad)):
        with pytest.raises(TypeError, match=r"causal is 0\.1"):  # a dropout, in PyTorch
            use(0.1)
    for bad in ("1", np.nan, True):
        with pytest.raises(ValueError, match="scale is"):
            F.attention(x, x, x, scale=bad)
    for bad in (np.nan, np.inf):
        mask = np.zeros((3, 3))
        mask[1, 2] = bad
        with pytest.raises(ValueError, match=rf"mask\[1, 2\] = {bad}; .*finite, or -inf"):
            F.attention(x, x, x, mask=mask)
    with pytest.raises(ValueError, match=r"q \(3, 0\), .*same D, at least 1"):
        F.attention(np.ones((3, 0)), np.ones((3, 0)), np.ones((3, 2)))
    with pytest.raises(ValueError, match="embedding_dim 6 cannot be cut into 4"):
        SelfAttention(6, num_heads=4)
