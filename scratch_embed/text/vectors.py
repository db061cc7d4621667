"""Vectors of words in text files: the formats of word2vec and of GloVe, read and written.

    word2vec    a first line "V D", then a line for each word: the word and D numbers
    GloVe       the same without the first line

All is UTF-8 and separated by single spaces. A file is read as text, and nothing in it is run.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scratch_embed.files import replacing


class WordVectors(NamedTuple):
    """Words and their rows: vectors[index[word]] is the vector of a word."""

    words: tuple[str, ...]
    vectors: np.ndarray  # (V, D)

    @property
    def index(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}


def write_vectors(
    path: str | os.PathLike, words: Sequence[str], vectors: np.ndarray, header: bool = True
) -> None:
    """Write one line for each word, each number in the fewest digits that give it back exactly.

    header : the first line "V D" of word2vec; False writes GloVe's format.

    Raises ValueError for words and vectors that do not fit, a word that is empty, holds white
    space or comes twice, and for NaN or infinity. The file is complete or not there at all.
    """
    vectors = np.asarray(vectors)
    if vectors.ndim != 2 or len(words) != len(vectors) or not vectors.size:
        raise ValueError(
            f"{len(words)} words and vectors {vectors.shape} do not fit: vectors is (V, D) with a "
            "row for each word, and not empty"
        )
    if vectors.dtype.kind != "f" or not np.isfinite(vectors).all():
        raise ValueError(f"vectors are {vectors.dtype}; they must be floats, all of them finite")
    first: dict[str, int] = {}
    for row, word in enumerate(words):
        if not word or len(word.split()) != 1 or word != word.strip():
            raise ValueError(
                f"words[{row}] = {word!r} is empty or holds white space, which ends a word in this "
                "format; write '_' instead of a space"
            )
        if first.setdefault(word, row) != row:
            raise ValueError(f"words[{row}] = {word!r} is words[{first[word]}] as well")
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        if header:
            file.write(f"{len(words)} {vectors.shape[1]}\n")
        for word, vector in zip(words, vectors):
            file.write(f"{word} {' '.join(map(str, vector))}\n")


def read_vectors(
    path: str | os.PathLike,
    header: bool | None = None,
    duplicates: str = "error",
    limit: int | None = None,
    dtype: type = np.float32,
) -> WordVectors:
    """The words and vectors of a file in word2vec's or GloVe's text format.

    header : whether there is a first line "V D"; None looks: two whole numbers are taken for one.
    duplicates : what to do about a word that comes again: "error", or "first" to keep the first.
    limit : read this many words at most, which in published files are the most frequent ones.

    Raises ValueError with the number of the line for one that is malformed, that is not UTF-8 or
    that repeats a word, and when the count in the header is not the count of lines.
    """
    path = Path(path)
    if duplicates not in ("error", "first"):
        raise ValueError(f"duplicates is {duplicates!r}; it must be 'error' or 'first'")
    lines = _lines(path)
    number, first = next(lines, (0, ""))
    announced = _header(first) if header is not False else None
    if header and announced is None:
        raise ValueError(f"{path}, line 1: {first[:60]!r} is not a header of two counts, 'V D'")
    dim = announced[1] if announced else first.count(" ")
    if not number or not dim:
        raise ValueError(f"{path} holds no vectors: its first line is {first[:60]!r}")

    seen: dict[str, int] = {}  # word -> line
    rows: list[np.ndarray] = []
    body = lines if announced else _again(number, first, lines)
    for number, line in body:
        if limit is not None and len(rows) >= limit:
            break
        word, vector = _parse(line, dim, dtype, f"{path}, line {number}")
        if word in seen:
            if duplicates == "first":
                continue
            raise ValueError(
                f"{path}, line {number}: the word {word!r} was on line {seen[word]} already; "
                "duplicates='first' keeps that one"
            )
        seen[word] = number
        rows.append(vector)
    if announced and limit is None and duplicates == "error" and len(rows) != announced[0]:
        raise ValueError(
            f"{path}: the header announces {announced[0]} words, and there are {len(rows)}; the "
            "file may be cut short"
        )
    return WordVectors(tuple(seen), np.stack(rows) if rows else np.zeros((0, dim), dtype))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number, text) of each line. Only a line feed ends one: words may hold other separators."""
    with open(path, "rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip(" \r\n")
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{path}, line {number}: byte 0x{raw[error.start]:02x} at offset {error.start} "
                    "is not UTF-8; save the file as UTF-8"
                ) from None


def _header(line: str) -> tuple[int, int] | None:
    """(V, D), or None when the line is something else."""
    fields = line.split(" ")
    if len(fields) != 2 or not all(field.isascii() and field.isdigit() for field in fields):
        return None
    return int(fields[0]), int(fields[1])


def _parse(line: str, dim: int, dtype: type, where: str) -> tuple[str, np.ndarray]:
    """The word and its numbers. The word may hold spaces: the last `dim` fields are the numbers."""
    word, *fields = line.rsplit(" ", dim)
    if not word or len(fields) != dim:
        raise ValueError(
            f"{where}: {line[:60]!r} must hold a word and {dim} numbers, separated by single "
            f"spaces, and holds {len(fields)}"
        )
    for position, field in enumerate(fields, start=1):
        try:
            value = float(field)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(
                f"{where}: number {position} of {word!r} is {field!r}, no finite number"
            )
    return word, np.array(fields, dtype=np.float64).astype(dtype)


def _again(number: int, first: str, lines: Iterator) -> Iterator[tuple[int, str]]:
    yield number, first
    yield from lines
