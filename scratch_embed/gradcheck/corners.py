"""Where L is not smooth along a line: the slopes from its two sides differ, or L jumps."""

from __future__ import annotations

from typing import NamedTuple

from scratch_embed.gradcheck.numeric import CENTRAL_STEP, Line

NEAR = 0, 1, 2, 3  # powers of 1/16, times CENTRAL_STEP: steps at which kinks are looked for
NEARER = 4, 5, 6, 7  # the same where slopes still grow there
WIDE = -2, -1.5, -1, -0.5, 0  # the same where rounding hides what short ones show


def is_kink(line: Line, slope: float | None, noise: float) -> bool:
    """Whether the slopes from left and right stay apart however small the step, `slope` between.

    With None for the slope they need only stay apart: along a direction in which several entries
    come to a kink at once, what lies between the two sums is not what lies between the slopes.
    Where rounding hides a kink at short steps, as beside a mask of -1e9, longer ones are taken;
    shorter ones where the slopes still grow, as of a norm beside 0.
    """
    found = _jumps(line, slope, noise, NEAR)
    if found.hidden and len(found.sizes) < 2:
        found = _jumps(line, slope, noise, WIDE)
        if not found.hidden and len(found.sizes) < len(WIDE):  # none at a step that would show it
            return False
    elif len(found.sizes) == len(NEAR) and found.sizes[-1] >= 8 * found.sizes[-2]:
        found = _jumps(line, slope, noise, NEARER)
    if len(found.sizes) < 2 or found.outside:
        return False
    # Of a curve it is 1/16, of one step of rounding 16; of wide steps 1/4 and 4.
    return 0.5 < found.sizes[-1] / found.sizes[-2] < 8


def may_be_kink(line: Line, slope: float, noise: float) -> bool:
    """Whether the slopes from both sides are apart at a long step, `slope` between, and rounding
    hides if they stay so at shorter ones."""
    found = _jumps(line, None, noise, WIDE)
    if line.side or not found.hidden or len(found.sizes) != 1:
        return False
    h, here = line.step(CENTRAL_STEP / 16.0 ** WIDE[0]), line(0.0)
    low, high = sorted((line(step) - here) / step for step in (-h, h))
    doubt = 8 * noise / h
    return low - doubt <= slope <= high + doubt


class _Jumps(NamedTuple):
    """How far the slopes from both sides are apart, at ever smaller steps."""

    sizes: list[float]
    hidden: bool  # whether rounding could explain as much at the next step
    outside: bool = False  # whether the slope asked for lies not between them


def _jumps(line: Line, slope: float | None, noise: float, powers: tuple[float, ...]) -> _Jumps:
    """Backward may give the very slope from one side, which curvature would bring out of reach but
    for half a step more: of the two, it cancels. The longest step is for kinks so faint that
    rounding hides them at all but one of the others."""
    jumps: list[float] = []
    for k in powers:
        h = line.step(CENTRAL_STEP / 16.0**k)
        if line.side or not h:
            return _Jumps(jumps, False)
        here = line(0.0)
        left, right = ((line(step) - here) / step for step in (-h, h))
        rounding = 8 * noise / h
        doubt = 1e-6 * max(abs(left), abs(right)) + rounding
        if not abs(right - left) > 10 * doubt:  # rounding at this step could explain as much
            return _Jumps(jumps, rounding > 0.1 * doubt and (not jumps or jumps[-1] < 20 * doubt))
        if slope is not None and k > powers[0]:
            nearer = ((line(step) - here) / step for step in (-h / 2, h / 2))
            straight = [2 * near - far for near, far in zip(nearer, (left, right))]
            ends = left, right, *straight
            if not min(ends) - doubt <= slope <= max(ends) + doubt:
                return _Jumps(jumps, False, outside=True)
        jumps.append(abs(right - left))
    return _Jumps(jumps, False)


def jump(line: Line, h: float) -> float:
    """The slope from the right less that from the left, at a short step."""
    h, here = line.step(h), line(0.0)
    return float((line(h) - here) - (here - line(-h))) / h


def leaps(line: Line, noise: float) -> bool:
    """Whether L is not continuous here: what it differs by on both sides stays, however near."""
    if line.side:
        return False
    steps = (line.step(CENTRAL_STEP / 16**k) for k in range(3))
    gaps = [abs(line(h) - line(-h)) for h in steps]
    return min(gaps) > max(0.5 * max(gaps), 64 * noise)
