"""Byte pair encoding as a tokenizer: train, encode, decode, save, load.

    bpe = train(text, num_merges=1000, boundaries=True)
    ids = bpe.encode("unhappiness")          # int64 row numbers
    bpe.pieces("unhappiness")                # ["un", "happ", "iness"], say
    bpe.decode(ids)                          # "unhappiness"

How the merges come about, with every pair counted and every tie shown, is in `pairs.merge_steps`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np

from scratch_embed.files import from_json, read_bytes, replacing
from scratch_embed.kernels.ids import check_sequence
from scratch_embed.text.bpe_cut import cut
from scratch_embed.text.bpe_fast import fast_merges
from scratch_embed.text.pairs import (
    Step,
    check_options,
    check_text,
    merge,
    merge_steps,
    pair_counts,
    split_words,
    symbols,
)

__all__ = [
    "BPE",
    "Step",
    "UNKNOWN",
    "load",
    "merge",
    "merge_steps",
    "pair_counts",
    "split_words",
    "train",
]

UNKNOWN = "\ufffd"  # U+FFFD, the replacement character that Python's own decoders use
BYTES = tuple(bytes([b]) for b in range(256))
HEADER = "# scratch_embed BPE 2"
REMEMBERED = 100_000  # words whose rows are kept: some 30 MB
SMALL = 200_000  # characters times merges: a tenth of a second in plain Python


class _Words(dict):
    """The rows of each word met lately: most words of a text were met before."""

    def __init__(self, rows_of: Callable[[str], list[int]]):
        self._rows_of = rows_of

    def __missing__(self, word: str) -> list[int]:
        if len(self) >= REMEMBERED:
            self.clear()
        self[word] = rows = self._rows_of(word)
        return rows


@dataclass(frozen=True)
class BPE:
    """Merges in the order in which they were learned, and the alphabet they start from.

    In character mode row 0 stands for every character outside the alphabet. In byte mode the
    alphabet is all 256 bytes, so no text is unknown.
    """

    merges: tuple[tuple, ...]
    alphabet: tuple
    unit: str = "character"
    boundaries: bool = False

    @cached_property
    def tokens(self) -> tuple:
        """The token of each row: UNKNOWN (in character mode), the alphabet, one for each merge."""
        # Without repeats, because a text may hold U+FFFD as a character of its own.
        unknown = (UNKNOWN,) if self.unit == "character" else ()
        merged = (left + right for left, right in self.merges)
        return tuple(dict.fromkeys((*unknown, *self.alphabet, *merged)))

    @cached_property
    def index(self) -> dict:
        """The row of each token."""
        return {token: i for i, token in enumerate(self.tokens)}

    @cached_property
    def _ranks(self) -> dict[tuple, int]:
        """When each pair was learned, counted from 0."""
        return {pair: rank for rank, pair in enumerate(self.merges)}

    def __len__(self) -> int:
        """The size V of the vocabulary."""
        return len(self.tokens)

    def pieces(self, text: str, errors: str = "replace") -> list:
        """text cut into tokens, by the merges in the order in which they were learned.

        Training text comes out exactly as training left it. A character outside the alphabet
        becomes UNKNOWN, or with errors="strict" raises ValueError. Byte mode knows every text.
        """
        return list(map(self.tokens.__getitem__, self._rows(text, errors)))

    def encode(self, text: str, errors: str = "replace") -> np.ndarray:
        """Row numbers (N,) int64 of `pieces(text, errors)`."""
        return np.array(self._rows(text, errors), np.int64)

    def decode(self, ids, errors: str = "replace") -> str:
        """The text of row numbers (N,). Undoes `encode`, except for unknown characters.

        In byte mode a list cut inside a character ends in UNKNOWN, or raises with errors="strict".
        """
        pieces = [self.tokens[i] for i in check_sequence(ids, len(self))]
        _check_errors(errors)
        if self.unit == "character":
            return "".join(pieces)
        return b"".join(pieces).decode("utf-8", errors)

    def save(self, path: str | os.PathLike) -> Path:
        """Write a UTF-8 text file with one merge a line, whole or not at all. Returns its path.

        What comes before the merges says how many there are, so that `load` knows a cut file.
        """
        alphabet = self.alphabet if self.unit == "character" else ()
        count = len(self.merges)
        lines = [
            HEADER,
            json.dumps({"unit": self.unit, "boundaries": self.boundaries, "merges": count}),
            json.dumps(alphabet, ensure_ascii=False),
            *(json.dumps([_to_text(t) for t in pair], ensure_ascii=False) for pair in self.merges),
        ]
        with replacing(path) as temporary:
            temporary.write_bytes("\n".join([*lines, ""]).encode("utf-8"))
        return Path(path)

    def _rows(self, text: str, errors: str) -> list[int]:
        check_text(text)
        _check_errors(errors)
        if self.unit == "character":
            text = self._known(text, errors)
        if not self.boundaries:
            return self._word_rows(text)
        return list(chain.from_iterable(map(self._words.__getitem__, split_words(text))))

    @cached_property
    def _words(self) -> _Words:
        return _Words(self._word_rows)

    def _word_rows(self, word: str) -> list[int]:
        return [self.index[token] for token in cut(symbols(word, self.unit), self._ranks)]

    def _known(self, text: str, errors: str) -> str:
        unknown = set(text) - set(self.alphabet)
        if unknown and errors == "strict":
            at = min(text.index(c) for c in unknown)
            raise ValueError(
                f"text[{at}] = {text[at]!r} is not among the {len(self.alphabet)} characters of "
                'training. Use errors="replace", or train with unit="byte", which knows every text.'
            )
        return text.translate({ord(c): UNKNOWN for c in unknown}) if unknown else text


def _check_errors(errors: str) -> None:
    if errors not in ("replace", "strict"):
        raise ValueError(f"errors is {errors!r}; it must be 'replace' or 'strict'")


def train(
    text: str,
    num_merges: int,
    *,
    unit: str = "character",
    boundaries: bool = False,
    ties: str = "first",
    min_count: int = 1,
    progress: bool = True,
) -> BPE:
    """Learn merges from text: the same as `merge_steps` with these options finds, only faster.

    The vocabulary gets at most (alphabet + 1 + num_merges) rows in character mode, 256 + num_merges
    in byte mode. A text too small to be worth compiled loops goes to `merge_steps` itself.
    """
    check_options(text, num_merges, unit, ties, min_count, boundaries)
    options = {"unit": unit, "ties": ties, "min_count": min_count}
    num_merges = int(num_merges)  # of Python: np.uint8 has no room for a product
    if len(text) * num_merges <= SMALL:
        steps = merge_steps(text, num_merges, boundaries=boundaries, **options)
        merges = [step.pair for step in steps]
    else:
        words = split_words(text) if boundaries else [text]
        merges = fast_merges(words, num_merges, progress=progress, **options)
    alphabet = tuple(sorted(set(text))) if unit == "character" else BYTES
    return BPE(tuple(merges), alphabet, unit, bool(boundaries))


def load(path: str | os.PathLike) -> BPE:
    """Read a file that `BPE.save` wrote. Nothing in it is run.

    Raises ValueError with the number of the line for a malformed file, and for one with fewer or
    more merges than it says; OSError for what is not a regular file.
    """
    path = Path(path)
    try:
        lines = read_bytes(path).decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: byte {error.start} is wrong.") from None
    if lines[-1] == "":
        lines.pop()

    def parse(number: int, what: str, valid):
        """The JSON of a line (counted from 1), if it is `what` it should be."""
        try:
            value = from_json(lines[number - 1])
            if valid(value):
                return value
        except (IndexError, ValueError):
            pass
        shown = repr(lines[number - 1][:60]) if number <= len(lines) else "the end of the file"
        raise ValueError(f"{path}, line {number}: expected {what}, found {shown}.")

    if lines[:1] != [HEADER]:
        raise ValueError(f"{path}, line 1: expected {HEADER!r}. Is it a file that BPE.save wrote?")
    options = parse(2, 'an object with "unit", "boundaries" and "merges"', _are_options)
    unit, boundaries = options["unit"], options["boundaries"]
    letters = parse(3, "a list of different single characters", _are_characters)
    alphabet = tuple(letters) if unit == "character" else BYTES
    known, merges = set(alphabet), []
    for number in range(4, len(lines) + 1):
        pair = parse(number, "a list of two strings", _is_pair)
        try:
            left, right = (_from_text(t, unit) for t in pair)
        except UnicodeEncodeError:
            raise ValueError(f"{path}, line {number}: {pair} are not bytes.") from None
        if not {left, right} <= known:
            raise ValueError(
                f"{path}, line {number}: {pair} joins a token that no line above makes."
            )
        known.add(left + right)
        merges.append((left, right))
    if len(merges) != options["merges"]:
        raise ValueError(
            f"{path}: line 2 announces {options['merges']} merges, and there are {len(merges)}; "
            "the file was cut short or added to. Save the tokenizer again."
        )
    return BPE(tuple(merges), alphabet, unit, boundaries)


def _to_text(token: str | bytes) -> str:
    """Bytes are written as the characters of the same numbers: readable where they are ASCII."""
    return token if isinstance(token, str) else token.decode("latin-1")


def _from_text(text: str, unit: str) -> str | bytes:
    return text if unit == "character" else text.encode("latin-1")


def _are_options(value) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"unit", "boundaries", "merges"}
        and value["unit"] in ("character", "byte")
        and isinstance(value["boundaries"], bool)
        and type(value["merges"]) is int
    )


def _are_characters(value) -> bool:
    return (
        isinstance(value, list)
        and all(isinstance(c, str) and len(c) == 1 for c in value)
        and len(set(value)) == len(value)
    )


def _is_pair(value) -> bool:
    return (
        isinstance(value, list) and len(value) == 2 and all(isinstance(t, str) and t for t in value)
    )
