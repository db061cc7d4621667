"""Measure a derivative by every method asked for, and judge backward by it."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from scratch_embed.gradcheck.numeric import (
    BEST_FIRST,
    METHODS,
    NUMERATORS,
    Line,
    Measured,
    central,
    crosses_kink,
    holding,
)
from scratch_embed.gradcheck.point import Point
from scratch_embed.gradcheck.report import KINK, NOISE, OK, SURROGATE, UNUSED, WRONG, Row

# Entries of the gradient this much smaller than its largest are not asked to stand out from noise.
NEGLIGIBLE = 1e-6
# A gradient up to this and below the rounding of the loss is what rounding leaves of an exact 0.
REMAINDER = 1e-12


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


def measure(point: Point, methods: list[str], places: list[Place]):
    """For each place {method: Measured}, and {method: why it could not be used}."""
    found: list[dict[str, Measured]] = [{} for _ in places]
    skipped: dict[str, str] = {}
    for method in methods:
        dtype = np.complex128 if method == "complex" else np.float64
        try:
            with holding(point.checked, dtype), warnings.catch_warnings():
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                for place, got in zip(places, found):
                    got[method] = NUMERATORS[method](_line(point, place), point.noise)
        except (TypeError, ValueError, np.exceptions.ComplexWarning) as error:
            if method != "complex":
                raise
            if methods == ["complex"]:
                raise TypeError(
                    f"the complex step cannot be taken here ({error}); use method='richardson'"
                ) from error
            skipped[method] = str(error).split("\n")[0]
            for got in found:
                got.pop(method, None)
    return found, skipped


def judge(
    point: Point, place: Place, found: dict[str, Measured], rtol: float, largest: float
) -> Row:
    """The verdict on one place, by the most exact method that was used."""
    label, grad = point.name(place.position), point.grads[place.position]
    analytic, missing = place.of(grad), place.of(point.missing[place.position])
    uses, zero, why = _class(point, place)

    def row(got: Measured, verdict: str | None = None, true: float | None = None) -> Row:
        stated = 0.0 if zero and why else got.value - missing
        noise = 8 * got.noise
        allowed = rtol * max(abs(analytic), abs(stated)) + 1e-8 * largest + noise
        allowed = max(allowed, np.finfo(float).tiny)
        gap = abs(analytic - stated)
        if verdict is None:
            agrees = np.isfinite(analytic) and gap <= allowed and not (zero and analytic)
            verdict = _in_words(agrees, zero, why)
            size = max(abs(analytic), abs(stated), NEGLIGIBLE * largest)
            if agrees and noise > 0.01 * size and abs(analytic) > min(REMAINDER, 8 * point.noise):
                verdict = NOISE
        return Row(label, place.index, uses, analytic, stated, gap, allowed, verdict, noise, true)

    rows = {method: row(got) for method, got in found.items()}
    best = next(method for method in BEST_FIRST if method in rows)
    true = None if why is None else _derivative(point, place, found[best])
    if all(r.passed for r in rows.values()):
        decided = [m for m in BEST_FIRST if m in rows and rows[m].verdict != NOISE]
        return rows[decided[0] if decided else best]._replace(true=true)
    if zero:
        return rows[best]._replace(true=true)
    real = found.get("central") or found.get("richardson")
    real = real or central(_line(point, place), point.noise)
    if row(real).passed and all(r.passed for m, r in rows.items() if m != "complex"):
        return row(real, true=true)  # the complex step alone disagrees: not an analytic function
    doubted = next((found[m] for m in rows if m != "complex" and not rows[m].passed), real)
    if crosses_kink(_line(point, place), analytic + missing, doubted, point.noise, rtol):
        return row(doubted, KINK)
    return rows[best]._replace(true=true) if not rows[best].passed else row(doubted, true=true)


class Agreement(NamedTuple):
    """How close the methods are to each other, and each to backward."""

    gaps: dict[str, float]  # largest distance from backward, by method
    apart: float  # largest distance between two methods at one place
    largest: float  # derivative
    skipped: dict[str, str]  # methods that could not be used, and why

    def __str__(self) -> str:
        lines = [f"no {method} step: {why}" for method, why in self.skipped.items()]
        if len(self.gaps) > 1:
            *most, last = self.gaps
            each = ", ".join(f"{method} {gap:.1e}" for method, gap in self.gaps.items())
            lines.append(
                f"{', '.join(most)} and {last} agree with each other to {self.apart:.1e}, where "
                f"the largest derivative is {self.largest:.1e}; from backward: {each}"
            )
        if self.complex_alone:
            lines.append(
                "the complex step stands alone: some operation on the way is not analytic, such "
                "as abs or a comparison of complex numbers"
            )
        return "\n".join(lines)

    @property
    def complex_alone(self) -> bool:
        """Whether backward agrees with the real steps, and the complex one with neither."""
        real = [gap for method, gap in self.gaps.items() if method != "complex"]
        return bool(real) and self.gaps.get("complex", 0.0) > 1e-6 * self.largest > 10 * max(real)


def agreement(point: Point, places: list[Place], found, skipped: dict[str, str]) -> Agreement:
    """The closing line of a report."""
    used = [m for m in METHODS if found and m in found[0]]
    if not used:
        return Agreement({}, 0.0, 0.0, skipped)
    values = np.array([[got[m].value for m in used] for got in found])
    stated = np.array(
        [p.of(point.grads[p.position]) + p.of(point.missing[p.position]) for p in places]
    )
    gaps = np.abs(values - stated[:, None]).max(axis=0)
    apart = float(np.ptp(values, axis=1).max())
    return Agreement(dict(zip(used, map(float, gaps))), apart, float(np.abs(values).max()), skipped)


def _in_words(agrees: bool, zero: bool, why: str | None) -> str:
    if not agrees:
        return WRONG
    if why:
        return f"{SURROGATE} ({why})"
    return UNUSED if zero else OK


def _class(point: Point, place: Place) -> tuple[int | None, bool, str | None]:
    """How often this row was used, whether its gradient must be 0, and the option that says so."""
    if place.index is None or not place.index:
        return None, False, None
    position, row = place.position, place.index[0]
    counts = point.uses[position].counts
    why = point.why[position].get(row) or ("max_norm" if point.edited(position, row) else None)
    uses = None if counts is None else int(counts[row])
    return uses, bool(point.zero_rows[position][row]), why


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
