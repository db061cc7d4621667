"""The stepper in a real terminal that is not left in peace: another size, Ctrl-C, Ctrl-D, dumb."""

from __future__ import annotations

import sys

import pytest

from tests.lesson.lesson_demo import write
from tests.lesson.walk.test_lesson_runner import ROOT
from tests.screens import CTRL_C, Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")
LONG = """import termios
print("keys are shown:", bool(termios.tcgetattr(0)[3] & termios.ECHO))
print("a word " * 40)
for k in range(40):
    print("line", k)"""


def stepped(tmp_path, **environment):
    path = write(tmp_path, extra=LONG)
    return Terminal([sys.executable, str(path), "--step"], 80, 24, PYTHONPATH=str(ROOT),
                    SCRATCH_EMBED_STATE=str(tmp_path / "state"), **environment)  # fmt: skip


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_another_size_ctrl_c_and_ctrl_d(tmp_path):
    terminal = stepped(tmp_path, NO_COLOR="1")
    first = terminal.frame()
    terminal.press(CTRL_C)
    assert terminal.frame() == first._replace(note="Ctrl-C is no key here: ? lists them, q quits.")
    terminal.press("")
    terminal.size(50, 16)
    narrow = terminal.frame()
    assert len(narrow.page) == 16 - 3 and narrow.page != first.page
    terminal.press("\n\n\n")
    assert not terminal.frame().names  # a question, which the second Enter has not answered
    terminal.press(CTRL_C)
    shown = terminal.frame()  # no answer, and no harm
    assert any(row.startswith("  = 18") for row in shown.page)
    terminal.press("\n")
    found = [row for frame in terminal.walk(lines_of_the_cell) for row in frame.page]
    assert {f"line {k}" for k in range(40)} | {"keys are shown: False"} <= set(found)
    assert "\x1b[1m" not in terminal.text and "\x1b[2m" not in terminal.text  # no colours
    assert terminal.text.count("\x1b[?1049h") == 1 == terminal.text.count("\x1b[?1049l")
    assert terminal.end() == 0 and "You are at step 4 of 5" in terminal.text


def test_the_python_prompt_shows_errors_also_inside_a_cell(tmp_path):
    terminal = stepped(tmp_path)
    assert "h . cat" in "".join(terminal.frame().page)  # line 1 of a calculation of the first cell
    terminal.press("p")
    assert "exit() or Ctrl-D" in terminal.until(">>> ")
    for typed, wanted in (("1/0", "ZeroDivisionError"), ("b = =", "SyntaxError"), ("6 * 7", "42")):
        terminal.press(typed + "\n")
        terminal.until(wanted)
    terminal.press("exit()\n")
    assert terminal.frame().note == "Back in the lesson."
    terminal.press("q")
    assert terminal.end() == 0


def lines_of_the_cell(frame):
    """Enter until the cell is behind us, then Ctrl-D."""
    return "on" if frame.step == "3/5" else "quit"


def test_a_dumb_terminal_is_sent_lines_only(tmp_path):
    terminal = stepped(tmp_path, TERM="dumb")
    for typed, wanted in (("", "? help"), ("\n", "to see)"), ("\n", "? help"), ("q\n", "step 2")):
        terminal.press(typed)
        terminal.until(wanted)
    assert terminal.end() == 0 and "\x1b" not in terminal.text
