"""Operations that write where they must not, or answer otherwise when they are called again."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from scratch_embed.gradcheck.causes import Cause, half
from scratch_embed.gradcheck.data import others
from scratch_embed.gradcheck.numeric import ways
from scratch_embed.gradcheck.predictions import close
from scratch_embed.gradcheck.walk import Part, answers, changes_saved, plain, same_bits
from scratch_embed.tensor import Node


def unsteady(point) -> list[Cause]:
    """Operations whose forward or backward answers otherwise the second time."""
    found = []
    for part in point.walk.parts:
        if point.drifts and _differs(part):
            op = part.node.name.removesuffix("_backward")
            sentence = (
                f"forward of {op} is random, or keeps something from call to call, as a running "
                "mean: the same inputs give different outputs, so there is no derivative; draw "
                "outside, or start its Generator, or what it keeps, afresh at every call"
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
    """What its backward hands to its input for another dout, 0 where it hands nothing."""
    found = answers(part, dout)
    return found[0].copy() if found else np.zeros(part.tensor.shape)


def _differs(part: Part) -> bool:
    """Whether forward gives other bits for the same inputs, one call after the other."""
    return not same_bits(*_twice(part))


def _twice(part: Part) -> list[np.ndarray]:
    """What forward answers for the same inputs, one call after the other."""
    given = [plain(value) for value in part.node.inputs]
    return [np.asarray(part.node.forward(*given, **part.node.options)[0]) for _ in range(2)]


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


def _other(value):
    """Other numbers in the place of an array of such."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return _copy(value)
    return others(value, ways(4))


@np.errstate(all="ignore")
def written_over(point) -> list[Cause]:
    """What an operation made, and fn wrote to afterwards, past the tape: y.data[mask] = 0.

    Of several the first, for what comes after it is made of those numbers.
    """
    for part in reversed(point.walk.parts):
        try:
            one, two = _twice(part)
        except Exception:  # noqa: BLE001, S112  it is not the same function at every call
            continue
        if not same_bits(one, two) or same_bits(one, part.out):
            continue
        op, count = part.node.name, np.count_nonzero(~(one == part.out))
        sentence = (
            f"{count} of the {part.out.size} numbers that {op} made are others now: fn writes to "
            f"them, as y.data[mask] = 0 does, and the tape does not know of it, so no backward "
            "can; make a new tensor of them by an operation, as y * mask"
        )
        return [Cause("in-place output", op, sentence)]
    return []


def _writes(part: Part, place: int) -> Cause:
    op, name = part.node.name, getattr(part.node.inputs[place], "name", None)
    sentence = (
        f"forward of {op} changes {name or f'its input {place}'} in place, and whoever computed or "
        "gave it still needs the old numbers; write into a new array"
    )
    return Cause("in-place input", op, sentence)


def left_behind(parts: list[Part]) -> list[Cause]:
    """Operations whose backward answers otherwise once their forward has run on other numbers, as
    it does on the next batch: self.x is another one then."""
    found = {}
    for _, inputs in groupby(parts, key=lambda part: id(part.node)):
        node, dout, *_ = next(inputs)
        given = [_other(plain(value)) for value in node.inputs]
        before = _gradients(node, dout)
        try:
            with np.errstate(all="ignore"):
                node.forward(*given, **node.options)
                after = _gradients(node, dout)
                node.forward(*map(plain, node.inputs), **node.options)
        except Exception:  # noqa: BLE001, S112  it does not take other numbers
            continue
        if len(before) != len(after) or not all(map(same_bits, before, after)):
            sentence = (
                f"{half(node.name)} answers otherwise once {node.name} has run on other numbers: "
                "it reads what every forward writes anew, in an attribute, a global or one array "
                "for all; make what backward needs new each time, and hand it over as what "
                "forward saves"
            )
            found[node.name] = Cause("state outside", node.name, sentence)
    return list(found.values())


def _gradients(node: Node, dout: np.ndarray) -> list[np.ndarray]:
    """What its backward hands to each of its inputs, in arrays of their own."""
    return [np.array(np.asarray(grad)) for _, _, grad in node.gradients(dout.copy(order="K"))]


def reused(point) -> list[Cause]:
    """Operations whose backward hands back the same memory, its own workspace, at every call."""
    found = []
    for part in point.walk.parts:
        one, two = (answers(part, part.dout.copy(order="K")) for _ in range(2))
        if any(map(np.shares_memory, one, two)):
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
