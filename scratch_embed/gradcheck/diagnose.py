"""Find the operation at fault, and hand it to the hypotheses.

Every operation on the tape is checked on its own: run its forward again with one input nudged, and
compare with what its backward contributed, given the dout that arrived there. That tells the
operation that is wrong from those that only pass its mistake on.
"""

from __future__ import annotations

import copy
from functools import cache, partial

import numpy as np

from scratch_embed.gradcheck.again import (
    in_place,
    reused,
    unsteady,
    writer,
    writes_inputs,
    written_over,
)
from scratch_embed.gradcheck.alone import (
    derivative,
    gradient_like,
    is_right_along,
    loss_alone,
    repeats,
    right_alone,
    runs_again,
    too_many,
)
from scratch_embed.gradcheck.beside import (
    ASIDE,
    TOO_MANY,
    assigned,
    cancelling,
    hidden,
    off_the_tape,
    paid_twice,
)
from scratch_embed.gradcheck.causes import Cause, half
from scratch_embed.gradcheck.kinks import is_on_one, meets_one
from scratch_embed.gradcheck.naming import OF_THIS_DOUT_ONLY, name_cause
from scratch_embed.gradcheck.noise import rounding
from scratch_embed.gradcheck.nudged import agrees_along, gradient
from scratch_embed.gradcheck.numeric import EPS, Loss, stream
from scratch_embed.gradcheck.predictions import Case, close
from scratch_embed.gradcheck.rerun import other_inputs, rerun, with_inputs
from scratch_embed.gradcheck.surrogates import has_options
from scratch_embed.gradcheck.walk import Part, nodes_of, of_lookup, plain, rounds
from scratch_embed.tensor import Node, Tensor

MOST = 3  # causes named
NEXT_TO_NOTHING = 1e-3  # of what a random dout is answered with


def diagnose(point, agrees: bool = False) -> list[Cause]:
    """What is wrong at a `Point` whose report did not pass, in the order of backward.

    agrees : every entry does, so that what is wrong lies elsewhere.
    """
    if point.broken is not None:
        return [point.broken]
    found = [in_place(name) for name in point.changed]
    found += map(writer, point.walk.overwrites)
    if not found:
        found += writes_inputs(point) or unsteady(point)
    if not found and (coarse := point.coarse or next(filter(rounds, point.walk.parts), None)):
        return [rounded(coarse)]
    if not found:
        found += written_over(point) or point.guilty or off_the_tape(point) or assigned(point)
    if not found:
        found += reused(point) or paid_twice(point, runs_again)
    if not found and not agrees:
        found += cancelling(point, runs_again)
    if not found:
        found += point.crooked or wrong_beside(point) or hidden(point) or too_large(point)
    found.sort(key=lambda cause: cause.name == "local derivative")  # what has a name comes first
    return list(dict.fromkeys(found))[:MOST]


def is_sound(point) -> bool:
    """Whether every operation is right by itself, and no way leads past the tape.

    Where a number of 0 goes into several relus, each may answer 0 or 1 and be right, and what comes
    together then need not lie between the slopes from left and right.
    """
    if point.broken is not None or point.changed or point.walk.overwrites:
        return False
    return not (point.guilty or off_the_tape(point) or assigned(point))


def wrong_operations(point) -> list[Cause]:
    """Operations whose contribution differs from what nudging their input says.

    One that cannot be run again alone, as with a Generator that has moved on, is judged by all that
    its input is owed. A wrong operation behind it spoils that, so the others are looked at first.
    """
    alone = {(p.node.line, p.place): right_alone(p) for p in point.walk.parts}
    return _wrong(point, alone) or _wrong(
        point,
        {
            (p.node.line, p.place): _right_in_total(point, p)
            for p in point.walk.parts
            if alone[p.node.line, p.place] is None
        },
    )


