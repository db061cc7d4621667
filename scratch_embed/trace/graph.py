"""The graph of a trace at one step: boxes with their text and state, and the edges between them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from scratch_embed.trace.arrays import NOT_YET, lines, shape
from scratch_embed.trace.choice import Choice
from scratch_embed.trace.rule import in_names
from scratch_embed.trace.walk import ForwardStep

if TYPE_CHECKING:
    from scratch_embed.trace import Trace

# What a box or an edge is at this moment. A constant, such as the ids, never gets a gradient.
DONE, CURRENT, COLLECTING, WAITING, CONSTANT = (
    "done", "current", "collecting", "not yet", "no gradient")  # fmt: skip
BOX = {"columns": 44, "most": 4, "digits": 3}  # how much of an array stands in a box


class Box(NamedTuple):
    name: str
    text: list[str]  # the lines below the name
    state: str


class Edge(NamedTuple):
    parent: str
    child: str
    count: int  # a tensor may be used twice by one operation
    state: str
    backward: bool  # a gradient has come back along it
    note: str  # which part it brings, on a current edge


def boxes(trace: Trace, step: int, choice: Choice | None = None) -> list[Box]:
    """Sources first, then what was computed, in order. A chosen entry is marked, >so<."""
    state = trace.state(step)
    names = [*trace.sources, *(at.name for at in trace.forward)]
    return [Box(name, _text(trace, step, name, state, choice), _state(trace, step, name, state))
            for name in names]  # fmt: skip


def edges(trace: Trace, step: int) -> list[Edge]:
    """From every input to what was computed from it."""
    done = step - len(trace.forward)  # backward steps taken
    taken = {at.name: at for at in trace.backward[: max(0, done)]}
    now = trace.steps[step - 1].name if step else None
    found = []
    for at in trace.forward:
        step_back = taken.get(at.name)
        for parent, count in Counter(i.name for i in at.inputs if i.name).items():
            parts = [p for p in step_back.parts if p.parent == parent] if step_back else []
            if done > 0 and parent in trace.sources and parent not in trace.leaves:
                state = CONSTANT
            elif at.name == now and (done <= 0 or parts):
                state = CURRENT
            else:
                state = DONE if parts or (done <= 0 and at.number <= step) else WAITING
            note = _note(parts) if state == CURRENT else ""
            found.append(Edge(parent, at.name, count, state, bool(parts), note))
    return found


def _note(parts: list) -> str:
    """Which parts of its parent's gradient come along an edge, where there are several."""
    if not parts or parts[0].of == 1:
        return ""
    numbers = ", ".join(str(part.number) for part in parts)
    return f"part{'s' * (len(parts) > 1)} {numbers} of {parts[0].of}"


def worked(trace: Trace, step: int, choice: Choice | None, columns: int = 96) -> list[str]:
    """The chosen entry worked out, as lines of text; none without a choice."""
    if choice is None or not step:
        return []
    return trace.entry(step, choice).text(columns=columns).splitlines()


def title(trace: Trace, step: int) -> tuple[str, str]:
    """What happens at this step, and by which formula, in the names of the learner."""
    if step == 0:
        return f"Before step 1 of {len(trace)}: nothing has been computed", ""
    at = trace.steps[step - 1]
    made = trace.forward_of[at.name]
    if isinstance(at, ForwardStep):
        head = f"Forward {step} of {len(trace.forward)}: {at.name} = {at.expression}"
        return head, in_names(at.formula, at)
    to = " and ".join(dict.fromkeys(part.parent for part in at.parts))
    what = f"{made.op} passes d{at.name} on to {to}" if to else f"{made.op} passes nothing on"
    return f"Backward {at.number} of {len(trace.backward)}: {what}", in_names(at.rule, made)


def _state(trace: Trace, step: int, name: str, state) -> str:
    forward = step <= len(trace.forward) and bool(trace.forward)
    if step and trace.steps[step - 1].name == name:
        return CURRENT
    if forward:
        return DONE if name in state.values else WAITING
    if name in trace.sources and name not in trace.leaves:
        return CONSTANT
    if name not in state.gradients:
        return WAITING
    back = trace.backward[: step - len(trace.forward)]
    passed = name in trace.leaves or any(at.name == name for at in back)
    return DONE if state.gradients[name].complete and passed else COLLECTING


def _marked(trace: Trace, step: int, name: str, choice: Choice | None) -> tuple | None:
    """The index that is marked in the box of this name, if the choice lies in it."""
    if choice is None or not step:
        return None
    at = trace.steps[step - 1]
    here = at.name if isinstance(at, ForwardStep) else at.parts[choice.part].parent
    return choice.index or None if here == name else None


def _text(trace: Trace, step: int, name: str, state, choice: Choice | None) -> list[str]:
    """What a box says below its name. The letter d stands for the gradient of the loss by it."""
    array = trace.sources[name] if name in trace.sources else trace.forward_of[name].out
    told = [f"= {trace.forward_of[name].expression}"] if name in trace.forward_of else []
    told.append(f"shape {shape(array)}")
    touched, marked = trace.touched.get(name), _marked(trace, step, name, choice)
    forward = step <= len(trace.forward)
    if name in state.values:
        told += lines(state.values[name], touched, **BOX, chosen=marked if forward else None)
    else:
        told.append(NOT_YET)
    if name in trace.sources and name not in trace.leaves:
        return told
    if name not in state.gradients:
        reached = name == trace.loss or any(
            part.parent == name for at in trace.backward for part in at.parts)  # fmt: skip
        told.append(f"gradient {NOT_YET}" if reached else "no gradient reaches it")
        return told
    gradient = state.gradients[name]
    parts = f", {gradient.number} of {gradient.of} parts" if gradient.of > 1 else ""
    told.append(f"gradient{parts}")
    return told + lines(gradient.value, touched, **BOX, chosen=None if forward else marked)
