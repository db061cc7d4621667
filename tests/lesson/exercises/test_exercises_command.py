"""`python -m lessons exercise`: begin, check, hint, solution, list; and what it never does."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest
from test_exercises_process import RIGHT

from scratch_embed.lesson.exercises.desk import NOTE, Desk
from scratch_embed.lesson.exercises.exercise import find
from scratch_embed.lesson.walk.cli import main
from tests.lesson.walk.test_lesson_runner import script

LESSONS = Path(__file__).resolve().parents[3] / "lessons"
EXERCISES = find(LESSONS / "exercises")
NAME = "lookup_backward"


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """Give a command where a learner stands; answers exit code and output."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str]:
        code = main(LESSONS, ["exercise", *arguments])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


def test_a_learner_begins_fails_reads_hints_and_solves(ask, tmp_path):
    file = tmp_path / "exercises" / f"{NAME}.py"
    code, out = ask(NAME)
    assert code == 0 and f"Written: exercises{os.sep}{NAME}.py" in out
    assert "python -m lessons 0\n" in out and max(map(len, out.splitlines())) <= 80
    assert "[[0.0, 0.0], [11.0, 22.0], [5.0, 5.0]]" in file.read_text(encoding="utf-8")

    wrong = RIGHT.replace("np.add.at(dE, ids, dout)", "dE[ids] += dout")
    file.write_text(wrong, encoding="utf-8")
    assert "not checked yet" in ask()[1]
    code, out = ask(NAME)
    assert code == 1 and "not yet right" in out and "line 6: repeated ids are overwritten" in out
    assert "exactly those used more than once" in out and "3 hints are left" in out
    assert file.read_text(encoding="utf-8") == wrong

    hints = [ask(NAME, "--hint")[1] for _ in range(4)]
    assert [hint[:6] for hint in hints[:3]] == ["Hint 1", "Hint 2", "Hint 3"]
    assert "Hint 2" not in hints[0] and "all 3 hints" in hints[3]
    code, out = ask(NAME)
    assert code == 1 and "--solution" in out

    file.write_text(RIGHT, encoding="utf-8")
    code, out = ask(NAME)
    assert (
        code == 0 and "solved" in out and "Next: python -m lessons exercise lookup_forward" in out
    )
    code, out = ask()
    assert code == 0 and f"1 of {len(EXERCISES)} solved" in out and "not begun" in out


