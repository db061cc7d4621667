"""Kinks that several entries share: which entries they are, and what can be told all the same.

Along a direction in which one entry comes to a kink nothing can be said. So the direction is cut in
halves, and these again where they meet one, until the entries on kinks stand alone; what is left of
the direction is judged. Each of two equal largest numbers is on a kink, and may be paid anything
from nothing to all. If they move together there is no kink, and the sum of what they are paid is
the slope.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from scratch_embed.gradcheck.compare import Place
from scratch_embed.gradcheck.numeric import CENTRAL_STEP, Line, clearer, is_kink, jump
from scratch_embed.gradcheck.point import Point
from scratch_embed.gradcheck.report import OK, WRONG, Row
from scratch_embed.tensor import Tensor

MOST = 128  # parts of one direction that are looked along
MOST_TIED = 16  # entries on kinks that are looked at for a kink that they share
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


class Entry(NamedTuple):
    """One entry of one of the tensors that are checked, and which way it moves."""

    position: int
    index: tuple[int, ...]
    sign: float = 1.0


class Way:
    """Entries of one or several tensors that move at the same time; a `Line` to who asks."""

    side = 0

    def __init__(self, point: Point, entries: Sequence[Entry]):
        self.loss, self.moves = point.loss, []
        for position in dict.fromkeys(entry.position for entry in entries):
            tensor = point.checked[position]
            direction = np.zeros(tensor.shape)
            for entry in entries:
                if entry.position == position:
                    direction[entry.index] = entry.sign
            self.moves.append((tensor, tensor.data.copy(), direction))
        most = max(float(np.abs(start * way).max()) for _, start, way in self.moves)
        self.scale = max(1.0, most)

    def step(self, h: float) -> float:
        return h * self.scale

    def __call__(self, t: float):
        for tensor, start, direction in self.moves:
            tensor.data[...] = start + t * direction
        try:
            return self.loss()
        finally:
            for tensor, start, _ in self.moves:
                tensor.data[...] = start


def tied(point: Point, kinks: dict[int, set[tuple[int, ...]]], rtol: float) -> Iterator[Row]:
    """What is paid to those together that share a kink, of one tensor or of several."""
    entries = [
        Entry(position, index)
        for position in kinks
        if point.checked[position] not in point.original
        for index in sorted(kinks[position])
    ]
    for group in _sharing(point, entries[:MOST_TIED]):
        ways = dict.fromkeys(map(tuple, (_alike(group), group)))
        for entries in ways if len(group) > 1 else ():
            way = Way(point, entries)
            if not is_kink(way, None, point.noise):
                yield _row(point, entries, way, rtol)
                break


def _sharing(point: Point, entries: list[Entry]) -> list[list[Entry]]:
    """The entries in groups of those that share a kink, and which way each moves, as far as two of
    them alone tell that.

    Of two that share none the slopes jump by as much whether they move the same way or not.
    """
    groups = [[entry] for entry in entries]
    for one, two in itertools.combinations(entries, 2):
        first, second = (next(g for g in groups if each in _alike(g)) for each in (one, two))
        sign = 0.0 if first is second else _shared(point, one, two)
        if sign:
            known = {entry[:2]: entry.sign for entry in (*first, *second)}
            turned = sign * known[one[:2]] * known[two[:2]]
            first += [entry._replace(sign=turned * entry.sign) for entry in second]
            groups.remove(second)
    return groups


def _alike(group: list[Entry]) -> list[Entry]:
    return [entry._replace(sign=1.0) for entry in group]


def _shared(point: Point, one: Entry, two: Entry) -> float:
    """0 for two that share no kink, 1 where moving them the same way lessens the jump, or -1."""
    ways = (Way(point, [one, two._replace(sign=sign)]) for sign in (1.0, -1.0))
    same, opposite = (jump(way, CENTRAL_STEP) for way in ways)
    doubt = 1e-3 * max(abs(same), abs(opposite)) + 64 * point.noise / CENTRAL_STEP
    if abs(same - opposite) <= doubt:
        return 0.0
    return 1.0 if abs(same) < abs(opposite) else -1.0


def _row(point: Point, group: Sequence[Entry], way: Way, rtol: float) -> Row:
    got = clearer(way, point.noise)
    stated = [grad + missing for grad, missing in zip(point.grads, point.missing)]
    paid = [entry.sign * float(stated[entry.position][entry.index]) for entry in group]
    backward, noise = sum(paid), 8 * got.noise
    gap, size = abs(backward - got.value), max(abs(got.value), *map(abs, paid))
    allowed = max(rtol * size + noise, np.finfo(float).tiny)
    names = " and ".join(dict.fromkeys(point.name(entry.position) for entry in group))
    verdict = OK if gap <= allowed else WRONG
    return Row(names, None, None, backward, float(got.value), gap, allowed, verdict, noise)
