"""One entry of one step, worked out: the rule with its numbers put in, and the nudge that agrees.

    working = backward_entry(trace, at, part, (1, 0))
    print(working.text(everything=True))

        dE[1,0] = dlogits[0,1]*h[0,0] + dlogits[1,1]*h[1,0]
                = (-0.2269)*(-0.35) + 0.0666*(-0.199)
                = 0.07942 - 0.01325
                = 0.06616
            ∂logits[0,1]/∂E[1,0] = h[0,0] = -0.35
        ...

Only what this entry needs is computed, whatever the size of the batch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from scratch_embed.gradcheck.quotient import moved
from scratch_embed.gradcheck.walk import padding_of
from scratch_embed.look.numbers import number
from scratch_embed.ops.bag import BagSaved
from scratch_embed.ops.lookup import LookupSaved
from scratch_embed.rows import RowGrad
from scratch_embed.trace import replay
from scratch_embed.trace.forwards import complex_entry, is_complex
from scratch_embed.trace.replay import Use
from scratch_embed.trace.rule import code_lines
from scratch_embed.trace.slopes import Slopes, entry, slopes
from scratch_embed.trace.slopes.slope import MOST, factor, short, taken
from scratch_embed.trace.walk import BackwardStep, ForwardStep, Part
from scratch_embed.trace.within import backward_of
from scratch_embed.working import Line, Working

if TYPE_CHECKING:
    from scratch_embed.trace import Trace

STEPS = 1e-5, 1e-6, 1e-7, 1e-8  # of a nudge; a smaller one where the one before does not agree
ROUNDING = 8 * np.finfo(float).eps  # of a loss, beside its size
TINY = 1e-5  # of a number near 0: a nudge of it
LARGE = 20_000_000  # numbers that a nudge may compute again without being asked twice
RANDOM = "no verdict, for forward gives other numbers every time"
AGREES, DIFFERS, ON_PURPOSE = "agrees", "DIFFERS", "differs on purpose"
KINKS = "on a kink of several numbers at once, where none is right; this step is right by itself"
KINK = "on a kink, where it lies between the slopes from left and right, and is as good as any"


def value_at(grad: np.ndarray | RowGrad, index: tuple[int, ...]) -> float:
    """An entry of a gradient; of a RowGrad 0 where it holds no such row."""
    if not isinstance(grad, RowGrad):
        return grad[index].item()
    found = np.flatnonzero(grad.rows == index[0])
    return grad.values[(found[0], *index[1:])].item() if len(found) else 0.0


def backward_entry(trace: Trace, at: BackwardStep, part: Part, index: tuple[int, ...]) -> Working:
    """The working of entry `index` of one part that a backward step hands back.

    Its value is the entry as backward made it. Lines: the rule with its numbers, each local
    derivative among its parts; the sum so far where other parts came before; the nudge; the code.
    """
    made = trace.forward_of[at.name]
    name, value = entry(f"d{part.parent}", index), value_at(part.value, index)
    if is_complex(made):
        return complex_entry(name, value)
    lines = [_rule(at, made, part, index, name, value)]
    if part.number > 1:
        total = value_at(part.total, index)
        stages = f"{short(total - value)} + {factor(value)}", short(total)
        why = f"added to the {part.number - 1} of {part.of} parts that were there"
        lines.append(Line(f"{name} so far", stages, total, why))
    try:
        lines += _nudge(trace, Use(made, part.place), index, part, at.incoming)
    except TypeError as error:
        lines.append(Line("", (f"no nudge: {error}",)))
    run = partial(backward_of, made, at.incoming)
    lines += code_lines(made.node.backward, made.inputs[part.place].parameter, part.place, run)
    return Working(f"{name}, {which(part)}", tuple(lines), value)


def which(part: Part) -> str:
    """Which of its parts this is of a gradient."""
    return "the only part" if part.of == 1 else f"part {part.number} of {part.of}"


def _rule(at: BackwardStep, made: ForwardStep, part: Part, index, name: str, value: float) -> Line:
    """The chain rule of this entry: every place that it moves, times how far."""
    try:
        found = slopes(made, part.place, index)
    except TypeError as error:
        return Line("", (f"{name} = {short(value)}; no terms are told: {error}",), value)
    if not len(found.places):
        return Line(name, (short(value),), value, f"nothing in d{at.name} moves with this entry")
    middle = found.middle
    douts = middle.gradient(at.incoming) if middle else taken(at.incoming, found.places)
    terms = douts * found.values
    shown = _largest(terms)
    places = [tuple(map(int, found.places[k])) for k in shown]
    local = [_local(made, part, index, found, k) for k in shown]
    arrived = [middle.told(at.incoming, o) for o in places] if middle else []
    names = [line.name for line in arrived] or [f"d{entry(at.name, o)}" for o in places]
    symbols = [_times(n, _symbol(found, o, p)) for n, o, p in zip(names, places, local)]
    parts = tuple(chain.from_iterable(zip(local, arrived))) if middle else tuple(local)
    numbers = [
        factor(dout) if slope == 1 else f"{factor(dout)}*{factor(slope)}"
        for dout, slope in zip(douts[shown], found.values[shown])
    ]
    rest = [f"... ({len(terms) - len(shown):,} more)"] if len(terms) > len(shown) else []
    stages = [" + ".join([*symbols, *rest])]
    if (found.values != 1).any():
        stages.append(" + ".join([*numbers, *rest]))
    if len(terms) > 1:
        stages.append(" + ".join([_signed(terms[shown]), *rest]))
    total = float(terms.sum())
    stages = tuple(dict.fromkeys([*stages, short(total)]))
    return Line(name, stages, total, parts=parts)


def _local(made: ForwardStep, part: Part, index, found: Slopes, k: int) -> Line:
    """One local derivative: how far an entry of the output moves with this entry."""
    o, slope = tuple(map(int, found.places[k])), float(found.values[k])
    moved = found.middle.name(o) if found.middle else entry(made.name, o)
    name = f"∂{moved}/∂{entry(part.parent, index)}"
    said = found.said(o)
    value = () if ", as " in said[-1] else (short(slope),)
    return Line(name, tuple(dict.fromkeys((*said, *value))), slope)


def _symbol(found: Slopes, o: tuple[int, ...], local: Line) -> str:
    """A local derivative as it stands in a product."""
    if found.measured:
        return local.name
    text = found.said(o)[0].partition(", as ")[0]
    outside = re.sub(r"\[.*?\]", "", text)
    return f"({text})" if " " in outside or text.startswith("-") else text


def _times(a: str, b: str) -> str:
    return a if b == "1" else f"{a}*{b}"


def _largest(terms: np.ndarray) -> list[int]:
    """Which terms of a long sum are written out: the largest, in their order."""
    if len(terms) <= MOST + 1:
        return list(range(len(terms)))
    return sorted(np.argpartition(-np.abs(terms), MOST)[:MOST].tolist())


def _signed(values) -> str:
    """0.48 - 0.02 + 0.12"""
    texts = [short(values[0])]
    return " ".join(texts + [f"{'-' if x < 0 else '+'} {short(abs(x))}" for x in values[1:]])


@np.errstate(all="ignore")  # a step may lead to where there is no number
def _nudge(trace: Trace, use: Use, index, part: Part, incoming: np.ndarray) -> list[Line]:
    """f(x + h), f(x - h) and their quotient beside what backward says; or why there is none."""
    value, single = value_at(part.value, index), part.value.dtype == np.float32
    name, work = entry(use.name, index), replay.work(trace, [use], LARGE)
    if work > LARGE:
        return [Line("", (f"no nudge: it would compute more than {LARGE:,} numbers again, twice",))]
    f = replay.along(trace, [use], index)
    x = abs(float(use.value[index]))
    slope, h, above, below = _measured(f, value, single, x)
    if not math.isfinite(value) or not math.isfinite(slope):
        return [Line("", (f"backward made {short(value)}; no nudge tells what is not finite",))]
    verdict = _judge(slope, value, above, h, single) or _option(use.at, index)
    verdict = verdict or (KINK if _is_kink(f, value) else RANDOM if _draws(f) else DIFFERS)
    if verdict == DIFFERS and _falls_to(f, value, single):
        verdict = f"{AGREES}: with smaller nudges the quotient falls to it"
    if verdict == DIFFERS and single:
        fine = value_at(replay.in_double(trace, use), index)
        slope, h, above, below = _measured(f, fine, False, x)
        if _judge(slope, fine, above, h, False):
            verdict = f"{AGREES} in float64, {short(fine)}; float32 rounds more than that away"
    if verdict == DIFFERS and _is_right_here(use, index, incoming, value, single):
        verdict = KINKS if _is_kink(f) else f"{DIFFERS}, as what arrives does: this step is right"
    digits = 6 - round(math.log10(h))
    alone = " (this use of it alone was nudged)" if len(replay.uses(trace, use.name)) > 1 else ""
    return [
        Line(f"{trace.loss} with {name} + {h:g}", (number(above, digits),), above),
        Line(f"{trace.loss} with {name} - {h:g}", (number(below, digits),), below),
        Line("nudge", (f"{short(above - below)} / {2 * h:g}", short(slope)), slope),
        Line("", (f"backward made {short(value)}: {verdict}{alone}",), verdict),
    ]


def _is_right_here(use: Use, index, incoming: np.ndarray, value: float, single: bool) -> bool:
    """Whether the step passes on what arrives as it should, whatever that is: beside it, another
    nudge shows how far sum(out * incoming) moves with the entry."""

    def passed(t: float) -> float:
        out = replay.rerun(use.at, {use.place: moved(use.value, index, t)})
        return float((out * np.asarray(incoming)).sum())

    slope, h, above, _ = _measured(passed, value, single, abs(float(use.value[index])))
    return bool(_judge(slope, value, above, h, single))


def _measured(
    f: Callable[[float], float], value: float, single: bool, x: float
) -> tuple[float, ...]:
    """(quotient, h, f(h), f(-h)) of the first step that agrees; where none does, of the largest
    that leads to numbers.

    Last comes a step much smaller than the number `x` that is nudged, as 1/x needs near 0.

    A kink, as of relu, between -h and h bends the quotient; of a smaller h it lies outside. But its
    rounding is larger: where it has not moved beyond that, it says what the first one says.
    """
    found, own = [], TINY * x
    for h in (*STEPS, *[own] * (0 < own < STEPS[-1])):
        above, below = f(h), f(-h)
        slope, noise = (above - below) / (2 * h), ROUNDING * abs(above) / h
        found.append((slope, h, above, below))
        if _judge(slope, value, above, h, single):
            first = found[0][0]
            if h == STEPS[0] or not math.isfinite(first):
                return found[-1]
            if abs(slope - first) > noise or _bends(f, first, first - value):
                return found[-1]
        if not math.isfinite(slope):
            continue
        told = noise <= 1e-2 * max(abs(value), abs(slope))  # or a smaller step tells nothing
        if not told and (value or h < STEPS[0]):  # of 0 one more: the first may end beyond a kink
            break
    return next((each for each in found if math.isfinite(each[0])), found[0])


def _bends(f: Callable[[float], float], slope: float, gap: float) -> bool:
    """Whether curvature may explain a gap: the quotient of a step twice as long is off by more."""
    h = 2 * STEPS[0]
    return bool(abs((f(h) - f(-h)) / (2 * h) - slope) > abs(gap))


def _judge(slope: float, value: float, loss: float, h: float, single: bool) -> str:
    """AGREES where nudge and backward do, up to the rounding of the loss and of the gradient."""
    if not math.isfinite(slope):  # the nudge led to a pole, or out of the domain
        return ""
    allowed = (1e-4 if single else 1e-6) * max(abs(slope), abs(value))
    return AGREES if abs(slope - value) <= allowed + 1e-9 + ROUNDING * abs(loss) / h else ""


def _draws(f: Callable[[float], float]) -> bool:
    """Whether forward gives other numbers every time; of few coins two throws may be alike."""
    return len({f(0.0) for _ in range(8)}) > 1


def _is_kink(f: Callable[[float], float], value: float | None = None) -> bool:
    """Whether the slopes from left and right stay apart at smaller steps, `value` between them."""
    here = f(0.0)
    sides = [sorted(((here - f(-h)) / h, (f(h) - here) / h)) for h in STEPS[:3]]
    for h, before, (low, high) in zip(STEPS[1:], sides, sides[1:]):
        bent = max(abs(low - before[0]), abs(high - before[1]))  # by curvature: it falls with h
        doubt = 1e-6 * max(abs(low), abs(high)) + ROUNDING * abs(here) / h + bent
        between = value is None or low - doubt <= value <= high + doubt
        if between and high - low > 10 * doubt:
            return True
    return False


def _falls_to(f: Callable[[float], float], value: float, single: bool) -> bool:
    """Whether the quotient comes to `value` as h goes to 0, in proportion to h: so it does where a
    curve begins, as at 0 of relu(x)^2, whose quotient is h / 2. Or to h^2, as any sharp bend does.
    """
    here, steps = f(0.0), (10 * STEPS[0], *STEPS)
    found = [(f(h) - f(-h)) / (2 * h) for h in steps]
    for larger, h, first, second in zip(steps, steps[1:], found, found[1:]):
        falls = abs(first - second) > 4 * ROUNDING * abs(here) / h
        for ratio in (larger / h, (larger / h) ** 2):
            limit = second + (second - first) / (ratio - 1)
            if falls and _judge(limit, value, here, h, single):
                return True
    return False


def _option(at: ForwardStep, index: tuple[int, ...]) -> str:
    """Which option of a lookup lets its gradient differ from the derivative, if one does."""
    saved = at.node.saved
    if index and padding_of(saved) == index[0]:
        return f"{ON_PURPOSE}: padding_idx"
    if isinstance(saved, (LookupSaved, BagSaved)) and saved.scale_grad_by_freq:
        return f"{ON_PURPOSE}: scale_grad_by_freq"
    return ""
