"""The merges of byte pair encoding, found without reading the whole text again at every step.

Three ideas: equal words are merged once and weighted by their count; every pair remembers the
places where it was seen, so a merge visits only those; the counts are kept up to date, and of every
64 pairs the best is remembered. The merges equal those of `pairs.merge_steps`, ties
included. The loops are in `bpe_loops`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from scratch_embed.kernels import bpe_loops, run

PER_PAIR = ("left", "right", "count", "first", "newest")
PER_NODE = ("node_place", "node_older")
AT_ONCE = 250  # merges between two moves of the progress bar


def table(words: Iterable[str], unit: str, num_merges: int) -> tuple[bpe_loops.Table, list]:
    """(table, tokens): the words before any merge, and the text of each token number."""
    seen = Counter(words)  # remembers the order of first appearance
    lengths, codes = _codes(list(seen), unit)
    alphabet, token = np.unique(codes, return_inverse=True)
    places, word = np.arange(len(codes)), np.repeat(np.arange(len(lengths)), lengths)
    inside = word[1:] == word[:-1]  # is the next symbol of the same word?
    after, before = np.full((2, len(codes)), -1)
    after[:-1][inside], before[1:][inside] = places[1:][inside], places[:-1][inside]
    # A merge joins two tokens, so there are fewer merges than places, and each notes two pairs.
    most, tokens = 3 * len(codes) + 1, len(alphabet) + min(num_merges, len(codes)) + 1
    where, length, cubes = np.zeros((3, tokens), np.int64)
    where[token] = places
    length[: len(alphabet)], cubes[: len(alphabet)] = 1, alphabet**3
    found = bpe_loops.Table(
        symbols=codes,
        token=token.astype(np.int64),
        after=after,
        before=before,
        weight=np.array(list(seen.values()), np.int64)[word],
        where=where,
        length=length,
        cubes=cubes,
        slots=np.full(1 << (2 * most).bit_length(), -1),
        **{name: np.zeros(most, np.int64) for name in PER_PAIR + PER_NODE},
        peak=np.zeros(most // bpe_loops.BLOCK + 1, np.int64),
        stale=np.zeros(most // bpe_loops.BLOCK + 1, bool),
        sizes=np.array([len(alphabet), 0, 0]),
    )
    run(bpe_loops.start, 1, found)
    make = chr if unit == "character" else (lambda code: bytes([code]))
    return found, [make(code) for code in alphabet.tolist()]


def _codes(words: list[str], unit: str) -> tuple[list[int], np.ndarray]:
    """How many symbols each word has, and the numbers of all of them, one word after the other."""
    if unit == "character":
        codes = np.frombuffer("".join(words).encode("utf-32-le"), np.uint32)
        return [len(word) for word in words], codes.astype(np.int64)
    encoded = [word.encode("utf-8") for word in words]
    codes = np.frombuffer(b"".join(encoded), np.uint8)
    return [len(word) for word in encoded], codes.astype(np.int64)


def fast_merges(
    words: Iterable[str],
    num_merges: int,
    *,
    unit: str = "character",
    ties: str = "first",
    min_count: int = 1,
    progress: bool = True,
) -> list[tuple]:
    """The merges in order, as a list of pairs. Options as in `pairs.merge_steps`."""
    from tqdm import tqdm

    state, tokens = table(words, unit, num_merges)
    found: list[tuple] = []
    with tqdm(total=num_merges, desc="merging", disable=None if progress else True) as bar:
        while len(found) < num_merges:
            merges = np.empty((min(AT_ONCE, num_merges - len(found)), 2), np.int64)
            made = np.empty(len(merges), np.int64)
            done = run(bpe_loops.train, 1, state, merges, made, ties == "smallest", min_count)
            for (left, right), token in zip(merges[:done].tolist(), made.tolist()):
                pair = tokens[left], tokens[right]
                if token == len(tokens):
                    tokens.append(pair[0] + pair[1])
                found.append(pair)
            bar.update(done)
            if done < len(merges):
                break
    return found
