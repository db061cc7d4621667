"""How a command ends: exit codes, sentences, and streams that are closed or know few letters."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from scratch_embed.ending import ended
from scratch_embed.look.terminal import harmless


@pytest.mark.parametrize(
    ("error", "said", "code"),
    [
        (ValueError("steps is 0."), "steps is 0.", 1),
        (FileNotFoundError(2, "No such file", "a.txt"), "a.txt: No such file.", 1),
        (OSError(28, "No space left"), "No space left.", 1),
        (MemoryError(), "There is not enough memory: take smaller sizes.", 1),
        (MemoryError("Unable to allocate 9 GiB"), "9 GiB. There is not enough memory", 1),
        (KeyboardInterrupt(), "Stopped.", 130),
    ],
)
def test_errors_end_in_a_sentence_and_an_exit_code(error, said, code, capsys):
    def work():
        raise error

    assert ended(work) == code
    assert said in capsys.readouterr().err


def test_streams_that_were_closed_before_end_nothing(monkeypatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)

    def work() -> int:
        print("nobody hears this", file=sys.stderr)
        print(sys.stdin.read())
        return 0

    assert ended(work) == 0


def test_a_letter_that_the_console_lacks_ends_nothing(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert ended(lambda: print("café") or 0) == 0
    assert written.getvalue().split() == [b"caf?"]


def test_a_reader_that_left_is_told_by_the_exit_code(monkeypatch):
    behind, end = os.pipe()
    os.close(behind)
    with open(end, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert ended(lambda: print("to nobody") or 0) == 141


def test_what_somebody_wrote_cannot_command_the_terminal():
    assert (
        harmless("\x1b[31mred\x07\r\x0e\x9b\x7f \tü\n") == "\ufffd[31mred" + 5 * "\ufffd" + " \tü\n"
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize(
    "words",
    [
        ["scratch_embed", "--version"],
        ["scratch_embed", "--help"],
        ["scratch_embed", "lm", "--help"],
        ["scratch_embed.gradcheck", "--help"],
    ],
)
def test_a_disk_that_is_full_is_told(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", *words],
            env=os.environ | {"PYTHONUNBUFFERED": ""},  # or argparse is told, and tells nobody
            check=False, stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 1 and done.stderr == "No space left on device.\n"
