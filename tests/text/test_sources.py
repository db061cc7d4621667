"""Text from anywhere: the same words however it is cut, and what is no text, in a sentence."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from scratch_embed.text import sources
from scratch_embed.text.corpus import words
from scratch_embed.text.sources import open_source

TEXT = "Die Straße führt\nnach 北京 und\tzurück. Don't go!\n" * 20


def all_words(what) -> list[str]:
    return [word for piece in open_source(what).pieces() for word in words(piece)]


@pytest.mark.parametrize("size", [7, 16, 100, 1 << 20])
def test_a_file_in_pieces_holds_the_words_of_the_whole(tmp_path, monkeypatch, size):
    monkeypatch.setattr(sources, "PIECE", size)
    path = tmp_path / "text.log"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())  # with a byte order mark
    source = open_source(path)
    pieces = list(source.pieces())
    assert "".join(pieces) == TEXT
    assert all_words(path) == words(TEXT)
    assert source.done == source.size == path.stat().st_size
    assert max(len(piece.encode()) for piece in pieces) <= max(size + 20, 40)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 1 << 20])
def test_every_line_end_becomes_one(tmp_path, monkeypatch, size):
    monkeypatch.setattr(sources, "PIECE", size)
    path = tmp_path / "text.txt"
    path.write_bytes(b"a b\r\n\r\nc\r\nd e\rf\n" * 3)
    assert "".join(open_source(path).pieces()) == "a b\n\nc\nd e\nf\n" * 3


def test_files_that_were_put_together_leave_no_byte_order_mark_inside(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\ufeffone \ufefftwo", encoding="utf-8")
    assert "".join(open_source(path).pieces()) == "one two"


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    for name, text in (("b.txt", "two"), ("a/z.md", "one"), ("c.rst", "three"), ("d.png", "no"),
                       (".hidden.txt", "no"), (".git/e.txt", "no"), ("f.txt", "")):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert all_words(tmp_path) == ["one", "two", "three"]


def test_a_folder_that_a_folder_links_to_is_read_once(tmp_path):
    whole, far = tmp_path / "texts", tmp_path / "far"
    for name, text in (("b.txt", "two"), ("a/z.txt", "one")):
        (whole / name).parent.mkdir(exist_ok=True, parents=True)
        (whole / name).write_text(text, encoding="utf-8")
    far.mkdir()
    (far / "y.txt").write_text("three", encoding="utf-8")
    try:
        for link, to in (("c", far), ("d", far), ("a/back", whole)):
            (whole / link).symlink_to(to, target_is_directory=True)
    except OSError:
        pytest.skip("this system lets nobody make a link")
    assert all_words(whole) == ["one", "two", "three"]


def test_a_file_of_two_names_is_read_once(tmp_path):
    (tmp_path / "b.txt").write_text("one", encoding="utf-8")
    os.link(tmp_path / "b.txt", tmp_path / "a.txt")
    (tmp_path / "c.txt").write_text("two", encoding="utf-8")
    assert all_words(tmp_path) == ["one", "two"]


def test_what_is_to_be_left_out_is(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name[0], encoding="utf-8")
    source = open_source(tmp_path, without=lambda path: path.name == "a.txt")
    assert list(source.pieces()) == ["b"] and source.size == 1


def test_a_text_that_is_away_is_not_passed_over(tmp_path):
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    try:
        (tmp_path / "b.txt").symlink_to(tmp_path / "not mounted" / "b.txt")
    except OSError:
        pytest.skip("this system lets nobody make a link")
    with pytest.raises(FileNotFoundError, match=r"b\.txt"):
        open_source(tmp_path)
    (tmp_path / "b.txt").unlink()
    (tmp_path / "folder.txt").mkdir()
    assert all_words(tmp_path) == ["a"]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "c.txt")
        with pytest.raises(OSError, match=r"c\.txt is a pipe"):
            open_source(tmp_path)


def test_a_folder_that_cannot_be_opened_is_told(tmp_path, monkeypatch):
    """Whoever runs the tests may be allowed everything: so the system's answer is played."""
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    (tmp_path / "closed").mkdir()
    listed = os.scandir

    def scandir(path):
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(PermissionError, match="closed"):
        open_source(tmp_path)


def test_standard_input_and_the_standard_text(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert all_words("-") == words(TEXT)
    monkeypatch.setattr(sources, "python_text", lambda progress: TEXT)
    assert all_words(None) == words(TEXT)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"fine\nand na\xefve " * 3, r"0xef at offset 11 \(line 2\).*iconv -f WINDOWS-1252"),
        ("text".encode("utf-16"), r"0xff at offset 0 \(line 1\).*iconv -f UTF-16"),
        (b"fine words " * 9 + b"\0", "holds a zero byte at offset 99: it is a binary file"),
        (b"x" * 5000, "has no space within 4,096 bytes, from offset 0 on; is it text"),
        (b"fine\r\n" + b"x" * 5000, "has no space within 4,096 bytes, from offset 4 on"),
        (b"", "is empty"),
    ],
)
def test_what_is_no_text_is_told_with_its_place(tmp_path, monkeypatch, content, said):
    monkeypatch.setattr(sources, "PIECE", 32)
    monkeypatch.setattr(sources, "LONGEST", 4096)
    path = tmp_path / "given.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        list(open_source(path).pieces())


def test_the_place_of_a_wrong_byte_counts_the_pieces_before(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "PIECE", 10)
    rng = np.random.default_rng(0)
    for _ in range(20):
        good = bytes(rng.choice([*b"ab \n"], rng.integers(1, 60)).tolist()) + b" "
        path = tmp_path / "given.txt"
        path.write_bytes(good + b"\xff tail and more of it")
        line = good.count(b"\n") + 1
        with pytest.raises(ValueError, match=rf"at offset {len(good)} \(line {line}\)"):
            list(open_source(path).pieces())


def test_what_is_not_there_is_told_at_once(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        open_source(tmp_path / "missing.txt")
    with pytest.raises(ValueError, match="holds no text: files that end in .txt"):
        open_source(tmp_path)