def wrong_beside(point) -> list[Cause]:
    """Operations that are wrong a little beside their inputs: on kinks, where several gradients are
    right, one of them may have been taken for such."""
    aside = copy.copy(point)
    aside.walk = point.walk._replace(parts=[p for part in point.walk.parts for p in _aside(part)])
    return wrong_operations(aside) if aside.walk.parts else []


def _aside(part: Part) -> list[Part]:
    """The same with its inputs a little aside, if it is on a kink and runs again alone."""
    if not (runs_again(part) and meets_one(part)):
        return []
    there = rerun(part, _inputs_aside(part), part.dout)
    return [there] if there is not None else []


def _inputs_aside(part: Part) -> tuple:
    rng = stream(part.place)
    return with_inputs(part.node, lambda at: at + ASIDE * rng.standard_normal(at.shape))


def where_little_is_asked(point) -> list[Node]:
    """Operations that what arrives asks little of: the same at many places, as behind a sum, or
    what moves nothing, as behind the length of what was normalised. Those whose backward may be
    right for this alone: rows of dout may be exchanged there, or taken from a mean."""
    asked = ((part, _asked_more(part)) for part in point.walk.parts)
    return nodes_of(part for part, there in asked if there and not is_right_along(there))


def _is_alike(dout: np.ndarray) -> bool:
    """Whether the same number arrives along one of its axes, and one of which digits are left."""
    axes = [axis for axis, size in enumerate(dout.shape) if size > 1]
    told = np.abs(dout).max(initial=0) > np.finfo(float).tiny / EPS
    return bool(told) and any(not np.ptp(dout, axis=axis).any() for axis in axes)


def _asked_more(part: Part) -> Part | None:
    """The same where a random dout arrives, if that asks for more."""
    if not runs_again(part):
        return None
    there = rerun(part, part.node.inputs, _random_dout(part) * (part.dout != 0))
    if there is None or _is_alike(part.dout):
        return there
    faint = np.abs(part.grad).max(initial=0) <= NEXT_TO_NOTHING * np.abs(there.grad).max(initial=0)
    return there if faint else None


def too_large(point) -> list[Cause]:
    """Operations with more numbers than are nudged one by one, as far as a direction tells."""
    sentence = (
        "{} is wrong for {}, of which {:,} numbers are too many for a pattern to be looked for: "
        "check it alone, on fewer"
    )
    found = []
    for part in point.walk.parts:
        known = part.tensor.dtype.kind != "f" or not too_many(part) or of_lookup(part) is not None
        if known or has_options(part) or not repeats(part):
            continue
        if not agrees_along(loss_alone(part), part.grad):
            words = sentence.format(half(part.node.name), point.called(part), part.tensor.size)
            found.append(Cause("local derivative", part.node.name, words))
    return found


def _wrong(point, rights: dict[tuple[int, int], np.ndarray | None]) -> list[Cause]:
    """The operations that differ from what is right, as far as that is known."""
    found = []
    for part in point.walk.parts:
        right = rights.get((part.node.line, part.place))
        if right is None or not np.isfinite(part.dout).all():  # NaN has no right answer
            continue
        lost = ~np.isfinite(part.out)
        told = np.isnan(right).any() and not lost.any()  # nor what no nudge can tell
        if told or np.isfinite(part.grad).all() and part.dout[lost].any():
            continue
        if close(part.grad, right) or np.abs(part.grad - right).max() <= rounding(part):
            continue
        siblings = [p for p in point.walk.parts if p.node is part.node and p is not part]
        known = {p.place: rights.get((p.node.line, p.place)) for p in siblings}
        others = {place: other for place, other in known.items() if other is not None}
        elsewhere = cache(partial(_elsewhere, part, siblings))  # several hypotheses may ask
        case = _off_kinks(part, siblings) or _case(part, right, others)
        case = case._replace(elsewhere=elsewhere)
        found.append(name_cause(case, point.called(part)))
    return found


def _case(part: Part, right: np.ndarray, others: dict[int, np.ndarray]) -> Case:
    return Case(part, part.grad, right, others, partial(_owed, part), partial(_instead, part))


