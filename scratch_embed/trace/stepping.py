"""Walk through a trace, a key a step: `step(loss)`, and `python -m lessons 4 --trace`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from scratch_embed.look import keys
from scratch_embed.look.leaf import JUMPS, Stop, leaf, where_to
from scratch_embed.look.prompt import python_prompt
from scratch_embed.look.screen import Screen
from scratch_embed.look.terminal import ESCAPE, fit, paint, width, wrap
from scratch_embed.trace import choice, text, within
from scratch_embed.trace.entry import which
from scratch_embed.trace.inside import Visit
from scratch_embed.trace.walk import ForwardStep

if TYPE_CHECKING:
    from scratch_embed.trace import Trace

HELP = ("on", "back", "up", "down", "left", "right", "open", "close", "into", "out", *JUMPS,
        "python", "quit")  # fmt: skip
BESIDE_HEAD = 12  # columns for the number of the step
CONTINUED = re.compile(r" {3}\S")  # the second line of a head


class NotYet:
    """Stands at the prompt for a number that this step does not know yet."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"{self.name} is not yet computed at this step"


class Walk:
    """The steps of one trace, where in them we are, and the keys."""

    def __init__(self, trace: Trace, screen: Screen | None = None):
        self.trace, self.at = trace, 0
        self.screen = screen or Screen()
        self.stops = stops(trace)
        self.choices: dict[int, choice.Choice | None] = {}  # of the steps that were looked at
        self.opened = False
        self.inside: Visit | None = None  # the call that we are in
        self.line = self.lines = 0  # how many of its statements have run, of how many
        self.pages: list[tuple[str, list[str]]] = []  # the screens of this step, with their heads
        self.page = 0

    def go(self) -> None:
        """Show step after step until Enter on the last one, q, or the end of input."""
        note = ""
        with self.screen.opened():
            while True:
                self.lay()
                head, page = self.pages[self.page]
                many = len(self.pages)
                note = note or (f"screen {self.page + 1} of {many}" if many > 1 else "")
                self.screen.draw((head, f"{self.at}/{len(self.trace)}"), page, note)
                pressed = self.screen.key(self.keys())
                if pressed.name == "quit" or pressed.name == "on" and self.is_last():
                    break
                note = self.obey(pressed)
        print(f"{self.trace.loss}: you left at step {self.at} of {len(self.trace)}.")

    def is_last(self) -> bool:
        """Whether nothing comes after this screen."""
        beyond = self.at == len(self.trace) and self.page == len(self.pages) - 1
        return beyond and self.inside is None

    def keys(self) -> tuple[str, ...]:
        """The keys that there are on this page."""
        if self.inside is not None:
            return ("on", "back", "out", *JUMPS, "quit")
        if self.chosen() is None:
            return ("on", "back", *JUMPS, "python", "quit")
        arrows = ("up", "down", "left", "right")
        opens = "close" if self.opened else "open"
        return ("on", "back", "into", opens, *arrows, *JUMPS, "python", "quit")

    def obey(self, pressed: keys.Pressed) -> str:
        """What a key does. Returns a note to show."""
        if pressed.name in JUMPS:
            to = where_to(self.screen, self.stops, self.at, pressed)
            return to if isinstance(to, str) else self.jump(to)
        if pressed.name == keys.UNKNOWN:
            return keys.refused(pressed, self.why())
        act = {"on": self.on, "back": self.back, "open": self.open, "close": self.close,
               "into": self.into, "out": self.out, "python": self.python,
               "help": self.help}  # fmt: skip
        if pressed.name in act:
            return act[pressed.name]() or ""
        if pressed.name != keys.REDRAW:
            self.choices[self.at] = choice.moved(self.trace, self.at, self.chosen(), pressed.name)
        return ""

    def why(self) -> dict[str, str]:
        """Why keys that other pages have do nothing on this one."""
        if self.inside is not None or self.chosen() is None:
            told = "Nothing is worked out here" + ("." if self.inside is None else ": u leads up.")
            return dict.fromkeys(("open", "close", "into"), told)
        return {
            "open": "This line is open: c closes it.",
            "close": "This line is closed: o opens it.",
            "out": "You are not inside an operation: i leads into one.",
        }

    def help(self) -> None:
        """What the keys do."""
        leaf(self.screen, "The keys", lambda columns: keys.help_lines(HELP, columns))

    # ---- where we are ----------------------------------------------------------------------------

    def on(self) -> None:
        """The rest of a long page, the next statement inside an operation, or the next step."""
        if self.page + 1 < len(self.pages):
            self.page += 1
        elif self.inside is None:
            self.jump(self.at + 1)
        elif self.line < self.lines:
            self.line, self.page = self.line + 1, 0
        else:
            self.out()

    def back(self) -> str:
        """What was before."""
        if self.page:
            self.page -= 1
        elif self.inside is not None and self.line:
            self.line -= 1
        elif self.inside is not None:
            self.out()
        elif self.at:
            self.jump(self.at - 1)
        else:
            return "This is the beginning."
        return ""

    def jump(self, to: int) -> str:
        """To a step."""
        self.at, self.inside, self.page = to, None, 0
        return ""

    def chosen(self) -> choice.Choice | None:
        """The entry that is looked at in this step."""
        if self.at and self.at not in self.choices:
            self.choices[self.at] = choice.first(self.trace, self.at)
        return self.choices.get(self.at)

    def open(self) -> None:
        """Show the parts of the working."""
        self.opened = True

    def close(self) -> None:
        """Put them away."""
        self.opened = False

    def into(self) -> str:
        """Into the operation of this step: its lines, one an Enter."""
        try:
            self.inside = within.visit_of(self.trace, self.at)
        except TypeError as error:
            return fit(f"{error}.", width())
        except Exception as error:  # noqa: BLE001  the operation's own, as of an emptied cache
            told = f"It does not run a second time: {type(error).__name__}: {error}"
            return fit(" ".join(told.split()), width())
        self.line, self.lines, self.page = 0, len(within.blocks(self.inside)) - 1, 0
        return ""

    def out(self) -> None:
        """Out of the operation, back to its page."""
        self.inside, self.page = None, 0

    # ---- the screen ------------------------------------------------------------------------------

    def lay(self) -> None:
        """The screens of this step as the window is now; after the last one what it came to."""
        height = self.screen.height if self.screen.moves else None
        told = self.told(height) if self.inside is None else self.code(height)
        self.pages = cut(told, height)
        if self.at == len(self.trace) and self.inside is None:
            self.pages += cut(text.ending(self.trace, width(), paint).splitlines(), height)
        self.page = min(self.page, len(self.pages) - 1)

    def told(self, height: int | None) -> list[str]:
        """The lines of this step's page; with a height, so few that it fits, if it can."""
        for rows in (None,) if height is None else (height + 1, height):  # the head is above it
            page = text.page(self.trace, self.at, width(), paint, self.chosen(), rows, self.opened)
            told = page.splitlines()
            if len(cut(told, height)) == 1:
                break
        return told

    def code(self, height: int | None) -> list[str]:
        """The statements that have run; the last one with what it made."""
        at, blocks = self.trace.steps[self.at - 1], within.blocks(self.inside, width())
        now, before = blocks[self.line], [block[0] for block in blocks[: self.line]]
        if height is not None:
            before = before[max(0, len(before) - max(0, height - len(now))) :]
        head = f"inside {at.op}, {self.line} of {self.lines} statements"
        return [*wrap(head, width()), *(paint(line, "dim") for line in before), *now]

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

    def python(self) -> str:
        """A Python prompt on what is known at this step."""
        names = self.names()
        known = [name for name, value in names.items() if not isinstance(value, NotYet)]
        missing = [name for name, value in names.items() if isinstance(value, NotYet)]
        banner = wrap("Names: " + ", ".join(known), width())
        banner += wrap("Not yet computed: " + ", ".join(missing), width()) if missing else []
        self.screen.clear()
        ending = "exit() or Ctrl-D goes back to the walk."
        python_prompt(names, "\n".join([*banner, ending]), "<trace>")
        self.screen.clear()
        return f"Back at step {self.at}."


def stops(trace: Trace) -> list[Stop]:
    """The steps as places to go to; a search looks through their names and their rules."""
    found = [Stop(0, f"the tape of {trace.loss}", " ".join(trace.sources))]
    for at in trace.steps:
        made = trace.forward_of[at.name]
        back = not isinstance(at, ForwardStep)
        title = f"{'backward' if back else 'forward'} {at.number}: {at.name} = {made.expression}"
        gives = [f"gives d{part.parent}, {which(part)}" for part in at.parts] if back else []
        words = "\n".join([title, at.rule if back else at.formula, *gives])
        found.append(Stop(len(found), title, words))
    return found


def cut(told: list[str], height: int | None) -> list[tuple[str, list[str]]]:
    """A page's lines as screens of so many rows, each with the head, which is the first line.

    Of a head that takes several lines, or all of one, only the beginning stands above the page.
    """
    head, body = ESCAPE.sub("", told[0]).strip("- "), told[1:]
    if len(head) > width() - BESIDE_HEAD or body and CONTINUED.match(ESCAPE.sub("", body[0])):
        head, body = head.partition(":")[0], told
    size = height or max(1, len(body))
    return [(head, body[k : k + size]) for k in range(0, max(1, len(body)), size)]
