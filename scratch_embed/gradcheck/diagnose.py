"""Find the operation at fault, and hand it to the hypotheses.

Every operation on the tape is checked on its own: run its forward again with one input nudged, and
compare with what its backward contributed, given the dout that arrived there. That tells the
operation that is wrong from those that only pass its mistake on.
"""

from __future__ import annotations

import contextlib
import copy
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from scratch_embed.gradcheck.again import in_place, reused, unsteady, writer, writes_inputs
from scratch_embed.gradcheck.beside import (
    ASIDE,
    AT_MOST,
    TOO_MANY,
    assigned,
    cancelling,
    hidden,
    off_the_tape,
    paid_twice,
)
from scratch_embed.gradcheck.causes import Cause, half
from scratch_embed.gradcheck.data import holding
from scratch_embed.gradcheck.kinks import is_on_one, meets_one, takes_a_side
from scratch_embed.gradcheck.naming import OF_THIS_DOUT_ONLY, name_cause
from scratch_embed.gradcheck.noise import rounding
from scratch_embed.gradcheck.nudged import agrees_along, gradient, may_be, measured
from scratch_embed.gradcheck.numeric import Line, Loss, stream
from scratch_embed.gradcheck.piece import is_of_a_piece
from scratch_embed.gradcheck.place import Place
from scratch_embed.gradcheck.predictions import Case, close
from scratch_embed.gradcheck.rerun import other_inputs, rerun, with_inputs
from scratch_embed.gradcheck.surrogates import has_options, stated_gradient
from scratch_embed.gradcheck.walk import Part, of_lookup, plain, rounds, same_bits
from scratch_embed.tensor import Tensor

MOST = 3  # causes named
MANY = 512  # entries of one tensor that are nudged without a look along a direction before


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
        found += point.guilty or off_the_tape(point) or assigned(point)
    if not found:
        found += reused(point) or paid_twice(point, _runs_again)
    if not found and not agrees:
        found += cancelling(point, _runs_again)
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
    alone = {(p.node.line, p.place): _right_alone(p) for p in point.walk.parts}
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
    if not (_runs_again(part) and meets_one(part)):
        return []
    there = rerun(part, _inputs_aside(part), part.dout)
    return [there] if there is not None else []


def _inputs_aside(part: Part) -> tuple:
    rng = stream(part.place)
    return with_inputs(part.node, lambda at: at + ASIDE * rng.standard_normal(at.shape))


def too_large(point) -> list[Cause]:
    """Operations with more numbers than are nudged one by one, as far as a direction tells."""
    sentence = (
        "{} is wrong for {}, of which {:,} numbers are too many for a pattern to be looked for: "
        "check it alone, on fewer"
    )
    found = []
    for part in point.walk.parts:
        known = part.tensor.dtype.kind != "f" or not _too_many(part) or of_lookup(part) is not None
        if known or has_options(part) or not repeats(part):
            continue
        if not agrees_along(loss_alone(part), part.grad):
            to = part.tensor.name or f"input {part.place}"
            words = sentence.format(half(part.node.name), to, part.tensor.size)
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
        found.append(name_cause(case, part.tensor.name or f"input {part.place}"))
    return found


def _case(part: Part, right: np.ndarray, others: dict[int, np.ndarray]) -> Case:
    return Case(part, part.grad, right, others, partial(_owed, part), partial(_instead, part))


def _off_kinks(part: Part, siblings: list[Part]) -> Case | None:
    """The same mistake beside the kinks that it is on, if it is one there as well: between slopes
    that differ no number is due that it could be told by."""
    if not (_runs_again(part) and is_on_one(part)):
        return None
    there = _at(part, siblings, _inputs_aside(part), part.dout)
    return None if there is None or close(there.wrong, there.right) else there


def _elsewhere(part: Part, siblings: list[Part]) -> Case | None:
    """The same backward where a random dout arrives, and other numbers go in if it is wrong of
    these as well; None where what is right is not known."""
    size = float(np.abs(part.dout).max(initial=0)) or 1.0
    dout = size * stream(1).standard_normal(part.dout.shape)
    for inputs in (other_inputs(part), part.node.inputs):
        there = _at(part, siblings, inputs, dout)
        if there and (inputs is part.node.inputs or not close(there.wrong, there.right)):
            return there
    return None


@np.errstate(all="ignore")  # of infinities that are masked
def _at(part: Part, siblings: list[Part], inputs: tuple, dout: np.ndarray) -> Case | None:
    """The contribution for these inputs and this dout, where what is right of it is known."""
    there, *beside = (rerun(each, inputs, dout) for each in (part, *siblings))
    right, *others = (_right_alone(each) if each else None for each in (there, *beside))
    if right is None or not np.isfinite(right).all():
        return None
    known = {p.place: other for p, other in zip(siblings, others) if other is not None}
    return _case(there, right, known)


def _owed(part: Part, dout: np.ndarray, like: np.ndarray | None = None) -> np.ndarray | None:
    return None if _too_many(part) else _alone(part._replace(dout=dout), like)


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
            return _gradient(Loss(run, (mine,), dout), mine, like) if fits else None
    except Exception:  # noqa: BLE001  it does not take them, and may say so in any way
        return None


def _too_many(part: Part) -> bool:
    """Whether nudging each entry of its input would take long: all of it runs for each."""
    size = part.tensor.size
    return size > TOO_MANY and size * (size + part.out.size) > AT_MOST


