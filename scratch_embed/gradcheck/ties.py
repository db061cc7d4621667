"""Kinks that several entries share: what is paid to them together.

Each of two equal largest numbers is on a kink, and may be paid anything from nothing to all. If
they move together there is no kink, and the sum of what they are paid is the slope.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from scratch_embed.gradcheck.causes import Cause
from scratch_embed.gradcheck.corners import is_kink, jump, leaps
from scratch_embed.gradcheck.data import moved, reach
from scratch_embed.gradcheck.numeric import CENTRAL_STEP, central, clearer, stream
from scratch_embed.gradcheck.point import Point
from scratch_embed.gradcheck.report import OK, WRONG, Report, Row

MOST = 256  # entries on kinks that are looked at
MOST_GROUPS = 64  # of equal entries in one tensor
MANY = 4096  # entries of a tensor: in one with more no equal ones are looked for
LEAST = 1e-3  # of a slope: by as much differs what several move together from what each moves alone


class Entry(NamedTuple):
    """One entry of one of the tensors that are checked, and which way it moves."""

    position: int
    index: tuple[int, ...]
    sign: float = 1.0  # of two equal numbers one may be -x; among many each moves by another length


class Way:
    """Entries of one or several tensors that move at the same time; a `Line` to who asks."""

    side = 0

    def __init__(self, point: Point, entries: Sequence[Entry]):
        ways = {entry.position: np.zeros(point.checked[entry.position].shape) for entry in entries}
        for entry in entries:
            ways[entry.position][entry.index] = entry.sign
        self.loss, self.ways = point.loss, list(ways.values())
        self.tensors = [point.checked[position] for position in ways]
        pairs = zip(self.tensors, self.ways)
        self.scale = max(1.0, *(float(np.abs(t.data * way).max()) for t, way in pairs))

    def step(self, h: float) -> float:
        return h * self.scale

    def largest(self) -> float:
        return max(reach(self.loss, tensor) for tensor in self.tensors)

    def __call__(self, t: float):
        with moved(self.tensors, [t * way for way in self.ways]):
            return self.loss()


def tied(point: Point, kinks: dict[int, set[tuple[int, ...]]], rtol: float) -> Iterator[Row]:
    """What is paid to those together that share a kink, of one tensor or of several."""
    entries = [
        Entry(position, index)
        for position in kinks
        if point.checked[position] not in point.original
        for index in sorted(kinks[position])
    ]
    entries = sorted(entries, key=lambda entry: (entry.index, entry.position))[:MOST]
    groups = [*_sharing(point, entries), *_equal(point, entries)]
    yield from _unpaid(point, groups, rtol)
    for group in {frozenset(_alike(group)): group for group in reversed(groups)}.values():
        ways = dict.fromkeys(map(tuple, (_alike(group), group)))
        for entries in ways if len(group) > 1 else ():
            way = Way(point, entries)
            if _has_slope(point, way):
                yield _row(point, entries, way, rtol)
                break


def overpaid(report: Report) -> list[Cause]:
    """Entries on a kink that are each paid what is due once."""
    sentence = (
        "entries of {} that are equal share a kink, as two largest numbers do, and what they get "
        "does not sum to the slope of moving them together: pay one of them, or each a part"
    )
    wrong = (row for row in report.rows if row.index is None and row.verdict == WRONG)
    names = dict.fromkeys(row.parameter for row in wrong)
    return [Cause("ties", "", sentence.format(name)) for name in names if report.ties]


def _sharing(point: Point, entries: list[Entry]) -> list[list[Entry]]:
    """The entries in groups of those that share a kink, and which way each moves."""
    groups = [[entry] for entry in entries]
    for place, one in enumerate(entries):
        for two, sign in _partners(point, one, entries[place + 1 :]):
            first, second = (next(g for g in groups if each in _alike(g)) for each in (one, two))
            if first is not second:
                known = {entry[:2]: entry.sign for entry in (*first, *second)}
                turned = sign * known[one[:2]] * known[two[:2]]
                first += [entry._replace(sign=turned * entry.sign) for entry in second]
                groups.remove(second)
    return groups


def _partners(point: Point, one: Entry, others: list[Entry]) -> Iterator[tuple[Entry, float]]:
    """Those of the others that share a kink with this one, and how they move that it be less: found
    by halves, as who shares none with many shares none with each."""
    sign = _shared(point, one, others) if others else 0.0
    if sign and len(others) == 1:
        yield others[0], sign
    elif sign:
        half = len(others) // 2
        yield from _partners(point, one, others[:half])
        yield from _partners(point, one, others[half:])


def _equal(point: Point, entries: list[Entry]) -> Iterator[list[Entry]]:
    """Entries of a tensor, and of one row of it, that hold the same number, and share a kink all
    together: of those that share none the jumps would add up.

    In the sum of the two largest of four equal numbers no two share one that the others do not.
    """
    alike: dict[tuple, list[Entry]] = {}
    for entry in entries:
        value = float(point.checked[entry.position].data[entry.index])
        for row in {(), entry.index[:-1]}:
            alike.setdefault((entry.position, row, value), []).append(entry)
    for group in alike.values():
        jumps = [jump(Way(point, [entry]), CENTRAL_STEP) for entry in group]
        together = jump(Way(point, group), CENTRAL_STEP)
        doubt = 1e-3 * max(map(abs, jumps)) + 64 * point.noise / CENTRAL_STEP
        if len(group) > 2 and abs(sum(jumps) - together) > doubt * len(group):
            yield group


def _unpaid(point: Point, known: list[list[Entry]], rtol: float) -> Iterator[Row]:
    """Equal numbers that meet no kink alone, as three of which one is the median: together they
    move it, and no two of them do."""
    seen = {frozenset(_alike(group)) for group in known}
    for position, tensor in enumerate(point.checked):
        if tensor in point.original or not 2 < tensor.size <= MANY:
            continue
        for group in _level(position, tensor.data)[:MOST_GROUPS]:
            way = Way(point, group)
            if frozenset(group) in seen or _paid(point, group, way):
                continue
            alone = sum(central(Way(point, [entry]), point.noise).value for entry in group)
            row = _row(point, group, way, rtol)
            shared = abs(alone - row.numeric) > LEAST * abs(row.numeric)
            if shared and row.verdict == WRONG and _has_slope(point, way):
                yield row


def _has_slope(point: Point, way: Way) -> bool:
    """Whether L has one slope along it: no kink, nor a step, as of x / |x| at 0."""
    return not (is_kink(way, None, point.noise) or leaps(way, point.loss.rounding()))


def _paid(point: Point, group: list[Entry], way: Way) -> bool:
    """Whether the sum of what they are paid is about the slope of moving them together."""
    got = central(way, point.noise)
    each = [_stated(point, entry) for entry in group]
    return abs(sum(each) - got.value) <= LEAST * max(map(abs, each)) + 8 * got.noise


def _level(position: int, data: np.ndarray) -> list[list[Entry]]:
    """Three or more entries of a tensor, or of one row of it, that hold the same number."""
    groups: dict[tuple, list[Entry]] = {}
    for index in np.ndindex(data.shape):
        for row in {(), index[:-1]}:
            groups.setdefault((row, float(data[index])), []).append(Entry(position, index))
    return [group for group in groups.values() if len(group) > 2]


def _alike(group: list[Entry]) -> list[Entry]:
    return [entry._replace(sign=1.0) for entry in group]


def _shared(point: Point, one: Entry, others: list[Entry]) -> float:
    """0 where one shares no kink with the others, 1 where moving it with them lessens the jump, or
    -1: if they share none, slopes jump by as much whether it moves as they do or against them.

    Many move by lengths of their own, the one by more than each: else x would hide behind -x.
    """
    size = 1.0
    if len(others) > 1:
        size, lengths = 2.0, stream(len(others)).uniform(0.5, 1.5, len(others))
        others = [entry._replace(sign=length) for entry, length in zip(others, lengths)]
    ways = (Way(point, [one._replace(sign=sign), *others]) for sign in (size, -size))
    same, opposite = (jump(way, CENTRAL_STEP) for way in ways)
    doubt = 1e-3 * max(abs(same), abs(opposite)) + 64 * point.noise / CENTRAL_STEP
    if abs(same - opposite) <= doubt:
        return 0.0
    return 1.0 if abs(same) < abs(opposite) else -1.0


def _row(point: Point, group: Sequence[Entry], way: Way, rtol: float) -> Row:
    got = clearer(way, point.noise)
    paid = [_stated(point, entry) for entry in group]
    backward, noise = sum(paid), 8 * got.noise
    gap, size = abs(backward - got.value), max(abs(got.value), *map(abs, paid))
    allowed = max(rtol * size + noise, np.finfo(float).tiny)
    if gap > allowed:  # as of a norm of zeros, whose gradients of 0 have last digits
        allowed += sum(float(point.doubts[position][index]) for position, index, _ in group)
    names = " and ".join(dict.fromkeys(point.name(entry.position) for entry in group))
    verdict = OK if gap <= allowed else WRONG
    return Row(names, None, None, backward, float(got.value), gap, allowed, verdict, noise)


def _stated(point: Point, entry: Entry) -> float:
    """What backward pays an entry, the way it moves."""
    position, index, sign = entry
    return sign * float(point.grads[position][index] + point.missing[position][index])
