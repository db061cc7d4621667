"""Find the operation at fault, and hand it to the hypotheses.

Every operation on the tape is checked on its own: run its forward again with one input nudged, and
compare with what its backward contributed, given the dout that arrived there. That tells the
operation that is wrong from those that only pass its mistake on.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from scratch_embed.gradcheck.beside import AT_MOST, TOO_MANY, assigned, hidden, off_the_tape
from scratch_embed.gradcheck.causes import OF_THIS_DOUT_ONLY, Cause, half, name_cause
from scratch_embed.gradcheck.kinks import takes_a_side
from scratch_embed.gradcheck.numeric import Loss, gradient, may_be
from scratch_embed.gradcheck.predictions import Case, close, rounding
from scratch_embed.gradcheck.surrogates import has_options, stated_gradient
from scratch_embed.gradcheck.walk import Part, changes_saved, looked_up, plain, same_bits
from scratch_embed.tensor import Tensor

MOST = 3  # causes named


def diagnose(point) -> list[Cause]:
    """What is wrong at a `Point` whose report did not pass, in the order of backward."""
    if point.broken is not None:
        return [point.broken]
    found = [in_place(name) for name in point.changed]
    found += map(writer, point.walk.overwrites)
    if not found:
        found += writes_inputs(point) or unsteady(point)
    if not found and point.coarse:
        return [rounded(point.coarse)]
    if not found:
        found += wrong_operations(point) or off_the_tape(point) or assigned(point)
    if not found:
        found += reused(point) or hidden(point) or point.crooked
    found.sort(key=lambda cause: cause.name == "local derivative")  # what has a name comes first
    return list(dict.fromkeys(found))[:MOST]


def is_sound(point) -> bool:
    """Whether every operation is right by itself, and no way leads past the tape.

    Where a number of 0 goes into several relus, each may answer 0 or 1 and be right, and what comes
    together then need not lie between the slopes from left and right.
    """
    if point.broken is not None or point.changed or point.walk.overwrites:
        return False
    return not (wrong_operations(point) or off_the_tape(point) or assigned(point))


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


def _wrong(point, rights: dict[tuple[int, int], np.ndarray | None]) -> list[Cause]:
    """The operations that differ from what is right, as far as that is known."""
    found = []
    for part in point.walk.parts:
        right = rights.get((part.node.line, part.place))
        if right is None or not np.isfinite(part.dout).all():  # NaN has no right answer
            continue
        if close(part.grad, right) or np.abs(part.grad - right).max() <= rounding(part):
            continue
        others = {
            place: other
            for (line, place), other in rights.items()
            if line == part.node.line and place != part.place and other is not None
        }
        to = part.tensor.name or f"input {part.place}"
        owed, instead = partial(_owed, part), partial(_instead, part)
        found.append(name_cause(Case(part, part.grad, right, others, owed, instead), to))
    return found


def _owed(part: Part, dout: np.ndarray, like: np.ndarray | None = None) -> np.ndarray | None:
    return None if _too_many(part) else _alone(part._replace(dout=dout), like)


def _instead(
    part: Part, others: dict[int, np.ndarray], dout: np.ndarray, like: np.ndarray | None = None
) -> np.ndarray | None:
    """What it would owe if some of its inputs were others."""
    given = [others.get(place, plain(value)) for place, value in enumerate(part.node.inputs)]
    moved = given[part.place] = Tensor(given[part.place])

    def run(_) -> Tensor:
        return Tensor(part.node.forward(*map(plain, given), **part.node.options)[0])

    try:
        with np.errstate(all="ignore"):
            return _gradient(Loss(run, (moved,), dout), moved, like) if _fits(run, dout) else None
    except Exception:  # noqa: BLE001  it does not take them, and may say so in any way
        return None


def _fits(run, dout: np.ndarray) -> bool:
    out = run(None).data
    return out.shape == dout.shape and bool(np.isfinite(out).all())


def _too_many(part: Part) -> bool:
    """Whether nudging each entry of its input would take long: all of it runs for each."""
    size = part.tensor.size
    return size > TOO_MANY and size * (size + part.out.size) > AT_MOST


def _right_alone(part: Part) -> np.ndarray | None:
    """What this contribution should be, by this operation alone; None where that cannot be told.

    On kinks several are right, and the one that it gave may be one of them.
    """
    right = _of_lookup(part) if part.tensor.size > TOO_MANY else None
    if right is None and not _too_many(part):
        right = _alone(part)
    if right is not None and has_options(part):
        true, stated, _ = stated_gradient(part)
        right = right - (true - stated)
    return part.grad if right is not None and takes_a_side(part, right) else right


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
    node = part.node
    inputs = [Tensor(v.data) if isinstance(v, Tensor) else v for v in node.inputs]

    def run(_) -> Tensor:
        return Tensor(node.forward(*map(plain, inputs), **node.options)[0])

    try:
        if not same_bits(run(None).data, part.out):
            return None
    except Exception:  # noqa: BLE001  it is not the same function at every call
        return None
    moved = inputs[part.place]
    return _gradient(Loss(run, (moved,), part.dout), moved, like)


def _gradient(loss: Loss, moved: Tensor, like: np.ndarray | None) -> np.ndarray | None:
    """Each entry nudged; None where along one direction already it is not what is hoped for."""
    return gradient(loss, moved) if like is None or may_be(loss, moved, like) else None


def _of_lookup(part: Part) -> np.ndarray | None:
    """The same for a table too large to nudge, if its rows are looked up and that is all."""
    ids, table = looked_up(part), part.tensor.data
    if ids is None or not np.array_equal(table[ids], part.out):
        return None
    right = np.zeros(table.shape)
    np.add.at(right, ids.reshape(-1), part.dout.reshape(-1, table.shape[1]))
    return right


def rounded(part: Part) -> Cause:
    """What answers in single precision hides from every nudge whether its backward is right."""
    op = part.node.name.removesuffix("_backward")
    sentence = (
        f"forward of {op} answers in {part.out.dtype}, though what it is given is float64, so most "
        "of a nudge is rounded away: let it keep the dtype of its input, and check again"
    )
    return Cause("single precision", part.node.name, sentence)


def unsteady(point) -> list[Cause]:
    """Operations whose forward or backward answers otherwise the second time."""
    found = []
    for part in point.walk.parts:
        if point.drifts and _differs(part):
            op = part.node.name.removesuffix("_backward")
            sentence = (
                f"forward of {op} is random: the same inputs give different outputs, so there is "
                "no derivative; draw outside, or start the Generator afresh at every call"
            )
            found.append(Cause("not deterministic", part.node.name, sentence))
            continue
        one, two, three = (_answer(part, part.dout.copy(order="K")) for _ in range(3))
        if same_bits(one, two) and same_bits(two, three):
            continue
        op = part.node.name
        if close(two - one, three - two, 1e-9):
            sentence = f"{half(op)} adds to what it keeps from call to call: start from zeros"
            found.append(Cause("stale gradient", op, sentence))
        elif _uses_up(part):
            found.append(writer(changes_saved(part.node)))
        else:
            sentence = (
                f"{half(op)} is random: the same call gives different gradients, as from "
                "np.empty, which is not np.zeros, or from a Generator"
            )
            found.append(Cause("not deterministic", op, sentence))
    if point.drifts and not found:
        sentence = (
            "fn is random, or counts its calls, between its operations: the same inputs give "
            "different outputs, so there is no derivative"
        )
        found.append(Cause("not deterministic", "", sentence))
    return found


def _uses_up(part: Part) -> bool:
    """Whether it is forward's saved values that backward changes, in an object of any kind: with
    those of a new forward each time, it answers the same."""
    given = [plain(value) for value in part.node.inputs]

    def anew() -> np.ndarray:
        saved = part.node.forward(*given, **part.node.options)[1]
        return _answer(
            part._replace(node=part.node._replace(saved=saved, kept=[])), part.dout.copy()
        )

    try:
        return same_bits(anew(), anew())
    except Exception:  # noqa: BLE001  it is not the same function at every call
        return False


def _answer(part: Part, dout: np.ndarray) -> np.ndarray:
    """What its backward hands to its input for another dout."""
    grads = [grad for tensor, grad in part.node.gradients(dout) if tensor is part.tensor]
    return np.array(np.asarray(grads[0])) if grads else np.zeros(part.tensor.shape)


def crooked(parts: list[Part]) -> list[Cause]:
    """Operations whose backward is right for this dout, and not for a multiple of it, or not where
    it lies otherwise in memory."""
    found = []
    for part in parts:
        case = Case(part, part.grad, part.grad, {}, partial(_owed, part), partial(_instead, part))
        cause = name_cause(case, part.tensor.name or f"input {part.place}", OF_THIS_DOUT_ONLY)
        found += [] if cause is None else [cause]
    return list(dict.fromkeys(found))


def _differs(part: Part) -> bool:
    """Whether forward gives other bits for the same inputs, one call after the other."""
    given = [plain(value) for value in part.node.inputs]
    outs = [np.asarray(part.node.forward(*given, **part.node.options)[0]) for _ in range(2)]
    return not same_bits(*outs)


def writes_inputs(point) -> list[Cause]:
    """Operations whose forward writes into what it was given, which others still need.

    Shown their inputs once more, and turned about: relu in place changes nothing the second time.
    """
    found = []
    for part in point.walk.parts:
        for turned in (False, True):
            given = [_copy(plain(value), turned) for value in part.node.inputs]
            kept = [_copy(value) for value in given]
            try:
                with np.errstate(all="ignore"):
                    part.node.forward(*given, **part.node.options)
            except Exception:  # noqa: BLE001, S112  it does not take them turned about
                continue
            for place, (one, two) in enumerate(zip(given, kept)):
                if isinstance(one, np.ndarray) and not same_bits(one, two):
                    found.append(_writes(part, place))
    return found


def _copy(value, turned: bool = False):
    """An array again; turned about, numbers change their sign and ids their order."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu":
        return value
    copy = value.copy()
    if turned:
        copy = -copy if copy.dtype.kind == "f" else np.flip(copy).copy()
    return copy


