"""Vectors of words in text files: the formats of word2vec and of GloVe, read and written.

    word2vec    a first line "V D", then a line for each word: the word and D numbers
    GloVe       the same without the first line

All is UTF-8 and separated by single spaces. A file is read as text, and nothing in it is run.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scratch_embed.arguments import array_of, check_count, check_floats
from scratch_embed.files import open_regular, replacing

LONGEST_LINE = 1 << 24  # bytes: a word and half a million numbers of any length
LONGEST_WORD = 10_000  # bytes
MOST_NUMBERS = 1 << 19  # that surely fit in a line
BYTE_ORDER_MARK = "\ufeff"
_COUNTS = re.compile(r"(\d{1,18}) (\d{1,18})", re.ASCII)
_DECIMALS = re.compile(r"[-+.eE0-9 ]*")  # float() takes more: 1_0, nan, digits of other scripts
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBERED = re.compile(r"\s[-+.]*[0-9][-+.eE0-9]*$")  # a word that ends in a number


class WordVectors(NamedTuple):
    """Words and their rows: vectors[index[word]] is the vector of a word."""

    words: tuple[str, ...]
    vectors: np.ndarray  # (V, D)

    @property
    def index(self) -> dict[str, int]:
        """{word: row}, made once, and kept for the few lists of words that were asked for last."""
        global _indices
        for words, index in _indices:
            if words is self.words:
                return index
        index = _Index({word: row for row, word in enumerate(self.words)})
        _indices = ((self.words, index), *_indices[:3])
        return index


def _refuse(*_, **__):
    raise TypeError("this index belongs to its words; change a copy of it, dict(index)")


class _Index(dict):
    """A dict that many share, so nobody writes to it. A copy of it is a plain one."""

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self):
        return dict, (dict(self),)


_indices: tuple[tuple[tuple[str, ...], dict[str, int]], ...] = ()  # a NamedTuple has no room


def write_vectors(
    path: str | os.PathLike, words: Sequence[str], vectors: np.ndarray, header: bool = True
) -> None:
    """Write one line for each word, each number in the fewest digits that give it back exactly.

    header : the first line "V D" of word2vec; False writes GloVe's format.

    Raises TypeError for a word that is not a str; ValueError for words and vectors that do not fit,
    for NaN or infinity, and for a word that is empty, comes twice, or holds white space, a zero
    byte or half a pair of surrogates, or has more than 10,000 bytes; and for vectors of more than
    524,288 numbers each. The file is complete or not there at all.
    """
    vectors = check_words(words, vectors)
    if vectors.shape[1] > MOST_NUMBERS:
        raise ValueError(
            f"vectors have {vectors.shape[1]:,} numbers each, and a line of text holds at most "
            f"{MOST_NUMBERS:,}; .npz and .safetensors have room for more"
        )
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        if header:
            file.write(f"{len(words)} {vectors.shape[1]}\n")
        if vectors.itemsize < 4:  # of a float16 it would be too few digits for who reads float32
            vectors = vectors.astype(np.float32)
        lines = (f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, vectors))
        file.writelines(lines)


def check_words(words: Sequence[str], vectors: np.ndarray) -> np.ndarray:
    """The vectors (V, D) as an array, when every format can hold them and their words.

    Raises what `write_vectors` says.
    """
    if isinstance(words, (str, bytes, set, frozenset)):
        raise TypeError(
            f"words is a {type(words).__name__}; it must be a list of words, one for each row"
        )
    vectors = array_of(vectors, "vectors")
    if vectors.ndim != 2 or len(words) != len(vectors) or not vectors.size:
        raise ValueError(
            f"{len(words)} words and vectors {vectors.shape} do not fit: vectors is (V, D) with a "
            "row for each word, and not empty"
        )
    if vectors.dtype.kind != "f":
        raise ValueError(f"vectors are {vectors.dtype}; they must be floats, all of them finite")
    if not np.isfinite(vectors).all():
        row, column = np.argwhere(~np.isfinite(vectors))[0].tolist()
        raise ValueError(
            f"vectors[{row}, {column}], of {words[row]!r}, is {vectors[row, column]}; all numbers "
            "must be finite"
        )
    first: dict[str, int] = {}
    for row, word in enumerate(words):
        if not isinstance(word, str):
            raise TypeError(
                f"words[{row}] = {word!r} is of type {type(word).__name__}; a word is a str, and "
                "bytes become one with .decode('utf-8')"
            )
        if word.split() != [word] or word[0] == BYTE_ORDER_MARK:
            raise ValueError(
                f"words[{row}] = {word!r} is empty or holds white space, which ends a word in this "
                "format, or begins with a byte order mark; write '_' instead of a space"
            )
        if "\0" in word or not word.isprintable() and _SURROGATE.search(word):
            raise ValueError(
                f"words[{row}] = {word!r} holds a zero byte or half of a pair of surrogates, which "
                "no file would give back; leave the word out"
            )
        if len(word) > LONGEST_WORD // 4 and len(word.encode()) > LONGEST_WORD:
            raise ValueError(
                f"words[{row}] = {word[:40]!r}... has {len(word.encode()):,} bytes, and a word has "
                f"at most {LONGEST_WORD:,}; leave it out"
            )
        if first.setdefault(word, row) != row:
            raise ValueError(f"words[{row}] = {word!r} is words[{first[word]}] as well")
    return vectors


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

    Warns when the last line does not end in a line feed, as in a file that was cut.
    Raises ValueError with the number of the line for one that is malformed, that is not UTF-8, that
    repeats a word or holds a number too large for dtype, when the count in the header is not the
    count of lines, and when most words end in a number, as they do where lines hold more numbers
    than the header says. Raises OSError for what is not a regular file.
    """
    path, dtype = Path(path), check_floats(dtype)
    if duplicates not in ("error", "first"):
        raise ValueError(f"duplicates is {duplicates!r}; it must be 'error' or 'first'")
    if limit is not None:
        limit = check_count(limit, "limit")
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
    ended = True
    for number, line in body:
        if limit is not None and len(rows) >= limit:
            ended = False
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
    if announced:
        _check_count(path, announced[0], number - 1, ended)
    if not rows:
        raise ValueError(f"{path} holds no vectors: nothing follows its first line, {first!r}")
    _check_dim(path, dim, list(seen), first)
    return WordVectors(tuple(seen), np.stack(rows))


