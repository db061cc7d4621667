"""What a person looks at beside the steps: where to go, code, Python, questions from before."""

from __future__ import annotations

import ast
import io
import types
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from typing import TYPE_CHECKING

from scratch_embed.lesson.ask import read_answer
from scratch_embed.lesson.quiz import memory
from scratch_embed.lesson.quiz.asked import Asked, questions
from scratch_embed.lesson.record import Record, recording
from scratch_embed.lesson.usage import spoken
from scratch_embed.lesson.walk import cells, marks, operations
from scratch_embed.lesson.walk.capture import Capture
from scratch_embed.lesson.walk.pager import Pager
from scratch_embed.lesson.walk.sheet import Code, Printed, Prose
from scratch_embed.look.leaf import Stop, leaf
from scratch_embed.look.prompt import python_prompt
from scratch_embed.look.screen import Screen
from scratch_embed.look.terminal import ESCAPE, WIDEST, fit, wrap
from scratch_embed.trace.inside import Visit

if TYPE_CHECKING:
    from scratch_embed.lesson.walk.stepper import Step

BEFORE = 2  # questions from the lessons that this one needs


def stops(steps: Sequence[Step]) -> list[Stop]:
    """The steps as places to go to: their sections, their prose, and what they have shown so far.

    The code is left out: it holds the answers to questions that nobody has been asked yet.
    """
    found = []
    for n, step in enumerate(steps, start=1):
        blocks = step.blocks or [Prose(spoken(text)) for text in step.prose]
        lines = (line for block in blocks for line in block.lines(WIDEST))
        words = ESCAPE.sub("", "\n".join(lines))
        found.append(Stop(n, step.section if step.begins else "", words))
    return found


def listing(lesson: cells.Lesson, position: int, told: bool) -> Code:
    """A cell's code with its line numbers; more than two imports in a row become one line, and so
    does each answer that has not been told yet."""
    cell = lesson.cells[position]
    lines = {cell.line + k: text for k, text in enumerate(cell.text.splitlines())}
    imports = [node for node in cell.nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    inside = {n for node in imports for n in range(node.lineno, node.end_lineno + 1)}
    if len(inside) > 2:
        first, last = min(inside), max(inside)
        blank = {n for n in range(first, last) if not lines[n].strip()}
        lines = {n: text for n, text in lines.items() if n not in inside | blank}
        lines[first] = f"import ...  ({len(inside)} lines, folded)"
    for node in [] if told else map(ast.walk, cell.nodes):
        for call in filter(_answers, node):
            kept = lines[call.lineno][: call.func.end_col_offset]
            for n in range(call.lineno, call.end_lineno + 1):
                del lines[n]
            lines[call.lineno] = f"{kept}(...)  (folded until it is told)"
    return Code(tuple(sorted(lines.items())))


def _answers(node: ast.AST) -> bool:
    """Whether this is the answer to a guess."""
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr == "answer"


def prompt(module: types.ModuleType, screen: Screen) -> None:
    """A Python prompt on the lesson's variables. What it checks there is not recorded."""
    own, helpers = [], []
    for name, value in module.__dict__.items():
        if not name.startswith("_"):
            lent = isinstance(value, types.ModuleType) or (
                callable(value) and getattr(value, "__module__", "") != "__main__"
            )
            (helpers if lent else own).append(name)
    banner = []
    for title, names in (("The lesson's: ", own), ("Helpers: ", helpers)):
        banner += wrap(", ".join(names), screen.columns, title) if names else []
    banner = [*(banner or ["No names yet."]), "exit() or Ctrl-D goes back to the lesson."]
    # Inside a cell both streams are kept for its sheet: errors come on standard error.
    with recording(Record("prompt")), redirect_stdout(screen.out), redirect_stderr(screen.out):
        python_prompt(module.__dict__, "\n".join(banner))
    screen.clear()


def choose(visits: Sequence[Visit], screen: Screen) -> Visit | str:
    """One of the calls of a cell, chosen by its number; or what to say instead."""
    if len(visits) < 2:
        return visits[0] if visits else "No operation has run here."
    named = [f"{n:>3}  {operations.heading(visit)}" for n, visit in enumerate(visits, 1)]
    typed = leaf(
        screen, "Into which call? Type its number, then Enter",
        lambda columns: [fit(text, columns) for text in named], number=True,
    )  # fmt: skip
    if typed.isdecimal() and 1 <= int(typed) <= len(visits):
        return visits[int(typed) - 1]
    return f"There are calls 1 to {len(visits)}." if typed else ""


def back(lesson: cells.Lesson, pager: Pager, screen: Screen) -> None:
    """A lesson opens on two questions from before, of lessons that it needs."""
    chosen = _from_before(lesson, screen)
    if not chosen:
        return
    capture = Capture(screen.out)
    told = "a question" if len(chosen) == 1 else f"{len(chosen)} questions"
    pager.begin(0, [Prose(f"**From before**: {told}.")])
    for asked in chosen:
        question = replace(asked.question, typed="", right=None)
        pager.sheet.append(Prose(f"Lesson {asked.lesson.title}"))
        pager.sheet += [Printed(asked.above)] if asked.above else []
        with redirect_stdout(capture):
            question.put()
            pager.sheet.append(Printed(capture.take()))
            question.typed = read_answer(
                lambda words: pager.pause(question=f"{words.strip()} "),
                question.options,
                words=question.words,
            )
            question.tell()
        if question.right is not None:
            memory.remember(asked.key, question.right)
        pager.sheet.append(Printed(capture.take()))
        pager.pause()


def _from_before(lesson: cells.Lesson, screen: Screen) -> list[Asked]:
    """What went wrong in the lessons that this one needs; else, of those that were finished, what
    was not asked yet, or longest ago."""
    answered, done = memory.answered(), marks.finished()
    order = {key: place for place, key in enumerate(answered)}  # oldest answer first
    last = {key.partition(": ")[0]: place for key, place in order.items()}  # of each lesson
    wrong = [key for key, right in answered.items() if not right]
    missed = {key.partition(": ")[0] for key in wrong}
    known = cells.find(lesson.path.parent)
    needed = [known[n] for n in lesson.head.needs if n in known and n != lesson.number]
    paths = [path for path in needed if path.stem in done | missed]
    paths.sort(key=lambda path: (path.stem not in missed, last.get(path.stem, -1)))
    found: list[Asked] = []
    for path in paths:
        if len(found) >= BEFORE and path.stem not in missed:
            break
        screen.wait((lesson.title, ""), [], "looking for two questions from before ...")
        try:
            with redirect_stderr(io.StringIO()):  # as of loops that are compiled now
                found += questions(path)
        except (SyntaxError, RuntimeError):
            pass  # that lesson will say so itself
    alone = [a for a in found if not a.question.text.startswith(("And ", "Now "))]
    # without its table a number is hard to tell, so of like ones those with options come first
    alone.sort(key=lambda a: (a.key not in wrong, order.get(a.key, -1), not a.question.options))
    return alone[:BEFORE]
