"""The chooser: each rule on both sides of its threshold, exact sizes, and errors that name."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scratch_embed.chooser import choose
from scratch_embed.layers import Linear, PatchEmbed


def test_the_vocabulary_follows_the_languages():
    assert choose(languages=1).num_embeddings == 32_000
    assert choose(languages=2).num_embeddings == 128_000
    assert choose(languages=2, embedding_dim=64).params == 128_000 * 64


@pytest.mark.parametrize(
    "params, tied", [(0.99e9, True), (1e9, None), (7e9, None), (7.01e9, False)]
)
def test_tying_follows_the_size(params, tied):
    assert choose(params=params).tied is tied


def test_only_fixed_positions_ask_for_a_scale():
    assert choose(embedding_dim=512, positions="sinusoidal").scale == math.sqrt(512)
    assert choose(positions="learned").scale == choose(positions="rotary").scale == 1


@pytest.mark.parametrize("detail, side", [("fine", 8), ("standard", 16), ("fast", 32)])
def test_patches_have_the_sizes_of_the_layer(detail, side):
    plan = choose("images", detail=detail, embedding_dim=12, image_size=64)
    layer = PatchEmbed(64, side, embedding_dim=12, bias=False, rng=0)
    assert isinstance(layer.projection, Linear)
    assert (plan.patch_size, plan.num_tokens) == (side, layer(np.zeros((3, 64, 64))).shape[0])
    assert plan.params == layer.num_parameters()


def test_every_decision_has_a_reason():
    lines = str(choose()).splitlines()
    assert len(lines) == 3 and all(": " in line for line in lines)
    assert len(str(choose("images")).splitlines()) == 1


@pytest.mark.parametrize(
    "wrong, told",
    [
        ({"data": "sound"}, "data is 'sound'; it must be one of text, images"),
        ({"positions": "none"}, "positions is 'none'"),
        ({"detail": "high"}, "detail is 'high'"),
        ({"languages": 0}, "languages = 0"),
        ({"params": 0}, "params = 0"),
        ({"params": math.nan}, "params = nan"),
        ({"data": "images", "image_size": 100}, "100 is not a multiple of the patch side 16"),
        ({"data": "images", "image_size": 0}, "image_size 0"),
        ({"embedding_dim": 0}, "embedding_dim = 0"),
    ],
)
def test_bad_input_is_named(wrong, told):
    with pytest.raises(ValueError, match="(?s).*" + told.split(";")[0]):
        choose(**wrong)
