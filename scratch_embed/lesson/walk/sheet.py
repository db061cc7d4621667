"""What stands on a step's sheet, block by block, and how it is cut into screens.

A sheet only grows: prose, code, what was printed, a line of a working. A screen shows what is new,
and above it as much of what came before as there is room for; what is new and higher than a screen
takes several. Nothing is laid out before it is shown, so a window may change its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scratch_embed.look.render import markdown
from scratch_embed.look.terminal import ESCAPE, WIDEST, paint, visible, wrap
from scratch_embed.working import Line


@dataclass(frozen=True)
class Prose:
    """Markdown."""

    text: str

    def lines(self, columns: int) -> list[str]:
        """The prose laid out; long lines are tiring, so it does not fill a wide terminal."""
        return markdown(self.text, min(columns, WIDEST)).splitlines()


@dataclass(frozen=True)
class Printed:
    """What a cell printed, or what the stepper says."""

    text: str

    def lines(self, columns: int) -> list[str]:
        """As it was printed, but for lines that are too long: they go on below."""
        return [piece for line in self.text.splitlines() for piece in fold(line, columns)]


@dataclass(frozen=True)
class Code:
    """Lines of code with their numbers in the file; 0 stands for no number."""

    numbered: tuple[tuple[int, str], ...]

    def lines(self, columns: int) -> list[str]:
        """With the numbers beside them; never cut inside a word."""
        digits = len(str(max((number for number, _ in self.numbered), default=0)))
        laid = []
        for number, text in self.numbered:
            first, *more = fold(text, columns - digits - 3)
            laid.append(f"{number or '':>{digits}} | {first}".rstrip())
            laid += [f"{'':>{digits}} : {piece}" for piece in more]
        return [paint(line, "cyan") for line in laid]


@dataclass(frozen=True)
class Shown:
    """A line of a working, so far as it is revealed: all of its stages, or the first few."""

    line: Line
    indent: int = 2
    stages: int | None = None
    folded: bool = True  # a plus in the margin says that it opens

    def lines(self, columns: int) -> list[str]:
        """What it is for, and the line."""
        laid = self.line.text(self.indent, min(columns, WIDEST), self.stages)
        laid = [piece for text in laid for piece in fold(text, columns)]
        if self.line.parts and self.stages is None:
            sign = "+" if self.folded else "-"
            laid[0] = laid[0][: self.indent - 2] + sign + laid[0][self.indent - 1 :]
        why = wrap(self.line.why + ":", columns, " " * self.indent) if self.line.why else []
        return [paint(text, "italic") for text in why] + laid


Block = Prose | Printed | Code | Shown


def fold(text: str, columns: int) -> list[str]:
    """The line in pieces of at most `columns`, cut at a space wherever there is one."""
    if visible(text) <= columns:
        return [text.rstrip()]
    lead = " " * min(len(text) - len(text.lstrip()) + 4, columns // 2)
    if ESCAPE.search(text):
        return wrap(text.strip(), columns, lead[4:], lead)
    pieces = []
    while visible(text) > columns:
        at = text.rfind(" ", len(lead) + 1, columns + 1)
        at = at if at > len(lead) else columns
        pieces.append(text[:at].rstrip())
        text = lead + text[at:].lstrip()
    return [*pieces, text.rstrip()]


def lay(blocks: Sequence[Block], columns: int) -> tuple[list[str], list[int]]:
    """All lines, with a blank one between blocks, and the line where each block begins."""
    lines, starts = [], []
    for position, block in enumerate(blocks):
        laid = block.lines(columns)
        together = isinstance(block, Shown) and isinstance(blocks[position - 1], Shown)
        if lines and laid and not together:
            lines.append("")
        starts.append(len(lines))
        lines += laid
    return lines, [*starts, len(lines)]


def screens(blocks: Sequence[Block], new: int, columns: int, height: int) -> list[list[str]]:
    """The screens on which the blocks from number `new` on are shown for the first time."""
    lines, starts = lay(blocks, columns)
    at, found = starts[min(new, len(blocks))], []
    while True:
        end = len(lines) if len(lines) - at <= height else _pause(lines, at, height)
        found.append(_window(lines, at, end, height))
        if end == len(lines):
            return found
        at = end


def _pause(lines: list[str], at: int, height: int) -> int:
    """Where a screen that begins at `at` ends: at a blank line in its lower half, or when full."""
    blanks = [k for k in range(at + height // 2, at + height) if not ESCAPE.sub("", lines[k])]
    return blanks[-1] + 1 if blanks else at + height


def _window(lines: list[str], at: int, end: int, height: int) -> list[str]:
    """The lines up to `end`, from as far up as fits; if possible from the start of a paragraph."""
    first = max(0, end - height)
    if first:
        tidy = (k for k in range(first, at + 1) if not lines[k - 1])
        first = next(tidy, first)
    window = lines[first:end]
    while window and not window[-1]:
        window.pop()
    while window and not window[0]:
        window.pop(0)
    return window
