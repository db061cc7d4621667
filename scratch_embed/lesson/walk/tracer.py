"""Walk through a lesson's backward, Enter by Enter: `python -m lessons 4 --trace`.

The lesson says which calculation: `show_trace(loss)`. The last one it shows is walked.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scratch_embed.lesson.record import Record, current
from scratch_embed.look.prompt import python_prompt, read_key
from scratch_embed.look.terminal import paint, width, wrap

if TYPE_CHECKING:
    from scratch_embed.tensor import Tensor
    from scratch_embed.trace import Trace

HELP = """\
Enter  the next step
b      the step before
3      go to step 3 (0 is the plan)
p      a Python prompt on the values and gradients known at this step;
       exit() or Ctrl-D comes back
q      quit
?      this help"""
KEYS = "Enter: on   b: back   3: go to step 3   p: Python   q: quit   ?: help"


def show_trace(loss: Tensor, /, grad=None, **names: Tensor) -> Trace:
    """Record the trace of a loss, for `--trace` to walk; a later one takes its place. Returns it.

    The arguments are those of `scratch_embed.trace.trace`. Its numbers are copied now, so training
    afterwards does not change what is told.
    """
    from scratch_embed.trace import trace  # here, so that lessons without a trace do not load it

    walk = trace(loss, grad, **names)
    current().trace = walk
    counts = f"{len(walk.forward)} steps forward, {len(walk.backward)} back"
    told = f"  trace      {walk.loss}: {counts}; walk through them with --trace"
    current().put(told, walk._repr_html_)
    return walk


def walk_shown(record: Record) -> bool:
    """Walk the trace that a run recorded; without one, say so in a sentence and return False."""
    if record.trace is None:
        told = "stopped before it showed a trace" if record.failures else "shows no trace"
        print(f"{record.title}: this lesson {told}; a lesson names a loss with show_trace(loss).")
        return False
    Walk(record.trace).go()
    return True


class NotYet:
    """Stands at the prompt for a number that this step does not know yet."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"{self.name} is not yet computed at this step"


class Walk:
    """The steps of one trace, where in them we are, and the keys."""

    def __init__(self, trace: Trace):
        self.trace, self.at = trace, 0

    def go(self) -> None:
        """Show step after step until Enter on the last one, q, or the end of input."""
        self.show()
        while True:
            key = self.key()
            if key == "q":
                return
            if key == "" and self.at == len(self.trace):
                return
            self.obey(key)

    def obey(self, key: str) -> None:
        """One key: move and show, or stay and answer."""
        moves = {"": self.at + 1, "b": self.at - 1}
        target = int(key) if key.isdecimal() and len(key) < 7 else moves.get(key)
        if target is not None and 0 <= target <= len(self.trace):
            self.at = target
            self.show()
        elif target is not None:
            print(f"There are steps 0 to {len(self.trace)}; this is step {self.at}.")
        elif key == "p":
            self.prompt()
        else:
            print(HELP if key in ("?", "h") else f"{key!r} does nothing here. {KEYS}")

    def show(self) -> None:
        """The page of this step; after the last one, what it all came to."""
        from scratch_embed.trace import text

        print(f"\n{text.page(self.trace, self.at, width(), paint)}")
        if self.at == len(self.trace):
            print(f"\n{text.ending(self.trace, width(), paint)}")

    def key(self) -> str:
        """The next line typed, trimmed; q at the end of input."""
        keys = KEYS if width() > len(KEYS) + 12 else "Enter b p q ?"
        return read_key(paint(f"\n{self.at}/{len(self.trace)} [{keys}] ", "dim"))

    def names(self) -> dict:
        """The prompt's variables: `values` and `gradients` by name; E and dE too, if possible.

        What is not known yet says so instead of being 0.
        """
        import numpy as np

        state = self.trace.state(self.at)
        gradients = {name: NotYet(f"d{name}") for name in self.trace.wanted}
        gradients.update((name, known.value) for name, known in state.gradients.items())
        values = {step.name: NotYet(step.name) for step in self.trace.forward}
        values.update(state.values)
        found = {f"d{name}": value for name, value in gradients.items()}
        found.update(values)  # a tensor that is itself called dE keeps its name
        found = {name: value for name, value in found.items() if name.isidentifier()}
        return {**found, "np": np, "values": values, "gradients": gradients, "trace": self.trace}

    def prompt(self) -> None:
        """A Python prompt on what is known at this step."""
        names = self.names()
        known = [name for name, value in names.items() if not isinstance(value, NotYet)]
        missing = [name for name, value in names.items() if isinstance(value, NotYet)]
        banner = wrap("Names: " + ", ".join(known), width())
        banner += wrap("Not yet computed: " + ", ".join(missing), width()) if missing else []
        banner = "\n".join([*banner, "exit() or Ctrl-D goes back to the walk."])
        python_prompt(names, banner, "<trace>")
        print(f"Back at step {self.at}.")
        sys.stdout.flush()
