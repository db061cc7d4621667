"""Patches: cut, put back, and the same numbers as a convolution with stride P."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import functional as F
from scratch_embed.layers import PatchEmbed
from scratch_embed.ops.patches import fold_forward, unfold_backward, unfold_forward
from tests.wrong_backward import caught, leaf


def test_a_grey_6_by_6_image_by_hand():
    patches, _ = unfold_forward(np.arange(36).reshape(6, 6), 3)
    assert patches.tolist() == [
        [0, 1, 2, 6, 7, 8, 12, 13, 14],
        [3, 4, 5, 9, 10, 11, 15, 16, 17],
        [18, 19, 20, 24, 25, 26, 30, 31, 32],
        [21, 22, 23, 27, 28, 29, 33, 34, 35],
    ]


def test_patches_are_flattened_channel_first():
    image = np.stack([np.arange(4), np.arange(10, 14)]).reshape(2, 2, 2)
    assert unfold_forward(image, 2)[0].tolist() == [[0, 1, 2, 3, 10, 11, 12, 13]]


@pytest.mark.parametrize("side", [np.uint8(16), np.int8(16)])
def test_a_side_of_a_small_integer_does_not_wrap_round(side):
    image = np.random.default_rng(0).random((3, 48, 32))
    patches, _ = unfold_forward(image, side)
    np.testing.assert_array_equal(patches, unfold_forward(image, 16)[0])
    np.testing.assert_array_equal(fold_forward(patches, image.shape, side)[0], image)
    assert PatchEmbed(96, side, embedding_dim=1).projection.weight.shape == (1, 768)


@pytest.mark.parametrize("shape", [(2, 3, 4, 6), (3, 4, 6), (4, 6), (0, 3, 4, 6)])
def test_fold_undoes_unfold_and_is_its_adjoint(shape):
    rng = np.random.default_rng(0)
    image = rng.standard_normal(shape)
    patches, saved = unfold_forward(image, 2)
    back, _ = fold_forward(patches, shape, 2)
    assert np.array_equal(back, image)
    r = rng.standard_normal(patches.shape)  # <unfold x, r> = <x, fold r>
    assert np.vdot(patches, r) == pytest.approx(np.vdot(image, unfold_backward(r, saved)))


@pytest.mark.parametrize("shape", [(1, 3, 4.0, 4), (1, 3, "4", 4), (1, 3, -4, -4), None])
def test_the_shape_of_images_holds_whole_numbers(shape):
    with pytest.raises(ValueError, match="a size in shape is .*must be a whole number"):
        fold_forward(np.ones((1, 4, 12)), shape, 2)
    whole = np.array([1, 3, 4, 4])
    assert fold_forward(np.ones((1, 4, 12)), whole, 2)[0].shape == (1, 3, 4, 4)


def test_a_grey_picture_needs_no_channel_axis_where_there_is_one_channel():
    layer = PatchEmbed((4, 6), 2, 1, 5, rng=1)
    grey = np.random.default_rng(0).random((4, 6))
    assert layer(grey).shape == (6, 5)
    np.testing.assert_array_equal(layer(grey).data, layer(grey[None]).data)
    np.testing.assert_array_equal(layer(grey).data, layer(grey[None, None]).data[0])
    for layer, picture in [
        (PatchEmbed((4, 6), 2, 3, 5), grey),  # one channel where three are wanted
        (PatchEmbed((4, 6), 2, 1, 5), grey.T),
        (PatchEmbed((4, 6), 2, 1, 5), np.ones((4, 4, 6))),  # four pictures, or four channels?
    ]:
        with pytest.raises(ValueError, match=r"images have shape .*takes \(C, H, W\)"):
            layer(picture)


def test_a_layer_for_large_images_makes_none_to_find_out_how_many_patches_there_are():
    layer = PatchEmbed(1 << 20, 1 << 10, in_channels=1, embedding_dim=1)  # of 2^40 numbers
    assert layer.num_patches == 1 << 20
    with pytest.raises(ValueError, match="divides it: 1, 1000000007$"):  # without trying them all
        PatchEmbed(1_000_000_007, 16)


def test_patch_embedding_equals_a_convolution_written_as_a_loop():
    layer = PatchEmbed((4, 6), 2, 3, 5, rng=1, dtype=np.float64)
    images = np.random.default_rng(0).standard_normal((2, 3, 4, 6))
    kernel = layer.projection.weight.data.reshape(5, 3, 2, 2)
    by_loop = np.zeros((2, 6, 5))
    for n in range(6):
        row, column = n // 3 * 2, n % 3 * 2
        window = images[:, :, row : row + 2, column : column + 2]
        for d in range(5):
            by_loop[:, n, d] = (window * kernel[d]).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(layer(images).data, by_loop, rtol=1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda d, s: d.reshape(s.shape),  # patches taken for rows of the image
        lambda d, s: unfold_backward(d[:, ::-1], s),  # patches in reversed order
        lambda d, s: unfold_backward(d.reshape(2, 6, 4, 3).swapaxes(2, 3).reshape(d.shape), s),
    ],
)
def test_planted_bugs_are_caught(wrong):
    assert caught(unfold_forward, wrong, leaf(2, 3, 4, 6), patch_size=2)


@pytest.mark.parametrize(
    ("shape", "side", "words"),
    [
        ((3, 224, 225), 16, "width 225 is not a multiple of patch_size 16: 1 left.*224 or 240"),
        ((224, 230), 16, "230 .*6 left over.*divides it: 10, 23"),
        ((3, 8, 8), 16, "height 8 .*pad the height to 16, or use a patch_size .*it: 2, 4, 8$"),
        ((0, 4), 2, "height is 0, and there is nothing to cut"),
        ((3, 4, 0), 2, "width is 0, and there is nothing to cut"),
        ((1, 1), 2, "height 1 is not .*: 1 left over.*to 2, or use .*divides it: 1$"),
        ((8,), 2, r"images have shape \(8,\).*\(H, W\)"),
        ((1, 1, 1, 4, 4), 2, "moveaxis"),
        ((4, 4), 0, "patch_size is 0"),
        ((4, 4), 2.0, "patch_size is 2.0"),
        ((4, 4), True, "patch_size is True"),
    ],
)
def test_images_that_cannot_be_cut_are_explained(shape, side, words):
    with pytest.raises(ValueError, match=words):
        F.unfold(np.zeros(shape), side)


def test_patches_that_make_no_image_are_explained():
    with pytest.raises(ValueError, match=r"patches \(4, 9\).*takes \(4, 4\)"):
        F.fold(np.zeros((4, 9)), (4, 4), 2)
