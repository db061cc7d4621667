"""What a layer does with its bias, and what it is when nothing else is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import layers


@pytest.mark.parametrize("bias", [True, False])
def test_the_bias_is_added_where_there_is_one(bias):
    x = np.random.default_rng(0).standard_normal((2, 4))
    linear = layers.Linear(4, 3, bias=bias, dtype=np.float64, rng=0)
    head = layers.TiedHead(layers.Embedding(6, 4, dtype=np.float64, rng=0, init=0.02), bias=bias)
    for layer in (linear, head):
        expected = x @ layer.weight.data.T
        if bias:
            layer.bias.data[...] = np.arange(1.0, 1 + layer.bias.size)
            expected = expected + layer.bias.data
        np.testing.assert_allclose(layer(x).data, expected, rtol=1e-12)


def test_a_block_looks_ahead_unless_it_is_causal():
    x = np.random.default_rng(0).standard_normal((3, 4))
    later = np.concatenate([x[:2], -x[2:]])  # another last position
    for options, sees in (({}, True), ({"causal": True}, False)):
        block = layers.TransformerBlock(4, dtype=np.float64, rng=0, **options)
        assert np.array_equal(block(x).data[0], block(later).data[0]) != sees


def test_patches_are_those_of_vit_base():
    """224 pixels a side in patches of 16 (Dosovitskiy et al. 2021)."""
    assert layers.PatchEmbed(embedding_dim=2).num_patches == 14 * 14


def test_a_hashed_table_starts_from_seed_0():
    words = [f"word {n}" for n in range(20)]
    plain, same, other = (
        layers.HashEmbedding(64, 2, rng=0, **options).buckets(words)
        for options in ({}, {"seed": 0}, {"seed": 1})
    )
    assert np.array_equal(plain, same) and not np.array_equal(plain, other)
