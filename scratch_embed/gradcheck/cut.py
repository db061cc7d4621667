"""A direction along which several entries come to kinks at once, cut into what can be told.

Along a direction in which one entry comes to a kink nothing can be said. So the direction is cut in
halves, and these again where they meet one, until the entries on kinks stand alone; what is left of
the direction is judged.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed.gradcheck.corners import is_kink
from scratch_embed.gradcheck.numeric import Line
from scratch_embed.gradcheck.place import Place
from scratch_embed.gradcheck.point import Point
from scratch_embed.tensor import Tensor

MOST = 512  # parts of one direction that are looked along
MANY = 4096  # entries: of a tensor with more only the rows are told apart


class Split(NamedTuple):
    """A direction in parts."""

    smooth: np.ndarray  # the entries that move without a kink, as a mask of the tensor's shape
    kinks: list[tuple[int, ...]]  # those that are each on one
    left: np.ndarray  # those of which it was not found out

    def places(self, place: Place) -> list[Place]:
        """What to compare in place of the direction."""
        parts = [mask for mask in (self.smooth, self.left) if mask.any()]
        ways = [Place(place.position, None, place.direction * mask) for mask in parts]
        return [*ways, *(Place(place.position, index) for index in self.kinks)]


def split(point: Point, place: Place) -> Split:
    """Cut a direction into what meets kinks and what does not.

    Looked along is one whose numbers are all of size 1/2 to 3/2: where one is near 0 a kink would
    not be seen, and where two are alike not that of two equal largest numbers.
    """
    tensor, size = point.checked[place.position], np.abs(place.direction)
    whole = np.sign(place.direction) * (0.5 + size / max(float(size.max()), 1e-300))
    units = whole.size if whole.size <= MANY else len(whole)
    smooth, left, kinks = np.zeros(whole.shape, bool), np.zeros(whole.shape, bool), []
    pieces, looked = [np.arange(units)], 0
    while pieces:
        piece, looked = pieces.pop(0), looked + 1
        mask = np.zeros(whole.shape, bool)
        mask.reshape(units, -1)[piece] = True
        if looked > MOST:
            left |= mask
        elif not is_kink(_line(point, tensor, whole * mask), None, point.noise):
            smooth |= mask
        elif len(piece) > 1:
            pieces += np.array_split(piece, 2)
        elif units == whole.size:
            kinks.append(tuple(map(int, np.unravel_index(piece[0], whole.shape))))
        else:
            left |= mask
    return Split(smooth, kinks, left)


def _line(point: Point, tensor: Tensor, direction: np.ndarray) -> Line:
    return point.line(tensor, None, direction / max(float(np.linalg.norm(direction)), 1.0))