def _off_kinks(part: Part, siblings: list[Part]) -> Case | None:
    """The same mistake beside the kinks that it is on, if it is one there as well: between slopes
    that differ no number is due that it could be told by."""
    if not (runs_again(part) and is_on_one(part)):
        return None
    there = _at(part, siblings, _inputs_aside(part), part.dout)
    return None if there is None or close(there.wrong, there.right) else there


def _elsewhere(part: Part, siblings: list[Part]) -> Case | None:
    """The same backward where a random dout arrives, and other numbers go in if it is wrong of
    these as well; None where what is right is not known."""
    dout = _random_dout(part)
    for inputs in (other_inputs(part), part.node.inputs):
        there = _at(part, siblings, inputs, dout)
        if there and (inputs is part.node.inputs or not close(there.wrong, there.right)):
            return there
    return None


def _random_dout(part: Part) -> np.ndarray:
    size = float(np.abs(part.dout).max(initial=0)) or 1.0
    return size * stream(1).standard_normal(part.dout.shape)


@np.errstate(all="ignore")  # of infinities that are masked
def _at(part: Part, siblings: list[Part], inputs: tuple, dout: np.ndarray) -> Case | None:
    """The contribution for these inputs and this dout, where what is right of it is known."""
    there, *beside = (rerun(each, inputs, dout) for each in (part, *siblings))
    right, *others = (right_alone(each) if each else None for each in (there, *beside))
    if right is None or not np.isfinite(right).all():
        return None
    known = {p.place: other for p, other in zip(siblings, others) if other is not None}
    return _case(there, right, known)


def _owed(part: Part, dout: np.ndarray, like: np.ndarray | None = None) -> np.ndarray | None:
    return None if too_many(part) else derivative(part._replace(dout=dout), like)


def _instead(
    part: Part, others: dict[int, np.ndarray], dout: np.ndarray, like: np.ndarray | None = None
) -> np.ndarray | None:
    """What it would owe if some of its inputs were others."""
    given = [others.get(place, plain(value)) for place, value in enumerate(part.node.inputs)]
    mine = given[part.place] = Tensor(given[part.place])

    def run(_) -> Tensor:
        return Tensor(part.node.forward(*map(plain, given), **part.node.options)[0])

    try:
        with np.errstate(all="ignore"):
            out = run(None).data
            fits = out.shape == dout.shape and np.isfinite(out).all()
            return gradient_like(Loss(run, (mine,), dout), mine, like) if fits else None
    except Exception:  # noqa: BLE001  it does not take them, and may say so in any way
        return None


def _right_in_total(point, part: Part) -> np.ndarray | None:
    """The same for an input that is a leaf: what is owed to it, less what others gave."""
    if part.tensor not in point.places or part.tensor.size > TOO_MANY:
        return None
    total = gradient(point.loss, part.tensor)
    total -= point.missing[point.places[part.tensor]]
    given = [p.grad for p in point.walk.parts if p.tensor is part.tensor and p is not part]
    return total - sum(given)


def rounded(part: Part) -> Cause:
    """What answers in single precision hides from every nudge whether its backward is right."""
    op, kind = part.node.name.removesuffix("_backward"), part.out.dtype
    does = "rounds to float32" if kind in (float, complex) else f"answers in {kind}"
    sentence = (
        f"forward of {op} {does}, though what it is given is float64, so most "
        "of a nudge is rounded away: let it keep the dtype of its input, and check again"
    )
    return Cause("single precision", part.node.name, sentence)


def crooked(point) -> list[Cause]:
    """Operations whose backward is right for this dout, and not for a multiple of it, or not where
    it lies otherwise in memory."""
    found = []
    for part in point.walk.parts:
        case = _case(part, part.grad, {})
        found.append(name_cause(case, point.called(part), OF_THIS_DOUT_ONLY))
    return list(dict.fromkeys(filter(None, found)))
