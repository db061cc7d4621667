"""`python -m lessons quiz`: asks, judges, scores, remembers."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scratch_embed.lesson.quiz import memory
from scratch_embed.lesson.quiz.asked import questions
from scratch_embed.lesson.walk import marks
from scratch_embed.lesson.walk.cli import main
from tests.lesson.lesson_demo import write

MORE = """
q = guess("Which?", ["rows", "columns"])
q.answer("rows" if h[0] > 0 else "columns", slips={"columns": "Columns are features."})
guess(f"One more than {len(h)}?").answer(len(h) + 1)
"""


@pytest.fixture
def quiz(tmp_path, monkeypatch, capsys):
    """Type lines at `quiz ...`; answers exit code and output."""
    monkeypatch.setenv("SCRATCH_EMBED_STATE", str(tmp_path / "state"))
    folder = tmp_path / "lessons"
    write(folder, 0, extra=MORE)
    write(folder, 1)

    def run(*arguments: str, typed: str = "") -> tuple[int, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        code = main(folder, ["quiz", *arguments])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    run.folder = folder
    return run


def test_the_questions_of_a_lesson_come_with_answers_and_what_stands_above(tmp_path, capsys):
    first, second, third = questions(write(tmp_path, extra=MORE))
    assert capsys.readouterr().out == ""  # the run is silent
    assert (first.question.value, second.question.value, third.question.value) == (18, "rows", 4)
    assert third.question.text == "One more than 3?" and second.question.typed == ""
    assert "A question" in first.above and "h . cat" not in first.above and "h . cat" in first.more
    assert "6 by 3?" not in first.above + second.above  # no question is above itself
    assert "18: 6 times 3" in second.above and "rows" not in second.above


def test_the_arrays_that_a_question_names_or_computes_with_stand_above_it():
    path = Path(__file__).parents[3] / "lessons" / "ch00_lookup.py"
    shown = set(re.findall(r'^show\("(\w+)"', path.read_text(encoding="utf-8"), re.MULTILINE))
    asked = questions(path)
    for one in asked:
        for name in shown & set(re.findall(r"\w+", one.question.text)):
            assert re.search(rf"^  {name} +0 ", one.above, re.MULTILINE), one.question.text
    assert "0 the " in asked[0].above  # its code computes with E, its words do not say so


def test_it_asks_judges_scores_and_remembers(quiz):
    assert "You have not answered a question yet" in quiz("--missed")[1]
    code, out = quiz("0", typed="18\nx\nB\n\n")
    assert code == 0 and "You said 18. Right." in out and "a letter from A to B, please" in out
    assert "You said B. No. Columns are features." in out and "= A) rows." in out
    assert "1 of 2 right, 1 only looked at." in out and "Read again: 0. A demo lesson" in out
    assert [*memory.answered().values()] == [True, False]

    code, out = quiz("--missed", typed="a\n")
    assert code == 0 and "1 of 1 right." in out and "6 by 3?" not in out
    assert "Nothing is missed" in quiz("--missed")[1]


def test_what_cannot_be_remembered_is_told(quiz, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("where a folder would have to be")
    monkeypatch.setenv("SCRATCH_EMBED_STATE", str(tmp_path / "file" / "state"))
    out = " ".join(quiz("0", typed="17\nA\n")[1].split())
    assert "1 of 2 right" in out and "--missed" not in out
    assert "This is not remembered, for" in out and "cannot be written to: Not a directory." in out
    assert main(quiz.folder, ["0", "1"]) == 0
    assert "This is not remembered, for" in capsys.readouterr().err
    monkeypatch.setenv("SCRATCH_EMBED_STATE", str(tmp_path / "state"))
    assert "Ask these again" in quiz("0", typed="17\nA\n")[1]


def test_a_line_that_was_worked_out_wrongly_is_asked_again(quiz):
    line = "h . cat = 0.6*0.8 + 0.1*(-0.2) + 0.3*0.4 = ?"
    vectors = "2h = 2 * [0.6, 0.1, 0.3] = ?"
    for missed in (line, vectors):
        memory.remember(f"ch02_demo: {missed}", False)
    write(quiz.folder, 2, extra="worked.scale('2h', 2, h)")
    out = quiz("--missed", typed="0.48\n1 2\n[1.2, 0.2, 0.7]\n")[1]
    assert line in out and "one of the 3 parts" in out and "3 numbers, please" in out
    assert "All but number 3 of 3 are right" in out and "= [1.2, 0.2, 0.6]." in out
    assert "0 of 2 right" in out and "2 of 2 right" in quiz("--missed", typed=".58\n1.2 .2 .6")[1]


def test_without_a_lesson_it_asks_of_what_is_finished_the_unanswered_first(quiz):
    assert "No lesson is finished yet" in quiz()[1]
    marks.finish("ch01_demo")
    assert "1. A demo lesson" in quiz(typed="18\n")[1]
    marks.finish("ch00_demo")
    out = quiz(typed="18\na\n4\n17\n")[1]
    assert out.index("0. A demo lesson") < out.index("1. A demo lesson") and "3 of 4 right" in out


def test_lines_of_the_lesson_that_are_too_long_are_not_cut_in_a_word(quiz, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    write(quiz.folder, 2, extra="print('word ' * 20)\nguess('So?').answer(2)")
    out = quiz("2", typed="18\n?\n2\n")[1]
    assert "2 of 2 right" in out and out.count("word") == 40
    assert max(len(line) for line in out.splitlines() if "word" in line) <= 40


def test_a_question_mark_shows_more_of_the_lesson(quiz):
    out = quiz("1", typed="?\n18\n")[1]
    assert "h . cat" in out and "1 of 1 right" in out


@pytest.mark.parametrize("typed", ["", "q\n", "18\nq\n", "18\nx"])
def test_ctrl_d_a_pipe_that_ends_and_q_end_it_with_the_score(quiz, typed):
    code, out = quiz("0", typed=typed)
    assert code == 0 and ("1 of 1 right." if "18" in typed else "Nothing was answered.") in out


def test_without_a_standard_input_it_ends_too(quiz, monkeypatch):
    def lost(prompt):
        raise RuntimeError("input(): lost sys.stdin")

    monkeypatch.setattr("builtins.input", lost)
    code, out = quiz("0")
    assert code == 0 and "Nothing was answered." in out


def test_ctrl_c_ends_it_with_the_score_and_keeps_what_was_answered(quiz, monkeypatch):
    lines = iter(["18"])

    def typed(prompt):
        try:
            return next(lines)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr("builtins.input", typed)
    code, out = quiz("0")
    assert code == 130 and "1 of 1 right." in out and "Stopped." in out
    assert [*memory.answered().values()] == [True]


@pytest.mark.parametrize(
    "arguments, words",
    [(["9"], "there is no lesson 9"), (["--mised"], "unrecognized arguments: --mised")],
)
def test_wrong_usage_is_one_sentence(quiz, arguments, words):
    code, out = quiz(*arguments)
    assert code == 2 and words in out and out.count("\n") == 1


@pytest.mark.parametrize(
    "extra, words", [("x = = 1", "does not parse"), ("1 / 0", "lesson 2 fail")]
)
def test_a_lesson_that_cannot_be_asked_is_told(quiz, tmp_path, extra, words):
    write(tmp_path / "lessons", 2, extra=extra)
    code, out = quiz("2")
    assert code == 2 and words in out


@pytest.mark.parametrize("note", ["", "[1]", '{"ch00_demo: ?": "yes"}'])
def test_a_spoilt_memory_is_as_none(quiz, tmp_path, note):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "quiz.json").write_text(note, encoding="utf-8")
    assert memory.answered() == {}
    assert "1 of 1 right" in quiz("1", typed="18\n")[1]
    assert memory.answered()


def test_a_memory_that_cannot_be_written_does_not_end_the_quiz(quiz, tmp_path):
    (tmp_path / "state").write_text("a file where the folder should be", encoding="utf-8")
    assert "1 of 1 right" in quiz("1", typed="18\n")[1]


def test_forget_forgets_the_answers(quiz, tmp_path):
    quiz("1", typed="17\n")
    assert main(tmp_path / "lessons", ["--forget"]) == 0 and memory.answered() == {}


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_at_a_terminal_the_answer_stays_until_enter(tmp_path):
    """24 rows: the judgement is on the screen until a key is pressed."""
    import pty

    write(tmp_path, 0, extra=MORE)
    leader, follower = pty.openpty()
    environment = {**os.environ, "SCRATCH_EMBED_STATE": str(tmp_path / "state"), "TERM": "dumb"}
    code = f"from scratch_embed.lesson.walk.cli import main; main({str(tmp_path)!r}, ['quiz', '0'])"
    running = subprocess.Popen(
        [sys.executable, "-c", code], stdin=follower, stdout=follower, stderr=follower,
        env=environment, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    os.close(follower)
    screen = ""
    for wanted, typed in (
        ("q: stop): ", "17\n"), ("Enter goes on", "\n"), ("B) columns", ""), ("q: stop): ", "q\n"),
        ("0 of 1 right", ""),
    ):  # fmt: skip
        while wanted not in screen:
            screen += os.read(leader, 4096).decode()
        seen, _, screen = screen.partition(wanted)
        if wanted == "Enter goes on":
            assert "You said 17. No." in seen and "Which?" not in seen
        os.write(leader, typed.encode())
    assert running.wait(timeout=60) == 0
    os.close(leader)
