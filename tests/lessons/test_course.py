"""The map: every lesson once, needs before, and a lesson for each exercise and term."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.course import Course

COURSE = Course(Path(__file__).parents[2] / "lessons")
HEADS = {number: cells.load(path).head for number, path in COURSE.lessons.items()}
EXERCISES = [path.stem.split("_", 1)[1] for path in (COURSE.folder / "exercises").glob("ex*.py")]


def test_the_whole_path_names_every_lesson_once():
    assert sorted(COURSE.plan["whole_path"]) == sorted(COURSE.lessons)
    assert COURSE.plan["first_path"] == COURSE.whole_path[: len(COURSE.first_path)]
    assert 60 <= sum(HEADS[n].minutes for n in COURSE.first_path) <= 110


@pytest.mark.parametrize("number", COURSE.lessons)
def test_what_a_lesson_needs_comes_before_it(number):
    before = COURSE.whole_path[: COURSE.whole_path.index(number)]
    assert set(HEADS[number].needs) <= set(before)


def test_every_exercise_is_named_by_a_lesson():
    named = {name for head in HEADS.values() for name in head.exercises}
    assert sorted(set(EXERCISES) - named) == []


def test_every_question_and_every_term_has_its_lesson():
    assert set(COURSE.plan["questions"].values()) <= set(COURSE.lessons)
    texts = {n: path.read_text(encoding="utf-8").casefold() for n, path in COURSE.lessons.items()}
    for term, (number, _) in COURSE.glossary.items():
        first = re.split(r"[ ,]", term.casefold())[0].replace("'s", "")
        assert first.rstrip("s") in texts[number], f"lesson {number} does not speak of {term}"
