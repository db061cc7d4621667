"""PatchEmbed: an image cut into squares, each projected to a vector."""

from __future__ import annotations

import numpy as np

from scratch_embed.arguments import array_of, check_count
from scratch_embed.functional import unfold
from scratch_embed.layers.layer import Layer
from scratch_embed.layers.linear import Linear
from scratch_embed.ops.patches import patches_shape
from scratch_embed.tensor import Tensor


class PatchEmbed(Layer):
    """out = unfold(images) @ weight.T + bias                       (B, C, H, W) -> (B, N, D)

    Dosovitskiy et al. 2021. It is one linear map, the same for every patch, and equals a
    convolution of stride P whose kernel is the weight reshaped to (D, C, P, P).

    Parameters
    ----------
    image_size : H = W, or (H, W). Both must be multiples of the patch size.
    patch_size : P.
    in_channels : C. With C = 1 a grey image may also come as (H, W).
    embedding_dim : D.
    bias, dtype, rng, init : as in `Linear`.

    Images may also come one at a time, (C, H, W) -> (N, D). Arrays are cast to the dtype of the
    weight and not rescaled: bring bytes to 0..1 first.

    Raises ValueError for sizes that are not whole numbers of at least 1, a side that patch_size
    does not divide, and images of another shape; what `Linear` raises besides.

    >>> PatchEmbed(6, patch_size=3, in_channels=1, embedding_dim=5)(np.ones((6, 6))).shape
    (4, 5)
    """

    def __init__(
        self,
        image_size: int | tuple[int, int] = 224,
        patch_size: int = 16,
        in_channels: int = 3,
        embedding_dim: int = 768,
        bias: bool = True,
        dtype: type = np.float32,
        rng: np.random.Generator | int | None = None,
        init: str | float = "1/sqrt(d)",
    ):
        size = image_size if isinstance(image_size, (tuple, list)) else (image_size, image_size)
        self.image_size = tuple(check_count(side, "image_size") for side in size)
        if len(size) != 2:
            raise ValueError(f"image_size is {image_size!r}; it must be H = W, or (H, W)")
        self.in_channels = check_count(in_channels, "in_channels")
        self.patch_size = check_count(patch_size, "patch_size")
        shape = (self.in_channels, *self.image_size)
        self.num_patches, values = patches_shape(shape, self.patch_size)
        self.projection = Linear(values, embedding_dim, bias, dtype, rng, init)
        self.name_weights()

    def __call__(self, images) -> Tensor:
        if not isinstance(images, Tensor):
            images = array_of(images, "images").astype(self.projection.weight.dtype, copy=False)
        expected = (self.in_channels, *self.image_size)
        grey = self.in_channels == 1 and images.shape == self.image_size
        if not grey and images.shape[-3:] != expected:
            raise ValueError(
                f"images have shape {images.shape}; this layer takes (C, H, W) = {expected}, or "
                "(B, C, H, W) with these last"
            )
        return self.projection(unfold(images, self.patch_size))

    def __repr__(self) -> str:
        height, width = self.image_size
        return (
            f"PatchEmbed({height} x {width}, patch_size={self.patch_size}, "
            f"in_channels={self.in_channels}, embedding_dim={self.projection.out_features})"
        )
