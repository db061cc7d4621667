"""Cells cut into pieces: nothing is lost, nothing changes its order, and each part has its role."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scratch_embed.book.pieces import cut
from scratch_embed.lesson.walk import cells

LESSONS = Path(__file__).parents[2] / "lessons"
SCRIPTS = [*sorted(LESSONS.glob("ch*.py")), *sorted((LESSONS / "labs").glob("[!_]*.py"))]


def pieces_of(text: str, folder: Path) -> list:
    path = folder / "ch00_made.py"
    path.write_text(text, encoding="utf-8")
    return cut(cells.load(path)).cells


def test_a_cell_is_cut_where_the_role_changes(tmp_path):
    text = """# %%
import math
from pathlib import Path

# the radius
r = 2.0


def _draw(r):
    return r


options = ["4", "12"]
q = guess("how large?", options)  # asked first
area = math.pi * r**2
q.answer(
    area,
)
"""
    pieces = pieces_of(text, tmp_path)
    assert [piece.role for piece in pieces] == [
        "imports", "code", "helper", "quiz", "code", "quiz"
    ]  # fmt: skip
    assert pieces[1].text == "# the radius\nr = 2.0"
    assert (
        pieces[3].text == 'options = ["4", "12"]\nq = guess("how large?", options)  # asked first'
    )
    assert [piece.line for piece in pieces] == [2, 5, 9, 13, 15, 16]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_pieces_are_the_script(path):
    lesson = cells.load(path)
    pieces = cut(lesson).cells
    whole = [ast.unparse(node) for cell in lesson.cells for node in cell.nodes]
    assert [ast.unparse(node) for piece in pieces for node in piece.nodes] == whole
    code = [piece for piece in pieces if piece.kind == "code"]
    texts = ast.parse("\n".join(piece.text for piece in code))
    assert [ast.unparse(node) for node in texts.body] == whole
    lines = path.read_text(encoding="utf-8").splitlines()
    for piece in code:  # each knows its true line, for tracebacks
        assert piece.text.splitlines()[0] == lines[piece.line - 1]
    assert "".join(piece.text for piece in pieces).replace("\n", "") == "".join(
        cell.text for cell in lesson.cells
    ).replace("\n", "")
