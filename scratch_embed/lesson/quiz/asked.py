"""The questions of a lesson, with the answers that a quick and silent run of it computes.

A question is written once, in its lesson. What it speaks of (a table, the numbers just printed) is
on the screen there, so a run also notes what stood above each question. A line of a calculation
that a person worked out while stepping is a question too: what its expression comes to.
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from scratch_embed.lesson.ask import Question
from scratch_embed.lesson.record import Options
from scratch_embed.lesson.walk import cells, runner
from scratch_embed.lesson.walk.fading import can_be_asked
from scratch_embed.look.numbers import number
from scratch_embed.look.render import markdown
from scratch_embed.working import Line

MOST_ABOVE, MOST_MORE = 16, 60  # lines: what fits a screen with the question, what "?" shows


@dataclass(frozen=True)
class Asked:
    """A question, the lesson it comes from, and what the lesson shows before it."""

    question: Question
    lesson: cells.Lesson
    above: str  # the last lines before it, of its own section
    more: str  # its section and the one before

    @property
    def key(self) -> str:
        """What it is remembered under: its lesson and its words."""
        return f"{self.lesson.name}: {self.question.text}"


def asked_of(line: Line) -> Question:
    """The question that a line of a working is, answered."""
    size = np.size(line.value)
    return Question(
        f"{line.name} = {line.stages[0]} = ?".replace("\u00a0", " "),
        shown=number(line.value) if size == 1 else line.stages[-1],
        because=line.why,
        value=float(line.value) if np.ndim(line.value) == 0 else np.asarray(line.value),
        parts=line.adds,
    )


def questions(path: Path, lines: bool = False) -> list[Asked]:
    """Run the lesson and return its questions in order, answered.

    lines: also those lines of its workings that a person who steps can be asked for.
    Raises SyntaxError for a file that does not parse, RuntimeError when a cell of it fails.
    """
    lesson = cells.load(path)
    record = runner.new_record(lesson, Options(quick=True))
    page, sections, shown = io.StringIO(), [0, 0], []

    def note(prompt: str) -> str:
        """Instead of a person: what is on the page but for the question itself, which comes off."""
        end = page.getvalue().rindex("  ? ")
        page.truncate(end)
        page.seek(end)
        starts = zip(sections[-2:], (MOST_MORE, MOST_ABOVE))
        shown.append([_end_of(page.getvalue()[at:], most) for at, most in starts][::-1])
        return ""

    record.ask = note
    with runner.stage(lesson, record) as module, redirect_stdout(page):
        for position, cell in enumerate(lesson.cells):
            if cell.kind == "markdown":
                if cell.text.lstrip().startswith("#"):
                    sections.append(page.tell())
                print(f"\n{markdown(cell.text)}\n")
                continue
            for code in runner.shown_code(cell):
                print(f"{code}\n")
            if failure := runner.run_cell(position, lesson, module, record):
                raise RuntimeError(f"lesson {lesson.number} fails: {failure.text.splitlines()[-1]}")
    found = [Asked(question, lesson, *text) for question, text in zip(record.questions, shown)]
    for working, _ in record.workings if lines else ():
        for at, line in enumerate(working.lines):
            if can_be_asked(line):
                above = replace(working, lines=working.lines[:at]).text()
                found.append(Asked(asked_of(line), lesson, above, above))
    return found


def _end_of(section: str, most: int) -> str:
    """At most so many of its last lines, from the beginning of a paragraph."""
    lines = section.strip("\n").splitlines()
    cut = len(lines) - most
    if cut > 0:
        cut = next((n + 1 for n in range(cut, len(lines)) if not lines[n].strip()), cut)
        lines = lines[cut:]
    return "\n".join(lines).rstrip()
