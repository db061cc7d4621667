"""Walk through the calculations of a lesson, forward and back: `python -m lessons 4 --trace`.

A lesson does nothing for it. While it runs, every `backward()` that it calls is looked at, and the
first of each line of the lesson is traced: from there one chooses.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from scratch_embed import learning
from scratch_embed.lesson.record import Record
from scratch_embed.look import keys
from scratch_embed.look.terminal import paint
from scratch_embed.tensor.tape import Variable
from scratch_embed.trace import Trace, traced, variables
from scratch_embed.trace.stepping import Walk


class Seen(NamedTuple):
    """A backward that a lesson called."""

    line: int  # of the lesson
    trace: Trace


@contextmanager
def watching_backward(path: Path) -> Iterator[dict[int, Seen]]:
    """Trace the first backward() that each line of a file leads to, by line, in this block.

    A training keeps whole tapes meanwhile: of a lean one there would be no numbers to tell.
    """
    found: dict[int, Seen] = {}
    backward, lean = Variable.backward, learning.lean

    def watched(self, grad=None):
        inner = sys._getframe(1)
        frame = _in_file(inner, str(path))
        if frame is not None and frame.f_lineno not in found:
            walk = traced(self, grad, {}, variables(*_scopes(frame, inner)))
            found[frame.f_lineno] = Seen(frame.f_lineno, walk)
        return backward(self, grad)

    Variable.backward, learning.lean = watched, nullcontext
    try:
        yield found
    finally:
        Variable.backward, learning.lean = backward, lean


def _scopes(frame: FrameType, inner: FrameType) -> list[dict]:
    """The names of the lesson, then those of the functions that it called, the first called first.

    So a tensor goes by the lesson's name for it, and only one that the lesson has not got by that
    of a function of the package.
    """
    called = []
    while inner is not frame:
        called.append(inner.f_locals)
        inner = inner.f_back
    return [frame.f_locals, frame.f_globals, *reversed(called)]


def _in_file(frame: FrameType | None, path: str) -> FrameType | None:
    """The nearest caller whose code stands in this file."""
    while frame is not None and frame.f_code.co_filename != path:
        frame = frame.f_back
    return frame


def walk_seen(record: Record, found: dict[int, Seen]) -> bool:
    """Walk one of the traces of a run; without any, say so in a sentence and return False."""
    if not found:
        told = "stopped before it" if record.failures else "never"
        print(f"{record.title}: this lesson {told} called backward() on a tape, so there is no way "
              "to walk.")  # fmt: skip
        return False
    several = list(found.values())
    chosen = several[0] if len(several) == 1 else _choose(several)
    if chosen is not None:
        Walk(chosen.trace).go()
    return True


def _choose(several: list[Seen]) -> Seen | None:
    """Which of them; Enter takes the longest."""
    longest = max(several, key=lambda seen: len(seen.trace))
    for k, (line, walk) in enumerate(several, start=1):
        made = walk.forward[-1] if walk.forward else None
        what = f"{made.name} = {made.expression}" if made else walk.loss
        steps = f"{len(walk.forward)} forward, {len(walk.backward)} back"
        print(f"  {k}  line {line}  {what}, {steps}")
    while True:
        pressed = keys.read(("on", "step", "quit"), paint("which? (Enter: the longest) ", "dim"))
        if pressed.name == "on":
            return longest
        if pressed.name == "quit":
            return None
        if pressed.text.isdecimal() and 1 <= int(pressed.text) <= len(several):
            return several[int(pressed.text) - 1]
        print(f"\nThere are 1 to {len(several)}.")
