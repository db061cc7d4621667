"""Real text without a download, cut into words, counted, and turned into ids.

text = python_text()                                 # what every Python already has on its disk
tokens = words(text)                                 # ["the", "quick", ...]
vocabulary = Vocabulary.from_tokens(tokens, max_size=10_000)
ids = vocabulary.encode(tokens)                      # int64 row numbers
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from scratch_embed.arguments import array_of, check_count
from scratch_embed.files import read_bytes
from scratch_embed.kernels.ids import check_sequence
from scratch_embed.text.docstrings import python_text

__all__ = [
    "OTHER",
    "Vocabulary",
    "batches_read",
    "python_text",
    "rank_frequency",
    "read_text",
    "words",
    "zipf_slope",
]

OTHER = "<other>"  # the one row that all words without a row of their own share
JOINERS = "\u200c\u200d"  # stand inside words of Persian and of Hindi


def read_text(path: str | os.PathLike) -> str:
    """The text of a UTF-8 file, with line ends as "\\n" and without a byte order mark.

    Raises FileNotFoundError, IsADirectoryError or another OSError when there is no regular file to
    read, and ValueError when it is empty, larger than 2 GiB, or not UTF-8 (with the offset of the
    first wrong byte).
    """
    data = read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise not_utf8(path, data, error.start, error.start, line) from None
    if not text.strip():
        raise ValueError(f"{path} is empty. Give a file with text in it.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def not_utf8(name, data: bytes, at: int, offset: int, line: int) -> ValueError:
    """What to say of data[at], which stands at `offset`, in `line`, of a file that is not UTF-8."""
    return ValueError(
        f"{name} is not UTF-8: byte 0x{data[at]:02x} at offset {offset} (line {line}). Save it as "
        "UTF-8 in an editor, or convert it: "
        f"iconv -f {_likely_encoding(data)} -t UTF-8 OLD > NEW"
    )


def words(text: str) -> list[str]:
    """Lower-case words: runs of letters, with apostrophes inside. Everything else only separates.

        words("Don't add 2 rows to my_table!")    ["don't", "add", "rows", "to", "my", "table"]

    Any alphabet counts as letters, and marks that stand above, below or behind a letter belong to
    it; what can be one letter with its mark becomes one (NFC). Digits and underscores are none, so
    int64 gives "int"; signs of a number that are no digits, a half or a square, count as letters.
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, but it is {type(text).__name__}.")
    text = text.lower()
    if text.isascii():
        return re.findall(_word(""), text)
    text = unicodedata.normalize("NFC", text)
    marks = (c for c in set(text) if c in JOINERS or unicodedata.category(c)[0] == "M")
    return re.findall(_word("".join(sorted(marks))), text)


