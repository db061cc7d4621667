"""`scratch-embed`: one word for each thing it does, and the course by the name that was typed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import scratch_embed
from scratch_embed.__main__ import main
from scratch_embed.lesson import usage
from scratch_embed.lesson.tools import PACKAGE, course_folder, home

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def named_as_before():
    yield
    usage.called(usage.TYPED)


def test_the_lessons_of_a_checkout_lie_beside_the_package():
    assert (course_folder() / "course.toml").is_file()


@pytest.mark.parametrize("words", [[], ["lessons"]])
def test_the_map_speaks_of_the_command_that_was_typed(words, capsys):
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "scratch-embed lessons 0 --step" in out and "python -m lessons" not in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    "typed", ["exercise", "exercise one_hot", "play", "quiz --missed", "lab", "glossary row", "0"]
)
def test_what_a_lesson_says_to_type_is_what_an_installed_course_is_called(
    typed, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRATCH_EMBED_STATE", str(tmp_path / "state"))
    assert main(["lessons", *typed.split()]) == 0
    assert "python -m lessons" not in capsys.readouterr().out


def test_a_mistake_is_told_with_that_command_too(capsys):
    assert main(["lessons", "nothing_of_that_name"]) == 2
    assert "scratch-embed lessons lists them" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["lessons", "--help"], ["gradcheck", "--help"]])
def test_each_command_has_a_help(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0 and "usage:" in capsys.readouterr().out


def test_help_and_version(capsys):
    assert main(["--help"]) == 0
    assert "usage: scratch-embed lessons" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert scratch_embed.__version__ in capsys.readouterr().out


def test_a_command_that_does_not_exist_is_told(capsys):
    assert main(["lesson"]) == 2
    assert "there is no command lesson" in capsys.readouterr().err


def test_a_lesson_of_the_installed_package_leaves_its_pictures_where_one_stands(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert home(PACKAGE / "course" / "ch00_lookup.py") == tmp_path
    assert home(PACKAGE / "course" / "labs" / "swaps.py") == tmp_path
    assert home(tmp_path / "p" / "lessons" / "labs" / "swaps.py") == tmp_path / "p"


@pytest.mark.parametrize(
    "program", ["scratch_embed.__main__", "scratch_embed.book.__main__", "lessons.__main__"]
)
def test_a_program_takes_one_thread_for_products_before_numpy_asks(program):
    """NumPy's library asks once, when it is loaded; a sum cut in two has other last bits."""
    code = f"""
import os, sys
class Look:
    def find_spec(self, name, *rest):
        if name == "numpy":
            print(os.environ.get("OPENBLAS_NUM_THREADS"))
sys.meta_path.insert(0, Look())
import {program}, numpy
"""
    free = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    for given, found in (({}, "1"), ({"OPENBLAS_NUM_THREADS": "2"}, "2")):
        told = subprocess.run(
            [sys.executable, "-c", code], env=free | given, cwd=ROOT, text=True, check=True,
            stdout=subprocess.PIPE,
        ).stdout  # fmt: skip
        assert told.split()[0] == found


@pytest.mark.skipif(os.name == "nt", reason="there Ctrl-C goes to a whole group of processes")
@pytest.mark.parametrize("argv", [["lessons", "0"], ["scratch_embed", "lessons", "0"]])
def test_ctrl_c_while_modules_are_loaded_is_answered_in_a_word(argv):
    """A signal at the very moment at which NumPy is asked for."""
    program = f"""
import os, runpy, signal, sys

class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Pressed())
sys.argv = {argv}
runpy.run_module({argv[0]!r}, run_name="__main__", alter_sys=True)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 130 and done.stderr == "\nStopped.\n"