def _right_alone(part: Part) -> np.ndarray | None:
    """What this contribution should be, by this operation alone; None where that cannot be told.

    On kinks and at corners several are right, and the one that it gave may be one of them. Of many
    numbers the one that it gave is taken, if it is the slope along a random direction.
    """
    if part.tensor.size > MANY and _agrees_along(part):
        return part.grad
    right = of_lookup(part) if part.tensor.size > MANY else None
    if right is None and not _too_many(part) and repeats(part):
        right = _as_far_as_nudges_tell(part)
    if right is not None and has_options(part):
        true, stated, _ = stated_gradient(part)
        right = stated if close(right, true) else right - (true - stated)  # which leaves rounding
    if right is None or close(part.grad, right):
        return right
    # The complex step leaves as much as that out of var.
    same = close(part.grad, right, 1e-6) and _agrees_along(part)
    return part.grad if same or takes_a_side(part, right) or _is_of_a_piece(part, right) else right


def _agrees_along(part: Part) -> bool:
    """Whether what it gave is the slope along a random direction, as far as one can ask for it."""
    asked = part.tensor.dtype.kind == "f" and not has_options(part) and repeats(part)
    return asked and agrees_along(loss_alone(part), part.grad)


def _runs_again(part: Part) -> bool:
    return part.tensor.dtype.kind == "f" and not _too_many(part) and repeats(part)


def _right_in_total(point, part: Part) -> np.ndarray | None:
    """The same for an input that is a leaf: what is owed to it, less what others gave."""
    if part.tensor not in point.places or part.tensor.size > TOO_MANY:
        return None
    total = gradient(point.loss, part.tensor)
    total -= point.missing[point.places[part.tensor]]
    given = [p.grad for p in point.walk.parts if p.tensor is part.tensor and p is not part]
    return total - sum(given)


def _alone(part: Part, like: np.ndarray | None = None) -> np.ndarray | None:
    """The derivative of one operation by itself, or None when its forward cannot be run again."""
    loss = loss_alone(part)
    return _gradient(loss, *loss.tensors, like) if repeats(part) else None


@np.errstate(all="ignore")  # infinity less infinity, of what is masked
def _as_far_as_nudges_tell(part: Part) -> np.ndarray:
    """The same; where they are too coarse to tell it from what backward made, that."""
    loss = loss_alone(part)
    right, noise = measured(loss, *loss.tensors)
    return np.where(np.abs(part.grad - right) <= 8 * noise, part.grad, right)


def repeats(part: Part) -> bool:
    """Whether its forward, run again alone, gives the same bits."""
    loss = loss_alone(part)
    with contextlib.suppress(Exception):  # it is not the same function at every call
        return same_bits(loss.fn(*loss.tensors).data, part.out)
    return False


def loss_alone(part: Part) -> Loss:
    """What arrives at its output times what it answers, as a function of its input."""
    node = part.node
    inputs = [Tensor(v.data) if isinstance(v, Tensor) else v for v in node.inputs]

    def run(_) -> Tensor:
        return Tensor(node.forward(*map(plain, inputs), **node.options)[0])

    return Loss(run, (inputs[part.place],), part.dout)


class _Alone(NamedTuple):
    """One operation by itself, with what `is_of_a_piece` asks a `Point` for."""

    loss: Loss
    checked: list[Tensor]
    grads: list[np.ndarray]
    noise: float
    original: dict[Tensor, np.ndarray]

    def line(self, tensor: Tensor, index=None, direction=None) -> Line:
        return Line(self.loss, tensor, index, direction)


def _is_of_a_piece(part: Part, right: np.ndarray) -> bool:
    """Whether backward is right a little beside where its input stands."""
    wrong = np.argwhere(np.abs(part.grad - right) > 1e-7 * np.abs(right).max(initial=0))
    if part.tensor.dtype.kind != "f" or not np.isfinite(part.grad).all() or not len(wrong):
        return False
    loss = loss_alone(part)
    with holding(list(loss.tensors)):
        point = _Alone(loss, list(loss.tensors), [part.grad], loss.rounding(), {})
        return is_of_a_piece(point, [Place(0, tuple(at)) for at in wrong])


def _gradient(loss: Loss, tensor: Tensor, like: np.ndarray | None) -> np.ndarray | None:
    """Each entry nudged; None where along one direction already it is not what is hoped for."""
    return gradient(loss, tensor) if like is None or may_be(loss, tensor, like) else None


def rounded(part: Part) -> Cause:
    """What answers in single precision hides from every nudge whether its backward is right."""
    op, kind = part.node.name.removesuffix("_backward"), part.out.dtype
    does = "rounds to float32" if kind in (float, complex) else f"answers in {kind}"
    sentence = (
        f"forward of {op} {does}, though what it is given is float64, so most "
        "of a nudge is rounded away: let it keep the dtype of its input, and check again"
    )
    return Cause("single precision", part.node.name, sentence)


def crooked(parts: list[Part]) -> list[Cause]:
    """Operations whose backward is right for this dout, and not for a multiple of it, or not where
    it lies otherwise in memory."""
    found = []
    for part in parts:
        case = _case(part, part.grad, {})
        found.append(name_cause(case, part.tensor.name or f"input {part.place}", OF_THIS_DOUT_ONLY))
    return list(dict.fromkeys(filter(None, found)))
