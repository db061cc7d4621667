"""Byte pair encoding by hand: count adjacent pairs, merge the most frequent one, repeat.

A token is a str in character mode and a bytes in byte mode. In both, merging is `left + right`.
Sennrich, Haddow and Birch, "Neural machine translation of rare words with subword units", ACL 2016
(arXiv 1508.07909), after Gage, "A new algorithm for data compression", 1994.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from scratch_embed.arguments import check_flag

Token = TypeVar("Token", str, bytes)

UNITS = ("character", "byte")
TIES = ("first", "smallest")
FEW, MANY = 20, 200  # updates: below the one a piece has hardly learned, from the other it has
# One space may open a word. Letters, digits and signs never share one. Nothing is lost or changed.
# Python's \w knows no difference between a letter and a half or a square, which stand with letters.
_WORD = re.compile(r" ?[^\W\d_]+| ?\d+| ?(?:[^\w\s]|_)+|\s")


class Step(NamedTuple):
    """One merge, and everything that led to it."""

    pair: tuple  # (left, right), the pair that was merged
    count: int  # how often it stood in the text
    tied: list  # every pair with that count, in order of first appearance; pair is one of them
    counts: dict  # pair -> count, all pairs before the merge, in order of first appearance
    tokens: list  # the text after the merge


def pair_counts(tokens: Sequence[Token], counts: dict | None = None) -> dict:
    """How often each pair of neighbours occurs, in order of first appearance.

        pair_counts("banana")    {("b","a"): 1, ("a","n"): 2, ("n","a"): 2}

    Overlapping pairs all count: "aaa" holds ("a","a") twice. Given counts, adds to them in place.
    """
    counts = {} if counts is None else counts
    for pair in pairwise(tokens):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def merge(tokens: Sequence[Token], pair: tuple[Token, Token]) -> list[Token]:
    """tokens with each occurrence of pair joined to one token, from left to right, not overlapping.

    merge("banana", ("a", "n"))    ["b", "an", "an", "a"]
    merge("aaa", ("a", "a"))       ["aa", "a"]
    """
    left, right = pair
    out, i = [], 0
    while i < len(tokens):
        if tokens[i] == left and i + 1 < len(tokens) and tokens[i + 1] == right:
            out.append(left + right)
            i += 2
        else:
            out.append(tokens[i])
            i += 1
    return out


def merge_steps(
    text: str,
    num_merges: int,
    *,
    unit: str = "character",
    boundaries: bool = False,
    ties: str = "first",
    min_count: int = 1,
) -> Iterator[Step]:
    """Byte pair encoding as it is defined. Each `Step` counts the whole text anew.

        for step in merge_steps("the cat sat on the mat the cat", 3):
            print(step.pair, step.count, step.tied)

        ('a', 't') 4 [('a', 't')]
        ('t', 'h') 3 [('t', 'h'), ('h', 'e'), ('e', ' '), ('at', ' ')]
        ('th', 'e') 3 [('th', 'e'), ('e', ' '), ('at', ' ')]

    unit        "character" starts from characters, "byte" from the bytes of UTF-8.
    boundaries  True merges inside words only, as published tokenizers do (see `split_words`). False
                takes a space for a letter like any other.
    ties        "first" takes the tied pair that comes first in the text, "smallest" the one that
                sorts first.
    min_count   stop when no pair occurs this often.
    """
    check_options(text, num_merges, unit, ties, min_count, boundaries)
    words = [symbols(word, unit) for word in (split_words(text) if boundaries else [text])]
    for _ in range(num_merges):
        counts: dict = {}
        for word in words:
            pair_counts(word, counts)
        best = max(counts.values(), default=0)
        if best < min_count:
            return
        tied = [pair for pair, count in counts.items() if count == best]
        pair = tied[0] if ties == "first" else min(tied)
        words = [merge(word, pair) for word in words]
        yield Step(pair, best, tied, counts, [token for word in words for token in word])


def split_words(text: str) -> list[str]:
    """The words inside which merges happen. Joined, they give the text back.

        split_words("don't  stop 25_x")    ["don", "'", "t", " ", " stop", " 25", "_", "x"]

    A run of letters, of digits or of other signs, with one space before it; other white space
    alone. This is the rule of GPT-2 (Radford et al. 2019) without its special case for English
    endings.
    """
    return _WORD.findall(text)


def symbols(word: str, unit: str) -> list:
    """What merging starts from.        "é" -> ["é"] in characters, [b"\\xc3", b"\\xa9"] in bytes"""
    return list(word) if unit == "character" else [bytes([b]) for b in word.encode("utf-8")]


def check_options(
    text: str, num_merges: int, unit: str, ties: str, min_count: int, boundaries: bool
) -> None:
    """The arguments of training: ValueError or TypeError names the first one that is wrong."""
    check_flag(boundaries, "boundaries")
    check_text(text)
    if not text:
        raise ValueError("text is empty: there is nothing to count.")
    if unit not in UNITS:
        raise ValueError(f'unit is {unit!r}; choose "character" or "byte".')
    if ties not in TIES:
        raise ValueError(f'ties is {ties!r}; choose "first" or "smallest".')
    for name, value, least in (("num_merges", num_merges, 0), ("min_count", min_count, 1)):
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"{name} must be a whole number, but it is {value!r}.")
        if value < least:
            raise ValueError(f"{name} = {value} must be at least {least}.")


def check_text(text: str, name: str = "text") -> None:
    """text must be a str that UTF-8 can hold; `name` is what messages call it."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a str, but it is {type(text).__name__}.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name} holds half a surrogate pair, U+{ord(text[error.start]):04X}, at position "
            f"{error.start}; it is no character. Clean it: "
            f"{name}.encode('utf-8', 'replace').decode()"
        ) from None
