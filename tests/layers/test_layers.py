"""Layers made of layers: their sizes, what they compute, what they refuse."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from scratch_embed import SGD, Embedding, Tensor, layers
from scratch_embed import functional as F
from scratch_embed.layers.head import first_loss
from scratch_embed.models import NextToken

F64 = {"dtype": np.float64, "rng": 0}


def test_sizes_of_published_models():
    bert = layers.BERTInput(30_522, 768)
    tables = (bert.token, bert.position, bert.segment)
    assert sum(table.weight.size for table in tables) == 23_835_648
    assert bert.num_parameters() == 23_837_184  # and LayerNorm's 2 * 768
    assert layers.ViTInput().position.weight.shape == (197, 768)
    assert layers.GPTInput(50_257, 8).position.weight.shape == (1024, 8)


def test_bert_adds_three_rows_then_normalises():
    layer = layers.BERTInput(6, 4, max_len=3, eps=0.0, **F64).eval()
    ids, segments = np.array([[4, 1, 4], [2, 2, 0]]), np.array([[0, 0, 1], [1, 1, 1]])
    t, p, s = (part.weight.data for part in (layer.token, layer.position, layer.segment))
    with pytest.raises(IndexError, match=r"segments\[0, 2\] = 2 is too large"):
        layer(ids, [[0, 0, 2], [1, 1, 1]])
    added = t[ids] + p[[0, 1, 2]] + s[segments]
    np.testing.assert_allclose(layer.sum(ids, segments).data, added)
    np.testing.assert_allclose(layer.sum(ids).data, t[ids] + p + s[0])
    by_hand = (added - added.mean(-1, keepdims=True)) / added.std(-1, keepdims=True)
    np.testing.assert_allclose(layer(ids, segments).data, by_hand)
    layer.sum(ids, segments).backward(np.ones((2, 3, 4)))
    assert layer.position.weight.grad[:, 0].tolist() == [2, 2, 2]  # shared by the batch
    assert layer.segment.weight.grad[:, 0].tolist() == [2, 4]


def test_gpt_adds_two_rows():
    layer = layers.GPTInput(6, 4, max_len=5, **F64).eval()
    expected = layer.token.weight.data[[4, 1]] + layer.position.weight.data[:2]
    np.testing.assert_allclose(layer([4, 1]).data, expected)


def test_vit_puts_cls_first():
    layer = layers.ViTInput(4, 2, 3, 5, **F64).eval()
    images = np.random.default_rng(0).standard_normal((2, 3, 4, 4))
    out, position = layer(images).data, layer.position.weight.data
    assert out.shape == (2, 5, 5)
    np.testing.assert_allclose(out[:, 0], [position[0]] * 2)  # CLS starts at zero
    np.testing.assert_allclose(out[:, 1:], layer.patches(images).data + position[1:])
    assert np.array_equal(layer(images[1]).data, out[1])
    layer(images).backward(np.ones(out.shape))
    assert layer.cls.weight.grad.tolist() == [[2] * 5]


def test_a_tied_head_is_the_same_tensor():
    table = Embedding(6, 4, init=0.02, **F64)
    head = layers.TiedHead(table, bias=True)
    assert head.weight is table.weight and np.shares_memory(head.weight.data, table.weight.data)
    h = np.ones(4)
    before = head(h).data.copy()
    F.cross_entropy(head(table([1, 2])), [2, 3]).backward()
    SGD([*table.parameters(), *head.parameters()], lr=1.0).step()
    assert np.array_equal(head(h).data, table.weight.data @ h + head.bias.data)
    assert np.abs(head(h).data - before).min() > 0  # every row is scored, so every row moved


def measured_first_loss(std: float, dim: int, rows: int = 2000) -> float:
    rng = np.random.default_rng(0)
    table = Embedding(rows, dim, init=std, **F64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        head = layers.TiedHead(table)
    ids = rng.integers(0, rows, 200)
    return F.cross_entropy(head(table(ids)), (ids + rng.integers(1, rows, 200)) % rows).item()


@pytest.mark.parametrize(
    ("dim", "std", "hidden_norm", "loss"),
    [
        # ln 50257 = 10.824905, its double's root 4.652936; of the 50,256 others 10.824885, 4.652931
        (16, 0.02, None, 10.824906),  # s = 0.0016; the own logit 0.0064 is one of 50,257
        (16, 1.0, None, 18.882190),  # s = 4, so 10.824885 + 8; the own logit 16 joins in
        (16, 1.0, 4.0, 18.824905),  # the same without an own logit
        (16, 1.25, None, 29.097076),  # s = 6.25, times 4.652931; the own logit is 25
        (16, 1.25, 4.0, 23.264678),  # s = 5, times 4.652936
        (768, 0.02, None, 10.824968),  # s = 0.011085; the own logit is 0.3072
        (768, 1.0, None, 767.984719),  # the own logit alone, less once in 50,257 times
        (768, 1.0, 768**0.5, 128.945935),  # s = 27.712813, times 4.652936
    ],
)
def test_the_first_loss_by_its_formula(dim, std, hidden_norm, loss):
    assert first_loss(50_257, dim, std, hidden_norm) == pytest.approx(loss, abs=2e-6)


@pytest.mark.parametrize("std", [1.0, 0.5, 64**-0.5, 0.02])
def test_the_first_loss_is_foreseen(std):
    assert first_loss(2000, 64, std) == pytest.approx(measured_first_loss(std, 64), rel=0.04)


def test_the_first_loss_of_a_few_rows_is_foreseen_as_well():
    """Measured with targets that are any of the rows, h's own among them."""
    assert first_loss(1, 8, 1.0) == 0
    for rows in (2, 3, 6, 10):  # every logit is as good as 0
        assert first_loss(rows, 8, 0.001) == pytest.approx(np.log(rows), abs=1e-4)
    for rows, dim in ((3, 3), (6, 3), (6, 16), (10, 4), (30, 8)):
        found, every = [], np.arange(rows)
        for seed in range(100):
            logits = Embedding(rows, dim, rng=seed, dtype=np.float64).weight.data
            logits = np.repeat(logits @ logits.T, rows, axis=0)
            found.append(F.cross_entropy(logits, np.tile(every, rows)).item())
        assert first_loss(rows, dim, 1.0) == pytest.approx(np.mean(found), rel=0.06)


