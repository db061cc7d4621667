"""Where backward is compared with nudging: at an entry of a tensor, or along a direction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed.tensor import Tensor


class Place(NamedTuple):
    """What to compare: one entry of a tensor, or one direction through it."""

    position: int  # of the tensor among those checked
    index: tuple[int, ...] | None
    direction: np.ndarray | None = None

    def of(self, array: np.ndarray) -> float:
        """What a gradient says here."""
        if self.index is None:
            return float(np.vdot(array, self.direction))
        return float(array[self.index])


def direction(tensor: Tensor, position: int, rng: np.random.Generator) -> Place:
    """A random direction through the tensor that stands there among those checked."""
    way = rng.standard_normal(tensor.shape)
    way /= max(float(np.linalg.norm(way)), np.finfo(float).tiny)
    return Place(position, None, way)
