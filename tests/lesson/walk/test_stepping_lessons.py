"""Three lessons of the course in a real terminal, from the first key to the last."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from scratch_embed.lesson.walk.sheet import Printed, Prose, screens
from tests.lesson.walk import typed_commands
from tests.screens import Terminal

ROOT = Path(__file__).resolve().parents[3]
GUESSES = {"for E[cat], column 1?": "0.8", "how many rows of E are exactly": "4"}  # of lesson 0


class Thorough:
    """Opens all that opens, enters an operation of ops/, leaves once and comes back, answers one
    question wrongly and one right. All others are shown. What was typed, and entered, is kept."""

    def __init__(self):
        self.typed, self.inside, self.entered = [], [], set()
        self.left = self.opened = 0

    def __call__(self, frame) -> str:
        if not frame.names:
            return self.answer(frame)
        if "out" in frame.names:
            self.inside.append("\n".join(frame.page))
        elif frame.head.startswith("Into which call"):
            ops = [line.split()[0] for line in frame.page if " ops/" in line]
            return f"step {ops[0]}" if ops else "back"
        elif self.may_enter(frame):
            self.entered.add(frame.step)
            return "into"
        elif frame.step.startswith("4/") and not self.left:
            self.left = 1
            return "quit"
        if "open" in frame.names:
            self.opened += 1
            return "open"
        return "on"

    def may_enter(self, frame) -> bool:
        """Whether a call can be entered, and no operation of the package was entered so far."""
        done = any("ops/" in page for page in self.inside) or frame.step in self.entered
        return "into" in frame.names and not done

    def answer(self, frame) -> str:
        rows = [row for row in frame.page if row]
        for words, typed in GUESSES.items():
            before = frame.step.startswith("1/")  # a question from before
            if words in " ".join(rows[-3:]) and not before:
                self.typed.append(typed)
                return typed
        line = " ".join(" ".join(rows[-3:]).split())
        terms = line.removesuffix(" = ?").rpartition(" = ")[2]
        if not re.fullmatch(r"[-+*/(). \d]+", terms) or len(self.typed) > 1:
            return ""
        right = eval(terms)
        self.typed.append(f"{right if self.typed else -right:.6g}")
        return self.typed[-1]


@pytest.fixture(scope="module")
def terminal(tmp_path_factory):
    """Where commands are typed; leaves no process behind."""
    state = str(tmp_path_factory.mktemp("state"))
    typing = Terminal([sys.executable, typed_commands.__file__], 80, 24, PYTHONPATH=str(ROOT),
                      SCRATCH_EMBED_STATE=state)  # fmt: skip
    yield typing
    typing.process.kill()
    typing.end()


def command(terminal, words, person):
    """Type a command, and walk to where its window is given back; the frames on the way."""
    terminal.until("[next] ")
    terminal.press(f"{words}\n")
    return terminal.walk(person)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")
@pytest.mark.parametrize(("number", "size"), [*zip((0, 4, 14), typed_commands.SIZES)])
def test_a_lesson_is_walked_from_its_first_key_to_its_last(terminal, number, size):
    terminal.size(*size)
    person = Thorough()
    frames = command(terminal, f"{number} --step", person)
    assert "You are at step 4 of" in terminal.until("[code 0]")
    again = command(terminal, f"{number} --step", person)
    assert "Last time you came to step 4 of" in " ".join(again[0].page)
    assert again[1].step == frames[-1].step
    entered = [page for page in person.inside if "ops/" in page]
    assert person.opened and re.search(r"_(for|back)ward\(", entered[0]) and entered[1:]
    assert len(person.typed) == 2
    for typed, verdict in zip(person.typed, ("No.", "Right.")):
        pages = (" ".join(frame.page) for frame in frames + again)
        below = next(p for p in pages if f"You said {typed}. {verdict}" in p).partition("said")[2]
        assert len(below.split()) < 60  # nothing but the reason stands below it
    assert "Worth another look" in " ".join(again[-1].page)
    assert "You went through all" in terminal.until("[code 0]")  # and all was shown, and fits


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")
def test_an_operation_is_entered_forward_and_backward(terminal):
    terminal.size(60, 20)
    keys = iter(["on", "into", "on", "out", "sections", "step 2", "into", *["on"] * 8, "quit"])
    frames = command(terminal, "14 --trace", lambda frame: next(keys))
    told = "\n".join("\n".join(frame.page) for frame in frames)
    assert "layer_norm_forward(x, gamma, beta" in told and "->   1  forward 1" in told
    assert "layer_norm_backward(dout, saved" in told and "inverse, gamma = saved.x_hat" in told
    terminal.until("[code 0]")


def test_a_sheet_that_is_higher_than_a_screen_is_cut_between_paragraphs():
    paragraphs = [Prose("word " * 60), Printed("\n".join(map(str, range(12)))), Prose("end " * 30)]
    pages = screens(paragraphs, 0, 40, 10)
    assert len(pages) > 2 and all(len(page) <= 10 for page in pages)
    assert next(line for line in pages[0] if line).startswith("word")
    text = "\n".join(line for page in pages for line in page)
    assert all(str(k) in text for k in range(12)) and pages[-1][-1].startswith("end")
    late = screens(paragraphs, 2, 40, 10)
    assert len(late) == 1 and late[0][0] != "" and late[0][-1].startswith("end")
