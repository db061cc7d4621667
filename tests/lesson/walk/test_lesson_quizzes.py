"""`python -m lessons quiz`: reads every question from the sources, and runs nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.cli import main
from scratch_embed.lesson.walk.quizzes import COMPUTED, questions
from tests.lesson.lesson_demo import write

LESSONS = list(cells.find(Path(__file__).parents[3] / "lessons").values())

MORE = """
kinds = {"a row": h[0] > 1, "a column": h[0] < 1}
if True:
    guess(f"Is it one of {len(h)}?", list(kinds))
    guess(str(h), options=list(map(str, "ab")))
    guess(question="By name?", options=None)
    told = {1: f"one of {logit}", 2: "two"}
    guess("Values?", options=list(told.values()))
    print("extra ran")
"""


def test_questions_are_read_in_order_with_their_options(tmp_path):
    found = questions(write(tmp_path, extra=MORE))
    assert found[0].text == "How many numbers has a table of 6 by 3?" and found[0].options is None
    assert found[1].text == "Is it one of ...?" and found[1].options == ("a row", "a column")
    assert found[2].text == COMPUTED and found[2].options == (COMPUTED,)
    assert found[3].text == "By name?" and found[3].options is None
    assert found[4].options == ("one of ...", "two") and len(found) == 5


def test_the_command_lists_all_or_some_and_runs_nothing(tmp_path, capsys):
    write(tmp_path, 0, extra=MORE)
    write(tmp_path, 3)
    assert main(tmp_path, ["quiz"]) == 0
    out = capsys.readouterr().out
    assert out.count("6 by 3?") == 2 and "A) a row\n    B) a column" in out and "6 questions" in out
    assert "extra ran" not in out and "18" not in out  # neither the lesson nor its answer
    assert main(tmp_path, ["quiz", "3"]) == 0
    out = capsys.readouterr().out
    assert "3. A demo lesson" in out and "0. A demo" not in out and "1 question." in out


def test_a_lesson_that_does_not_parse_is_told_and_the_rest_listed(tmp_path, capsys):
    write(tmp_path, 0)
    (tmp_path / "ch01_broken.py").write_text("# %%\nx = = 1\n", encoding="utf-8")
    assert main(tmp_path, ["quiz"]) == 0
    out = capsys.readouterr().out
    assert "ch01_broken.py does not parse" in out and "line 2" in out and "6 by 3?" in out


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_every_guess_of_a_lesson_is_listed_with_a_readable_question(path):
    assert [q.line for q in questions(path) if q.text == COMPUTED] == []
