"""The questions of a lesson, with the answers that a quick and silent run of it computes.

A question is written once, in its lesson. What it speaks of (a table, the numbers just printed) is
on the screen there, so a run also notes what stood above each question, and of the arrays that the
lesson showed earlier those that the question, or the code that answers it, has by name. A line of
a calculation that a person worked out while stepping is a question too: what its expression comes
to.
"""

from __future__ import annotations

import ast
import io
import re
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
LEAST_ABOVE = 6  # where arrays stand above these


@dataclass(frozen=True)
class Asked:
    """A question, the lesson it comes from, and what the lesson shows before it."""

    question: Question
    lesson: cells.Lesson
    above: str  # the arrays it needs, and the last lines before it, of its own section
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
        words = page.getvalue()[end:]
        page.truncate(end)
        page.seek(end)
        names = set(re.findall(r"\w+", words)) | _names(lesson, record.cell)
        arrays = [text for name, text in record.shown.items() if name in names]
        room = MOST_ABOVE - sum(text.count("\n") + 2 for text in arrays)
        before = page.getvalue()
        above = _end_of(before[sections[-1] :], max(room, LEAST_ABOVE))
        above = "\n\n".join([*(text for text in arrays if text not in above), above])
        shown.append((above, _end_of(before[sections[-2] :], MOST_MORE)))
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
                said = [line for line in failure.text.splitlines() if line[:1] not in ("(", "")]
                raise RuntimeError(f"lesson {lesson.number} fails: {said[-1]}")
    found = [Asked(question, lesson, *text) for question, text in zip(record.questions, shown)]
    for working, _ in record.workings if lines else ():
        for at, line in enumerate(working.lines):
            if can_be_asked(line):
                above = replace(working, lines=working.lines[:at]).text()
                found.append(Asked(asked_of(line), lesson, above, above))
    return found


def _names(lesson: cells.Lesson, position: int) -> set[str]:
    """The names in the code of a question: in its cell, and on to the one that answers it."""
    found: set[str] = set()
    for cell in lesson.cells[position:]:
        nodes = (node for statement in cell.nodes for node in ast.walk(statement))
        found |= {node.id for node in nodes if isinstance(node, ast.Name)}
        if ".answer(" in cell.text:
            break
    return found


def _end_of(section: str, most: int) -> str:
    """At most so many of its last lines, from the beginning of a paragraph."""
    lines = section.strip("\n").splitlines()
    cut = len(lines) - most
    if cut > 0:
        cut = next((n + 1 for n in range(cut, len(lines)) if not lines[n].strip()), cut)
        lines = lines[cut:]
    return "\n".join(lines).rstrip()
