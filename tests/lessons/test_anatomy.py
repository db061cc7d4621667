"""Every lesson as it is written: a head, guesses and their answers, a nudge, no arguing."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from scratch_embed.lesson.walk import cells

ROOT = Path(__file__).parents[2]
LESSONS = {path.stem: path for path in cells.find(ROOT / "lessons").values()}
TAUGHT = [name for name, path in LESSONS.items() if cells.load(path).head.minutes]
EXERCISES = {path.stem.split("_", 1)[1] for path in (ROOT / "lessons" / "exercises").glob("ex*.py")}
ARGUING = re.compile(r"\b(text|page|source|course|document|author)s? (says?|claims?|prints?)\b")


def source(name: str) -> str:
    return LESSONS[name].read_text(encoding="utf-8")


def calls(name: str) -> list[str]:
    """The names of all functions and methods that a lesson calls."""
    nodes = (n.func for n in ast.walk(ast.parse(source(name))) if isinstance(n, ast.Call))
    return [getattr(f, "attr", getattr(f, "id", "")) for f in nodes]


@pytest.mark.parametrize("name", TAUGHT)
def test_a_lesson_has_a_head(name):
    head = cells.load(LESSONS[name]).head
    assert head.question and head.afterwards and 5 <= head.minutes <= 25
    assert set(head.exercises) <= EXERCISES
    known = set(cells.find(ROOT / "lessons"))
    assert set(head.needs) <= known


@pytest.mark.parametrize("name", TAUGHT)
def test_a_lesson_does_not_argue(name):
    text = source(name)
    assert len(text.splitlines()) <= 350
    assert "__file__" not in text  # a notebook has none
    assert "fmt: skip" not in text and "fmt: off" not in text
    assert not re.search(r"\b00[0-4]-[a-z0-9]", text) and not ARGUING.search(text)
    assert not {"check", "erratum", "reference", "quiz", "verdict"} & set(calls(name))


@pytest.mark.parametrize("name", TAUGHT)
def test_a_lesson_asks_shows_and_nudges(name):
    made = calls(name)
    assert made.count("guess") >= 3 and made.count("answer") >= made.count("guess")
    assert "nudge" in made and "save_figure" in made
    assert {"compare", "beside"} & set(made)


def test_every_reason_belongs_to_a_question_of_a_lesson():
    kept = tomllib.loads((ROOT / "lessons" / "slips.toml").read_text(encoding="utf-8"))
    nodes = (node for name in LESSONS for node in ast.walk(ast.parse(source(name))))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
    assert set(kept) <= texts
