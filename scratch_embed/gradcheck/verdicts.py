"""What is said of backward at a point: entry by entry, and where entries meet kinks together."""

from __future__ import annotations

import numpy as np

from scratch_embed.gradcheck.agreement import agreement
from scratch_embed.gradcheck.compare import ENOUGH, judge, measure
from scratch_embed.gradcheck.corners import is_kink
from scratch_embed.gradcheck.cut import split
from scratch_embed.gradcheck.numeric import shown, ways
from scratch_embed.gradcheck.piece import is_in_reach, is_of_a_piece
from scratch_embed.gradcheck.place import Place, direction
from scratch_embed.gradcheck.point import Point
from scratch_embed.gradcheck.report import CORNER, KINK, Report, Row
from scratch_embed.gradcheck.ties import tied

FEW = 8  # wrong entries of many, of which none is on a kink: then no other is asked
RULE = (
    "|a - n| <= {rtol:g} max(|a|, |n|) + 1e-8 g + noise, with a by backward, n by nudging, "
    "g the largest gradient in its tensor, noise from rounding"
)


@np.errstate(all="ignore")  # a step may lead out of where fn is defined, and slopes be infinite
def compare(point: Point, methods, places: list[Place], rtol, name, seed) -> Report:
    """Judge backward at all places, and at what they have in common."""
    finite = [np.abs(grad[np.isfinite(grad)]) for grad in point.grads]
    largest = [float(grad.max(initial=0)) for grad in finite]

    def judged(places: list[Place], found: list[dict] | None = None) -> list[tuple[Place, Row]]:
        found = measure(point, methods, places)[0] if found is None else found
        rows = (
            judge(point, place, got, rtol, largest[place.position])
            for place, got in zip(shown(places, "comparing"), found)
        )
        return list(zip(places, rows))

    methods = _enough(methods, point)
    found, skipped = measure(point, methods, places)
    looked, kinks = _off_kinks(point, judged(places, found), judged)
    rows = _at_corners(point, looked)
    ties = list(tied(point, kinks, rtol))
    alone = all(row.passed for row in rows if row.index is not None)
    if not all(row.passed for row in ties):
        rows = [_left_to_ties(point, row, kinks) for row in rows]
    rows += ties
    return Report(
        rows,
        name,
        [m for m in methods if m not in skipped],
        seed,
        RULE.format(rtol=rtol),
        problems=point.problems,
        agreement=agreement(point, places, found, skipped),
        ties=alone and not all(row.passed for row in ties),
        sizes={point.name(position): t.size for position, t in enumerate(point.checked)},
    )


def _off_kinks(point: Point, looked: list[tuple[Place, Row]], judged):
    """What was looked at, with directions on kinks cut into parts; and the entries of each tensor
    that are on one, also those at which backward agrees with the mean of the slopes from left and
    right.

    Every tensor has a direction: one that nobody asked for is news where it alone is wrong.
    """
    kinks, way = {position: set() for position in range(len(point.checked))}, ways(6)
    more: list[tuple[Place, Row]] = []
    for place, row in looked:
        if place.index is not None and row.verdict == KINK:
            kinks[place.position].add(place.index)
    given = {place.position: (place, row) for place, row in looked if place.index is None}
    for position, tensor in enumerate(point.checked):
        if position not in given and (tensor.size < 2 or tensor in point.original):
            continue
        place, row = given.get(position) or (direction(tensor, position, way), None)
        parts = split(point, place)
        kinks[position].update(parts.kinks)
        if row is not None and row.verdict != KINK:
            continue
        seen = {place.index for place, _ in looked if place.position == position} - {None}
        if row is None and len(seen) == tensor.size and not kinks[position]:
            continue  # it has nothing to add to its entries
        news = judged([part for part in parts.places(place) if part.index not in seen])
        if row is None:
            more += [(p, own) for p, own in news if np.isfinite(own.numeric) and not own.passed]
        else:
            looked = [pair for pair in looked if pair[1] is not row] + news
    if all(row.passed for _, row in looked):
        looked += more
    return looked, kinks


def _at_corners(point: Point, looked: list[tuple[Place, Row]]) -> list[Row]:
    """The rows, of which those that are wrong may be so at a corner only, or on several kinks."""
    wrong = [place for place, row in looked if not row.passed]
    if not wrong:
        return [row for _, row in looked]
    if is_of_a_piece(point, wrong):
        return [row if row.passed else row._replace(verdict=CORNER) for _, row in looked]
    if len(wrong) > ENOUGH and not any(_is_on_kinks(point, place) for place in wrong[:FEW]):
        return [row for _, row in looked]
    return [
        row._replace(verdict=KINK) if not row.passed and _is_on_kinks(point, place) else row
        for place, row in looked
    ]


def _is_on_kinks(point: Point, place: Place) -> bool:
    """Whether an entry is on a kink of an operation that is right beside it."""
    if place.index is None or point.original:
        return False
    line = point.line(point.checked[place.position], place.index)
    return is_kink(line, None, point.noise) and point.right_beside and is_in_reach(point, place)


def _left_to_ties(point: Point, row: Row, kinks: dict[int, set[tuple]]) -> Row:
    entries = {(point.name(position), index) for position in kinks for index in kinks[position]}
    return row._replace(verdict=KINK) if (row.parameter, row.index) in entries else row


def _enough(methods: list[str], point: Point) -> list[str]:
    """The methods asked for, and a real step beside a complex one that would stand alone where it
    is not the slope: of abs, norm and var it says 0, or less than it should."""
    if methods != ["complex"]:
        return methods
    for tensor in point.checked:
        if tensor.size and tensor not in point.original:
            try:
                found = point.analytic(tensor)
            except Exception:  # noqa: BLE001  fn refuses complex numbers: `measure` says so
                return methods
            if not found:
                return ["complex", "richardson"]
    return methods
