"""What a layer does with its bias, and what it is when nothing else is asked for."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from scratch_embed import layers

ROWS = {"padding_idx": None, "max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False}
DEFAULTS = {  # beside dtype=float32 and rng=None
    "Embedding": {**ROWS, "sparse": False, "init": "N(0,1)"},
    "EmbeddingBag": {"mode": "mean", **ROWS, "sparse": False, "init": "N(0,1)"},
    "HashEmbedding": {
        "num_hashes": 1, "signed": False, "seed": 0, "sparse": False, "init": "N(0,1)",
    },
    "PositionEmbedding": {"past_end": "error", "init": 0.02},
    "ScaledEmbedding": {
        "max_len": 5000, "scale": "sqrt(d)", "init": "1/sqrt(d)", "padding_idx": None,
    },
    "PatchEmbed": {
        "image_size": 224, "patch_size": 16, "in_channels": 3, "embedding_dim": 768,
        "bias": True, "init": "1/sqrt(d)",
    },
    "BERTInput": {
        "max_len": 512, "num_segments": 2, "p": 0.1, "eps": 1e-12, "past_end": "error",
        "padding_idx": None, "init": 0.02,
    },
    "GPTInput": {
        "max_len": 1024, "p": 0.1, "past_end": "error", "init": 0.02, "position_init": 0.01,
    },
    "ViTInput": {
        "image_size": 224, "patch_size": 16, "in_channels": 3, "embedding_dim": 768, "p": 0.0,
        "init": 0.02,
    },
    "TiedHead": {"bias": False},
    "Linear": {"bias": True, "init": "1/sqrt(d)"},
    "LayerNorm": {"eps": 1e-5, "elementwise_affine": True, "bias": True},
    "RMSNorm": {"eps": 1e-5, "elementwise_affine": True},
    "Dropout": {"p": 0.1},
    "SelfAttention": {"num_heads": 1, "causal": False, "rotary": False, "bias": False},
    "TransformerBlock": {"num_heads": 1, "mlp_ratio": 4, "causal": False, "rotary": False},
}  # fmt: skip


@pytest.mark.parametrize("name", layers.__all__)
def test_what_a_layer_is_when_nothing_else_is_asked_for(name):
    """As PyTorch's where it has the layer; the inputs of BERT, GPT and ViT as in their papers."""
    given = inspect.signature(getattr(layers, name).__init__).parameters
    found = {n: p.default for n, p in given.items() if p.default is not inspect.Parameter.empty}
    assert found.pop("dtype", np.float32) is np.float32 and found.pop("rng", None) is None
    assert found == DEFAULTS[name]


def test_a_table_that_is_given_is_frozen_unless_asked_for():
    rows = np.ones((3, 2))
    for kind in (layers.Embedding, layers.EmbeddingBag):
        plain, learned = kind.from_pretrained(rows), kind.from_pretrained(rows, freeze=False)
        assert not plain.weight.requires_grad and learned.weight.requires_grad
        assert (plain.padding_idx, plain.max_norm, plain.norm_type) == (None, None, 2.0)
        assert not plain.scale_grad_by_freq and not plain.sparse
    assert layers.EmbeddingBag.from_pretrained(rows).mode == "mean"


def test_a_new_layer_is_training():
    assert layers.layer.Layer().training and layers.Linear(1, 1).training
    assert not layers.Dropout().train(False).training


TABLE = layers.Embedding(5, 4, 1, 2.0, scale_grad_by_freq=True, sparse=True, init=0.02)
SHOWN = [
    (layers.LayerNorm(4), "LayerNorm(4, eps=1e-05)"),
    (layers.LayerNorm((2, 3), bias=False), "LayerNorm((2, 3), eps=1e-05, bias=False)"),
    (layers.RMSNorm(4, 0.5, False), "RMSNorm(4, eps=0.5, elementwise_affine=False)"),
    (layers.ScaledEmbedding(6, 4), "ScaledEmbedding(6, 4, max_len=5000, scale=2)"),
    (
        layers.ScaledEmbedding(6, 4, max_len=None, scale="sqrt(d/2)"),
        "ScaledEmbedding(6, 4, max_len=None, scale=1.414)",
    ),
    (layers.PositionEmbedding(5, 4, "clamp"), "PositionEmbedding(5, 4, past_end='clamp')"),
    (layers.HashEmbedding(9, 4, 2, True), "HashEmbedding(9, 4, num_hashes=2, signed=True)"),
    (layers.SelfAttention(4, causal=True), "SelfAttention(4, num_heads=1, causal=True)"),
    (layers.SelfAttention(4, 2, rotary=True), "SelfAttention(4, num_heads=2, rotary=True)"),
    (
        layers.PatchEmbed((4, 6), 2, 1, 5),
        "PatchEmbed(4 x 6, patch_size=2, in_channels=1, embedding_dim=5)",
    ),
    (layers.Linear(3, 2, bias=False), "Linear(3, 2, bias=False)"),
    (layers.EmbeddingBag(5, 4), "EmbeddingBag(5, 4, mode='mean')"),
    (layers.Dropout(0.5), "Dropout(p=0.5, train)"),
    (layers.Dropout().eval(), "Dropout(p=0.1, eval)"),
    (layers.TiedHead(TABLE, bias=True), "TiedHead(5, 4, bias=True)"),
    (
        TABLE,
        "Embedding(5, 4, padding_idx=1, max_norm=2.0, scale_grad_by_freq=True, sparse=True)",
    ),
    (layers.Embedding(5, 4), "Embedding(5, 4)"),
]


@pytest.mark.parametrize(("layer", "text"), SHOWN, ids=[text for _, text in SHOWN])
def test_a_layer_shows_what_sets_it_apart(layer, text):
    assert repr(layer) == text


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


@pytest.mark.parametrize(
    ("rng", "kind"), [(-1, ValueError), ("a", TypeError), (1.0, TypeError), (True, TypeError)]
)
def test_what_is_no_seed_is_named(rng, kind):
    # Without it NumPy speaks: "expected non-negative integer", of whose argument nobody knows.
    for make in (layers.Embedding, layers.Linear, layers.GPTInput):
        with pytest.raises(kind, match=rf"rng is {rng!r}; it must be a numpy.random.Generator"):
            make(4, 2, rng=rng)
    with pytest.raises(kind, match=f"rng is {rng!r}"):
        layers.Dropout(0.5, rng)
    drawn = [layers.Linear(4, 2, rng=seed).weight.data for seed in (3, np.random.default_rng(3))]
    assert np.array_equal(*drawn)
