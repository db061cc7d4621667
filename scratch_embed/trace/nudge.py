"""The nudge of one entry: how far the loss moves with it, beside what backward made of it.

    loss with E[1,0] + 1e-05 = 1.2345746
    loss with E[1,0] - 1e-05 = 1.2345730
    nudge = 1.588e-06 / 2e-05 = 0.0794
    backward made 0.0794: agrees

Beside a large loss the quotient of a small gradient is rounding, and tells nothing. Then the step
is nudged by itself: how far sum(out * what arrives) moves, to which only what changes is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scratch_embed.digits import short
from scratch_embed.gradcheck.corners import is_kink
from scratch_embed.gradcheck.numeric import EPS, STEPS_CLOSER, Measured, central, clearer
from scratch_embed.gradcheck.numeric import Line as Way
from scratch_embed.gradcheck.walk import padding_of
from scratch_embed.look.numbers import number, told_apart
from scratch_embed.ops.bag import BagSaved
from scratch_embed.ops.lookup import LookupSaved
from scratch_embed.trace import replay
from scratch_embed.trace.asked import RANDOM, Asked, value_at
from scratch_embed.trace.replay import Use
from scratch_embed.trace.slopes.slope import entry
from scratch_embed.trace.walk import Part
from scratch_embed.working import Line

if TYPE_CHECKING:
    from scratch_embed.trace import Trace

STEPS = 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10  # of a nudge; a smaller one where none before agrees
WIDE = 1e-3, 1e-4, 1e-5  # where the loss is large
ROUNDING = 8 * EPS  # of a loss, beside its size, or beside 1: of ln p the p is rounded
LEAST = 1e-9  # of a quotient, whatever the loss: what curvature leaves of it
FAINT = 100 * LEAST  # where a gradient is 0, a loss that tells no more than this tells nothing
TELLS = 1e-3  # of a gradient: with less doubt than this, right is told from wrong
SETTLED = 1e-2  # of a quotient: one that a shorter step changes by more is no slope yet
TINY = 1e-5  # of a number near 0: a nudge of it
BESIDE = 1e-7  # how far beside a kink it is asked what backward makes there
TRIES = 16  # of such places
LARGE = 20_000_000  # numbers that a nudge may compute again without being asked twice
AGREES, DIFFERS, ON_PURPOSE = "agrees", "DIFFERS", "differs on purpose"
JUMP = "no verdict, for the loss jumps here, and has no slope"
ALONE = f"{AGREES}, by a nudge of this step alone; beside the loss it is too small to tell"
BENT = f"{AGREES}, by a nudge of this step alone; the loss bends too much to tell"
ASTRAY = f"{DIFFERS}, as what arrives does: this step is right"
KINK = "on a kink, where it lies between the slopes from left and right; one entry tells no more"
KINKS = "on a kink of several numbers at once, where none is right; this step is right by itself"
OWN_KINK = "on a kink, where this step is right by itself; of what arrives its own step tells"
PIECE = "on a kink of several numbers at once; it is the slope of this step at a place beside it"


class Quotient(NamedTuple):
    """(above - below) / 2h, of the loss with the entry larger and smaller by h."""

    slope: float
    h: float
    above: float
    below: float
    noise: float = 0.0  # of the loss, where it was measured

    def rounding(self) -> float:
        return max(ROUNDING * max(abs(self.above), 1.0), 8 * self.noise) / self.h


@np.errstate(all="ignore")  # a step may lead to where there is no number
def nudge(trace: Trace, use: Use, index, part: Part, incoming: np.ndarray) -> list[Line]:
    """f(x + h), f(x - h) and their quotient beside what backward says; or why there is none."""
    value, single = value_at(part.value, index), _holds_single(trace)
    if replay.work(trace, [use], LARGE) > LARGE:
        return [Line("", (f"no nudge: it would compute more than {LARGE:,} numbers again, twice",))]
    asked = Asked(trace, use, index, value, incoming, single)
    found = _measured(asked.loss(), value, single, abs(float(use.value[index])))
    if not math.isfinite(value) or not math.isfinite(found.slope):
        return [Line("", (f"backward made {short(value)}; no nudge tells what is not finite",))]
    verdict, found = _verdict(asked, found)
    name, digits = entry(use.name, index), 6 - round(math.log10(found.h))
    alone = " (this use of it alone was nudged)" if len(replay.uses(trace, use.name)) > 1 else ""
    slope, made = short(found.slope), short(value)
    if slope == made and verdict == DIFFERS:
        slope, made = told_apart(found.slope, value)
    quotient = f"{short(found.above - found.below)} / {2 * found.h:g}", slope
    return [
        *(Line(f"{trace.loss} with {name} {sign} {found.h:g}", (number(end, digits),), end)
          for sign, end in (("+", found.above), ("-", found.below))),
        Line("nudge", quotient, found.slope),
        Line("", (f"backward made {made}: {verdict}{alone}",), verdict),
    ]  # fmt: skip


def _holds_single(trace: Trace) -> bool:
    """Whether some number that goes into a step is of float32: then backward has rounded to it."""
    given = (each.value for step in trace.forward for each in step.inputs)
    return any(getattr(value, "dtype", None) == np.float32 for value in given)


def _verdict(asked: Asked, found: Quotient) -> tuple[str, Quotient]:
    """What is to be said of the gradient, and the quotient that says it."""
    f, value, single, option = asked.loss(), asked.value, asked.single, _option(asked)
    if why := asked.unjudged():
        return why, found
    if not option and not _judge(found, value, single):
        if asked.jumps():
            return JUMP, found
        found = found._replace(noise=asked.noise())
    if _judge(found, value, single):
        return (AGREES if option else _closely(asked, found)), found
    if option:
        return option, found
    if _draws(f):
        return RANDOM, found
    if _is_kink(f, found.noise, value) or _is_faint_kink(asked, found):
        return KINK, found
    if _falls_to(f, found, value, single):
        return f"{AGREES}: with smaller nudges the quotient falls to it", found
    if single:
        said, found = _in_double(asked, found)
        if said:
            return said, found
    return _by_itself(asked, found), found


def _in_double(asked: Asked, found: Quotient) -> tuple[str, Quotient]:
    """The verdict on what backward makes in float64, "" where it differs there too, or where the
    loss hides what it does and this step by itself moves otherwise; and a quotient for that."""
    fine = value_at(replay.in_double(asked.trace, asked.use), asked.index)
    finer = _measured(asked.loss(), fine, False, abs(float(asked.use.value[asked.index])))
    found = finer._replace(noise=found.noise or asked.noise())
    said = f"{AGREES} in float64, {short(fine)}; float32 rounds more than that away"
    right, doubt = _judge(found, fine, False), LEAST + found.rounding()
    if right and doubt > TELLS * max(abs(fine), abs(found.slope)):
        right = _near(clearer(*asked.step_alone(asked.use.value)), asked.in_double(), True)
    return (said if right else ""), found


def _closely(asked: Asked, found: Quotient) -> str:
    """The verdict where loss and gradient agree, if only because the loss hides what they do."""
    value, doubt = asked.value, LEAST + found.rounding()
    if doubt <= TELLS * max(abs(value), abs(found.slope)):
        return AGREES
    way, noise = asked.step_alone(asked.use.value)
    alone = clearer(way, noise)
    hidden = abs(found.slope - value) > TELLS * abs(value) if value else doubt > FAINT
    if alone.value == 0 and asked.is_rounding() or _agrees_nearer(way, noise, value, alone):
        return ALONE if hidden else AGREES
    if asked.single and not _near(alone, value, True) and (said := _in_double(asked, found)[0]):
        return said
    if not math.isfinite(alone.value):
        return f"{AGREES} within {doubt:.0e}, and no nudge tells more"
    if not _near(alone, value, asked.single):
        if is_kink(way, value, noise):
            return KINK
        return f"{DIFFERS}: a nudge of this step alone, which tells more, is {short(alone.value)}"
    if 8 * alone.noise > TELLS * max(abs(value), abs(alone.value)):
        doubt = doubt if abs(found.slope - value) > 8 * alone.noise else 8 * alone.noise
        return f"{AGREES} within {doubt:.0e}, and no nudge tells more"
    return ALONE if hidden else AGREES


def _near(alone: Measured, value: float, single: bool) -> bool:
    """Whether a step by itself moves as far as its backward says."""
    allowed = (1e-4 if single else 1e-6) * max(abs(alone.value), abs(value))
    return abs(alone.value - value) <= allowed + 8 * alone.noise


def _agrees_nearer(way: Way, noise: float, value: float, alone: Measured) -> bool:
    """Whether a shorter step agrees where a longer one may have gone beyond a kink, and its
    rounding is small beside what lies between them."""
    gap = abs(alone.value - value)
    for k in range(1, STEPS_CLOSER):
        near = central(way, noise, STEPS[0] / 16**k)
        if 8 * near.noise > gap / 3:
            return False
        if abs(near.value - value) <= 1e-6 * abs(value) + 8 * near.noise:
            return True
    return False


def _by_itself(asked: Asked, found: Quotient) -> str:
    """The verdict where a gradient differs: is this step right by itself, whatever arrives?"""
    way, noise = asked.step_alone(asked.use.value)
    alone = clearer(way, noise)
    value = asked.of_finite()
    fine = asked.in_double() if asked.single else value  # of which float32 rounds more away
    right = _near(alone, value, asked.single) or _near(alone, fine, asked.single)
    if right or _agrees_nearer(way, noise, value, alone):
        if _is_kink(asked.loss(), found.noise):
            return KINKS
        if is_kink(way, None, noise):
            return OWN_KINK
        gap = found.slope - asked.value
        if abs(gap) * found.h <= asked.rounding_inside():
            return ALONE
        if _is_slope_beside(asked, abs(gap)):
            return KINKS
        f = asked.loss()
        return BENT if _bends(f, found.slope, gap, found.h) or _unsettled(f, found) else ASTRAY
    if is_kink(way, asked.value, noise):
        same = _judge(found, alone.value, asked.single)  # the loss moves as this step makes it
        return KINK if same else OWN_KINK
    return PIECE if _is_right_beside(asked) else DIFFERS


def _is_right_beside(asked: Asked) -> bool:
    """Whether backward made what it makes at a place close by, and is the slope there: so it may be
    where three numbers to be sorted are equal, of which each moves the others."""
    use, rng = asked.use, np.random.default_rng(0)
    for _ in range(TRIES):
        at = use.value + BESIDE * rng.standard_normal(use.value.shape)
        way, noise = asked.step_alone(at)
        alone = clearer(way, noise)
        there = value_at(replay.gradient(use, at, asked.incoming.copy()), asked.index)
        if _near(alone, there, asked.single) and math.isclose(there, asked.value, rel_tol=1e-4):
            return True
    return False


def _is_slope_beside(asked: Asked, gap: float) -> bool:
    """Whether the loss has this slope at a place close by: so it may, and none of the slopes here,
    behind the median of three equal numbers, of which one alone moves nothing.

    gap : how far it is from the slope here. What is smooth has nearly the same one close by.
    """
    use, rng, h = asked.use, np.random.default_rng(0), BESIDE / 100
    f, one = replay.along(asked.trace, [use], ()), np.zeros(use.value.shape)
    one[asked.index] = h
    doubt = ROUNDING * max(abs(f(0 * one)), 1.0) / h
    told = doubt < 1e-2 * abs(asked.value) < gap
    for _ in range(TRIES if told else 0):
        at = BESIDE * rng.standard_normal(use.value.shape)
        if abs((f(at + one) - f(at - one)) / (2 * h) - asked.value) <= doubt:
            return True
    return False


def _measured(f: Callable[[float], float], value: float, single: bool, x: float) -> Quotient:
    """The quotient of the first step that agrees; where none does, of the largest that leads to
    numbers.

    Last comes a step much smaller than the number `x` that is nudged, as 1/x needs near 0.

    A kink, as of relu, between -h and h bends the quotient; of a smaller h it lies outside. But its
    rounding is larger: where it has not moved beyond that, it says what the first one says.
    """
    found, own = [], TINY * x
    for h in (*STEPS, *[own] * (0 < own < STEPS[-1])):
        now = _quotient(f, h)
        found.append(now)
        if _judge(now, value, single):
            first = found[0].slope
            if h == STEPS[0] or not math.isfinite(first):
                return now
            if abs(now.slope - first) > now.rounding() or _bends(f, first, first - value):
                return now
        if not math.isfinite(now.slope):
            continue
        least = 1e-2 * max(abs(value), abs(now.slope))
        told = ROUNDING * abs(now.above) / h <= least  # or a smaller tells nothing
        if not told and (value or h < STEPS[0]):  # of 0 one more: the first may end beyond a kink
            break
    return next((each for each in found if math.isfinite(each.slope)), found[0])


def _quotient(f: Callable[[float], float], h: float, noise: float = 0.0) -> Quotient:
    above, below = f(h), f(-h)
    return Quotient((above - below) / (2 * h), h, above, below, noise)


def _bends(f: Callable[[float], float], slope: float, gap: float, h: float = STEPS[0]) -> bool:
    """Whether curvature may explain a gap: the quotient of a step twice as long is off by more."""
    return not abs(_quotient(f, 2 * h).slope - slope) <= abs(gap)  # nor where it is no number


def _unsettled(f: Callable[[float], float], found: Quotient) -> bool:
    """Whether a shorter step says something else: behind norms of rows of zeros 1e-5 is far."""
    near = _quotient(f, found.h / 10, found.noise)
    doubt = SETTLED * max(abs(near.slope), abs(found.slope)) + near.rounding()
    return abs(near.slope - found.slope) > doubt


def _judge(found: Quotient, value: float, single: bool) -> bool:
    """Whether nudge and backward agree, up to the rounding of the loss and of the gradient."""
    if not math.isfinite(found.slope):  # the nudge led to a pole, or out of the domain
        return False
    allowed = (1e-4 if single else 1e-6) * max(abs(found.slope), abs(value))
    return abs(found.slope - value) <= allowed + LEAST + found.rounding()


def _draws(f: Callable[[float], float]) -> bool:
    """Whether forward gives other numbers every time; of few coins two throws may be alike."""
    return len({f(0.0) for _ in range(8)}) > 1


def _is_kink(
    f: Callable[[float], float],
    noise: float,
    value: float | None = None,
    steps: tuple[float, ...] = STEPS,
) -> bool:
    """Whether the slopes from left and right stay apart at smaller steps, `value` between them."""
    here = f(0.0)
    sides = [sorted(((here - f(-h)) / h, (f(h) - here) / h)) for h in steps]
    for h, before, (low, high) in zip(steps[1:], sides, sides[1:]):
        bent = max(abs(low - before[0]), abs(high - before[1]))  # by curvature: it falls with h
        doubt = (
            1e-6 * max(abs(low), abs(high)) + Quotient(0, h, here, here, noise).rounding() + bent
        )
        between = value is None or low - doubt <= value <= high + doubt
        if between and high - low > 10 * doubt:
            return True
    return False


def _is_faint_kink(asked: Asked, found: Quotient) -> bool:
    """The same where a loss hides at short steps what little its slopes are apart."""
    faint = abs(found.slope - asked.value) < found.rounding() / TELLS
    return faint and _is_kink(asked.loss(), found.noise, asked.value, WIDE)


def _falls_to(f: Callable[[float], float], at: Quotient, value: float, single: bool) -> bool:
    """Whether the quotient comes to `value` as h goes to 0, in proportion to h: so it does where a
    curve begins, as at 0 of relu(x)^2, whose quotient is h / 2. Or to h^2, as any sharp bend does.
    """
    here, steps = f(0.0), (10 * STEPS[0], *STEPS)
    found = [_quotient(f, h).slope for h in steps]
    for larger, h, first, second in zip(steps, steps[1:], found, found[1:]):
        near = at._replace(h=h, above=here)
        falls = abs(first - second) > 4 * near.rounding()
        for ratio in (larger / h, (larger / h) ** 2):
            limit = second + (second - first) / (ratio - 1)
            if falls and _judge(near._replace(slope=limit), value, single):
                return True
    return False


def _option(asked: Asked) -> str:
    """Which option of a lookup lets its gradient differ from the derivative, if one does."""
    saved, index = asked.use.at.node.saved, asked.index
    if index and padding_of(saved) == index[0]:
        return f"{ON_PURPOSE}: padding_idx"
    if isinstance(saved, (LookupSaved, BagSaved)) and saved.scale_grad_by_freq:
        return f"{ON_PURPOSE}: scale_grad_by_freq"
    return ""
