"""Count pairs of neighbours and merge one: a step of byte pair encoding.

Sennrich, Haddow and Birch 2016. A tokenizer is trained by repeating these two functions: count,
merge the most frequent pair, count again.
"""

from itertools import pairwise

LEVEL = "medium"
HINTS = """
`pairwise(tokens)` walks over all pairs of neighbours.

Merging goes from left to right with an index i of your own: after a merge it moves by two,
otherwise by one. That is why it cannot overlap.

The last token has no neighbour: ask `i + 1 < len(tokens)` before you look at it.
"""


def pair_counts(tokens):
    """How often each pair of neighbours stands in a list of strings        -> {(left, right): int}

    Overlapping pairs all count: in a, a, a the pair (a, a) stands twice.

    >>> pair_counts(["a", "a", "a", "b"])
    {('a', 'a'): 2, ('a', 'b'): 1}
    """
    counts = {}
    for pair in pairwise(tokens):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def merge(tokens, pair):
    """tokens with every occurrence of pair = (left, right) joined to one token, as a new list

    From left to right, and not overlapping: of a, a, a the first two are joined, the third is left.

    >>> merge(["b", "a", "n", "a", "n", "a"], ("a", "n"))
    ['b', 'an', 'an', 'a']
    >>> merge(["a", "a", "a"], ("a", "a"))
    ['aa', 'a']
    """
    out, i = [], 0
    while i < len(tokens):
        if i + 1 < len(tokens) and (tokens[i], tokens[i + 1]) == tuple(pair):
            out.append(tokens[i] + tokens[i + 1])
            i += 2
        else:
            out.append(tokens[i])
            i += 1
    return out


def check(trial):
    for rng in trial.rounds(8):
        tokens = rng.choice(["a", "b", "ab", "ba"], 14).tolist()
        trial.same("pair_counts", tokens=tokens)
        for pair in (("a", "b"), ("b", "b"), ("ab", "a")):
            trial.same("merge", tokens=tokens, pair=pair)
    for tokens in ([], ["a"], ["a", "b"], list("aaaa"), list("aaaaa"), list("xaay")):
        trial.same("pair_counts", tokens=tokens)
        trial.same("merge", tokens=tokens, pair=("a", "a"))