def _word(marks: str) -> str:
    """The pattern of a word. Python's own classes know no marks: they would cut a word of Hindi at
    its vowel signs."""
    part = rf"[^\W\d_]+(?:[{marks}]+[^\W\d_]*)*" if marks else r"[^\W\d_]+"
    return f"{part}(?:['\u2019]{part})*"


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words and their row numbers: row 0 is OTHER, then the most frequent word, and so on down.

    tokens[id] is the word of a row, index[word] the row of a word, and counts[id] how often it was
    seen; counts[0] is how many tokens fell to OTHER.
    """

    tokens: tuple[str, ...]
    index: dict[str, int]
    counts: np.ndarray  # (V,) int64

    @classmethod
    def from_tokens(
        cls, tokens: Iterable[str], max_size: int | None = None, min_count: int = 1
    ) -> Vocabulary:
        """Count the tokens, drop those seen fewer than min_count times, keep max_size - 1.

            Vocabulary.from_tokens("the cat sat on the mat the cat".split(), max_size=3)
            tokens ("<other>", "the", "cat"), counts [3, 3, 2]

        max_size counts the row of OTHER. Equal counts are ordered by first appearance.
        """
        tokens = _token_list(tokens)
        min_count = check_count(min_count, "min_count", 0)
        if max_size is not None:
            max_size = check_count(max_size, "max_size", 1)  # the row of OTHER
        # most_common sorts stably, and a Counter remembers the order of first appearance.
        seen = [(t, n) for t, n in Counter(tokens).most_common() if n >= min_count and t != OTHER]
        seen = seen[: None if max_size is None else max_size - 1]
        other = len(tokens) - sum(n for _, n in seen)
        kept = (OTHER, *(t for t, _ in seen))
        counts = np.array([other, *(n for _, n in seen)], dtype=np.int64)
        return cls(kept, {t: i for i, t in enumerate(kept)}, counts)

    def __len__(self) -> int:
        return len(self.tokens)

    def __eq__(self, other) -> bool:
        """Whether another one has the same words in the same rows, as often seen."""
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.tokens == other.tokens and np.array_equal(self.counts, other.counts)

    def __hash__(self) -> int:
        return hash(self.tokens)

    def encode(self, tokens: Iterable[str]) -> np.ndarray:
        """Row numbers (N,) int64. A word without a row becomes 0, the row of OTHER."""
        tokens = _token_list(tokens)
        return np.fromiter((self.index.get(t, 0) for t in tokens), np.int64, len(tokens))

    def decode(self, ids) -> list[str]:
        """The words of row numbers (N,). What went to OTHER comes back as "<other>"."""
        return [self.tokens[i] for i in check_sequence(ids, len(self))]


def rank_frequency(counts) -> tuple[np.ndarray, np.ndarray]:
    """Ranks 1, 2, ... and the counts in falling order, zeros left out: the two axes of Zipf's plot.

    rank_frequency([1, 0, 3, 2])    [1, 2, 3], [3, 2, 1]
    """
    counts = array_of(counts, "counts")
    if counts.ndim != 1 or not (np.isfinite(counts) & (counts >= 0)).all() or not counts.any():
        raise ValueError(
            f"counts must be (V,), finite and >= 0, with a count above 0: {counts.shape}."
        )
    frequencies = np.sort(counts[counts > 0])[::-1]
    return np.arange(1, len(frequencies) + 1), frequencies


def batches_read(ids, num_embeddings: int, batch_size: int) -> np.ndarray:
    """In how many batches of the text each row is read, (N,) -> (V,): its updates in one pass.

    A row takes at most one step for a batch, however often it stands in it.

        batches_read([0, 0, 1, 0, 2, 2], 4, batch_size=2)    [2, 1, 1, 0]
    """
    ids = check_sequence(ids, num_embeddings)
    batch_size = check_count(batch_size, "batch_size")
    updates = np.zeros(num_embeddings, dtype=np.int64)
    for at in range(0, len(ids), batch_size):
        updates[np.unique(ids[at : at + batch_size])] += 1
    return updates


def zipf_slope(counts, first: int = 1, last: int | None = None) -> float:
    """Slope of log count over log rank, by least squares on the ranks first..last.

    Zipf's law says count = c / rank, a slope of -1. Counts 60, 30, 20, 15, 12 have it exactly.
    (Zipf, "Human Behavior and the Principle of Least Effort", 1949.)
    """
    ranks, frequencies = rank_frequency(counts)
    last = len(ranks) if last is None else min(last, len(ranks))
    if not 1 <= first < last:
        raise ValueError(f"ranks {first}..{last} hold no two of the {len(ranks)} ranks.")
    x, y = (  # small counts in one byte each would have logarithms in half precision
        np.log(each[first - 1 : last], dtype=np.float64) for each in (ranks, frequencies)
    )
    x = x - x.mean()
    return float(x @ (y - y.mean()) / (x @ x))


def _token_list(tokens: Iterable[str]) -> Sequence[str]:
    if isinstance(tokens, str):
        raise TypeError("tokens is one string. Cut it into words first: words(text).")
    tokens = tokens if isinstance(tokens, (list, tuple)) else list(tokens)
    if any(not issubclass(kind, str) for kind in set(map(type, tokens))):
        at, token = next((i, t) for i, t in enumerate(tokens) if not isinstance(t, str))
        raise TypeError(
            f"tokens[{at}] is {str(token)[:40]!r}, a {type(token).__name__}, and words are str: "
            "decode bytes, and join sentences to one list, as itertools.chain.from_iterable does."
        )
    return tokens


def _likely_encoding(data: bytes) -> str:
    """UTF-16 announces itself in its first two bytes. Else an old Western file is likeliest."""
    return "UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "WINDOWS-1252"