def _check_count(path: Path, announced: int, there: int, ended: bool) -> None:
    """Whether there are as many lines as the header says; where reading stopped, no more."""
    if there > announced or (ended and there < announced):
        raise ValueError(
            f"{path}: the header announces {announced} words, and there are {there}"
            f"{'' if ended else ' or more'}; the file may be cut short, or added to"
        )


def _check_dim(path: Path, dim: int, words: list[str], first: str) -> None:
    """A word may hold spaces, so a dim that is too small leaves numbers to the words."""
    numbered = [word for word in words if _NUMBERED.search(word)]
    if 2 * len(numbered) > len(words):
        raise ValueError(
            f"{path}: with {dim} numbers a line, {len(numbered)} of {len(words)} words end in a "
            f"number, such as {numbered[0][:60]!r}; the first line, {first[:60]!r}, is wrong"
        )
    if numbered:
        warnings.warn(
            f"{path}: {len(numbered)} of {len(words)} words end in a number, such as "
            f"{numbered[0][:60]!r}; that line may be damaged, and hold one number too many",
            stacklevel=3,
        )


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number, text) of each line. Only a line feed ends one: words may hold other separators."""
    with open_regular(path) as file:
        for number, raw in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), start=1):
            if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
                raise ValueError(
                    f"{path}, line {number} has more than {LONGEST_LINE:,} bytes; a line holds one "
                    "word and its numbers"
                )
            if not raw.endswith(b"\n"):
                warnings.warn(
                    f"{path}, line {number}, the last one, does not end in a line feed: the file "
                    "may be cut short, inside of a number even",
                    stacklevel=4,
                )
            try:
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip(" \r\n")
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{path}, line {number}: byte 0x{raw[error.start]:02x} at offset {error.start} "
                    "is not UTF-8; save the file as UTF-8"
                ) from None


def _header(line: str) -> tuple[int, int] | None:
    """(V, D), or None when the line is something else."""
    found = _COUNTS.fullmatch(line)
    return (int(found[1]), int(found[2])) if found else None


def _parse(line: str, dim: int, dtype: np.dtype, where: str) -> tuple[str, np.ndarray]:
    """The word and its numbers. The word may hold spaces: the last `dim` fields are the numbers."""
    word, *fields = line.rsplit(" ", dim)
    if not word or word != word.strip(" ") or len(fields) != dim:
        raise ValueError(
            f"{where}: {line[:60]!r} must hold a word and {dim} numbers, separated by single "
            f"spaces, and holds {len(fields)}"
        )
    try:
        if not _DECIMALS.fullmatch(line, len(word)):
            raise ValueError
        with np.errstate(over="ignore"):
            vector = np.array(fields, np.promote_types(dtype, np.float64)).astype(dtype)
        if not np.isfinite(vector).all():
            raise ValueError
    except ValueError:
        raise ValueError(f"{where}: {_wrong_number(fields, word, dtype)}") from None
    return word, vector


def _wrong_number(fields: list[str], word: str, dtype: np.dtype) -> str:
    """Which of the numbers of a word cannot be taken, and why: there is one."""
    largest = float(np.finfo(dtype).max)
    for position, field in enumerate(fields, start=1):
        try:
            value = decimal(field)
        except ValueError:
            value = math.nan
        if not abs(value) <= largest:
            why = "no finite number"
            if math.isfinite(value):
                why = f"too large for {dtype}, which ends at {largest:.2g}; "
                why += "text.vectors.read_vectors(path, dtype=np.float64) reads it"
            break
    return f"number {position} of {word!r} is {field[:60]!r}, {why}"


def decimal(field: str) -> float:
    """float(field), in the digits 0 to 9 alone. ValueError for anything else."""
    if not _DECIMALS.fullmatch(field):
        raise ValueError(f"{field!r} is no decimal number")
    return float(field)


def _again(number: int, first: str, lines: Iterator) -> Iterator[tuple[int, str]]:
    yield number, first
    yield from lines
