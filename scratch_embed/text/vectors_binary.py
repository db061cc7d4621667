"""word2vec's binary file: a first line "V D", then each word, a space, and D numbers as they are.

The numbers are float32, the lowest byte first. word2vec.c ends each vector with a line feed and
gensim does not, so either is read, and none is written. Nothing in a file is run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np

from scratch_embed.arguments import check_count
from scratch_embed.files import open_regular, replacing
from scratch_embed.text.vectors import LONGEST_WORD, WordVectors, check_words

FLOAT = np.dtype("<f4")
LARGEST_ROW = 1 << 24  # numbers
_COUNTS = re.compile(rb"(\d{1,18}) (\d{1,18})\n")


def write_binary(path: str | os.PathLike, words: Sequence[str], vectors: np.ndarray) -> None:
    """Write words and vectors (V, D) as float32. The file is complete or not there at all.

    Raises what `write_vectors` raises, and ValueError for a number that float32 cannot hold and
    for rows of more than 2^24 numbers.
    """
    vectors = check_words(words, vectors)
    if vectors.shape[1] > LARGEST_ROW:
        raise ValueError(
            f"vectors are {vectors.shape}; a file like this holds rows of up to {LARGEST_ROW:,} "
            "numbers"
        )
    with np.errstate(over="ignore"):
        rows = vectors.astype(FLOAT)
    if not np.isfinite(rows).all():
        raise ValueError(f"a number is too large for float32, which ends at {np.finfo(FLOAT).max}")
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(f"{len(words)} {rows.shape[1]}\n".encode())
        file.writelines(f"{word} ".encode() + row.tobytes() for word, row in zip(words, rows))


def read_binary(path: str | os.PathLike, limit: int | None = None) -> WordVectors:
    """The words and vectors (V, D) float32 of a file in word2vec's binary format.

    limit : read this many words at most; in published files they are the most frequent ones.

    Raises ValueError, with the number of the word, for a file that is cut short, that repeats a
    word, holds NaN or infinity, or is no such file; OSError for what is not a regular file.
    """
    if limit is not None:
        limit = check_count(limit, "limit")
    with open_regular(path) as file:
        first = file.readline(64)
        counts = _COUNTS.fullmatch(first)
        if not counts or not int(counts[1]) or not 0 < int(counts[2]) <= LARGEST_ROW:
            raise ValueError(f"{path} begins with {first!r}, not with a line of two counts, 'V D'")
        announced, D = int(counts[1]), int(counts[2])
        least = announced * (1 + 1 + D * FLOAT.itemsize)  # a letter and a space a word
        size = os.fstat(file.fileno()).st_size
        if size < least:
            raise ValueError(
                f"{path} has {size:,} bytes; {announced:,} words of {D:,} numbers take at least "
                f"{least:,}. It was cut short, or is no binary file of word2vec."
            )
        count = announced if limit is None else min(announced, limit)
        vectors, index = np.empty((count, D), np.float32), {}
        for row in range(count):
            where = f"{path}, word {row + 1} of {announced:,}"
            word = _read_word(file, where)
            if index.setdefault(word, row) != row:
                raise ValueError(f"{where}: {word!r} is word {index[word] + 1} already")
            numbers = file.read(D * FLOAT.itemsize)
            if len(numbers) != D * FLOAT.itemsize:
                raise ValueError(f"{where}, {word!r}: the file ends inside its vector")
            vectors[row] = np.frombuffer(numbers, FLOAT)
            if not np.isfinite(vectors[row]).all():
                raise ValueError(f"{where}, {word!r}: a number is NaN or infinite")
        if count == announced and (size - file.tell() > 1 or file.read(1).strip(b"\n")):
            raise ValueError(f"{path} goes on after the {announced:,} words that it announces")
    return WordVectors(tuple(index), vectors)


def _read_word(file: BinaryIO, where: str) -> str:
    """The bytes up to the next space, without the line feed that ends the vector before."""
    letters = bytearray()
    while (letter := file.read(1)) != b" ":
        letters += letter
        if not letter or len(letters) > LONGEST_WORD:
            raise ValueError(f"{where}: no space ends the word; the file is damaged or cut short")
    try:
        word = bytes(letters).lstrip(b"\n").decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{where}: {bytes(letters)[:40]!r} is not UTF-8 ({error})") from None
    if not word or any(c in word for c in "\t\n\r\v\f"):
        raise ValueError(f"{where}: the word {word[:40]!r} is empty or holds white space")
    return word
