"""The cells of a lesson, cut finer: what a page shows is parted from what it folds away.

    code       what the lesson is about
    imports    folded: where the names come from
    helper     folded: functions with a leading underscore, which draw or lay out
    quiz       hidden: it asks a question or tells the answer, and what it shows is seen instead
    play       says which simulation belongs here; a page has the simulation itself instead

A cell is cut between statements, so the pieces run one after another as the cell does.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from itertools import groupby

from scratch_embed.lesson.walk.cells import Cell, Lesson

SETTING_UP = {"begin()"}  # goes with the imports


@dataclass
class Piece(Cell):
    """A cell of prose, or statements of a cell that have the same part to play."""

    role: str = ""


def cut(lesson: Lesson) -> Lesson:
    """The same lesson with pieces for cells."""
    return replace(lesson, cells=[piece for cell in lesson.cells for piece in _pieces(cell)])


def _pieces(cell: Cell) -> list[Piece]:
    if cell.kind == "markdown":
        return [Piece("markdown", cell.text, cell.line, role="prose")]
    groups = [(role, list(nodes)) for role, nodes in groupby(cell.nodes, role)]
    lines, pieces, start = cell.text.splitlines(), [], 0
    for position, (part, nodes) in enumerate(groups):
        last = position == len(groups) - 1
        end = len(lines) if last else nodes[-1].end_lineno - cell.line + 1
        own = lines[start:end]
        blank = next((n for n, line in enumerate(own) if line.strip()), 0)
        text = "\n".join(own[blank:]).rstrip()
        pieces.append(Piece("code", text, cell.line + start + blank, nodes, part))
        start = end
    return pieces


def role(node: ast.stmt) -> str:
    """What a statement is there for."""
    if isinstance(node, (ast.Import, ast.ImportFrom)) or ast.unparse(node) in SETTING_UP:
        return "imports"
    if isinstance(node, ast.FunctionDef) and node.name.startswith("_"):
        return "helper"
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "options":
        return "quiz"  # the choices of the question that comes next
    value = getattr(node, "value", None)
    if isinstance(value, ast.Call):
        called = getattr(value.func, "id", "")
        if called == "play":
            return "play"
        asks = called == "guess"
        tells = isinstance(value.func, ast.Attribute) and value.func.attr == "answer"
        return "quiz" if asks or tells else "code"
    return "code"
