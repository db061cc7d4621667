"""Stops on the way: a screen is shown until a key leads on, and earlier ones can be read again.

Every stop is kept as a view: the blocks that stood on the sheet, and which of them were new. To go
back is to look at an earlier view; nothing runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import NamedTuple

from scratch_embed.lesson.walk.sheet import Block, Code, screens
from scratch_embed.look import keys
from scratch_embed.look.leaf import JUMPS, leaf
from scratch_embed.look.screen import Screen
from scratch_embed.look.terminal import paint, visible

ALWAYS = (*JUMPS, "python", "again", "quit", "help")
WHY = {  # a key has no meaning here
    "open": "This line has no parts to open.",
    "close": "No line is open here.",
    "into": "No operation of the package, and no function of the lesson, ran here.",
    "out": "You are in the lesson, not inside an operation.",
    "view": "There is no code here.",
}
IN_PARTS = {"open": "These are parts of an open line: c closes it."}
BESIDE = 110  # columns from which on the code stands beside the page
BAR = " | "


class View(NamedTuple):
    """What stood on the sheet at one stop."""

    step: int
    blocks: tuple[Block, ...]
    new: int  # the first block that was new


class Pager:
    """The sheet of the step that is under way, the views so far, and the keys that lead about."""

    def __init__(
        self,
        screen: Screen,
        head: Callable[[int], tuple[str, str]],
        code: Callable[[int], Code | None],
        own: Callable[[int], tuple[str, ...]],
        obey: Callable[[keys.Pressed, int], str],
    ):
        """Each is told a step: head answers with the two ends of the first row, code with its
        code, own with the keys that it has besides ALWAYS; obey does what a key asks that leads
        neither on nor back, and returns a note to show.
        """
        self.screen, self.head, self.code, self.own, self.obey = screen, head, code, own, obey
        self.sheet: list[Block] = []
        self.new = 0
        self.step = 0
        self.views: list[View] = []
        self.beside = False

    def begin(self, step: int, blocks: Sequence[Block] = ()) -> None:
        """An empty sheet for a step, or the one it had."""
        self.step, self.sheet, self.new = step, list(blocks), 0

    def first_page(self) -> list[str]:
        """What the sheet begins with."""
        return screens(self.sheet, 0, self.screen.columns, self.screen.height)[0]

    def pause(self, more: Sequence[str] = (), question: str = "") -> str:
        """Show what is new on the sheet, screen by screen, until a key leads on from the last.

        Returns the name of that key: "on", or one of `more`. With a question: what was typed.
        """
        self.views.append(View(self.step, tuple(self.sheet), self.new))
        self.new = len(self.sheet)
        at, page, note = len(self.views) - 1, 0, ""
        with _untraced():
            while True:
                pages = self._pages(self.views[at])
                page = min(page, len(pages) - 1) if page >= 0 else len(pages) - 1
                newest = at == len(self.views) - 1 and page == len(pages) - 1
                own = self.own(self.views[at].step)
                names = ("on", *(more if newest else ()), "back", *own, *ALWAYS)
                pressed = self._press(at, pages[page], note, names, question if newest else "")
                if isinstance(pressed, str):
                    self.screen.busy()
                    return pressed
                note = ""
                if pressed.name == "on" and newest or pressed.name in more:
                    self.screen.busy()
                    return pressed.name
                if pressed.name == "on":
                    at, page = (at, page + 1) if page + 1 < len(pages) else (at + 1, 0)
                elif pressed.name == "back":
                    if (at, page) == (0, 0):
                        note = "This is the beginning."
                    at, page = (at, page - 1) if page else (at - 1, -1) if at else (0, 0)
                else:
                    note = self._stay(pressed, self.views[at].step, names)

    def _press(self, at, page, note, names, question) -> keys.Pressed | str:
        """The next key; to a question what is typed, unless a colon makes a key of it."""
        self.screen.draw(self.head(self.views[at].step), page, note)
        if not question:
            return self.screen.key(names)
        typed = self.screen.ask(question)
        if not typed.startswith(":"):
            return typed
        name = keys.meaning(typed[1:2].lower() or "Enter", names)
        name = name if name != "on" else keys.UNKNOWN
        return keys.Pressed(name, typed[1:].removeprefix("g").removeprefix("/").strip())

    def _stay(self, pressed: keys.Pressed, step: int, names: tuple[str, ...]) -> str:
        """A key that leads neither on nor back. Returns a note to show."""
        if pressed.name == keys.REDRAW:
            return ""
        if pressed.name == keys.UNKNOWN:
            return keys.refused(pressed, WHY | IN_PARTS if "close" in names else WHY)
        if pressed.name == "help":
            names = ("on", "back", "open", "close", "into", "out", "view", *ALWAYS)
            leaf(self.screen, "The keys", lambda columns: keys.help_lines(names, columns))
            return ""
        if pressed.name != "view":
            return self.obey(pressed, step)
        code = self.code(step)
        if self.screen.columns >= BESIDE and self.screen.moves:
            self.beside = not self.beside
        else:
            leaf(self.screen, "The code of this step", code.lines)
        return ""

    def _pages(self, view: View) -> list[list[str]]:
        """The screens of a view; where there is room and it was asked for, beside the code."""
        columns, height = self.screen.columns, self.screen.height
        code = self.code(view.step) if self.beside and columns >= BESIDE else None
        if code is None:
            return screens(view.blocks, view.new, columns, height)
        left = columns - columns * 45 // 100
        listing = code.lines(columns - left - len(BAR))[:height]
        return [
            [f"{pad(line, left)}{paint(BAR, 'dim')}{beside}"
             for line, beside in zip_longest(page, listing, fillvalue="")]
            for page in screens(view.blocks, view.new, left, height)
        ]  # fmt: skip


def pad(text: str, columns: int) -> str:
    """The text with blanks after it, up to so many columns."""
    return text + " " * (columns - visible(text))


@contextmanager
def _untraced() -> Iterator[None]:
    """While a person reads, nothing is watched."""
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)
