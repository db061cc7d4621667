"""Patches: cut an image into squares, and put the squares back together.

`unfold` and `fold` move numbers and change none. Each is the inverse of the other, and, because a
move has a permutation for its matrix, also the other's adjoint: the gradient of cutting up is
putting back together.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scratch_embed.arguments import check_count


class PatchesSaved(NamedTuple):
    shape: tuple[int, ...]  # of the images
    patch_size: int  # P


def unfold_forward(images: np.ndarray, patch_size: int) -> tuple[np.ndarray, PatchesSaved]:
    """patches[b, n, (c P + i) P + j] = images[b, c, r P + i, s P + j]   with n = r (W / P) + s
                                            (B, C, H, W) -> (B, N, C P P),  N = (H / P) (W / P)

    Patches follow one another as words on a page, row by row, and each is flattened channel
    first: the order of a convolution's weight (D, C, P, P) flattened to (D, C P P). One image
    (C, H, W) gives (N, C P P), and a grey one (H, W) gives (N, P P).

    Raises ValueError when a side is not a multiple of `patch_size`, or for another shape.

    >>> patches, _ = unfold_forward(np.arange(16).reshape(4, 4), 2)
    >>> patches.tolist()
    [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    """
    images = np.asarray(images)
    saved = PatchesSaved(images.shape, check_count(patch_size, "patch_size"))
    return _cut(images, saved), saved


def unfold_backward(dout: np.ndarray, saved: PatchesSaved) -> np.ndarray:
    """dimages = fold of dout, every number back in its place    (B, N, C P P) -> (B, C, H, W)"""
    return _join(dout, saved)


def fold_forward(
    patches: np.ndarray, shape: tuple[int, ...], patch_size: int
) -> tuple[np.ndarray, PatchesSaved]:
    """images = the patches put back where `unfold` took them    (B, N, C P P) -> (B, C, H, W)

    `shape` is that of the images, (B, C, H, W), (C, H, W) or (H, W).

    Raises ValueError for patches that do not make such images, and for what `unfold` refuses.

    >>> fold_forward(np.array([[0, 1, 4, 5], [2, 3, 6, 7]]), (2, 4), 2)[0].tolist()
    [[0, 1, 2, 3], [4, 5, 6, 7]]
    """
    patches = np.asarray(patches)
    side = check_count(patch_size, "patch_size")
    sizes = shape if np.ndim(shape) else (shape,)
    saved = PatchesSaved(tuple(check_count(n, "a size in shape", least=0) for n in sizes), side)
    expected = patches_shape(*saved)
    if patches.shape != expected:
        raise ValueError(
            f"patches {patches.shape} do not make images {saved.shape} with patch_size "
            f"{patch_size}: that takes {expected}"
        )
    return _join(patches, saved), saved


def fold_backward(dout: np.ndarray, saved: PatchesSaved) -> np.ndarray:
    """dpatches = unfold of dout                                 (B, C, H, W) -> (B, N, C P P)"""
    return _cut(dout, saved)


def patches_shape(shape: tuple[int, ...], patch_size: int) -> tuple[int, ...]:
    """The shape of the patches of images of this shape; ValueError where they cannot be cut.

    >>> patches_shape((3, 224, 224), 16)
    (196, 768)
    """
    side = check_count(patch_size, "patch_size")
    *batch, channels, rows, columns = _grid(PatchesSaved(shape, side))
    return *batch, rows * columns, channels * side**2


def _cut(images: np.ndarray, saved: PatchesSaved) -> np.ndarray:
    *batch, channels, rows, columns = _grid(saved)
    side = saved.patch_size
    grid = images.reshape(*batch, channels, rows, side, columns, side)
    grid = np.moveaxis(grid, (-5, -3), (-3, -2))  # (..., rows, columns, C, P, P)
    return grid.reshape(*batch, rows * columns, channels * side * side)


def _join(patches: np.ndarray, saved: PatchesSaved) -> np.ndarray:
    *batch, channels, rows, columns = _grid(saved)
    side = saved.patch_size
    grid = patches.reshape(*batch, rows, columns, channels, side, side)
    return np.moveaxis(grid, (-3, -2), (-5, -3)).reshape(saved.shape)


def _grid(saved: PatchesSaved) -> tuple[int, ...]:
    """(B, C, H / P, W / P), and without B for one image; a grey image has one channel."""
    shape, side = saved
    if not 2 <= len(shape) <= 4:
        raise ValueError(
            f"images have shape {shape}; they must be (B, C, H, W), one image (C, H, W), or one "
            "grey image (H, W). A picture with its channels last, (H, W, C), wants "
            "np.moveaxis(picture, -1, -3)"
        )
    for what, size in zip(("height", "width"), shape[-2:]):
        if size % side or not size:
            raise ValueError(_side_error(what, size, side))
    batch_and_channels = shape[:-2] if len(shape) > 2 else (1,)
    return *batch_and_channels, shape[-2] // side, shape[-1] // side


def _side_error(what: str, size: int, side: int) -> str:
    """The sizes next to this one that work, and the patches that this one allows."""
    if not size:
        return f"{what} is 0, and there is nothing to cut; an image has at least one pixel"
    below = size // side * side
    near = f"{below} or {below + side}" if below else f"{side}"
    text = f"{what} {size} is not a multiple of patch_size {side}: {size % side} left over. "
    text += f"Crop or pad the {what} to {near}"
    small = [p for p in range(1, math.isqrt(size) + 1) if size % p == 0]
    fits = {*small, *(size // p for p in small)}
    nearest = sorted(sorted(fits, key=lambda p: abs(math.log(p / side)))[:3])
    return f"{text}, or use a patch_size that divides it: {', '.join(map(str, nearest))}"
