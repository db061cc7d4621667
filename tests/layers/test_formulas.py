"""What layers compute, written out a second time in plain NumPy, with biases that are not 0."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Tensor, layers
from scratch_embed.hashing import signs
from scratch_embed.ops.rotary import rotary_forward

F64 = {"dtype": np.float64, "rng": 0}


def with_other_numbers(layer):
    """No weight is left at a start that hides a mistake, as a bias of 0 hides its sign."""
    rng = np.random.default_rng(1)
    for tensor in layer.parameters():
        tensor.data[...] = rng.standard_normal(tensor.shape)
    return layer


def linear(layer, x):
    return x @ layer.weight.data.T + (0 if layer.bias is None else layer.bias.data)


def layer_norm(layer, x):
    spread = np.sqrt(x.var(axis=-1, keepdims=True) + layer.eps)
    return layer.gamma.data * (x - x.mean(axis=-1, keepdims=True)) / spread + layer.beta.data


def self_attention(layer, x, real=None):
    """Head by head, query by query, over the keys that it sees."""
    q, k, v = (linear(part, x) for part in (layer.query, layer.key, layer.value))
    out, width = np.zeros(x.shape), x.shape[-1] // layer.num_heads
    for head in range(layer.num_heads):
        here = slice(head * width, (head + 1) * width)
        one, two = q[:, here], k[:, here]
        if layer.rotary:
            one, two = rotary_forward(one)[0], rotary_forward(two)[0]
        for t in range(len(x)):
            seen = np.arange(len(x)) <= (t if layer.causal else len(x))
            seen &= True if real is None else real
            e = np.exp(two[seen] @ one[t] / np.sqrt(width))
            out[t, here] = e / e.sum() @ v[seen, here]
    return linear(layer.output, out)


ATTENTIONS = [
    {},
    {"num_heads": 2, "bias": True},
    {"num_heads": 2, "causal": True},
    {"num_heads": 2, "rotary": True},
]


@pytest.mark.parametrize("options", ATTENTIONS, ids=str)
def test_self_attention_head_by_head(options):
    layer = with_other_numbers(layers.SelfAttention(8, **options, **F64))
    x, real = np.random.default_rng(0).standard_normal((5, 8)), np.array([1, 1, 0, 1, 0], bool)
    np.testing.assert_allclose(layer(x).data, self_attention(layer, x), rtol=1e-9)
    np.testing.assert_allclose(layer(x, real).data, self_attention(layer, x, real), rtol=1e-9)
    both = layer(np.stack([x, 2 * x]), np.stack([real, ~real])).data  # each with its own padding
    np.testing.assert_allclose(both[0], self_attention(layer, x, real), rtol=1e-9)
    for shared in (real, real[None]):
        np.testing.assert_allclose(layer(np.stack([x, x]), shared).data[1], both[0], rtol=1e-9)


def test_the_weights_of_attention_are_those_that_it_uses():
    layer = with_other_numbers(layers.SelfAttention(4, num_heads=2, causal=True, **F64))
    x, real = np.random.default_rng(0).standard_normal((3, 4)), np.array([True, False, True])
    weights = layer.weights(x, real)
    assert weights.shape == (2, 3, 3)
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0)
    assert not weights[:, :, 1].any() and not weights[:, 0, 1:].any()
    values = linear(layer.value, x).reshape(3, 2, 2).transpose(1, 0, 2)
    joined = (weights @ values).transpose(1, 0, 2).reshape(3, 4)
    np.testing.assert_allclose(layer(x, real).data, linear(layer.output, joined))


def test_a_block_adds_attention_and_then_its_two_layers():
    block = with_other_numbers(layers.TransformerBlock(4, num_heads=2, mlp_ratio=3, **F64))
    assert block.up.weight.shape == (12, 4)
    x, real = np.random.default_rng(0).standard_normal((3, 4)), np.array([True, True, False])
    middle = x + self_attention(block.attention, layer_norm(block.norm1, x), real)
    inside = np.maximum(linear(block.up, layer_norm(block.norm2, middle)), 0)
    np.testing.assert_allclose(block(x, real).data, middle + linear(block.down, inside), rtol=1e-9)


@pytest.mark.parametrize("signed", [False, True])
def test_a_hashed_token_is_the_sum_of_its_rows(signed):
    layer = layers.HashEmbedding(16, 3, num_hashes=2, signed=signed, seed=5, **F64)
    tokens = np.array([["cat", "dog"], ["cat", "emu"]])
    ids, out = layer.buckets(tokens), layer(tokens).data
    assert ids.shape == (2, 2, 2) and not np.array_equal(ids[..., 0], ids[..., 1])
    expected = np.zeros((2, 2, 3))
    for k in range(2):
        sign = signs(tokens, 5 + k)[..., None] if signed else 1
        expected += sign * layer.weight.data[ids[..., k]]
    np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_patches_are_projected_one_by_one():
    layer = with_other_numbers(layers.PatchEmbed((4, 6), 2, 2, 5, **F64))
    images = np.random.default_rng(0).standard_normal((3, 2, 4, 6))
    corners = [(i, j) for i in (0, 2) for j in (0, 2, 4)]
    cut = np.stack([images[..., i : i + 2, j : j + 2].reshape(3, -1) for i, j in corners], axis=1)
    np.testing.assert_allclose(layer(images).data, linear(layer.projection, cut))
    learned = Tensor(images, requires_grad=True)  # a picture may be learned, and stays a Tensor
    layer(learned).sum().backward()
    assert learned.grad.shape == images.shape and learned.grad.all()
    grey = layers.PatchEmbed(4, 2, 1, 5, rng=0)
    assert np.array_equal(grey(images[0, 0, :, :4]).data, grey(images[0, :1, :, :4]).data)
    assert grey(np.ones((4, 4), np.uint8)).dtype == np.float32


def test_a_bag_of_a_layer_weighs_its_rows():
    layer = layers.EmbeddingBag(6, 3, mode="sum", **F64)
    ids, weights = np.array([[1, 1], [4, 0]]), np.array([[0.5, 2.0], [3.0, -1.0]])
    rows = layer.weight.data[ids]
    np.testing.assert_allclose(layer(ids).data, rows.sum(axis=1))
    weighed = (weights[..., None] * rows).sum(axis=1)
    np.testing.assert_allclose(layer(ids, per_sample_weights=weights).data, weighed)
    flat = layer(ids.reshape(-1), [0, 1, 4], weights.reshape(-1)).data
    np.testing.assert_allclose(flat[0], 0.5 * rows[0, 0])


def test_norms_keep_their_factors_and_do_without_those_they_are_told_to():
    x = np.random.default_rng(0).standard_normal((2, 3, 4))
    norm = with_other_numbers(layers.LayerNorm(4, eps=0.1, dtype=np.float64))
    np.testing.assert_allclose(norm(x).data, layer_norm(norm, x))
    rms = with_other_numbers(layers.RMSNorm(4, eps=0.1, dtype=np.float64))
    size = np.sqrt((x * x).mean(axis=-1, keepdims=True) + 0.1)
    np.testing.assert_allclose(rms(x).data, rms.gamma.data * x / size)
    both = layers.LayerNorm((3, 4), elementwise_affine=False)
    assert both.gamma is None and both.beta is None
    centred = x - x.mean(axis=(1, 2), keepdims=True)
    spread = np.sqrt(x.var(axis=(1, 2), keepdims=True) + 1e-5)
    np.testing.assert_allclose(both(x).data, centred / spread)
    assert layers.LayerNorm(4, bias=False).beta is None
    assert layers.RMSNorm(4, elementwise_affine=False).gamma is None


def test_positions_past_the_end():
    for past_end, last in (("clamp", 2), ("interpolate", 2)):
        layer = layers.PositionEmbedding(3, 2, past_end, **F64)
        rows = layer.weight.data
        assert np.array_equal(layer(2).data, rows[:2]) and np.array_equal(layer(3).data, rows)
        assert layer(0).shape == (0, 2)
        np.testing.assert_allclose(layer(5).data[[0, 4]], rows[[0, last]])
    middle = layers.PositionEmbedding(3, 2, "interpolate", **F64)
    np.testing.assert_allclose(middle(5).data[1], middle.weight.data[:2].mean(axis=0))
    assert middle(5).dtype == np.float64
