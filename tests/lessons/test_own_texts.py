"""Texts of one's own that a lesson cannot use: one sentence says why, and what would do."""

from __future__ import annotations

import itertools
import random
import string
from pathlib import Path

import pytest

from scratch_embed.lesson.record import Options
from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.runner import run

LESSONS = Path(__file__).parents[2] / "lessons"


def word(rng: random.Random, length: int) -> str:
    return "".join(rng.choices(string.ascii_lowercase, k=length))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (lambda rng: word(rng, 200_000), "Give a text with spaces"),
        (lambda rng: " ".join(word(rng, 3_000) for _ in range(70)), "Give a text with spaces"),
        (lambda rng: "the cat sat on the mat. " * 20, "Give a longer text"),
    ],
)
def test_the_arena_says_what_a_text_lacks(text, told, tmp_path, capsys):
    path = tmp_path / "own.txt"
    path.write_text(text(random.Random(0)), encoding="utf-8")
    record = run(cells.load(LESSONS / "ch08_arena.py"), Options(text=path, quick=True))
    (failure,) = record.failures
    assert "\n" not in failure.text and told in failure.text
    assert "Traceback" not in capsys.readouterr().err


def many_words() -> str:
    """Five thousand words, none of them with a couple as row and rows."""
    found = itertools.islice(itertools.product("abcdefgh", repeat=5), 5_000)
    return " ".join("".join(letters) for letters in found) + "."


@pytest.mark.parametrize(
    ("lesson", "text", "told"),
    [
        ("ch07_subwords", "a " * 45_000 + "1984 " * 9_000, "no word of letters at the end"),
        ("ch07_subwords", "a " * 4_500, "the text has 9,000 characters; this takes 50,000"),
        ("ch08_arena", "\u4e00\u4e8c " * 30_000, "or one of such letters"),
        ("ch18_counts_and_analogies", "row rows " * 100, "the text has 2 different words, and 1"),
        ("ch18_counts_and_analogies", many_words(), "has 5,000 different words, and among the 499"),
    ],
)
def test_a_lesson_says_what_a_text_lacks(lesson, text, told, tmp_path, capsys):
    path = tmp_path / "own.txt"
    path.write_text(text, encoding="utf-8")
    record = run(cells.load(LESSONS / f"{lesson}.py"), Options(text=path, quick=True))
    (failure,) = record.failures
    assert "\n" not in failure.text and told in failure.text
    assert "Traceback" not in capsys.readouterr().err


READS = sorted(p.stem for p in (LESSONS / "labs").glob("*.py") if b"lab_text(" in p.read_bytes())


@pytest.mark.parametrize("lab", READS)
def test_a_lab_says_how_long_a_text_it_needs(lab, tmp_path, capsys):
    path = tmp_path / "own.txt"
    path.write_text("the cat sat on the mat. " * 9_000, encoding="utf-8")
    record = run(cells.load(LESSONS / "labs" / f"{lab}.py"), Options(text=path, quick=True))
    (failure,) = record.failures
    assert "has 54,000 words, 5 different ones; a lab needs 50,000, and 2,000" in failure.text
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("lab", "told"),
    [
        ("antonyms", "0 of the pairs, true/false to encode/decode, are among the 1,000 most"),
        ("chance_and_cosines", "0 of the 1,000 most frequent words of the text stand there with"),
        ("equal_words", "0 of the 150 most frequent words of the text stand there with an s"),
        ("wholes_and_pieces", "no word was read 100 times in the other"),
    ],
)
def test_a_lab_says_what_a_long_text_lacks(lab, told, tmp_path, capsys):
    rng = random.Random(0)
    known = [word(rng, 4) + "x" for _ in range(5_000)]
    path = tmp_path / "own.txt"
    path.write_text(" ".join(rng.choices(known, k=120_000)), encoding="utf-8")
    record = run(cells.load(LESSONS / "labs" / f"{lab}.py"), Options(text=path, quick=True))
    (failure,) = record.failures
    assert told in failure.text and "\n" not in failure.text
    assert "Traceback" not in capsys.readouterr().err


def test_a_quick_lab_does_not_say_that_it_found_what_its_closing_words_tell(tmp_path, capsys):
    folder = tmp_path / "labs"
    folder.mkdir()
    (folder / "lab.py").write_text("# %%\nx = 1\n# %% [markdown]\n# It is so.\n", encoding="utf-8")
    for quick in (True, False):
        run(cells.load(folder / "lab.py"), Options(quick=quick))
        assert ("not by this run:)\n\nIt is so." in capsys.readouterr().out) == quick
