"""Chapter 1 on a text of one's own: what it makes of good ones, and how it refuses bad ones."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from scratch_embed.lesson.record import Options
from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.cli import main
from scratch_embed.lesson.walk.runner import run
from scratch_embed.text import toy

LESSONS = Path(__file__).parents[2] / "lessons"


@pytest.fixture
def lesson(tmp_path, monkeypatch):
    """A copy of the chapter, so that its figures do not replace those of a full run."""
    monkeypatch.setenv("SCRATCH_EMBED_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "lessons"
    folder.mkdir()
    shutil.copytree(LESSONS / "claims", folder / "claims")
    return cells.load(shutil.copy(LESSONS / "ch01_token_table.py", folder))


def small_text(num_tokens: int) -> str:
    """Words such as "aag", the frequent ones by far more often, with some letters beyond ASCII."""
    names = np.array(["".join("abcdefghjé"[int(c)] for c in f"{i:03d}") for i in range(400)])
    return " ".join(names[toy.zipf_classes(num_tokens).tokens])


def test_the_lesson_passes_on_a_small_text(lesson, tmp_path, capsys):
    path = tmp_path / "small.txt"
    path.write_text(small_text(20_000), encoding="utf-8")
    record = run(lesson, Options(text=path, quick=True))
    out = capsys.readouterr().out
    assert record.passed, record.failures
    assert "20,000 words, " in out
    assert [figure.name for figure, _ in record.figures] == ["ch01_real_text.png"]
    updates, batches = record.names["updates"], record.names["batches"]
    assert updates[0] == 0 and 0 < updates[1:].max() <= len(batches)
    moved = record.names["moved"]
    assert (moved[updates == 0] == 0).all() and (moved[updates > 0] > 0).all()


@pytest.mark.parametrize(
    ("times", "found"), [(1, "6 words, 5 different"), (4000, "24,000 words, 5 different")]
)
def test_a_tiny_text_is_told_in_one_sentence(lesson, tmp_path, capsys, times, found):
    path = tmp_path / "tiny.txt"
    path.write_text("the cat sat on the mat " * times, encoding="utf-8")
    record = run(lesson, Options(text=path, quick=True))
    (failure,) = record.failures
    assert re.match(f"the text has {found}; this takes 20,000, and 100 different", failure.text)
    assert "\n" not in failure.text and "Traceback" not in capsys.readouterr().err
    assert not record.passed


@pytest.mark.parametrize(
    "data, told",
    [
        (None, "There is no file"),
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (b"the caf\xe9\n", "is not UTF-8: byte 0xe9 at offset 7"),
        ("the cat".encode("utf-16"), "is not UTF-8"),
    ],
)
def test_a_text_that_cannot_be_read_is_told_before_anything_runs(tmp_path, capsys, data, told):
    path = tmp_path / "text.txt"
    if data is not None:
        path.write_bytes(data)
    assert main(LESSONS, ["1", "--text", str(path)]) == 2
    out, err = capsys.readouterr()
    assert not out and told in err and "text.txt" in err
    assert len(err.splitlines()) == 1


def test_a_text_in_which_no_word_is_rare_is_refused_in_a_sentence(tmp_path, capsys):
    """There is no row with one update to be judged."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghij"), 5)) for _ in range(120)]
    path = tmp_path / "even.txt"
    path.write_text(" ".join(rng.choice(words, 30_000)), encoding="utf-8")
    assert main(LESSONS, ["1", "--text", str(path)]) == 1
    told = capsys.readouterr()
    assert "no kept word was read just once" in told.out + told.err
    assert "= B) worse" not in told.out


def made_up(rng: np.random.Generator, count: int) -> list[str]:
    return ["".join(rng.choice(list("abcdefghij"), 6)) for _ in range(count)]


def test_reasons_are_told_only_of_a_text_in_which_they_hold(tmp_path, capsys):
    """All words are equally frequent, which neither does half of the work nor is Zipf's law."""
    rng = np.random.default_rng(0)
    path = tmp_path / "even.txt"
    path.write_text(" ".join(rng.choice(made_up(rng, 2_900), 60_000)), encoding="utf-8")
    assert main(LESSONS, ["1", "--text", str(path)]) == 0
    out = capsys.readouterr().out
    assert "Zipf's law" not in out and "nearly all the work" not in out
    assert main(LESSONS, ["1"]) == 0
    out = " ".join(capsys.readouterr().out.split())  # without the ends of lines
    assert "Zipf's law" in out and "nearly all the work" in out


def test_a_text_whose_rare_words_are_often_followed_by_the_same_is_judged(tmp_path):
    """The probability of what follows comes to 0 in a float, its logarithm does not."""
    rng = np.random.default_rng(1)
    words = made_up(rng, 2_900)
    common, rare = words[:100], words[100:]
    drawn = [
        [rng.choice(rare), common[0]] if rng.random() < 0.12 else [rng.choice(common)]
        for _ in range(40_000)
    ]
    path = tmp_path / "rare.txt"
    path.write_text(" ".join(word for some in drawn for word in some), encoding="utf-8")
    assert main(LESSONS, ["1", "--text", str(path)]) == 0
