"""Pictures: the photograph, shrinking, and letters drawn by Matplotlib's own fonts."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import images


def test_photograph_is_the_portrait_channels_first():
    picture = images.photograph()
    assert picture.shape == (3, 600, 512) and picture.dtype == np.float64
    assert picture.min() >= 0 and picture.max() <= 1
    red, _, blue = picture[:, 20:200, 440:500].mean(axis=(1, 2))  # the backdrop is sky blue
    assert blue > red + 0.2
    assert picture[:, 450:550, 60:120].mean() < 0.2  # and her coat is black


def test_photograph_missing_is_told(monkeypatch, tmp_path):
    from matplotlib import cbook

    monkeypatch.setattr(cbook, "get_sample_data", lambda name, asfileobj: str(tmp_path / name))
    with pytest.raises(FileNotFoundError, match=r"grace_hopper\.jpg.*pip"):
        images.photograph()


def test_shrink_is_the_mean_of_each_square_of_each_channel():
    rng = np.random.default_rng(0)
    batch = rng.normal(size=(2, 3, 6, 9))
    small = images.shrink(batch, 3)
    assert small.shape == (2, 3, 2, 3)
    for at in np.ndindex(small.shape):
        b, c, r, s = at
        square = batch[b, c, 3 * r : 3 * r + 3, 3 * s : 3 * s + 3]
        np.testing.assert_allclose(small[at], square.mean())
    np.testing.assert_allclose(images.shrink(batch[0, 0], 3), small[0, 0])


def test_shrink_refuses_a_side_that_does_not_divide():
    with pytest.raises(ValueError, match="width 10 is not a multiple of patch_size 4"):
        images.shrink(np.zeros((8, 10)), 4)


def test_every_font_draws_26_letters_that_differ():
    for font in images.FONTS:
        drawn = images.glyphs("abcdefghijklmnopqrstuvwxyz", font, side=16)
        assert drawn.shape == (26, 16, 16) and drawn.dtype == np.float32
        assert drawn.min() == 0 and 0.5 < drawn.max() <= 1
        assert len({page.tobytes() for page in drawn}) == 26, font


def test_fonts_differ_and_a_space_is_blank():
    pages = [images.glyphs("g ", font) for font in images.FONTS]
    assert len({page[0].tobytes() for page in pages}) == len(images.FONTS)
    assert not any(page[1].any() for page in pages)


def test_letters_stand_on_a_base_line():
    drawn = images.glyphs("xp", side=32)
    lowest = [np.flatnonzero(page.any(axis=1)).max() for page in drawn]
    assert lowest[0] in (23, 24) and lowest[1] > lowest[0] + 2  # p hangs below


def test_shift_and_size():
    still = images.glyphs("o", side=32)[0]
    moved = images.glyphs("o", side=32, shift=(3, -2))[0]
    np.testing.assert_array_equal(moved[:-2, 3:], still[2:, :-3])
    assert images.glyphs("o", side=32, size=12).sum() < still.sum() / 2


def test_bad_input_is_told_where_it_stands():
    with pytest.raises(ValueError, match=r"characters\[2\] = '\u3042' \(U\+3042\).*cmr10"):
        images.glyphs("ab\u3042", "cmr10")
    for sign in "=?\xc4":  # where cmmi10 has a slash and a star, and cmr10 two dots alone
        with pytest.raises(ValueError, match=r"characters\[1\] = .* is not in the font cm"):
            images.glyphs(f"a{sign}", "cmmi10" if sign.isascii() else "cmr10")
        images.glyphs(f"a{sign}", "DejaVuSans")
    with pytest.raises(ValueError, match="'Comic'; choose one of .*DejaVuSans"):
        images.glyphs("a", "Comic")
    with pytest.raises(ValueError, match="side is 0"):
        images.glyphs("a", side=0)
    for characters in (["a", ""], ["a", "bc"], ["a", 1]):
        with pytest.raises(ValueError, match=r"characters\[1\] = .*; each is one character"):
            images.glyphs(characters)
    assert images.glyphs(np.array(["a", "b"]), side=8).shape == (2, 8, 8)
    with pytest.raises(TypeError, match="characters are a set"):
        images.glyphs({"a", "b"})


def test_white_space_is_paper_and_what_a_font_lacks_is_told():
    """A mark that is missing is drawn as a box beside a circle, unlike a missing letter."""
    assert not images.glyphs(" \t\n\r\x0b\x1c\x85\u2003\u2029", side=8).any()
    for lacked in ("\u0903", "\ud800", "\x01", "\u3042"):
        with pytest.raises(
            ValueError, match=r"characters\[0\] = .* is not in the font DejaVuSans;"
        ):
            images.glyphs([lacked])


def test_letters_lie_the_same_whatever_pillow_can_lay_out(monkeypatch):
    """With FriBiDi on the machine its other layout takes over, unless it is told not to."""
    from PIL import ImageFont, features

    letters = "abcdefghijklmnopqrstuvwxyz"
    drawn = [images.glyphs(letters, font, 16) for font in images.FONTS[-9:]]
    images._font.cache_clear()
    monkeypatch.setattr(features, "check", lambda *_: False)
    monkeypatch.setattr(ImageFont.core, "HAVE_RAQM", False, raising=False)
    again = [images.glyphs(letters, font, 16) for font in images.FONTS[-9:]]
    images._font.cache_clear()
    assert [page.tobytes() for page in again] == [page.tobytes() for page in drawn]
    with pytest.raises(ValueError, match=r"characters\[0\] = .* is not in the font STIXGeneral"):
        images.glyphs("\u1e9b", "STIXGeneral")  # it has it in parts, letter and dot


def test_letter_images_are_labelled_seeded_and_all_different():
    letters, fonts = "abc", images.FONTS[:2]
    pictures, labels = images.letter_images(letters, fonts, 16, copies=3, rng=1)
    assert pictures.shape == (18, 1, 16, 16) and labels.tolist() == [0, 1, 2] * 6
    assert len({page.tobytes() for page in pictures}) == 18
    again, _ = images.letter_images(letters, fonts, 16, copies=3, rng=1)
    np.testing.assert_array_equal(pictures, again)
    other, _ = images.letter_images(letters, fonts, 16, copies=3, rng=2)
    assert not np.array_equal(pictures, other)


def test_labels_name_the_letter_that_was_drawn():
    """The nearest plain letter of the same font has the label's index, for most pictures."""
    letters = "omtx"
    pictures, labels = images.letter_images(letters, images.FONTS[:1], 32, copies=10, rng=0)
    plain = images.glyphs(letters, images.FONTS[0], side=32)
    gaps = ((pictures - plain[None]) ** 2).sum(axis=(2, 3))
    assert (gaps.argmin(axis=1) == labels).mean() > 0.6  # by chance 0.25


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda: images.shrink(np.ones(4), 2), r"images have shape \(4,\)"),
        (lambda: images.letter_images("ab", [], 8, 1), "2 letters in 0 fonts"),
        (lambda: images.glyphs("a", side=8, size=np.nan), "size is nan"),
        (lambda: images.glyphs("a", side=8, size=0.3), r"size is 0.3; .* from 1 to 10,000"),
        (lambda: images.glyphs("a", side=8, size=1e5), "size is 100000.0"),
        (lambda: images.glyphs("a", shift=(0.5, 0)), r"shift is \(0.5, 0\); .*two whole numbers"),
        (lambda: images.glyphs("a", shift=(1,)), r"shift is \(1,\)"),
        (lambda: images.glyphs("a", shift=(1, 2, 3)), r"shift is \(1, 2, 3\)"),
        (lambda: images.glyphs("a", shift=(10**20, 0)), "from -10,000 to 10,000"),
        (lambda: images.glyphs("a", shift=(1, (2, 3))), r"shift is \(1, \(2, 3\)\)"),
        (lambda: images.glyphs("a", "../ttf/cmr10"), r"font is '\.\./ttf/cmr10'; choose one of"),
    ],
)
def test_what_makes_no_picture_is_told(use, words):
    with pytest.raises(ValueError, match=words):
        use()
