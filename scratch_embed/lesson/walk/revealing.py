"""A working, a line an Enter: opened and closed, and asked for where it is like one seen before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from scratch_embed.lesson.answers import how_far
from scratch_embed.lesson.ask import read_answer
from scratch_embed.lesson.walk import operations
from scratch_embed.lesson.walk.fading import Fading
from scratch_embed.lesson.walk.pager import Pager
from scratch_embed.lesson.walk.sheet import Printed, Shown
from scratch_embed.look.terminal import paint
from scratch_embed.trace.inside import Visit
from scratch_embed.working import Line, Working

QUESTION = "What comes next? ({}; Enter shows it) "
DEEPER = 4  # columns that parts stand further in


class Up(Exception):
    """A person leaves the operation before its last line."""


class Revealing:
    """Puts the lines of a working on the pager's sheet one by one, and counts the answers."""

    def __init__(self, pager: Pager, fading: Fading, judged: Callable[[Line, str, bool], None]):
        """judged: is told of an answer: to which line, what was typed, whether it is right."""
        self.pager, self.fading, self.judged = pager, fading, judged
        self.right = self.wrong = 0

    def show(self, working: Working, asks: bool = True) -> None:
        """All lines of it; `asks`: those that like ones before have prepared are asked for."""
        known, asked = self.fading.known(working), self.fading.asked(working)
        self._lines(working.lines, asked if asks else {}, swift=known)

    def enter(self, visit: Visit) -> None:
        """The lines that a call ran, on a sheet of their own; afterwards all is as it was."""
        pager = self.pager
        kept, new, views = pager.sheet, pager.new, len(pager.views)
        pager.sheet, pager.new = [Printed(paint(operations.heading(visit), "bold"))], 0
        try:
            self._lines(operations.lines(visit), {}, more=("out",))
            pager.sheet.append(Printed("That was its last line. Enter goes back to the lesson."))
            pager.pause(["out"])
        except Up:
            pass
        finally:
            pager.sheet, pager.new = kept, new
            del pager.views[views:]

    def _lines(
        self, lines: Sequence[Line], asked: dict[int, int], more: tuple = (), swift: bool = False
    ) -> None:
        """Line after line; the last one opens into its parts, and closes again.

        asked: {position of a line that is asked: stages of it that are shown}. more: other keys.
        swift: lines that are neither asked nor open into parts come together with the next.
        """
        sheet = self.pager.sheet
        rows: list[tuple[Iterator, int]] = [(enumerate(lines), 0)]  # and what they are part of
        while rows:
            position, line = next(rows[-1][0], (0, None))
            if line is None:
                rows.pop()
                continue
            shown = Shown(line, 2 + DEEPER * (len(rows) - 1))
            sheet.append(shown)
            home = len(sheet) - 1
            if len(rows) == 1 and position in asked:
                self._ask(shown, asked[position])
            self.fading.note(line)
            plain = len(rows) == 1 and not line.parts and position not in asked
            if swift and plain and line is not lines[-1]:
                continue
            while True:
                last = sheet[home]
                opens = ("open",) if last.line.parts else ()
                closes = ("close",) if len(rows) > 1 else ()
                key = self.pager.pause((*opens, *closes, *more))
                if key == "out":
                    raise Up
                if key == "open":
                    sheet[home] = Shown(last.line, last.indent, folded=False)
                    rows.append((enumerate(last.line.parts), home))
                if key != "close":
                    break
                _, home = rows.pop()
                opened = sheet[home]
                sheet[home:] = [Shown(opened.line, opened.indent)]
                self.pager.new = home

    def _ask(self, shown: Shown, stages: int) -> None:
        """Ask for the last line of the sheet, before it is shown, and judge what was typed."""
        line, sheet = shown.line, self.pager.sheet
        size = getattr(line.value, "size", 1)
        wanted = "a number" if size == 1 else f"{size} numbers"
        sheet[-1] = Shown(line, shown.indent, stages)
        prompt = QUESTION.format(wanted)
        typed = read_answer(lambda words: self.pager.pause(question=words), None, prompt, size)
        sheet[-1] = shown
        self.pager.new = len(sheet) - 1
        if not typed:
            return
        right, slip = self.fading.judge(typed, line)
        told = paint("Right.", "green") if right else paint("No.", "red")
        if not right and not slip:
            slip = f"{how_far(typed, line.value)} {_where(line, stages)}".strip()
        sheet.append(Printed(f"  You said {typed}. {told} {slip}".rstrip()))
        self.right += right
        self.wrong += not right
        self.judged(line, typed, right)


def _where(line: Line, stages: int) -> str:
    """What to look at again in a line whose first stages were shown."""
    told = [f"Next comes {line.stages[stages]}."] if stages < len(line.stages) - 1 else []
    return " ".join([*told, *(["o opens the line into its parts."] if line.parts else [])])
