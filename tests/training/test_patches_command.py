"""`scratch-embed patches`: fonts are held out, the wrong cuts are what they are said to be."""

from __future__ import annotations

import json

import numpy as np
import pytest

from scratch_embed.__main__ import main
from scratch_embed.images import FONTS
from scratch_embed.ops.patches import unfold_forward
from scratch_embed.training import patches


def some(seed=0, size=3):
    return np.random.default_rng(seed).random((size, 1, patches.SIDE, patches.SIDE), np.float32)


def test_every_font_has_a_family_and_five_seeds_hold_out_each_once():
    families = [patches.family_of(font) for font in FONTS]
    assert set(families) == set(patches.FAMILIES)
    assert sum(map(families.count, patches.FAMILIES)) == len(FONTS)
    sizes = [len(patches.pictures(seed, "ab", 1)[1][1]) for seed in range(5)]
    assert sizes == [2 * families.count(family) for family in patches.FAMILIES]


def test_the_wrong_cuts():
    images = some()
    assert patches.recut(images, patches.SQUARES, 0) is images
    strips = unfold_forward(patches.recut(images, patches.STRIPS, 0), patches.PATCH)[0]
    np.testing.assert_array_equal(strips.ravel(), images.ravel())  # one run of pixels after another
    shuffled = patches.recut(images, patches.SHUFFLED, 0)
    assert (shuffled != images).mean() > 0.9  # in another order, the same one for every picture
    np.testing.assert_array_equal(np.sort(shuffled, axis=None), np.sort(images, axis=None))
    np.testing.assert_array_equal(patches.recut(images[1:], patches.SHUFFLED, 0), shuffled[1:])


def test_a_picture_is_told_from_others_in_a_font_never_seen(tmp_path, capsys):
    options = ["--quick", "--letters", "xl", "--steps", "30", "--seeds", "1"]
    assert main(["patches", "--out", str(tmp_path), *options]) == 0
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["share_right"]
    assert list(found) == list(patches.WAYS) and all(len(scores) == 1 for scores in found.values())
    assert max(found[patches.SQUARES]) > 0.7  # by chance 0.5
    assert "share of letters right" in capsys.readouterr().out
    assert (tmp_path / "results.png").exists()


@pytest.mark.parametrize("letters", ["a", "aba", "", "a b", "a\n", "\u03b1\u03b2", "a$"])
def test_letters_that_cannot_be_told_apart_are_told(letters, tmp_path, capsys):
    assert main(["patches", "--out", str(tmp_path), "--letters", letters]) == 1
    told = capsys.readouterr().err
    assert ("it takes two or more, each once" in told) != ("which not all fonts have" in told)


def test_numbers_that_the_heads_cannot_share_are_told(tmp_path, capsys):
    assert main(["patches", "--out", str(tmp_path), "--dim", "5"]) == 1
    assert "dim is 5; it must be a multiple of 4, the heads" in capsys.readouterr().err
