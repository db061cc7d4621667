"""Three lessons of the course, stepped from the first key to the last with every line opened."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.sheet import Printed, Prose, Shown, screens
from scratch_embed.look.terminal import visible
from tests.lesson.walk.person import walk

LESSONS = cells.find(Path(__file__).resolve().parents[3] / "lessons")
SIZES = ((80, 24), (60, 20), (120, 40))
FRAME = 3
GUESSES = {"for E[cat], column 1?": "0.8", "how many rows of E are exactly": "4"}  # of lesson 0


class Thorough:
    """Opens all that opens, goes once into an operation, answers one question wrongly, one right.

    All others are shown. What it pressed and typed is kept.
    """

    def __init__(self):
        self.typed, self.into, self.opened = [], {}, 0

    def __call__(self, frame) -> str:
        if not frame.names:
            return self.answer(frame)
        if "into" in frame.names and frame.step not in self.into:
            self.into[frame.step] = ""
            return "into"
        if frame.head.startswith("Into which call"):
            ops = [line.split()[0] for line in frame.page if "ops/" in line]
            return f"step {ops[0] if ops else 1}"
        if "out" in frame.names:
            self.into[frame.step] += "\n".join(frame.page)
        if "open" in frame.names:
            self.opened += 1
            return "open"
        return "on"

    def answer(self, frame) -> str:
        for words, typed in GUESSES.items():
            if words in " ".join(frame.page[-3:]):
                return typed
        letters = any(re.match(r" +B\) ", line) for line in frame.page)
        asked = frame.page[-1].endswith("= ?")
        if letters or not asked:
            return ""
        terms = frame.page[-1].rpartition(" = ?")[0].rpartition(" = ")[2]
        if not re.fullmatch(r"[-+*/(). \d]+", terms) or len(self.typed) > 1:
            return ""
        right = eval(terms)
        self.typed.append(f"{right if self.typed else -right:.6g}")
        return self.typed[-1]


@pytest.mark.parametrize("number", [0, 4, 14])
def test_every_line_of_a_lesson_is_revealed_and_fits(number, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SCRATCH_EMBED_STATE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    thorough = Thorough()
    record, person = walk(LESSONS[number], thorough)
    assert record.closed and record.passed
    told = "\n".join("\n".join(frame.page) for frame in person.frames)
    assert thorough.opened and any("ops/" in page for page in thorough.into.values())
    assert "Right." in told and ("its sign is the other" in told or "That is g[0] alone" in told)
    shown = [block.line for view in person.views for block in view.blocks
             if isinstance(block, Shown) and block.stages is None]  # fmt: skip
    for working, _ in record.workings:
        for line in working.lines:
            assert any(line is other for other in shown), line
            assert all(any(part is other for other in shown) for part in line.parts), line
    for columns, rows in SIZES:
        for view in person.views:
            for page in screens(view.blocks, view.new, columns, rows - FRAME):
                assert len(page) <= rows - FRAME
                assert all(visible(line) <= columns for line in page), page


def test_a_sheet_that_is_higher_than_a_screen_is_cut_between_paragraphs():
    paragraphs = [Prose("word " * 60), Printed("\n".join(map(str, range(12)))), Prose("end " * 30)]
    pages = screens(paragraphs, 0, 40, 10)
    assert len(pages) > 2 and all(len(page) <= 10 for page in pages)
    assert next(line for line in pages[0] if line).startswith("word")
    text = "\n".join(line for page in pages for line in page)
    assert all(str(k) in text for k in range(12)) and pages[-1][-1].startswith("end")
    late = screens(paragraphs, 2, 40, 10)
    assert len(late) == 1 and late[0][0] != "" and late[0][-1].startswith("end")
