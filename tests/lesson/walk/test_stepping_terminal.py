"""The stepper in a true (pseudo-)terminal: single keys, the window's size, Ctrl-C, Ctrl-D."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.lesson.lesson_demo import write
from tests.lesson.walk.test_lesson_runner import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")
CTRL_C = "Ctrl-C"
CLEAR = "\x1b[H\x1b[2J"
CODES = re.compile(r"\x1b\[[?0-9;]*[a-zA-Z]")


class Terminal:
    """A lesson that is stepped at the other end of a pseudo-terminal."""

    def __init__(self, path, tmp_path, columns, rows, **environment):
        self.main, other = os.openpty()
        self.size(columns, rows)
        unset = ("COLUMNS", "LINES", "NO_COLOR")
        env = {name: value for name, value in os.environ.items() if name not in unset}
        env |= {"PYTHONPATH": str(ROOT), "TERM": "xterm", "PYTHONIOENCODING": "utf-8",
                "SCRATCH_EMBED_STATE": str(tmp_path / "state"), **environment}  # fmt: skip
        command = [sys.executable, str(path), "--step"]
        self.process = subprocess.Popen(
            command, stdin=other, stdout=other, stderr=other, env=env, start_new_session=True
        )
        os.close(other)
        os.set_blocking(self.main, False)
        self.text = ""

    def size(self, columns, rows):
        import fcntl
        import struct
        import termios

        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, words, since=0):
        """Read on until these words are there; the text after `since`."""
        deadline = time.monotonic() + 20
        while words not in self.text[since:]:
            assert time.monotonic() < deadline, self.text[since:]
            try:
                self.text += os.read(self.main, 65536).decode("utf-8", "replace")
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:  # the other end is closed
                assert words in self.text[since:], self.text[since:]
        return self.text[since:]

    def press(self, key, then="? help"):
        """Press a key, or Ctrl-C; the screen that comes of it."""
        since = len(self.text)
        if key == CTRL_C:  # as the terminal does that controls the process
            self.process.send_signal(signal.SIGINT)
        else:
            os.write(self.main, key.encode())
        return self.until(then, since).rpartition(CLEAR)[2]

    def end(self):
        """Wait for the end; the exit code."""
        deadline = time.monotonic() + 20
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                self.text += os.read(self.main, 65536).decode("utf-8", "replace")
            except (BlockingIOError, OSError):
                time.sleep(0.01)
        code = self.process.poll()
        if code is None:
            self.process.kill()
        os.close(self.main)
        return code


@pytest.mark.parametrize("columns, rows", [(80, 24), (60, 20)])
def test_single_keys_walk_through_and_every_screen_fits(tmp_path, columns, rows):
    extra = "print('a word ' * 40)\nfor k in range(40):\n    print('line', k)"
    terminal = Terminal(write(tmp_path, extra=extra), tmp_path, columns, rows)
    terminal.until("? help")
    assert "\x1b[?1049h" in terminal.text
    assert "0.6*0.8" in terminal.press("o") and "The keys" in terminal.press("?")
    terminal.press("\n")
    terminal.press("c")
    assert "your guess" in terminal.press("\n", "to see)")
    assert "Right." in terminal.press("18\n")
    for _ in range(12):
        if "comparisons hold" in terminal.text:
            break
        terminal.press(" ")
    os.write(terminal.main, b"\n")
    assert terminal.end() == 0 and terminal.text.count("\x1b[?1049l") == 1
    for frame in terminal.text.split(CLEAR)[1:]:
        lines = CODES.sub("", frame.partition("\x1b[?1049l")[0]).split("\n")
        assert len(lines) <= rows + frame.count("to see)") and "line 39" in terminal.text
        assert all(len(line.rstrip("\r")) <= columns for line in lines), lines


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_another_size_ctrl_c_and_ctrl_d(tmp_path):
    terminal = Terminal(write(tmp_path), tmp_path, 80, 24, NO_COLOR="1")
    terminal.until("? help")
    assert "Ctrl-C is no key here" in terminal.press(CTRL_C)
    since = len(terminal.text)
    terminal.size(50, 16)
    narrow = terminal.until("? help", since).rpartition(CLEAR)[2]
    assert max(len(CODES.sub("", line).strip("\r")) for line in narrow.split("\n")) <= 50
    assert "\x1b[1m" not in terminal.text and "\x1b[2m" not in terminal.text  # no colours
    terminal.press("\n", "to see)")
    assert "= 18" in terminal.press(CTRL_C)  # no answer, and no harm
    os.write(terminal.main, b"\x04")
    assert terminal.end() == 0 and "You are at step 2 of 5" in terminal.text


def test_a_dumb_terminal_is_sent_lines_only(tmp_path):
    terminal = Terminal(write(tmp_path), tmp_path, 80, 24, TERM="dumb")
    terminal.until("? help")
    terminal.press("\n", "to see)")
    terminal.press("\n")
    os.write(terminal.main, b"q\n")
    assert terminal.end() == 0 and "\x1b" not in terminal.text
