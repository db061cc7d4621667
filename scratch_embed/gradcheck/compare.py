"""Measure a derivative by every method asked for, and judge backward by it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from scratch_embed.gradcheck.casts import no_casts
from scratch_embed.gradcheck.corners import is_kink, jump, leaps, may_be_kink
from scratch_embed.gradcheck.data import holding
from scratch_embed.gradcheck.noise import (
    goes_in_steps,
    has_steps_within,
    moves_farther_off,
    stairs,
)
from scratch_embed.gradcheck.numeric import (
    BEST_FIRST,
    CENTRAL_STEP,
    COMPLEX_STEP,
    NUMERATORS,
    Line,
    Measured,
    central,
    clearer,
    closer,
    shown,
)
from scratch_embed.gradcheck.place import Place
from scratch_embed.gradcheck.point import Point
from scratch_embed.gradcheck.report import KINK, NO_NUMBER, NOISE, OK, SURROGATE, UNUSED, WRONG, Row

# Entries of the gradient this much smaller than its largest are not asked to stand out from noise.
NEGLIGIBLE = 1e-6
# A gradient up to this and below the rounding of the loss is what rounding leaves of an exact 0.
REMAINDER = 1e-12
ENOUGH = 64  # entries found wrong: what disagrees after them is not looked at as long
LOST = 1e-11  # of the cotangent: of smaller gradients forward may have lost a part
FAINT = 1e-6  # of the cotangent: a smaller gap may be last digits of something larger
TINY = float(np.finfo(float).tiny)  # what is less has lost digits, or is a share of exp(-700)
NOTHING = 1e-6  # noise above that hides whether it is 0


def measure(point: Point, methods: list[str], places: list[Place]):
    """For each place {method: Measured}, and {method: why it could not be used}."""
    found: list[dict[str, Measured]] = [{} for _ in places]
    skipped: dict[str, str] = {}
    for method in methods:
        aside = method == "complex"
        if aside and not np.isfinite(point.loss()):  # as ln(-2), which a complex step would find
            for got in found:
                got[method] = Measured(np.nan, COMPLEX_STEP, 0.0)
            continue
        dtype, alert = (np.complex128, no_casts()) if aside else (np.float64, nullcontext())
        try:
            with holding(point.checked, dtype), alert:
                for place, got in zip(shown(places, f"nudging, {method}"), found):
                    got[method] = NUMERATORS[method](_line(point, place), point.noise)
        except Exception as error:  # fn refuses complex numbers as it likes
            if not aside:
                raise
            said = str(error).split("\n")[0] or type(error).__name__
            if methods == ["complex"]:
                raise TypeError(
                    f"the complex step cannot be taken here ({said}); use method='richardson'"
                ) from error
            skipped[method] = said
            for got in found:
                got.pop(method, None)
    return found, skipped


def judge(
    point: Point, place: Place, found: dict[str, Measured], rtol: float, largest: float
) -> Row:
    """The verdict on one place, by the most exact method that was used."""
    row = _judged(point, place, found, rtol, largest)
    if not row.passed and np.isfinite(row.analytic):
        if np.isnan(row.numeric):
            row = row._replace(verdict=NO_NUMBER)
        elif _is_rounding(point, place, row):
            row = row._replace(verdict=NOISE)
    point.wrong += not row.passed
    return row


def _is_rounding(point: Point, place: Place, row: Row) -> bool:
    """Whether backward is off by no more than its own rounding, where large numbers cancel."""
    _, _, zero, why = _class(point, place)
    if zero or why or point.original:
        return False
    worst = place if place.direction is None else place._replace(direction=np.abs(place.direction))
    doubt = worst.of(point.doubts[place.position])
    small = 1e-6 * np.abs(point.cotangent).max(initial=0)  # what turns at a kink is more than that
    return bool(doubt <= small and row.difference <= doubt + row.tolerance)


def _judged(
    point: Point, place: Place, found: dict[str, Measured], rtol: float, largest: float
) -> Row:
    """The same, where what is no number is not what it should be.

    A step that suits most functions is too long for some, such as log near 0. So where a real step
    disagrees, shorter ones are asked before anybody is blamed; `found` then holds what they say.
    """
    said = _said(point, place, rtol, largest)
    rows = {method: said.row(got) for method, got in found.items()}
    best = next(method for method in BEST_FIRST if method in rows)
    true = None if said.why is None else _derivative(point, place, found[best])
    line = _line(point, place)
    if said.zero or all(row.passed for row in rows.values()):
        if said.hidden(found[best]) and not line.side:
            clear = clearer(line, point.noise)
            row = said.row(clear)._replace(true=true)
            return row if row.passed else said.on_a_kink(clear, line) or row
        return (_on_stairs(said, found[best], line) or _decided(rows))._replace(true=true)
    near, real = closer(line, point.noise), [m for m in found if m != "complex"]
    if np.isnan(near.value) and point.loss.refused:
        raise ValueError(
            f"fn takes {point.name(place.position)}{_at(place.index)} as it is, and nothing beside "
            f"it ({point.loss.refused}); check at a point with room on both sides"
        ) from point.loss.refused
    doubted = next((found[m] for m in real if not rows[m].passed), near)
    for method in real:
        if not rows[method].passed:
            found[method], rows[method] = near, said.row(near)
    if said.row(near).passed and all(rows[method].passed for method in real):
        alone = "complex" in rows and not rows["complex"].passed
        # Along a direction a complex step that leaves something out shows it, if not at this entry.
        alone = alone and point.analytic(point.checked[place.position])
        row = said.against(found["complex"], near) if alone else said.row(near)
        return (_on_stairs(said, near, line) or row)._replace(true=true)
    if point.wrong >= ENOUGH:
        return _decided(rows)._replace(true=true)
    inside = max(point.inside, _height(point, place, line))
    if inside > point.noise and (again := said.row(clearer(line, inside))).passed:
        return again._replace(true=true)
    if (longer := _by_longer_steps(said, near, line)) is not None:
        return longer._replace(true=true)
    if is_kink(line, None if place.index is None else said.slope, point.noise):
        return said.row(doubted, KINK)
    if place.index is not None and is_kink(line, None, point.noise) and (said.why or point.sound):
        # Of several operations at once, each right by itself, or of what an option leaves out.
        return said.row(doubted, KINK)
    if place.index is None and abs(jump(line, CENTRAL_STEP / 16)) > abs(said.row(near).difference):
        return said.row(doubted, KINK)  # among many entries a kink so small is not seen as one
    if leaps(line, point.loss.rounding()):
        return said.row(doubted, NOISE)
    exact = rows["complex"].difference if "complex" in rows else 0.0
    if exact <= 8 * point.unit and goes_in_steps(line, point.unit):
        # Numbers of order 1 may cancel on the way to L, as in ln p of a p that is nearly 1.
        again = said.row(clearer(line, point.unit))
        if again.passed:
            return again._replace(true=true)
    if _exact_alone(point, place, rows):
        return rows["complex"]._replace(verdict=NOISE, true=true)
    return _decided(rows)._replace(true=true)


def _by_longer_steps(said: _Said, got: Measured, line: Line) -> Row | None:
    """What they say where a gap is so small that it may be last digits of numbers of order 1, which
    cancel on the way to L; None where they disagree as well, or tell nothing and it is not so."""
    if not said.is_near(got):
        return None
    last = said.point.unit * line.scale
    again = said.row(clearer(line, last))
    told = again.verdict != NOISE and abs(again.analytic) > again.tolerance
    if again.passed and (told or has_steps_within(line, 4 * last)):
        return again
    return again._replace(verdict=NOISE) if said.may_be_lost(again) else None


def _exact_alone(point: Point, place: Place, rows: dict[str, Row]) -> bool:
    """Whether the complex step agrees, and real ones, which may all lead beyond a pole, do not."""
    agrees = "complex" in rows and rows["complex"].passed
    return agrees and point.analytic(point.checked[place.position])


class _Said(NamedTuple):
    """What backward says at a place, and how far from it a measurement may be."""

    point: Point
    place: Place
    rtol: float
    largest: float  # entry of this tensor's gradient
    analytic: float
    missing: float  # what documented options leave out
    uses: int | None  # of its row, and how many of them are by operations that take all rows
    whole: int
    zero: bool  # whether it must be exactly 0
    why: str | None  # the option that lets it differ from the derivative

    @property
    def slope(self) -> float:
        """The derivative that backward stands for."""
        return self.analytic + self.missing

    def hidden(self, got: Measured) -> bool:
        """Whether backward says 0, and rounding hides if that is so: any gradient would do."""
        if self.zero or self.why or abs(self.analytic) > REMAINDER or not got.value:
            return False
        return 8 * got.noise > max(abs(got.value), abs(self.analytic))

    def still(self, got: Measured) -> bool:
        """Whether backward says 0 and so does the nudge, though nothing says that it must be."""
        return not (self.zero or self.why or self.analytic or got.value)

    def is_near(self, got: Measured) -> bool:
        """Whether a gap is so small that last digits of something larger may make it."""
        return abs(got.value - self.slope) < FAINT * np.abs(self.point.cotangent).max(initial=0)

    def may_be_lost(self, row: Row) -> bool:
        """Whether a tenth is missing of a gradient so small that forward may have rounded away that
        part of it, as ln p of the most likely of many loses it from 1 - p = 1e-12 on."""
        size = max(abs(row.analytic), abs(row.numeric))
        least = LOST * np.abs(self.point.cotangent).max(initial=0)
        return size < least and row.difference <= 0.1 * size

    def on_a_kink(self, got: Measured, line: Line) -> Row | None:
        """The comparison where the slopes from both sides are apart, with backward between."""
        if is_kink(line, self.slope, self.point.noise):
            return self.row(got, KINK)
        return self.row(got, NOISE) if may_be_kink(line, self.slope, self.point.noise) else None

    def against(self, exact: Measured, real: Measured) -> Row:
        """The comparison where the complex step alone disagrees with backward.

        Where some operation is not analytic it is wrong, and the real step contradicts it. Where
        the real step agrees with both, it is only coarser, and tells nothing if it is too coarse.
        """
        size, doubt = max(abs(exact.value), abs(real.value)), 8 * real.noise
        row = self.row(real)
        if abs(exact.value - real.value) > doubt + 1e-6 * size or row.verdict not in (OK, NOISE):
            return row
        return self.row(exact) if doubt <= 0.01 * size else row._replace(verdict=NOISE)

    def row(self, got: Measured, verdict: str | None = None) -> Row:
        """The comparison with one measurement."""
        stated, noise = float(got.value - self.missing), 8 * got.noise
        if self.zero and self.why:
            stated = 0.0
        size, gap = max(abs(self.analytic), abs(stated)), abs(self.analytic - stated)
        allowed = self.rtol * size + 1e-8 * self.largest + noise
        still = not got.value and not got.noise  # the loss did not move by a bit, and has no digits
        allowed = max(allowed, self.point.unit * still, TINY)
        if verdict is None:
            agrees = np.isfinite(gap) and gap <= allowed
            agrees = agrees and not (self.zero and abs(self.analytic) >= TINY)
            verdict = _in_words(agrees, self.zero, self.why)
            drowned = noise > 0.01 * max(size, NEGLIGIBLE * self.largest)
            remainder = self.point.remainder[self.place.position]
            nothing = abs(self.analytic) <= min(REMAINDER, 8 * self.point.noise, remainder)
            if nothing and not self.zero:  # 0 has no size, and a large loss may hide any gradient
                drowned = noise > max(0.01 * size, 0.01 * self.largest, NOTHING)
            if agrees and drowned and not (nothing and self.zero):
                verdict = NOISE
        label, index = self.point.name(self.place.position), self.place.index
        numbers = self.analytic, stated, gap, allowed
        return Row(label, index, self.uses, *numbers, verdict, noise, whole=self.whole)


def _on_stairs(said: _Said, got: Measured, line: Line) -> Row | None:
    """Where a nudge moves nothing, as beside 1e10, and backward says 0: what longer ones say."""
    if not said.still(got) or line.side or not moves_farther_off(line):
        return None
    height = _height(said.point, said.place, line)
    return said.row(clearer(line, height)) if height > said.point.noise else None


def _height(point: Point, place: Place, line: Line) -> float:
    """Of the stairs that L goes in along an entry; along a direction, of those met so far, between
    which the other entries move it."""
    height = stairs(line) if place.index is not None else point.stairs
    point.stairs = max(point.stairs, height)
    return height


def _at(index: tuple[int, ...] | None) -> str:
    return "" if index is None else f"[{', '.join(map(str, index))}]"


def _said(point: Point, place: Place, rtol: float, largest: float) -> _Said:
    position = place.position
    analytic, missing = place.of(point.grads[position]), place.of(point.missing[position])
    return _Said(point, place, rtol, largest, analytic, missing, *_class(point, place))


def _decided(rows: dict[str, Row]) -> Row:
    """The row of the most exact method, among the wrong ones if there are any, or the told ones."""
    in_order = [rows[method] for method in BEST_FIRST if method in rows]
    wrong = [row for row in in_order if not row.passed]
    told = [row for row in in_order if row.verdict != NOISE]
    return (wrong or told or in_order)[0]


def _in_words(agrees: bool, zero: bool, why: str | None) -> str:
    if not agrees:
        return WRONG
    if why:
        return f"{SURROGATE} ({why})"
    return UNUSED if zero else OK


def _class(point: Point, place: Place) -> tuple[int | None, int, bool, str | None]:
    """The uses of this row, of them those of all rows; whether it must get 0; the option that says.

    See `_Said`, which they are fields of.
    """
    if place.index is None or not place.index:
        return None, 0, False, None
    position, row = place.position, place.index[0]
    counts, whole, _ = point.uses[position]
    why = point.why[position].get(row) or ("max_norm" if point.edited(position, row) else None)
    uses = None if counts is None else int(counts[row]) + whole
    return uses, whole, bool(point.zero_rows[position][row]), why


def _line(point: Point, place: Place) -> Line:
    return point.line(point.checked[place.position], place.index, place.direction)


def _derivative(point: Point, place: Place, found: Measured) -> float:
    """The true derivative of L, where the gradient is a surrogate for it."""
    tensor = point.checked[place.position]
    if tensor not in point.original:
        return found.value
    now = tensor.data
    tensor.data = point.original[tensor].copy()
    try:
        return central(Line(point.loss, tensor, place.index, edits=True), point.noise).value
    finally:
        tensor.data = now
