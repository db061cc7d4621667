"""Kinks that several entries share: which entries they are, and what can be told all the same.

Along a direction in which one entry comes to a kink nothing can be said. So the direction is cut in
halves, and these again where they meet one, until the entries on kinks stand alone; what is left of
the direction is judged. Each of two equal largest numbers is on a kink, and may be paid anything
from nothing to all. If they move together there is no kink, and the sum of what they are paid is
the slope.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from scratch_embed.gradcheck.compare import Place
from scratch_embed.gradcheck.numeric import Line, central, is_kink
from scratch_embed.gradcheck.point import Point
from scratch_embed.gradcheck.report import WRONG, Row
from scratch_embed.tensor import Tensor

MOST = 128  # parts of one direction that are looked along
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


def together(point: Point, kinks: dict[int, set[tuple[int, ...]]]) -> list[Place]:
    """The way on which all entries of a tensor that are on a kink move together, for each."""
    found = []
    for position, entries in kinks.items():
        tensor = point.checked[position]
        if len(entries) > 1 and tensor not in point.original:
            direction = np.zeros(tensor.shape)
            direction[tuple(np.transpose(sorted(entries)))] = 1 / np.sqrt(len(entries))
            found.append(Place(position, None, direction))
    return found


class _Several:
    """Lines through several tensors, on which they move at the same time; a `Line` to who asks."""

    side = 0

    def __init__(self, lines: list[Line]):
        self.lines = lines

    def step(self, h: float) -> float:
        return h * max(line.scale for line in self.lines)

    def __call__(self, t: float):
        for line in self.lines:
            line.tensor.data[...] = line.start + t * line.direction
        try:
            return self.lines[0].loss()
        finally:
            for line in self.lines:
                line.tensor.data[...] = line.start


def across(point: Point, kinks: dict[int, set[tuple[int, ...]]], rtol: float) -> Iterator[Row]:
    """The same for the inputs of one operation, such as the two of a maximum, where it is wrong."""
    inputs = defaultdict(dict)
    for part in point.walk.parts:
        position = point.places.get(part.tensor)
        if kinks.get(position) and part.tensor not in point.original:
            inputs[part.node.line][position] = None
    for positions in dict.fromkeys(map(tuple, inputs.values())):
        places = []
        for position in positions:
            direction = np.zeros(point.checked[position].shape)
            direction[tuple(np.transpose(sorted(kinks[position])))] = 1.0
            places.append(Place(position, None, direction))
        line = _Several([point.line(point.checked[p.position], None, p.direction) for p in places])
        if len(positions) < 2 or is_kink(line, None, point.noise):
            continue
        got = central(line, point.noise)
        paid = [p.of(point.grads[p.position]) + p.of(point.missing[p.position]) for p in places]
        backward, noise = sum(paid), 8 * got.noise
        gap, size = abs(backward - got.value), max(abs(got.value), *map(abs, paid))
        if not gap <= (allowed := rtol * size + noise):
            names = " and ".join(map(point.name, positions))
            yield Row(names, None, None, backward, got.value, gap, allowed, WRONG, noise)
