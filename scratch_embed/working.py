"""A hand calculation as data: lines with an expression, its numbers and its value.

    z[cat] = 0.6*0.8 + 0.1*(-0.2) + 0.3*0.4     a Line: the name of a result, and the stages of the
           = 0.48 - 0.02 + 0.12                 calculation, the last of which is the result
           = 0.58
        0.6*0.8 = 0.48                          its parts, Lines again: what the line opens into

A `Working` is a few such lines under one title. `worked.dot` and its like make one for a lesson, a
trace makes one for an entry of a gradient. What is done with it is the affair of whoever shows it:
a plain run prints it whole, a person who steps sees it line by line.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass

from scratch_embed.look.page import fold
from scratch_embed.look.terminal import visible, width, wrap

ROOM = 72  # columns that a line may fill before its stages get a line each


@dataclass(frozen=True)
class Line:
    """One line: `name = stage = stage = ...`; without a name, a sentence."""

    name: str
    stages: tuple[str, ...]
    value: object = None  # what the line comes to: a number or an array
    why: str = ""  # what the line is for: "collect both uses"
    parts: tuple[Line, ...] = ()  # what it opens into
    opened: bool = False  # whether a plain run shows the parts too
    adds: tuple = ()  # numbers or vectors like the value, where it is their sum

    @property
    def whole(self) -> str:
        """All of it in one string, however long: "a + b = 1 + 2 = 3"."""
        return " = ".join([self.name, *self.stages] if self.name else self.stages)

    def text(
        self, indent: int = 2, columns: int | None = None, stages: int | None = None
    ) -> list[str]:
        """The line as it stands in a terminal of so many columns, without its parts.

        stages: how many of them are shown, with a question mark for the others; None: all.
        """
        lead, columns = " " * indent, width() if columns is None else columns
        if not self.name:
            return wrap(self.stages[0], columns, lead, lead + "    ")
        shown = self.stages if stages is None else (*self.stages[:stages], "?")
        return _chain(self.name, shown, lead, columns)


@dataclass(frozen=True)
class Working:
    """The lines of one calculation, and the result that it comes to."""

    title: str
    lines: tuple[Line, ...]
    value: object = None
    kind: str = ""  # what it is an example of, as "dot"

    def text(self, everything: bool = False, columns: int | None = None) -> str:
        """All lines, each below what it is for; parts where a line is opened (or `everything`)."""
        return "\n".join(_laid(self.lines, 2, everything, columns or width()))

    def page(self, opened: bool = True) -> str:
        """All lines as HTML. Several are a fold under the title and the result."""
        lines, last = "\n".join(map(_on_a_page, self.lines)), self.lines[-1]
        if len(self.lines) > 1:
            told = last.whole if last.name.startswith(self.title) else f"{self.title}: {last.whole}"
            lines = fold(html.escape(told if last.name else self.title), lines, opened)
        return f'<div class="working">\n{lines}\n</div>'

    _repr_html_ = page  # what Jupyter shows


def _laid(lines: Iterable[Line], indent: int, everything: bool, columns: int) -> list[str]:
    laid = []
    for line in lines:
        if line.why:
            laid += wrap(line.why + ":", columns, " " * indent)
        laid += line.text(indent, columns)
        if line.parts and (line.opened or everything):
            laid += _laid(line.parts, indent + 4, everything, columns)
    return laid


def _on_a_page(line: Line) -> str:
    """A line as HTML; one with parts is a fold that holds them."""
    why = f"<div>{html.escape(line.why)}:</div>\n" if line.why else ""
    whole = f"<code>{html.escape(line.whole)}</code>"
    if not line.parts:
        return f"{why}<div>{whole}</div>"
    return why + fold(whole, "\n".join(map(_on_a_page, line.parts)), line.opened)


def _chain(name: str, stages: tuple[str, ...], lead: str, columns: int) -> list[str]:
    """name = stage = stage ..., on one line if it fits, else a line a stage."""
    single = f"{lead}{name} = " + " = ".join(stages)
    if visible(single) <= min(columns, ROOM):
        return [single.replace("\u00a0", " ")]
    longest = max(visible(word) for stage in stages for word in stage.split(" "))
    room = columns - len(lead) - len(" = ") - longest
    beside = visible(name) < min(room, columns // 3)  # else the name gets a line of its own
    laid = [] if beside else wrap(name, columns, lead)
    indent = lead + " " * (visible(name) if beside else 2)
    for position, stage in enumerate(stages):
        first = f"{lead}{name} = " if position == 0 and beside else f"{indent} = "
        laid += wrap(stage, columns, first)
    return laid
