"""Corners that no single entry shows, as the median or the order of three equal numbers.

Moved alone, none of the three changes the median, and moved together they are it: there is no
derivative, and central differences make a 0 for each. Backward pays one of them, which is right a
little beside the point, where this one is the middle. So a place is looked for beside the point
where backward is the slope of all that it is not the slope of here. Or it pays a third to each:
that is a mean of what it may be, and lies between slopes beside the point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from scratch_embed.gradcheck.data import moved, reach
from scratch_embed.gradcheck.noise import stairs
from scratch_embed.gradcheck.numeric import central
from scratch_embed.gradcheck.place import Place

ASIDE = 1e-5  # how far beside the point
NEARER = 1 / 32  # of that: at a corner slopes are the same there, and else nearer to the one here
STEP = 1e-3  # of ASIDE: nudges there lead to no other corner
SAME = 2e-4  # of the largest number: what is curved differs by as much beside the point
OTHER = 1e-2  # of the same: how far slopes are from those at the point where that is a corner
AROUND = 64  # places around the point
ACROSS = 2  # of them so near to a kink that it lies between the nudges: 1 in 1,000 is
TRIES = 32, 256  # times that entries change places: of many, of few
LOOKS = 2048  # at a place, so many in all as long as it is more often than the first
FEW = 10  # entries: of so many, slopes are looked at whose mean backward may be
SLOPES = 8  # times as many of them
STEPS = 2000  # towards such a mean
MANY = 512  # entries: of more, those alone are looked at in which backward is wrong at the point


def is_of_a_piece(point, places: Sequence[Place]) -> bool:
    """Whether backward is the slope beside the point, and at none of these `places` here."""
    if point.original or len(places) > 2 * MANY:
        return False
    if any(_is_on_stairs(point, place) for place in places[:FEW]):
        return False  # between its steps no nudge shows a slope
    search = _Search(point, places)
    if not np.isfinite(search.size) or (search.gaps <= OTHER * search.scale()).any():
        return False
    least = search.gaps.min()
    moved = {place.position for place in places}
    others = [
        Place(position, index)
        for position in moved
        for index in np.ndindex(point.checked[position].shape)
    ]
    if len(others) <= MANY:
        search = _Search(point, [*others, *(place for place in places if place.index is None)])
    # A corner to which little arrives is small, and the more closely are all looked at.
    search.size = search.size if least > OTHER * search.size else least
    here, turned = search.found, np.zeros(len(search.places), bool)
    # Most sorts keep the order of equal numbers, or turn it about; what clips has two sides.
    for low, high in ((-1, 1), (-1, 0), (0, 1)):
        for order in (1, -1):
            search.begin(low, high, order)
            if not search.wrong.any():
                return search.is_steady()
            turned |= np.abs(search.found - here) > OTHER * search.scale(search.size)
    return bool(turned.any()) and (search.goes_on(turned) or search.is_a_mean())


def _is_on_stairs(point, place: Place) -> bool:
    """Whether L goes in steps that are more than rounding, as beside a mask of -1e9."""
    if place.index is None:
        return False
    line = point.line(point.checked[place.position], place.index)
    return stairs(line) > 8 * point.noise


def is_in_reach(point, place: Place) -> bool:
    """Whether backward is about as large here as the slopes around the point: from the least to the
    largest of some; where others lie between these, half as far again on either side.

    Where one operation meets several kinks and then mixes them, as relu(x @ W) @ V at x = 0, each
    may take a side, and no place beside the point need be on all of these sides.
    """
    search, found = _Search(point, [place]), []
    for _ in range(AROUND):
        search.begin()
        if search.is_steady():
            found.append(float(search.found[0]))
    if not found:
        return False
    low, high = min(found), max(found)
    between = [s for s in found if min(s - low, high - s) > OTHER * (high - low)]
    several = len(between) > ACROSS
    reach = (high - low) / 2 if several else SAME * search.size
    return low - reach <= search.stated[0] <= high + reach


class _Search:
    """Places beside a point, and at which of `places` backward is not the slope there."""

    def __init__(self, point, places: Sequence[Place]):
        self.point, self.places, self.rng = point, places, np.random.default_rng(0)
        self.stated = np.array([place.of(point.grads[place.position]) for place in places])
        self.ways = [np.zeros(tensor.shape) for tensor in point.checked]
        self.asides = [ASIDE * max(1.0, reach(point.loss, tensor)) for tensor in point.checked]
        self.size = float(np.abs(self.stated).max())
        self.look()
        self.size = max(self.size, float(np.abs(self.found).max()))

    def begin(self, low: float = -1, high: float = 1, order: int = 0) -> None:
        """Move all entries; with an order of 1 or -1 what comes later the most or the least."""
        shapes = [tensor.shape for tensor in self.point.checked]
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        way = self.rng.uniform(low, high, ends[-1])
        way = np.sort(way)[::order] if order else way
        self.ways = [w.reshape(s) for w, s in zip(np.split(way, ends[:-1]), shapes)]
        self.look()

    def goes_on(self, turned: np.ndarray) -> bool:
        """Let one entry stand elsewhere, and settle: one that is wrong, and every other time one
        that may be what keeps others wrong, whose own slope `turned` or is not looked at."""
        wanted = [(place.position, place.index) for place in self.places]
        seen = {position for position, _ in wanted}
        others = [wanted[at] for at in np.flatnonzero(turned)]
        others += [(position, None) for position in range(len(self.ways)) if position not in seen]
        self.begin()
        self.settle()
        for turn in range(int(np.clip(LOOKS // len(self.places), *TRIES))):
            if not self.wrong.any():
                break
            before = self.now()
            some = [wanted[at] for at in np.flatnonzero(self.wrong)] if turn % 2 else others
            position, index = some[self.rng.integers(len(some))]
            way = self.ways[position]
            if index is None:
                index = np.unravel_index(self.rng.integers(way.size), way.shape)
            way[index] = self.rng.uniform(-1, 1)
            self.look()
            self.settle()
            if self.wrong.sum() > before[1].sum():
                self.ways, self.wrong, self.found = before
        return not self.wrong.any() and self.is_steady()

    def is_a_mean(self) -> bool:
        """Whether backward lies between slopes beside the point, all of its entries at once."""
        if len(self.places) > FEW:
            return False
        slopes = []
        for _ in range(SLOPES * (2 + len(self.places))):
            self.begin()
            if not self.told.all():
                return False
            if self.is_steady():
                slopes.append(self.found)
        return bool(slopes) and lies_between(np.array(slopes), self.stated, SAME * self.size)

    def settle(self) -> None:
        """Let entries change places for as long as that makes fewer wrong."""
        before = self.now()
        while self.exchange():
            self.look()
            if self.wrong.sum() >= before[1].sum():
                self.ways, self.wrong, self.found = before
                return
            before = self.now()

    def now(self) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """Where it stands, and what it found there; to come back to."""
        return [way.copy() for way in self.ways], self.wrong, self.found

    def exchange(self) -> bool:
        """Let entries change places, of which one has the slope that the other is paid, each at
        most once. False where there are none."""
        free = [at for at in np.flatnonzero(self.wrong) if self.places[at].index is not None]
        found = False
        while free:
            one = free.pop(0)
            gaps = np.abs(self.found[free] - self.stated[one])
            if len(free) and gaps.min() <= SAME * max(self.size, abs(self.stated[one])):
                two = free.pop(int(gaps.argmin()))
                a, b = self.places[one], self.places[two]
                ways, found = self.ways, True
                x, y = ways[a.position][a.index], ways[b.position][b.index]
                ways[a.position][a.index], ways[b.position][b.index] = y, x
        return found

    def look(self) -> None:
        """Measure what the slopes are there."""
        self.found, noise = self.slopes()
        scale, self.gaps = self.scale(self.size), np.abs(self.found - self.stated)
        self.told = noise <= OTHER * scale
        self.wrong = ~(self.told & (self.gaps <= np.maximum(SAME * scale, noise)))

    def is_steady(self) -> bool:
        """Whether the slopes are the same nearer to the point, on the same side."""
        nearer, noise = self.slopes(NEARER)
        return bool((np.abs(nearer - self.found) <= SAME * self.scale(self.size) + noise).all())

    def scale(self, least: float = 0.0) -> np.ndarray:
        """How large the slope of each place is, by backward or as found; or `least`."""
        return np.maximum(np.maximum(np.abs(self.stated), np.abs(self.found)), least)

    def slopes(self, part: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """Of all places, so far along the way to where it stands; and their noise."""
        tensors, found = self.point.checked, []
        with moved(tensors, [part * aside * way for aside, way in zip(self.asides, self.ways)]):
            for place in self.places:
                line = self.point.line(tensors[place.position], place.index, place.direction)
                found.append(central(line, self.point.noise, part * ASIDE * STEP))
        return np.array([got.value for got in found]), 8 * np.array([got.noise for got in found])


def lies_between(points: np.ndarray, target: np.ndarray, allowed: float) -> bool:
    """Whether a target (N,) is a weighted mean of points (K, N), to within `allowed`.

    From the nearest point on, weight goes from the point that lies farthest against the way to the
    target to the one that lies farthest along it (Frank and Wolfe, 1956, with steps in pairs). When
    all lie behind the target there is no such mean.

    >>> lies_between(np.eye(3), np.full(3, 1 / 3), 1e-9)
    True
    >>> lies_between(np.eye(3), np.full(3, 0.5), 1e-9)
    False
    """
    weights = np.zeros(len(points))
    weights[np.abs(points - target).sum(axis=1).argmin()] = 1
    for _ in range(STEPS):
        rest = target - weights @ points
        if np.abs(rest).max() <= allowed:
            return True
        along = points @ rest
        best, worst = int(along.argmax()), int(np.where(weights > 0, along, np.inf).argmin())
        step = points[best] - points[worst]
        if along[best] < target @ rest - allowed * np.abs(rest).sum() or not step.any():
            return False
        share = min(float(step @ rest / (step @ step)), float(weights[worst]))
        weights[best] += share
        weights[worst] -= share
    return False
