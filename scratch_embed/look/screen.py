"""The screen that a person who steps looks at: a head, a page, a line to type in, the keys.

On a terminal each page takes the place of the one before, and the window is as it was afterwards.
Into a pipe, and where TERM=dumb, pages follow each other, and of one that goes on where the last
one ended only what is new is printed.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout

from scratch_embed.look import keys
from scratch_embed.look.streams import Sieve
from scratch_embed.look.terminal import NARROWEST, fit, paint

FRAME = 3  # rows that are not the page's: the head, a line to type in, the keys
LOWEST = 8
AT_A_QUESTION = ":b back   :s sections   :p Python   :q quit   :? help"
UP, FOOT = "\x1b[A", "\x1b[999;1H\x1b[2K"  # a row up; to the last row, which is emptied
COMPILING = "scratch_embed: compiling "  # what standard error is told when a loop is compiled
OPEN, CLOSE, CLEAR = "\x1b[?1049h", "\x1b[?1049l", "\x1b[H\x1b[2J"


class Screen:
    """Draws pages on the standard output there was when it was made, and reads what is typed."""

    def __init__(self):
        self.out = sys.stdout
        self.moves = keys.at_once()
        self.last: tuple[str, list[str]] = ("", [])
        self.drawn: os.terminal_size | None = None  # the window's size at the last page
        self.ran = False  # whether something ran since the last key

    @property
    def columns(self) -> int:
        """Columns of the window now."""
        return max(NARROWEST, shutil.get_terminal_size((80, 24)).columns)

    @property
    def height(self) -> int:
        """Rows that a page may take now."""
        return max(LOWEST, shutil.get_terminal_size((80, 24)).lines) - FRAME

    @contextmanager
    def opened(self) -> Iterator[Screen]:
        """Take the window over for the block, and give it back however the block ends."""
        if self.moves:
            print(OPEN, end="", file=self.out)
        try:
            with noticing(self.busy):
                yield self
        finally:
            if self.moves:
                print(CLOSE, end="", file=self.out, flush=True)

    def draw(self, head: tuple[str, str], page: Sequence[str], note: str = "") -> None:
        """The page under its head (left and right), and a note below it."""
        self.drawn = shutil.get_terminal_size()
        head_line = _between(*head, self.columns)
        if self.moves:
            rows = [paint(head_line, "dim"), *page][: self.height + 1]
            rows += [""] * (self.height + 1 - len(rows))
            print(CLEAR + "\n".join(rows) + "\n" + fit(note, self.columns), end="\r",
                  file=self.out, flush=True)  # fmt: skip
            return
        same_step, before = self.last[0] == head_line, self.last[1]
        goes_on = same_step and page[: len(before)] == before
        if not same_step:
            print("\n" + paint(head_line.center(self.columns, "-"), "dim"), file=self.out)
        rows = [*(page[len(before) :] if goes_on else page), *([note] if note else [])]
        if rows:
            print("\n".join(rows), file=self.out)
        self.last = head_line, list(page)

    def busy(self, note: str = "running ...") -> None:
        """The page stays, and in place of its keys stands that something runs."""
        self.ran = True
        if self.moves:
            told = paint(fit(note, self.columns - 1), "dim")
            print(FOOT + told, end="", file=self.out, flush=True)

    def wait(self, head: tuple[str, str], page: Sequence[str], note: str) -> None:
        """The same while something runs that may take long; only where it can be covered again."""
        self.ran = True
        if self.moves:
            self.draw(head, page, note)

    def key(self, names: Iterable[str]) -> keys.Pressed:
        """The next key, with the keys that there are told in the last row."""
        told = paint(keys.hint(names, self.columns - 3), "dim")
        with redirect_stdout(self.out):
            if self.moves:
                if self.ran:
                    keys.forget()  # what was typed meanwhile was not meant for this page
                self.ran = False
                return keys.read(names, f"\n{told}", self.drawn)
            types = keys.is_terminal(sys.stdin)
            pressed = keys.read(names, f"{told}\n> " if types else f"{told} > ")
            if not types or pressed in (keys.CTRL_C, keys.END):
                print()  # nobody pressed Enter
            return pressed

    def ask(self, prompt: str) -> str:
        """A line that is typed below the page; "" when Ctrl-D or Ctrl-C cut it short."""
        if self.moves:
            told = paint(fit(AT_A_QUESTION, self.columns - 1), "dim")
            print(f"\n{told}{UP}", end="\r", file=self.out, flush=True)
            keys.forget()  # who went on too fast has not seen the question
        # input() edits lines only on the true standard output
        with redirect_stdout(self.out), keys.echo(True):
            try:
                return input(fit(prompt, self.columns - 12))
            except (EOFError, KeyboardInterrupt, RuntimeError):
                print()
                return ""

    def clear(self) -> None:
        """An empty window, for what draws itself."""
        self.last = ("", [])
        print(CLEAR if self.moves else "", end="", file=self.out, flush=True)


@contextmanager
def noticing(say: Callable[[str], None]) -> Iterator[None]:
    """In this block a terminal does not show what is typed, and `say` tells what is compiled."""
    if not keys.at_once():
        yield
        return
    with keys.echo(False), redirect_stderr(_Notices(sys.stderr, say)):
        yield


class _Notices(Sieve):
    """Standard error, but for the notices that a loop is compiled: `say` tells them, in short."""

    def __init__(self, stream, say: Callable[[str], None]):
        super().__init__(stream)
        self.say = say

    def write(self, text: str) -> int:
        if text.startswith(COMPILING):
            name = text.removeprefix(COMPILING).partition(",")[0].strip()
            self.say(f"compiling {name}, once ...")
        else:
            self.stream.write(text)
        return len(text)


def _between(left: str, right: str, columns: int) -> str:
    """The left text and, at the end of the line, the right one."""
    left = fit(left, columns - len(right) - 1)
    return left + " " * (columns - len(left) - len(right)) + right