def test_a_file_that_is_named_by_its_path_is_the_one_that_is_checked(ask, tmp_path):
    wrong = RIGHT.replace("np.add.at(dE, ids, dout)", "dE[ids] += dout")
    for folder, text in (("exercises", RIGHT), ("old", wrong)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{NAME}.py").write_text(text, encoding="utf-8")
    assert ask(f"{NAME}.py")[0] == ask(f"exercises/{NAME}.py")[0] == 0
    code, out = ask(f"old/{NAME}.py")
    assert code == 1 and "overwritten" in out and "--folder=old" in out
    assert ask(str(tmp_path / "old" / f"{NAME}.py"), "--folder", "old")[0] == 1
    code, out = ask(f"nowhere/{NAME}.py")
    assert code == 2 and "is no file; to begin an exercise give its name alone" in out
    code, out = ask(NAME, "--folder", "")
    assert code == 2 and "--folder '' is no folder; . is the one that you are in." in out
    code, out = ask(f"old/{NAME}.py", "--folder", "elsewhere")
    assert code == 2 and "is not in --folder elsewhere" in out
    assert not (tmp_path / "nowhere").exists() and not (tmp_path / "elsewhere").exists()


def test_an_answer_may_import_another_that_lies_beside_it(ask, tmp_path):
    """No file there takes the place of a library, though, and nothing else is written there."""
    folder = tmp_path / "exercises"
    folder.mkdir()
    (folder / "json.py").write_text("raise RuntimeError", encoding="utf-8")
    (folder / "mine.py").write_text(RIGHT, encoding="utf-8")
    text = "import json\nfrom mine import lookup_backward as mine\n"
    text += "def lookup_backward(dout, ids, num_rows):\n    return mine(dout, ids, num_rows)\n"
    (folder / f"{NAME}.py").write_text(text, encoding="utf-8")
    code, out = ask(NAME)
    assert code == 0 and "solved" in out
    assert not (folder / "__pycache__").exists()


@pytest.mark.parametrize("columns, told", [(60, False), (80, False), (100, True)])
def test_the_list_is_a_line_an_exercise_or_says_what_to_write(ask, monkeypatch, columns, told):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = ask()[1].splitlines()
    assert max(map(len, lines[: lines.index("")])) <= columns
    assert (lines.index("") == len(EXERCISES) + 2) is not told
    assert ("what to write" in lines[0]) is told


def test_the_solution_comes_after_the_hints(ask):
    out = ask(NAME, "--solution")[1]
    assert out.index("Hint 1") < out.index("Hint 3") < out.index("np.add.at(dE, ids, dout)\n")
    assert "Hint" not in ask(NAME, "--solution")[1]


def test_all_checks_what_was_begun(ask, tmp_path):
    folder = tmp_path / "my answers"
    ask("1", "--folder", str(folder))
    (folder / f"{NAME}.py").write_text(RIGHT, encoding="utf-8")
    code, out = ask("--all", "--folder", str(folder))
    assert code == 1 and "lookup_forward is yours to write" in out
    assert f"1 of {len(EXERCISES)} solved" in out
    stub = (folder / "lookup_forward.py").read_text(encoding="utf-8")
    assert f"--folder={shlex.quote(str(folder))}" in stub


@pytest.mark.parametrize(
    "folder", ["-x", "my answers", "it's", "R&D", "$HOME", "C:\\Users", "in/a-1"]
)
def test_what_to_type_names_the_folder(folder):
    typed = shlex.split(Desk(folder).command(EXERCISES[NAME]))
    assert typed[-2:] == [NAME, f"--folder={folder}"]


def test_work_is_never_overwritten(ask, tmp_path):
    folder = tmp_path / "exercises"
    folder.mkdir()
    for name in EXERCISES:
        (folder / f"{name}.py").write_text("mine", encoding="utf-8")
        (folder / f"{name}.txt").write_text("mine too", encoding="utf-8")
    desk = Desk(folder)
    assert not any(desk.begin(exercise) for exercise in EXERCISES.values())
    ask(NAME, "--solution")
    assert {path.read_text(encoding="utf-8") for path in folder.glob("*.py")} == {"mine"}
    (folder / "one_hot.py").unlink()
    (folder / "one_hot.py").mkdir()
    code, out = ask("one_hot")
    assert code == 2 and "is no file" in out


@pytest.mark.parametrize(
    "note",
    ["", "{", "[1]", '{"lookup_backward": 3}', '{"lookup_backward": {"hints": "x", "passed": 1}}'],
)
def test_a_spoilt_note_is_as_none(tmp_path, note):
    (tmp_path / NOTE).write_text(note, encoding="utf-8")
    exercise = EXERCISES[NAME]
    desk = Desk(tmp_path)
    assert desk.state(exercise) == "not begun" and desk.hints_shown(exercise) == 0
    desk.begin(exercise)
    assert desk.state(exercise) == "not yet right"
    desk.remember(exercise, desk.fingerprint(exercise), passed=True)
    assert json.loads((tmp_path / NOTE).read_text(encoding="utf-8"))[NAME]["passed"] is True
    if '{"' not in note or "3" in note:  # it may be of another program
        assert (tmp_path / f"{NOTE}.before").read_text(encoding="utf-8") == note


def test_a_note_that_cannot_be_written_does_not_cost_the_verdict(ask, tmp_path):
    folder = tmp_path / "exercises"
    ask(NAME, "--folder", str(folder))
    (folder / f"{NAME}.py").write_text(RIGHT, encoding="utf-8")
    (folder / NOTE).mkdir()
    code, out = ask(NAME, "--folder", str(folder))
    assert code == 2 and "lookup_backward   solved" in out and f"{NOTE} is a folder" in out


def test_a_check_is_noted_where_nobody_reads_to_its_end(ask, tmp_path, monkeypatch):
    def cut(*_, **__):
        raise EOFError("as a pipe that is closed")

    (tmp_path / f"{NAME}.py").write_text(RIGHT, encoding="utf-8")
    monkeypatch.setattr("scratch_embed.lesson.exercises.command.print", cut, raising=False)
    with pytest.raises(EOFError):
        ask(NAME, "--folder", str(tmp_path))
    assert Desk(tmp_path).state(EXERCISES[NAME]) == "solved"


def test_solved_holds_for_the_file_that_was_checked(tmp_path):
    exercise, desk = EXERCISES[NAME], Desk(tmp_path)
    desk.path(exercise).write_text(RIGHT, encoding="utf-8")
    assert desk.state(exercise) == "not checked yet"
    desk.remember(exercise, desk.fingerprint(exercise), passed=True)
    assert Desk(tmp_path).state(exercise) == "solved"
    desk.path(exercise).write_text(RIGHT + "\n", encoding="utf-8")
    assert Desk(tmp_path).state(exercise) == "not checked yet"


def test_solved_holds_for_the_files_that_it_imports(tmp_path):
    exercise, desk = EXERCISES[NAME], Desk(tmp_path)
    desk.path(exercise).write_text("from mine import lookup_backward\n", encoding="utf-8")
    for name, text in [("mine", "import deeper as d\n"), ("deeper", RIGHT), ("other", RIGHT)]:
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    desk.remember(exercise, desk.fingerprint(exercise), passed=True)
    (tmp_path / "other.py").write_text("", encoding="utf-8")
    assert desk.state(exercise) == "solved"
    (tmp_path / "deeper.py").write_text("", encoding="utf-8")
    assert desk.state(exercise) == "not checked yet"


def test_an_edit_during_the_check_is_not_checked_and_another_check_is_not_forgotten(
    ask, tmp_path, monkeypatch
):
    """As one who saves while the check runs, or checks in two windows."""
    exercise, other = EXERCISES[NAME], EXERCISES["one_hot"]
    path = tmp_path / f"{NAME}.py"
    path.write_text(RIGHT, encoding="utf-8")
    meanwhile = Desk(tmp_path)

    def check(job):
        path.write_text(RIGHT.replace("np.add.at", "spoilt"), encoding="utf-8")
        meanwhile.show_hints(other, 1)
        return {"passed": True, "found": {}, "sentence": "", "printed": ""}

    monkeypatch.setattr("scratch_embed.lesson.exercises.command.check", check)
    assert ask(NAME, "--folder", str(tmp_path))[0] == 0
    desk = Desk(tmp_path)
    assert desk.state(exercise) == "not checked yet" and desk.hints_shown(other) == 1


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["lookup_backwrd"], "there is no exercise lookup_backwrd; did you mean lookup_backward?"),
        (["99"], "there is no exercise 99; python -m lessons exercise lists them."),
        (["--hint"], "--hint is for one exercise: name it."),
        (["1", "--hint", "--solution"], "give one of the two"),
        (["1", "--all"], "leave out 1, or --all"),
        (["1", "--hnit"], "unrecognized arguments: --hnit"),
        (["1", "--folder", str(LESSONS / "exercises")], "holds the exercises themselves"),
        (["1", "--folder", str(LESSONS / "__init__.py")], "is a file"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(ask, arguments, words):
    code, out = ask(*arguments)
    assert code == 2 and words in out and out.count("\n") == 1


def test_the_command_itself(tmp_path):
    done = script("-m", "lessons", "exercise", "--folder", tmp_path / "none yet")
    assert done.returncode == 0 and "0 of" in done.stdout, done.stderr
    assert not (tmp_path / "none yet").exists()
    assert "exercise" in script("-m", "lessons", "--help").stdout
    assert "Did you mean exercise?" in script("-m", "lessons", "exercis").stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows names every folder in Unicode")
def test_a_folder_whose_name_is_no_utf8_will_do(tmp_path):
    exercise, desk = EXERCISES[NAME], Desk(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    try:
        assert desk.begin(exercise)
    except OSError:
        pytest.skip("this file system names every folder in UTF-8")
    assert "caf\\udce9" in desk.path(exercise).read_text(encoding="utf-8")
    assert desk.state(exercise) == "not yet right"
