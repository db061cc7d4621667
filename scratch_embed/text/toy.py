"""Small texts whose truth is known: sentences for hand calculation, and a generated language."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# The worked example of byte pair encoding: 30 characters, 29 adjacent pairs.
CAT = "the cat sat on the mat the cat"
CAT_SHORT = "the cat sat on the mat"

# "hot" and "cold" in the same places, "piano" in others: what contexts tell.
CONTEXTS = (
    "the hot water",
    "the cold water",
    "a hot day",
    "a cold day",
    "drink hot tea",
    "drink cold tea",
    "too hot outside",
    "too cold outside",
    "play the piano",
    "a grand piano",
    "tune the piano",
)


class ZipfCorpus(NamedTuple):
    """A generated text and the truth behind it."""

    tokens: np.ndarray  # (N,) int64 ids in 0..V-1; id 0 is meant to be the most frequent word
    classes: np.ndarray  # (V,) int64 the hidden class of every word
    transition: np.ndarray  # (C, C) transition[a, b] = P(next word is of class b | this one of a)


def zipf_classes(
    num_tokens: int = 12_000,
    num_words: int = 400,
    num_classes: int = 10,
    *,
    exponent: float = 1.0,
    followers: tuple[float, ...] = (0.6, 0.3),
    rng: np.random.Generator | None = None,
) -> ZipfCorpus:
    """A text in which words of one hidden class are followed by the same kinds of words.

    1. Words get classes, every num_classes ranks one word to each class, so no class is all rare.
    2. After class a comes one class with probability 0.6, another with 0.3 (`followers`), and
       with the rest any class at all. The followers are permutations of the classes, so each
       column of the matrix sums to 1 like each row, and all classes are equally common in the
       long run.
    3. Inside its class, a word is drawn with probability proportional to 1 / (id + 1)^exponent.

    Two words of one class share their contexts and nothing else: what a next-token model finds out
    about classes, it found in the contexts. Counts nearly follow Zipf's law with the exponent.

    The default rng is numpy.random.default_rng(0): the same text on every call.
    """
    if num_tokens < 1 or num_classes < 1 or num_words < num_classes:
        raise ValueError(
            f"num_tokens = {num_tokens}, num_words = {num_words}, num_classes = {num_classes}: all "
            "must be at least 1, and every class needs a word."
        )
    if exponent < 0:
        raise ValueError(f"exponent = {exponent} must be at least 0.")
    if min(followers, default=0) < 0 or sum(followers) > 1 + 1e-12:
        raise ValueError(f"followers = {followers} must be probabilities with a sum of at most 1.")
    rng = np.random.default_rng(0) if rng is None else rng
    blocks = -(-num_words // num_classes)
    classes = np.concatenate([rng.permutation(num_classes) for _ in range(blocks)])[:num_words]
    transition = np.full((num_classes, num_classes), (1 - sum(followers)) / num_classes)
    for share in followers:
        transition[np.arange(num_classes), rng.permutation(num_classes)] += share
    chain = _walk(transition, int(rng.integers(num_classes)), rng.random(num_tokens))

    weight = 1.0 / np.arange(1, num_words + 1) ** exponent
    tokens = np.empty(num_tokens, dtype=np.int64)
    for c in range(num_classes):
        members = np.flatnonzero(classes == c)
        places = np.flatnonzero(chain == c)
        p = weight[members] / weight[members].sum()
        tokens[places] = rng.choice(members, size=len(places), p=p)
    return ZipfCorpus(tokens, classes.astype(np.int64), transition)


def _walk(transition: np.ndarray, start: int, uniform: np.ndarray) -> np.ndarray:
    """The classes (N,) of a walk: each step looks one uniform number up in a row of sums."""
    sums = np.cumsum(transition, axis=1)
    sums[:, -1] = np.inf  # rounding must not leave a gap below 1
    steps = np.empty(len(uniform), dtype=np.int64)
    current = start
    for n, u in enumerate(uniform):
        steps[n] = current
        current = int(np.searchsorted(sums[current], u, side="right"))
    return steps
