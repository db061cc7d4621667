"""python -m scratch_embed.gradcheck: the whole table, one operation, and the exit codes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed import functional as F
from scratch_embed.gradcheck import __main__, catalogue

ROOT = Path(__file__).resolve().parents[2]


def test_command_lists_every_operation():
    command = [sys.executable, "-m", "scratch_embed.gradcheck"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    lines = done.stdout.splitlines()
    cases = [case.name for case in catalogue.cases()]
    assert [line.split()[0] for line in lines[2:-1]] == cases
    assert max(map(len, lines)) <= 80
    assert len(set(catalogue.titles(catalogue.cases()))) == len(cases)  # each row says which it is
    assert lines[-1] == f"{len(cases)} of {len(cases)} agree with finite differences"


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to a process there")
@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_ends_the_command_in_a_word():
    process = subprocess.Popen(
        [sys.executable, "-m", "scratch_embed.gradcheck"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    for _ in range(3):  # two lines of heading, and the first operation
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    said = errors.splitlines()[-1]  # before it, perhaps, what was being compiled
    assert (process.returncode, said) == (130, "Stopped.") and "Traceback" not in errors


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe breaks in another way there")
def test_who_reads_no_further_gets_no_traceback():
    command = [sys.executable, "-m", "scratch_embed.gradcheck", "--op", "neg"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()  # as `head` does when it has its lines
    errors = process.stderr.read()
    assert (process.wait(timeout=60), errors) == (141, b"")


def test_command_shows_one_operation_entry_by_entry(capsys):
    assert __main__.main(["--op", "lookup", "--seed", "4"]) == 0
    assert "unused: 9 in rows that nothing used, exactly 0" in capsys.readouterr().out


def test_command_fails_on_a_wrong_gradient(capsys, monkeypatch):
    def cases(seed):
        flipped = differentiable(F.exp.forward, lambda dout, saved: -dout * saved[0])
        wrong = catalogue.Case("flipped", flipped, [Tensor([1.0, 2.0], requires_grad=True)])
        return [*catalogue.cases(seed)[:2], wrong]

    monkeypatch.setattr(__main__, "cases", cases)
    assert __main__.main([]) == 1
    out = capsys.readouterr().out
    assert "2 of 3 agree" in out
    assert "WRONG" in out


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        (["--op", "lokup"], "lookup"),
        (["--seed", "-1"], "'-1' is not a whole number, 0 or more"),
        (["--op", ""], "no operation is called ''"),
        (["--figure", "a.png"], "give --study too"),
    ],
)
def test_command_explains_wrong_arguments(argument, words, capsys):
    with pytest.raises(SystemExit) as stop:
        __main__.main(argument)
    assert stop.value.code == 2
    assert words in capsys.readouterr().err


def test_a_picture_that_cannot_be_written_is_told_before_the_study(tmp_path):
    for name, said in (("a.jpg", "a.jpg ends in '.jpg'"), ("t.txt/a.png", "t.txt")):
        (tmp_path / "t.txt").write_text("", encoding="utf-8")
        study = ["--op", "lookup", "--study", "--figure", str(tmp_path / name)]
        with pytest.raises((ValueError, OSError), match=said):
            __main__.main(study)
