"""The lessons themselves, in their quick sizes: every claim answered once, every answer holds."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scratch_embed.lesson.claims import ledger
from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.quizzes import questions

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    """Every answer of one quick run of all lessons, in a process of its own.

    A question of a lesson's own is not among them, but a run whose answer to one is not among its
    options, or is no number, ends with an error.
    """
    path, before = tmp_path_factory.mktemp("ledger") / "answers.json", kept()
    done = subprocess.run(
        [sys.executable, "-m", "lessons", "all", "--quick", "--quiet", "--ledger", str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}, cwd=ROOT,
        check=False, capture_output=True, encoding="utf-8", timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert kept() == before, "a run changes nothing that the project keeps"
    return json.loads(path.read_text(encoding="utf-8"))


def kept() -> dict[Path, int]:
    """Every file in the folders where figures and lessons are kept, with its time."""
    files = [file for name in ("figures", "lessons") for file in (ROOT / name).rglob("*")]
    return {file: file.stat().st_mtime_ns for file in files if "__pycache__" not in file.parts}


def test_every_claim_is_answered_once_and_every_answer_holds(entries):
    assert sorted(entry["id"] for entry in entries) == sorted(
        claim.id for claim in ledger.load(ROOT / "lessons" / "claims" / "claims.csv")
    )
    assert not [entry["id"] for entry in entries if not entry["holds"]]


def test_every_quiz_question_has_an_answer_that_this_run_computed(entries):
    asked = {q.id for path in cells.find(ROOT / "lessons").values() for q in questions(path)}
    answers = {entry["id"]: entry for entry in entries if entry["kind"] == "quiz"}
    assert answers and asked - {id for id in asked if id.startswith(ledger.OWN)} == set(answers)
    assert all(answer["agrees"] and answer["computed"] for answer in answers.values())


def test_a_correction_has_its_value_and_its_reason(entries):
    corrections = [entry for entry in entries if entry["kind"] == "erratum"]
    assert corrections and all(e["reason"] and not e["agrees"] for e in corrections)
    assert not [e["id"] for e in corrections if e["correction"] in (None, "", {})]


@pytest.mark.parametrize("path", cells.find(ROOT / "lessons").values(), ids=lambda path: path.stem)
def test_a_lesson_asks_for_no_file_of_its_own_which_a_notebook_does_not_have(path):
    names = (node.id for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
             if isinstance(node, ast.Name))  # fmt: skip
    assert "__file__" not in names


def test_a_lesson_runs_as_a_notebook_does(tmp_path):
    """Its code in a namespace without __file__, in the folder of the notebook."""
    shutil.copy(ROOT / "lessons" / "ch00_lookup.py", tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", "exec(open('ch00_lookup.py', encoding='utf-8').read())"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}, cwd=tmp_path,
        check=False, capture_output=True, encoding="utf-8", timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "figure " in done.stdout
