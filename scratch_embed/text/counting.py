"""A text of any length becomes ids in a file, and a vocabulary, in one pass and little memory.

Words are numbered as they come, the numbers go to the file, and how often each came is counted
from them. Only then is it known which words are frequent enough, and in which order; the numbers in
the file are exchanged for the rows, in place, and those of rare words left out. So the text is read
once, and may be standard input.

    row     0, 1, 2, ...        from the most frequent word down, as word2vec has it
    file    int32, the lowest byte first, and nothing else
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from scratch_embed.arguments import check_count
from scratch_embed.files import open_regular, replacing
from scratch_embed.kernels.ids import count_ids
from scratch_embed.text import bpe
from scratch_embed.text.corpus import words

ID = np.dtype("<i4")
STRETCH = 1 << 20  # ids that are in memory at a time
MOST_WORDS = 1_000_000  # different ones that are remembered at a time
LONGEST_WORD = 100  # characters, as in word2vec.c; what is longer is no word
SAMPLE = 1 << 21  # characters that pieces are learned from
FIRST = 4096  # ids of a file that are looked at to know it for one
HIGHEST = 1 << 28  # four spaces, the lowest that text may be, are 0x20202020: twice as much
NOTHING = 0  # the number of what is left out


class Counted(NamedTuple):
    """What a pass over a text found."""

    words: tuple[str, ...]  # of each row
    counts: np.ndarray  # (V,) int64 how often each stands in the file, in falling order
    read: int  # words in the text, the rare ones among them
    forgotten: int  # words seen so often or less were forgotten on the way; 0 when none was
    checksum: int  # of the file


class Ids:
    """The ids (N,) of a file, read from the disk a slice at a time: ids[start:stop] -> int64."""

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        with open_regular(path) as file:
            self._size = os.fstat(file.fileno()).st_size // ID.itemsize

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> np.ndarray:
        if not isinstance(part, slice) or part.step not in (None, 1):
            raise TypeError(f"of ids in a file a stretch is read, ids[first:end], and not [{part}]")
        start, stop, _ = part.indices(len(self))
        with open_regular(self.path) as file:  # Ctrl-C in np.fromfile ends in a SystemError
            file.seek(start * ID.itemsize)
            read = file.read(max(stop - start, 0) * ID.itemsize)
        return np.frombuffer(read, ID, len(read) // ID.itemsize).astype(np.int64)

    def checksum(self) -> int:
        """Two files with the same checksum hold the same ids, as good as surely."""
        total = 0
        for start in range(0, len(self), STRETCH):
            total = zlib.crc32(self[start : start + STRETCH].astype(ID), total)
        return total


def may_be_ids(path: str | os.PathLike) -> bool:
    """Whether a file begins as one of ids does: text of any kind, read as numbers, is far above
    what anybody has words for."""
    if not os.path.getsize(path):
        return True  # there is nothing in it
    with open_regular(path) as file:
        whole = os.fstat(file.fileno()).st_size % ID.itemsize == 0
        found = np.frombuffer(file.read(FIRST * ID.itemsize) if whole else b"", ID)
    return whole and bool(((found >= 0) & (found < HIGHEST)).all())


class _Numbers(dict):
    """The number of each word. A new word gets the next one."""

    next = NOTHING + 1

    def __missing__(self, word: str) -> int:
        if len(word) > LONGEST_WORD:
            return NOTHING
        self[word] = number = self.next
        self.next += 1
        return number


def count(
    pieces: Iterable[str],
    path: str | os.PathLike,
    cut: Callable[[str], Sequence[str]] = words,
    min_count: int = 5,
    max_words: int | None = None,
    most_read: int | None = None,
    remembered: int = MOST_WORDS,
) -> Counted:
    """Write the text's ids to `path`, complete or not at all, and count its words.

    cut : a piece of text -> its words.
    min_count, max_words : rarer words, and more words than so many, get no row and are left out.
    most_read : stop after so many words.
    remembered : so many different words are kept in mind; when there are more, those seen once are
        forgotten, then those seen twice, ... until half are left, as in word2vec.c, and they leave
        the file as well. A forgotten word that comes again begins at 0.

    Raises ValueError when fewer than two words get a row, and what `pieces` raises.
    """
    if max_words is not None and max_words < 2:
        raise ValueError(f"max_words is {max_words}; it must be 2 or more, or no word has company")
    if most_read is not None:
        most_read = check_count(most_read, "most_read")
    pieces, numbers = _several(pieces), _Numbers()
    seen, read, floor = np.zeros(1, np.int64), 0, 0
    with replacing(path) as temporary, open(temporary, "w+b") as file:
        for found in map(cut, pieces):
            found = found[: None if most_read is None else most_read - read]
            ids = np.fromiter(map(numbers.__getitem__, found), ID, len(found))
            file.write(ids.data)
            read += len(found)
            more = count_ids(ids, numbers.next)
            more[: len(seen)] += seen
            seen = more
            if len(numbers) > remembered:
                floor, kept = _rarest(numbers, seen, floor, remembered // 2)
                _exchange(file, _new_numbers(kept, len(seen), NOTHING + 1))
                seen = np.concatenate([[0], seen[kept]])
            if most_read is not None and read >= most_read:
                break
        tokens, kept = _frequent(numbers, seen, min_count, max_words)
        if len(tokens) < 2:
            which = f"of them only {tokens[0]!r}" if tokens else "none of them"
            does = f"came {min_count} times"
            ways = ["give more text" if read != most_read else "give a larger most_read"]
            if min_count < 2:
                does = f"is a word of up to {LONGEST_WORD} characters"
            elif len(numbers) > 1:  # more words than one
                ways.append("a smaller min_count")
            if cut is not str.split:
                ways.append("cut it at spaces, where words are more than letters")
            told = ", or ".join(ways)
            raise ValueError(f"{read:,} words were read, and {which} {does}: {told}")
        checksum = _exchange(file, _new_numbers(kept, len(seen), 0))
    return Counted(tuple(tokens), seen[kept], read, floor, checksum)


def learn_pieces(
    pieces: Iterator[str], num_merges: int, unit: str = "character"
) -> tuple[Iterator[str], bpe.BPE]:
    """(pieces, tokenizer): byte pair encoding, learned from the first `SAMPLE` characters.

    These stand in the returned pieces again.
    """
    sample, size, pieces = [], 0, _several(pieces)
    for piece in pieces:
        sample.append(piece)
        size += len(piece)
        if size >= SAMPLE:
            break
    text = "".join(sample)[:SAMPLE]
    tokenizer = bpe.train(text, num_merges, unit=unit, boundaries=True, progress=False)
    return chain(sample, pieces), tokenizer


def cut_by(tokenizer: bpe.BPE) -> Callable[[str], list[str]]:
    """Cuts text into pieces, instead of words, for `count`.

    A space that belongs to a piece is written as U+2581, as SentencePiece writes it. A piece
    that is nothing but space is left out: it stands beside everything.
    """

    if tokenizer.unit == "byte":
        raise ValueError("tokenizer is of bytes, parts of letters that no word is written with: "
                         "give one of characters, as learn_pieces makes it")  # fmt: skip

    def cut(text: str) -> list[str]:
        return [p.replace(" ", "\u2581") for p in tokenizer.pieces(text) if not p.isspace()]

    return cut


def write_tokens(pieces: Iterable[str], path: str | os.PathLike, tokenizer: bpe.BPE) -> int:
    """Write the rows of all tokens of a text to `path`, complete or not at all; the checksum."""
    total = 0
    with replacing(path) as temporary, open(temporary, "wb") as file:
        for piece in _several(pieces):
            ids = tokenizer.encode(piece).astype(ID)
            file.write(ids.data)
            total = zlib.crc32(ids, total)
    return total


def _several(pieces: Iterable[str]) -> Iterator[str]:
    """An iterator over pieces of a text, which one str is not."""
    if isinstance(pieces, (str, os.PathLike)):
        raise TypeError(
            "pieces is one string: give [text], and of a file open_source(path).pieces()"
        )
    return iter(pieces)


def _rarest(numbers: _Numbers, seen: np.ndarray, floor: int, most: int) -> tuple[int, list[int]]:
    """Forget the rarest words until at most so many are left, and number those from the start.

    Returns the count that the last forgotten ones had, and the old numbers of those left.
    """
    while len(numbers) > most:
        floor += 1
        for word in [word for word, number in numbers.items() if seen[number] <= floor]:
            del numbers[word]
    kept = list(numbers.values())
    numbers.next = NOTHING + 1 + len(kept)
    numbers.update(zip(numbers, range(NOTHING + 1, numbers.next)))
    return floor, kept


def _frequent(numbers: _Numbers, seen, min_count: int, max_words: int | None):
    """(words, their numbers), the most frequent first; of equal counts, the one met first."""
    enough = [(word, number) for word, number in numbers.items() if seen[number] >= min_count]
    enough.sort(key=lambda entry: -seen[entry[1]])
    enough = enough[:max_words]
    return [word for word, _ in enough], [number for _, number in enough]


def _new_numbers(kept: list[int], size: int, first: int) -> np.ndarray:
    """(size,) the new number of each old one: those kept get first, first + 1, ...; others -1."""
    new = np.full(size, -1, ID)
    new[kept] = np.arange(first, first + len(kept))
    return new


def _exchange(file: BinaryIO, new: np.ndarray) -> int:
    """Put new numbers in the place of old ones, those below 0 left out; returns the checksum."""
    total, end = 0, 0
    file.seek(0)
    while data := file.read(STRETCH * ID.itemsize):
        back = file.tell()
        ids = new[np.frombuffer(data, ID)]
        ids = np.ascontiguousarray(ids[ids >= 0])
        file.seek(end)
        file.write(ids.data)
        total, end = zlib.crc32(ids, total), file.tell()
        file.seek(back)
    file.seek(file.truncate(end))
    return total