def test_a_head_on_rows_of_unit_variance_warns():
    with pytest.warns(UserWarning, match="loss of about 63.5.*ln 2000 = 7.6.*init=0.02"):
        layers.TiedHead(Embedding(2000, 64, rng=0))
    with pytest.warns(UserWarning, match="loss of about 15.9"):
        layers.TiedHead(Embedding(2000, 64, init=0.5, rng=0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for init in ("1/sqrt(d)", 0.02, 0.0, 0.48):  # with 0.48: 14.8, less than 2 ln 2000 = 15.2
            layers.TiedHead(Embedding(2000, 64, init=init, rng=0))


def test_what_is_of_the_wrong_kind_is_explained():
    x = np.ones((3, 4))
    for real in ([1, 0, 1], [1.0, 0.0, 1.0]):  # a mask of floats would be added to the scores
        with pytest.raises(TypeError, match="real is .*; it must be boolean"):
            layers.SelfAttention(4)(x, real)
    for embedding in (np.ones((5, 4)), "table", None):
        with pytest.raises(TypeError, match="pass an Embedding"):
            layers.TiedHead(embedding)


def test_an_empty_batch_goes_through_a_block():
    block = layers.TransformerBlock(4, num_heads=2, rotary=True, rng=0)
    out = block(np.ones((0, 3, 4), np.float32))
    assert out.shape == (0, 3, 4)
    out.backward(np.ones(out.shape))
    assert not block.up.weight.grad.any()


MAKERS = {
    "Linear": lambda **o: layers.Linear(3, 4, **o),
    "EmbeddingBag": lambda **o: layers.EmbeddingBag(6, 4, **o),
    "HashEmbedding": lambda **o: layers.HashEmbedding(6, 4, **o),
    "PositionEmbedding": lambda **o: layers.PositionEmbedding(6, 4, **o),
    "ScaledEmbedding": lambda **o: layers.ScaledEmbedding(6, 4, **o),
    "PatchEmbed": lambda **o: layers.PatchEmbed(4, 2, 1, 3, **o),
    "BERTInput": lambda **o: layers.BERTInput(6, 4, **o),
    "GPTInput": lambda **o: layers.GPTInput(6, 4, **o),
    "ViTInput": lambda **o: layers.ViTInput(4, 2, 1, 3, **o),
    "SelfAttention": lambda **o: layers.SelfAttention(4, **o),
    "TransformerBlock": lambda **o: layers.TransformerBlock(4, **o),
}


@pytest.mark.parametrize("name", MAKERS)
def test_dtype_and_rng_reach_every_weight(name):
    def weights(**options):
        return [tensor.data for tensor in MAKERS[name](**options).parameters()]

    assert {w.dtype for w in weights()} == {np.dtype(np.float32)}
    assert {w.dtype for w in weights(dtype=np.float64)} == {np.dtype(np.float64)}
    first, again = weights(rng=7), weights(rng=np.random.default_rng(7))
    assert all(np.array_equal(a, b) for a, b in zip(first, again))
    assert any(not np.array_equal(a, b) for a, b in zip(first, weights(rng=8)))
    with pytest.raises(TypeError, match="float32 or float64"):
        MAKERS[name](dtype=np.int64)
    assert name in repr(MAKERS[name]())


def test_linear_hands_on_numbers_of_the_size_that_come_in():
    x = np.random.default_rng(1).standard_normal((100, 256))
    assert layers.Linear(256, 128, **F64)(x).data.std() == pytest.approx(1, abs=0.05)
    assert layers.Linear(3, 2, bias=False).bias is None


@pytest.mark.parametrize("name", layers.__all__)
def test_every_layer_says_what_it_takes_what_it_raises_and_shows_an_example(name):
    said = getattr(layers, name).__doc__
    assert "->" in said and ">>>" in said and re.search(r"\braise", said, re.IGNORECASE)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda: layers.Linear(0, 3), "in_features is 0"),
        (lambda: layers.LayerNorm(2.5), "normalized_shape is 2.5"),
        (lambda: layers.LayerNorm((2, 0)), "normalized_shape is 0"),
        (lambda: layers.RMSNorm(()), "normalized_shape is empty"),
        (
            lambda: layers.RMSNorm((2, 3))(np.ones((4, 3))),
            r"x \(4, 3\) and normalized_shape \(2, 3\)",
        ),
        (lambda: layers.PatchEmbed(225, 16), "height 225 is not a multiple of patch_size 16"),
        (lambda: layers.PatchEmbed(4, 2, 3, 5)(np.ones((2, 1, 4, 4))), r"= \(3, 4, 4\)"),
        (lambda: layers.PatchEmbed(4, 2, 1, 5)(np.ones((5, 4))), r"images have shape \(5, 4\)"),
        (lambda: layers.BERTInput(5, 4)([1, 2], [0]), r"ids \(2,\) and segments \(1,\)"),
        (lambda: layers.BERTInput(5, 4, max_len=1)([1, 2]), "2 positions, and the table holds 1"),
        (lambda: layers.GPTInput(5, 4)(1), "single id"),
        (lambda: layers.EmbeddingBag(5, 4, mode="median"), "mode is 'median'"),
        (lambda: layers.Dropout(2), "p is 2"),
        (lambda: layers.Dropout("half"), "p is 'half'"),
        (lambda: layers.LayerNorm(4, eps=None)(np.ones(4)), "eps is None"),
        (lambda: layers.ScaledEmbedding(5, 4, scale=None), "scale is None"),
        (lambda: Embedding(5, 4, init=None), "init is None"),
        (lambda: Embedding(5, 4, max_norm="1"), "max_norm is '1'"),
        (lambda: layers.PatchEmbed((4, 4, 4), 2), r"image_size is \(4, 4, 4\); .*\(H, W\)"),
        (lambda: layers.PatchEmbed(4, 2, 1, 3)(np.ones((2, 4, 4))), r"\(C, H, W\) = \(1, 4, 4\)"),
        (lambda: layers.SelfAttention(6, 2, rotary=True), "a head holds 3 columns"),
        (lambda: layers.SelfAttention(4)(np.ones(4)), r"x has shape \(4,\); .*\(..., T, 4\)"),
        (lambda: layers.SelfAttention(4)(np.ones((2, 3))), r"x has shape \(2, 3\); .*T, 4\)"),
        (lambda: layers.SelfAttention(4)(np.ones((3, 4)), [True]), r"real \(1,\) does not fit x"),
        (lambda: layers.SelfAttention(4)(np.ones((1, 2, 4)), [[True] * 2] * 5), r"real \(5, 2\)"),
        (lambda: layers.SelfAttention(4)(np.ones((3, 4)), [[True] * 3]), r"each token, \(3,\)"),
    ],
)
def test_bad_input_is_explained(use, words):
    with pytest.raises(ValueError, match=words):
        use()


