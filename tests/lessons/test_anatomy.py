"""Every lesson teaches: object and operation on the screen, guesses before answers."""

from __future__ import annotations

import ast
import io
import re
import tomllib
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path

import pytest

from scratch_embed.lesson.answers import judge
from scratch_embed.lesson.record import Options
from scratch_embed.lesson.walk import cells, runner
from scratch_embed.look.render import markdown

ROOT = Path(__file__).parents[2]
LESSONS = {path.stem: path for path in cells.find(ROOT / "lessons").values()}
TAUGHT = [name for name, path in LESSONS.items() if cells.load(path).head.minutes]
EXERCISES = {path.stem.split("_", 1)[1] for path in (ROOT / "lessons" / "exercises").glob("ex*.py")}
SCREEN = 24  # rows
ARGUING = re.compile(r"\b(text|page|source|course|document|author)s? (says?|claims?|prints?)\b")


def source(name: str) -> str:
    return LESSONS[name].read_text(encoding="utf-8")


def calls(name: str) -> list[str]:
    """The names of all functions and methods that a lesson calls."""
    nodes = (n.func for n in ast.walk(ast.parse(source(name))) if isinstance(n, ast.Call))
    return [getattr(f, "attr", getattr(f, "id", "")) for f in nodes]


@cache
def run(name: str):
    """(the record, [(kind, what a cell prints) ...]) of one quick run at 80 columns."""
    lesson = cells.load(LESSONS[name])
    record, outputs = runner.new_record(lesson, Options(quick=True)), []
    with runner.stage(lesson, record) as module, pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        for position, cell in enumerate(lesson.cells):
            out = io.StringIO()
            with redirect_stdout(out):
                if cell.kind == "markdown":
                    print(f"\n{markdown(cell.text)}\n")
                else:
                    print("".join(code + "\n\n" for code in runner.shown_code(cell)), end="")
                    failure = runner.run_cell(position, lesson, module, record)
                    assert failure is None, failure.text
            outputs.append((cell.kind, out.getvalue()))
    return record, outputs


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


@pytest.mark.parametrize("name", TAUGHT)
def test_a_run_fits_the_terminal(name):
    record, outputs = run(name)
    assert record.passed, [row.name for row in record.rows if not row.holds]
    wide = [line for _, text in outputs for line in text.splitlines() if len(line) > 80]
    assert wide == []
    tall = [text for kind, text in outputs if kind == "code" and text.count("\n") > SCREEN]
    assert tall == []


@pytest.mark.parametrize("name", TAUGHT)
def test_the_object_stands_in_the_first_two_screens(name):
    _, outputs = run(name)
    rows = 0
    for kind, text in outputs:
        rows += text.count("\n")
        if kind == "code" and re.search(r"-?\d+(\.\d+)?\s+-?\d+|\[|\u00b7|\|", text):
            break
    assert rows <= 2 * SCREEN


@pytest.mark.parametrize("name", TAUGHT)
def test_every_wrong_answer_has_its_reason(name):
    """Each wrong option, and of each number at least one that is commonly given instead."""
    for question in run(name)[0].questions:
        if question.options:
            assert set(question.slips) == set(question.options) - {question.value}, question.text
        else:
            assert question.slips, question.text
        for wrong, why in question.slips.items():
            assert len(why) > 10 and why.endswith((".", "?")), why
            given = {"options": question.options, "tolerance": question.tolerance}
            if question.options or not str(wrong).startswith((">", "<")):
                assert not judge(str(wrong), question.value, **given).right, (question.text, wrong)


def test_every_reason_belongs_to_a_question_of_a_lesson():
    kept = tomllib.loads((ROOT / "lessons" / "slips.toml").read_text(encoding="utf-8"))
    nodes = (node for name in LESSONS for node in ast.walk(ast.parse(source(name))))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
    assert set(kept) <= texts


@pytest.mark.parametrize("name", TAUGHT)
def test_a_question_comes_before_its_answer(name):
    record, outputs = run(name)
    everything = "".join(text for _, text in outputs)
    squeezed = " ".join(everything.split())
    for question in record.questions:
        assert question.shown, f"never answered: {question.text}"
        asked = squeezed.index(" ".join(question.text.split()))
        answer = " ".join(question.shown.split())
        assert f"= {answer}" in squeezed[asked:], f"not answered after it is asked: {answer}"
        value = answer.split(") ")[-1]
        if question.options is None and len(value) > 2:  # a small whole number stands anywhere
            told = re.search(rf"(?<![\d.,]){re.escape(value)}(?![\d,])", squeezed[:asked])
            assert not told, f"{value} stood there before: {question.text}"
