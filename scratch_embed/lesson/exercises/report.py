"""A verdict in words, and the table of all exercises."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scratch_embed.lesson.exercises.desk import NOT_BEGUN, NOT_YET, SOLVED, Desk
from scratch_embed.lesson.exercises.exercise import Exercise
from scratch_embed.lesson.tools import shown_path
from scratch_embed.look.terminal import paint, table, visible, width, wrap

COLOURS = {SOLVED: "green", NOT_YET: "red", NOT_BEGUN: "dim"}
MOST_LINES = 12  # shown of what a file printed
LEAST_ROOM = 40  # columns for what there is to write


def listing(exercises: Mapping[str, Exercise], desk: Desk) -> str:
    """Every exercise with its lesson, its level and the learner's state, and how many are solved.

    What there is to write stands beside it where the terminal is wide enough.
    """
    head = ["", "exercise", "lesson", "level", "state", "what to write"]
    rows, solved = [], 0
    for exercise in exercises.values():
        state = desk.state(exercise)
        solved += state == SOLVED
        state = paint(state, COLOURS.get(state, "yellow"))
        lesson = "" if exercise.lesson is None else str(exercise.lesson)
        what = exercise.title.partition(":")[0]
        rows.append([str(exercise.number), exercise.name, lesson, exercise.level, state, what])
    left = width() - sum(max(visible(row[k]) for row in [head, *rows]) + 2 for k in range(5))
    shown = len(head) if left >= LEAST_ROOM else len(head) - 1
    text = table(head[:shown], [row[:shown] for row in rows], right=[0, 2])
    return f"{text}\n\n{solved} of {len(rows)} solved, in {shown_path(desk.folder)}"


def verdict(exercise: Exercise, file: Path, found: Mapping[str, Any]) -> str:
    """What a check found: how far it went, what is wrong and where, and what the file printed."""
    state = SOLVED if found["passed"] else NOT_YET
    blocks = [f"{paint(exercise.name, 'bold')}   {paint(state, COLOURS[state], 'bold')}"]
    if found["found"]:
        size = max(map(len, found["found"]))
        blocks.append("\n".join(f"  {k:<{size}}   {v}" for k, v in found["found"].items()))
    if found["sentence"]:
        blocks.append(_wrong(file, found))
    if found["printed"]:
        lines = found["printed"].rstrip().splitlines()
        cut = ["..."] * (len(lines) > MOST_LINES)
        blocks.append("\n".join(["Your file printed:", *indented([*lines[:MOST_LINES], *cut])]))
    return "\n\n".join(blocks)


def _wrong(file: Path, found: Mapping[str, Any]) -> str:
    place = shown_path(file) + (f", line {found['line']}" if found["line"] else "")
    ended = found["sentence"].endswith((".", "?"))
    sentence = "\n".join(wrap(f"{place}: {found['sentence']}{'.' * (not ended)}", width()))
    detail = indented(found["detail"].splitlines())
    detail = [part for line in detail for part in _fitting(line)]
    return "\n\n".join([paint(sentence, "red"), *(["\n".join(detail)] if detail else [])])


def _fitting(line: str) -> list[str]:
    """A line as it is, or cut where it is wider than the terminal."""
    return wrap(line.lstrip(), width(), "  ", "    ") if visible(line) > width() else [line]


def indented(lines: list[str]) -> list[str]:
    """The lines, moved in by two."""
    return [f"  {line}".rstrip() for line in lines]