@pytest.mark.parametrize(
    "use",
    [
        lambda: layers.Linear(2, 2, bias="False"),
        lambda: layers.LayerNorm(2, bias="False"),
        lambda: layers.RMSNorm(2, elementwise_affine="False"),
        lambda: layers.TiedHead(layers.Embedding(4, 2, rng=0, init=0.02), bias="no"),
        lambda: layers.Dropout(0.5).train("False"),
        lambda: NextToken(5, 3, tied="no"),
        lambda: F.lookup(np.ones((3, 2)), [1], sparse="False"),
        lambda: F.lookup(np.ones((3, 2)), [1], scale_grad_by_freq="no"),
        lambda: F.embedding_bag(np.ones((3, 2)), [[1]], sparse="False"),
    ],
)
def test_a_switch_is_true_or_false(use):
    with pytest.raises(TypeError, match="it must be True or False"):
        use()


def test_linear_tells_a_wrong_width_by_its_own_names():
    layer = layers.Linear(3, 2, rng=0)
    for x in (np.ones((2, 4)), Tensor(np.ones((5, 2, 4))), np.array(1.0)):
        with pytest.raises(ValueError, match="x is .*, and this layer takes .*in_features=3"):
            layer(x)
    assert layer([1.0, 2.0, 3.0]).shape == (2,)
