"""The merges of byte pair encoding, found without reading the whole text again at every step.

Three ideas: equal words are merged once and weighted by their count; only words that hold the
merged pair are counted anew; the best pair comes from a heap whose outdated entries are dropped
when they surface. The merges equal those of `pairs.merge_steps`, ties included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from itertools import pairwise

from scratch_embed.text.pairs import merge, pair_counts, symbols


class PairTable:
    """Words, and for each pair of neighbours how often, in which words, and where first it occurs.

    A place is (number of the word, offset of the left token in it). Words are numbered by first
    appearance, and offsets are in characters or bytes, which no merge moves; so the smallest
    place of a pair is its first appearance in the text.
    """

    def __init__(self, words: Iterable[str], unit: str):
        seen = Counter(words)  # remembers the order of first appearance
        self.words = [symbols(word, unit) for word in seen]
        self.weights = list(seen.values())
        self.counts: Counter = Counter()
        self.where: dict[tuple, set[int]] = {}
        # Never later than the true first place. Removing an occurrence leaves it as it is.
        self.first: dict[tuple, tuple[int, int]] = {}
        for w, tokens in enumerate(self.words):
            self._add(w, tokens, pair_counts(tokens))

    def _add(self, w: int, tokens: list, pairs: Iterable) -> None:
        """Note that word w holds these pairs, and how often."""
        own = pair_counts(tokens)
        places = first_offsets(tokens)
        for pair in pairs:
            self.counts[pair] += self.weights[w] * own[pair]
            self.where.setdefault(pair, set()).add(w)
            place = (w, places[pair])
            self.first[pair] = min(self.first.get(pair, place), place)

    def merge(self, pair: tuple) -> set[tuple]:
        """Merge pair wherever it stands. Returns the pairs whose count or place may differ."""
        touched = set()
        for w in sorted(self.where[pair]):
            before, tokens = pair_counts(self.words[w]), merge(self.words[w], pair)
            after = pair_counts(tokens)
            changed = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
            for p in changed & before.keys():
                self.counts[p] -= self.weights[w] * before[p]
                self.where[p].discard(w)
            self._add(w, tokens, changed & after.keys())
            self.words[w] = tokens
            touched |= changed
        return touched

    def first_place(self, pair: tuple) -> tuple[int, int]:
        """Where pair stands first in the text, exactly."""
        w = min(self.where[pair])
        place = (w, first_offsets(self.words[w])[pair])
        self.first[pair] = place
        return place


def first_offsets(tokens: list) -> dict[tuple, int]:
    """Where each pair of neighbours starts first.        ["th", "e", "th"] -> th,e 0; e,th 2"""
    offsets: dict[tuple, int] = {}
    at = 0
    for pair in pairwise(tokens):
        offsets.setdefault(pair, at)
        at += len(pair[0])
    return offsets


def fast_merges(
    words: Iterable[str],
    num_merges: int,
    *,
    unit: str = "character",
    ties: str = "first",
    min_count: int = 1,
    progress: bool = True,
) -> list[tuple]:
    """The merges in order, as a list of pairs. Options as in `pairs.merge_steps`.

    The heap orders entries by falling count, then by place (ties="first") or by the pair itself.
    An entry is outdated when its count is no longer right, or when its place is not the true one.
    """
    from tqdm import tqdm

    table = PairTable(words, unit)

    def entry(pair: tuple) -> tuple:
        return (-table.counts[pair], table.first[pair] if ties == "first" else (), pair)

    heap = [entry(pair) for pair in table.counts]
    heapify(heap)
    merges: list[tuple] = []
    with tqdm(total=num_merges, desc="merging", disable=None if progress else True) as bar:
        while heap and len(merges) < num_merges:
            negative, place, pair = heappop(heap)
            if table.counts[pair] != -negative or -negative < min_count:
                continue
            if ties == "first" and table.first_place(pair) != place:
                heappush(heap, entry(pair))
                continue
            merges.append(pair)
            bar.update()
            for p in table.merge(pair):
                if table.counts[p]:
                    heappush(heap, entry(p))
                else:
                    del table.counts[p], table.where[p], table.first[p]
    return merges
