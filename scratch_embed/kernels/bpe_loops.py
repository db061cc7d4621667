"""The loops of `bpe_fast`, in plain Python: Numba compiles them as they stand.

Tokens and pairs are numbers here, and a *place* is the number of a symbol, counted through all
distinct words one after the other. A token is found at the place of its first symbol, and a pair at
that of its left token. No place is ever met twice with the same pair: tokens only get longer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BLOCK = 64  # pairs that share one remembered maximum
TOKENS, PAIRS, NODES = 0, 1, 2  # what `sizes` counts


class Table(NamedTuple):
    """Everything that merging knows; all of it is changed in place."""

    symbols: np.ndarray  # (P,) the text, as code points or bytes; never changes
    token: np.ndarray  # (P,) the token that starts here, or -1 inside one
    after: np.ndarray  # (P,) where the next token of the word starts, or -1
    before: np.ndarray  # (P,) where the one before starts, or -1
    weight: np.ndarray  # (P,) how often the word stands in the text
    where: np.ndarray  # (T,) for each token, a place where its symbols can be read
    length: np.ndarray  # (T,) and how many they are
    cubes: np.ndarray  # (T,) and the sum of their cubes, which tells most tokens apart
    slots: np.ndarray  # hash table of pairs: the number of a pair, or -1; a power of two long
    left: np.ndarray  # (Q,) for each pair, its tokens
    right: np.ndarray  # (Q,)
    count: np.ndarray  # (Q,) and how often it stands in the text
    first: np.ndarray  # (Q,) and where first, or earlier: merging a pair away leaves it as it is
    newest: np.ndarray  # (Q,) and the node that was noted last
    node_place: np.ndarray  # a place where a pair was seen; it may have been merged away since
    node_older: np.ndarray  # the node that was noted before, or -1
    peak: np.ndarray  # the highest rank in each BLOCK of pairs
    stale: np.ndarray  # whether it has to be found anew
    sizes: np.ndarray  # (3,) how many tokens, pairs and nodes there are


def find(t, left, right):
    """The number of a pair; it gets one when it is new."""
    at = (left * 2654435761 + right * 40503) & (len(t.slots) - 1)
    while t.slots[at] >= 0:
        pair = t.slots[at]
        if t.left[pair] == left and t.right[pair] == right:
            return pair
        at = (at + 1) & (len(t.slots) - 1)
    pair = t.sizes[PAIRS]
    t.sizes[PAIRS] += 1
    t.slots[at], t.left[pair], t.right[pair], t.newest[pair] = pair, left, right, -1
    t.first[pair] = len(t.token)
    return pair


def add(t, pair, weight):
    """Count a pair `weight` times more."""
    t.count[pair] += weight
    t.stale[pair // BLOCK] = True


def note(t, place):
    """Count the pair that starts here, and remember that it does."""
    pair = find(t, t.token[place], t.token[t.after[place]])
    add(t, pair, t.weight[place])
    t.first[pair] = min(t.first[pair], place)
    node = t.sizes[NODES]
    t.sizes[NODES] += 1
    t.node_place[node], t.node_older[node], t.newest[pair] = place, t.newest[pair], node


def stands(t, pair, place):
    """Whether the pair is still there, and not merged away."""
    follows = t.after[place]
    here = t.token[place] == t.left[pair]
    return here and follows >= 0 and t.token[follows] == t.right[pair]


def first_place(t, pair):
    """Where the pair stands first: where it first stood, or else the first of the places noted."""
    if stands(t, pair, t.first[pair]):
        return t.first[pair]
    first, node = len(t.token), t.newest[pair]
    while node >= 0:
        if t.node_place[node] < first and stands(t, pair, t.node_place[node]):
            first = t.node_place[node]
        node = t.node_older[node]
    return first


def compare(t, a, b):
    """Negative when token a sorts before token b, 0 when they are the same, positive after."""
    for i in range(min(t.length[a], t.length[b])):
        difference = t.symbols[t.where[a] + i] - t.symbols[t.where[b] + i]
        if difference != 0:
            return difference
    return t.length[a] - t.length[b]


def sorts_before(t, pair, other):
    """Whether a pair is the smaller of two, by its left token and then by its right one."""
    by_left = compare(t, t.left[pair], t.left[other])
    return by_left < 0 or (by_left == 0 and compare(t, t.right[pair], t.right[other]) < 0)


def rank(t, pair, smallest):
    """What the pair with the largest of these has: the highest count, and the first place of it."""
    return (t.count[pair] << 32) - (0 if smallest else t.first[pair])


def leader(t, smallest):
    """The pair that ranks highest, or -1 when no pair is left."""
    pairs, best, block_of_it = t.sizes[PAIRS], 0, -1
    for block in range((pairs + BLOCK - 1) // BLOCK):
        if t.stale[block]:
            t.stale[block], t.peak[block] = False, 0
            for pair in range(block * BLOCK, min((block + 1) * BLOCK, pairs)):
                t.peak[block] = max(t.peak[block], rank(t, pair, smallest))
        if t.peak[block] > best:
            best, block_of_it = t.peak[block], block
    pair = block_of_it * BLOCK
    while best > 0 and rank(t, pair, smallest) != best:
        pair += 1
    return pair if best > 0 else -1


def choose(t, smallest, min_count):
    """The pair to merge: the most frequent one, by the rule among equals; -1 when all are rare."""
    while True:
        pair = leader(t, smallest)
        if pair < 0 or t.count[pair] < min_count:
            return -1
        if smallest:
            return smallest_equal(t, pair)
        place = first_place(t, pair)
        if place == t.first[pair]:
            return pair
        t.first[pair] = place  # it stood earlier once, but not any more: it ranks lower
        t.stale[pair // BLOCK] = True


def smallest_equal(t, chosen):
    """Of the pairs that are as frequent as this one, that which sorts first."""
    best = t.count[chosen]
    for block in range((t.sizes[PAIRS] + BLOCK - 1) // BLOCK):
        if t.peak[block] == best << 32:
            for pair in range(block * BLOCK, min((block + 1) * BLOCK, t.sizes[PAIRS])):
                if t.count[pair] == best and sorts_before(t, pair, chosen):
                    chosen = pair
    return chosen


def joined(t, pair):
    """The token that the pair makes: a new one, unless other merges have made it before."""
    new = t.sizes[TOKENS]
    t.where[new], t.length[new] = t.first[pair], t.length[t.left[pair]] + t.length[t.right[pair]]
    t.cubes[new] = t.cubes[t.left[pair]] + t.cubes[t.right[pair]]
    for token in np.flatnonzero(t.cubes[:new] == t.cubes[new]):
        if compare(t, token, new) == 0:
            return token
    t.sizes[TOKENS] += 1
    return new


def merge(t, pair, into):
    """Make one token of the pair wherever it stands, from left to right."""
    total, node = 0, t.newest[pair]
    while node >= 0:
        total += 1
        node = t.node_older[node]
    places, node = np.empty(total, np.int64), t.newest[pair]
    for i in range(total):
        places[i] = t.node_place[node]
        node = t.node_older[node]
    places.sort()
    for place in places:
        if not stands(t, pair, place):
            continue
        weight, second = t.weight[place], t.after[place]
        previous, following = t.before[place], t.after[second]
        add(t, pair, -weight)
        if previous >= 0:
            add(t, find(t, t.token[previous], t.left[pair]), -weight)
        if following >= 0:
            add(t, find(t, t.right[pair], t.token[following]), -weight)
            t.before[following] = place
        t.token[place], t.token[second], t.after[place] = into, -1, following
        if previous >= 0:
            note(t, previous)
        if following >= 0:
            note(t, place)


def start(t):
    """Note every pair of the text."""
    for place in range(len(t.token)):
        if t.after[place] >= 0:
            note(t, place)


def train(t, merges, made, smallest, min_count):
    """Fill merges (M, 2) with the tokens merged and made (M,) with what they become.

    Returns how many merges there were: fewer than M when no pair occurs min_count times.
    """
    for m in range(len(merges)):
        pair = choose(t, smallest, min_count)
        if pair < 0:
            return m
        made[m] = joined(t, pair)
        merges[m, 0], merges[m, 1] = t.left[pair], t.right[pair]
        merge(t, pair, made[m])
    return len(merges)


HELPERS = (find, add, note, stands, first_place, compare, sorts_before, rank, leader,
           smallest_equal, choose, joined, merge)  # fmt: skip
start.helpers = train.helpers = HELPERS
