"""Walk through a trace, a key a step: `step(loss)`, and `python -m lessons 4 --trace`."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import numpy as np

from scratch_embed.look import keys
from scratch_embed.look.prompt import python_prompt
from scratch_embed.look.terminal import paint, width, wrap
from scratch_embed.trace import choice, text, within

if TYPE_CHECKING:
    from scratch_embed.trace import Trace

NAMES = ("on", "back", "up", "down", "left", "right", "open", "close", "into", "out", "step",
         "python", "quit")  # fmt: skip
CLEAR = "\x1b[2J\x1b[3J\x1b[H"
FOOT = 2  # rows below a page


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
        self.choices: dict[int, choice.Choice | None] = {}  # of the steps that were looked at
        self.opened = False
        self.inside: list[list[str]] | None = None  # the code that we are in, a block a statement
        self.line = 0  # how many of its statements have run
        self.screens: list[str] = []
        self.screen = 0

    def go(self) -> None:
        """Show step after step until Enter on the last one, q, or the end of input."""
        self.show()
        while True:
            pressed = keys.read(NAMES, self.prompt_line())
            if pressed.name == "quit" or pressed.name == "on" and self.is_last():
                print()
                return
            self.obey(pressed)

    def is_last(self) -> bool:
        """Whether nothing comes after this screen."""
        beyond = self.at == len(self.trace) and self.screen == len(self.screens) - 1
        return beyond and self.inside is None

    def obey(self, pressed: keys.Pressed) -> None:
        """One key: move and show, or stay and answer."""
        act = {"on": self.on, "back": self.back, "step": lambda: self.jump(pressed.text),
               "open": lambda: self.open(True), "close": lambda: self.open(False),
               "into": self.into, "out": self.out, "python": self.python,
               "help": self.help, keys.REDRAW: self.show}  # fmt: skip
        if pressed.name in ("up", "down", "left", "right"):
            self.move(pressed.name)
        elif pressed.name in act:
            act[pressed.name]()
        else:
            print("\n" + keys.refused(pressed))

    def help(self) -> None:
        """What the keys do."""
        print("\n" + keys.help_text(NAMES))

    # ---- where we are ----------------------------------------------------------------------------

    def on(self) -> None:
        """The rest of a long page, the next statement inside an operation, or the next step."""
        if self.screen + 1 < len(self.screens):
            self.screen += 1
            self.draw()
        elif self.inside is not None:
            if self.line + 1 < len(self.inside):
                self.line += 1
                self.show()
            else:
                self.out()
        else:
            self.jump(str(self.at + 1))

    def back(self) -> None:
        """What was before."""
        if self.inside is not None and self.line:
            self.line -= 1
            self.show()
        elif self.inside is not None:
            self.out()
        else:
            self.jump(str(self.at - 1))

    def jump(self, number: str) -> None:
        """To a step by its number."""
        to = int(number) if number.isdecimal() and len(number) < 7 else -1
        if not 0 <= to <= len(self.trace):
            print(f"\nThere are steps 0 to {len(self.trace)}; this is step {self.at}.")
            return
        self.at, self.inside = to, None
        self.show()

    def move(self, way: str) -> None:
        """Choose the entry beside the chosen one."""
        chosen = self.chosen()
        if chosen is not None and self.inside is None:
            self.choices[self.at] = choice.moved(self.trace, self.at, chosen, way)
        self.show()

    def chosen(self) -> choice.Choice | None:
        """The entry that is looked at in this step."""
        if self.at and self.at not in self.choices:
            self.choices[self.at] = choice.first(self.trace, self.at)
        return self.choices.get(self.at)

    def open(self, opened: bool) -> None:
        """Show the parts of the working, or put them away."""
        self.opened = opened
        self.show()

    def into(self) -> None:
        """Into the operation of this step: its lines, one an Enter."""
        if not self.at:
            print("\nStep 0 is the plan; go on to a step first.")
            return
        try:
            visit = within.visit_of(self.trace, self.at)
        except TypeError as error:
            print(f"\n{error}")
            return
        self.inside, self.line = within.blocks(visit, width()), 0
        self.show()

    def out(self) -> None:
        """Out of the operation, back to its page."""
        self.inside = None
        self.show()

    # ---- the screen ------------------------------------------------------------------------------

    def show(self) -> None:
        """The page of this step; after the last one, what it all came to."""
        rows = shutil.get_terminal_size().lines - FOOT if keys.at_once() else None
        told = self.code(rows) if self.inside is not None else self.page(rows)
        size = rows or len(told)
        self.screens = ["\n".join(told[k : k + size]) for k in range(0, len(told), max(size, 1))]
        self.screen = 0
        self.draw()

    def draw(self) -> None:
        """The screen: on a terminal instead of the one before, elsewhere below it."""
        print((CLEAR if keys.at_once() else "\n") + self.screens[self.screen])

    def page(self, rows: int | None) -> list[str]:
        """The lines of this step's page, and of the ending after the last one."""
        told = text.page(self.trace, self.at, width(), paint, self.chosen(), rows, self.opened)
        told = told.splitlines()
        if self.at == len(self.trace):
            if rows is not None:  # the ending has a screen of its own
                told += [""] * (-len(told) % rows)
            told += ["", *text.ending(self.trace, width(), paint).splitlines()]
        return told

    def code(self, rows: int | None) -> list[str]:
        """The statements that have run; the last one with what it made."""
        at = self.trace.steps[self.at - 1]
        head = f"-- inside {at.op}, {self.line} of {len(self.inside) - 1} statements "
        now = self.inside[self.line]
        before = [block[0] for block in self.inside[: self.line]]
        if rows is not None:
            before = before[-max(0, rows - 1 - len(now)) or len(before) :]
        return [paint(head.ljust(width(), "-"), "bold"), *(paint(b, "dim") for b in before), *now]

    def prompt_line(self) -> str:
        """How far we are, and the keys."""
        more = f" ({self.screen + 1}/{len(self.screens)})" if len(self.screens) > 1 else ""
        head = f"{self.at}/{len(self.trace)}{more} "
        hint = keys.hint(NAMES, width() - len(head) - 2)
        return paint(f"\n{head}{hint} ", "dim")

    # ---- Python ----------------------------------------------------------------------------------

    def names(self) -> dict:
        """The prompt's variables: `values` and `gradients` by name; E and dE too, if possible.

        What is not known yet says so instead of being 0.
        """
        state = self.trace.state(self.at)
        gradients = {name: NotYet(f"d{name}") for name in self.trace.wanted}
        gradients.update((name, known.value) for name, known in state.gradients.items())
        values = {step.name: NotYet(step.name) for step in self.trace.forward}
        values.update(state.values)
        found = {f"d{name}": value for name, value in gradients.items()}
        found.update(values)  # a tensor that is itself called dE keeps its name
        found = {name: value for name, value in found.items() if name.isidentifier()}
        return {**found, "np": np, "values": values, "gradients": gradients, "trace": self.trace}

    def python(self) -> None:
        """A Python prompt on what is known at this step."""
        names = self.names()
        known = [name for name, value in names.items() if not isinstance(value, NotYet)]
        missing = [name for name, value in names.items() if isinstance(value, NotYet)]
        banner = wrap("Names: " + ", ".join(known), width())
        banner += wrap("Not yet computed: " + ", ".join(missing), width()) if missing else []
        banner = "\n".join(["", *banner, "exit() or Ctrl-D goes back to the walk."])
        python_prompt(names, banner, "<trace>")
        print(f"Back at step {self.at}.")
        sys.stdout.flush()