def _writes(part: Part, place: int) -> Cause:
    op, name = part.node.name, getattr(part.node.inputs[place], "name", None)
    sentence = (
        f"forward of {op} changes {name or f'its input {place}'} in place, and whoever computed or "
        "gave it still needs the old numbers; write into a new array"
    )
    return Cause("in-place input", op, sentence)


def reused(point) -> list[Cause]:
    """Operations whose backward hands back the same memory, its own workspace, at every call."""
    found = []
    for part in point.walk.parts:
        one, two = (
            [g for t, g in part.node.gradients(part.dout.copy(order="K")) if t is part.tensor]
            for _ in range(2)
        )
        if any(np.shares_memory(np.asarray(a), np.asarray(b)) for a, b in zip(one, two)):
            name, op = "workspace handed back", part.node.name
            sentence = (
                f"{half(op)} hands back the same array at every call, so the second use of {op} "
                "overwrites what the first one sent; make a new array"
            )
            if part.grad.any() and same_bits(_answer(part, 2 * part.dout), part.grad):
                name = "dout ignored"
                sentence = f"{half(op)} hands back its first answer whatever dout comes"
            found.append(Cause(name, op, sentence))
    return found


def in_place(name: str) -> Cause:
    """The cause when fn writes to one of its inputs."""
    sentence = (
        f"forward changes {name} in place, so the second call sees other numbers than the first; "
        "write out = f(x) into a new array"
    )
    return Cause("in-place input", "", sentence)


def writer(problem: str) -> Cause:
    """The cause when a backward writes to what it was given."""
    return Cause("in-place gradient", "", f"{problem}; write into a new array")


def once_only(op: str) -> Cause:
    """The cause when a backward has used up what its forward saved."""
    sentence = (
        f"{half(op)} can be called once only: it changes what forward saved, as saved.pop() "
        "does; read it and leave it there, for a second backward must add the same once more"
    )
    return Cause("called once", op, sentence)
