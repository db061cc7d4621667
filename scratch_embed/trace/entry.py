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

import re
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from scratch_embed.digits import short, written_out
from scratch_embed.trace.forwards import complex_entry, is_complex
from scratch_embed.trace.nudge import TELLS, nudge, value_at
from scratch_embed.trace.replay import Use
from scratch_embed.trace.rule import code_lines
from scratch_embed.trace.slopes import EPS, H, Slopes, entry, slopes
from scratch_embed.trace.slopes.slope import MOST, factor, taken
from scratch_embed.trace.walk import BackwardStep, ForwardStep, Part
from scratch_embed.trace.within import backward_of
from scratch_embed.working import Line, Working

if TYPE_CHECKING:
    from scratch_embed.trace import Trace


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
        lines.append(written_out(partial(_so_far, part, name, value, total)))
    try:
        lines += nudge(trace, Use(made, part.place), index, part, at.incoming)
    except TypeError as error:
        lines.append(Line("", (f"no nudge: {error}",)))
    run = partial(backward_of, made, at.incoming)
    lines += code_lines(made.node.backward, made.inputs[part.place].parameter, part.place, run)
    return Working(f"{name}, {which(part)}", tuple(lines), value)


def _so_far(part: Part, name: str, value: float, total: float) -> Line:
    """The sum with the parts that came before."""
    stages = f"{short(total - value)} + {factor(value)}", short(total)
    why = f"added to the {part.number - 1} of {part.of} parts that were there"
    return Line(f"{name} so far", stages, total, why)


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
        if found.measured and EPS * np.abs(made.out).max(initial=0) / H > TELLS * abs(value) > 0:
            why = f"rounding hides whether d{at.name} moves with this entry, so as backward made it"
            return Line(name, (short(value),), value, why)
        why = f"nothing in {at.name} moves with this entry"
        if found.on_purpose:
            why = f"{at.name} moves with this entry, and {found.on_purpose} keeps its gradient at 0"
        return Line(name, ("0",), 0.0, why)
    return written_out(partial(_chained, at, made, part, index, name, found))


def _chained(
    at: BackwardStep, made: ForwardStep, part: Part, index, name: str, found: Slopes
) -> Line:
    """The terms of the chain rule, in names and in numbers, and their sum."""
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
    if found.on_purpose:
        name = f"by {found.on_purpose}, the factor of d{moved}"
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
