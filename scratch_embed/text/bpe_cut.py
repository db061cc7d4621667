"""Cutting a word by merges that were learned, in a time that hardly grows faster than the word.

Joining a pair makes at most two new pairs, and touches no other. So the pairs that may be joined
wait in a heap, by the rank of their merge and then by their place, and each token knows its
neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise


def cut(tokens: list, ranks: Mapping[tuple, int]) -> list:
    """Merge the pair that was learned first, everywhere from left to right, and so on until no
    learned pair is left.

    ranks : when each pair was learned, counted from 0.

    >>> cut(list("banana"), {("a", "n"): 0, ("an", "a"): 1, ("b", "an"): 2})
    ['ban', 'ana']
    """
    waiting = [
        (ranks[pair], at, *pair) for at, pair in enumerate(pairwise(tokens)) if pair in ranks
    ]
    if not waiting:
        return tokens
    heapify(waiting)
    end = len(tokens)
    tokens = [*tokens, None]  # None: no token begins here, or the word has ended
    after, before = list(range(1, end + 2)), list(range(-1, end))
    while waiting:
        rank, found = waiting[0][0], []
        while waiting and waiting[0][0] == rank:
            found.append(heappop(waiting))
        for _, at, left, right in found:
            second = after[at]
            if tokens[at] != left or tokens[second] != right:
                continue  # one of the two has been joined with another token
            tokens[at], tokens[second] = left + right, None
            after[at] = following = after[second]
            before[following] = at
            for first, then in ((before[at], at), (at, following)):
                pair = (tokens[first], tokens[then]) if first >= 0 else None
                if pair in ranks:
                    heappush(waiting, (ranks[pair], first, *pair))
    return [token for token in tokens if token is not None]
