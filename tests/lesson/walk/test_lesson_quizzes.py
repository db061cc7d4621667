"""`python -m lessons quiz`: reads every question from the sources, and runs nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratch_embed.lesson.claims import ledger
from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.cli import main
from scratch_embed.lesson.walk.quizzes import COMPUTED, questions
from tests.lesson.lesson_demo import write

LESSONS = list(cells.find(Path(__file__).parents[3] / "lessons").values())

MORE = """
kinds = {"a row": h[0] > 1, "a column": h[0] < 1}
if True:
    quiz("which", f"Is it one of {len(h)}?", next(k for k in kinds if kinds[k]),
         options=list(kinds))
    quiz("made", str(h), "b", options=list(map(str, "ab")))
    quiz(id="named", question="By name?", answer=2 * logit, options=None)
    told = {1: f"one of {logit}", 2: "two"}
    scores = {kind: len(kind) for kind, _ in kinds.items()}
    quiz("values", "Values?", told[2], options=list(told.values()))
    quiz("kept", "Kept?", max(scores, key=scores.get), options=list(scores))
    print("extra ran")
"""


def test_questions_are_read_in_order_with_their_options(tmp_path):
    found = questions(write(tmp_path, extra=MORE))
    assert [question.id for question in found] == [
        "parameters", "which", "made", "named", "values", "kept"]  # fmt: skip
    assert found[0].text == "How many numbers has a table of 6 by 3?" and found[0].options is None
    assert found[1].text == "Is it one of ...?" and found[1].options == ("a row", "a column")
    assert found[2].text == COMPUTED and found[2].options == (COMPUTED,)
    assert found[3].text == "By name?" and found[3].options is None
    assert found[4].options == ("one of ...", "two") and found[5].options == found[1].options


def test_the_command_lists_all_or_some_and_runs_nothing(tmp_path, capsys):
    write(tmp_path, 0, extra=MORE)
    write(tmp_path, 3)
    assert main(tmp_path, ["quiz"]) == 0
    out = capsys.readouterr().out
    assert out.count("6 by 3?") == 2 and "A) a row\n    B) a column" in out and "7 questions" in out
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


@pytest.mark.parametrize(
    "argv, sentence",
    [
        (["quiz", "7"], "there is no lesson 7"),
        (["quiz", "0", "--quick"], "takes no flags; --step asks them"),
        (["quizz"], "Did you mean quiz?"),
    ],
)
def test_wrong_usage_is_one_sentence(tmp_path, capsys, argv, sentence):
    write(tmp_path, 0)
    assert main(tmp_path, argv) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_every_quiz_call_of_a_lesson_is_listed_with_a_readable_question(path):
    found = questions(path)
    assert {question.id for question in found} == {
        call.id for call in ledger.calls(path) if call.function == "quiz"
    }
    unreadable = [q.id for q in found if q.text == COMPUTED or q.options == (COMPUTED,)]
    assert not unreadable, "write question and options so that the source shows them"
