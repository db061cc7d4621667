"""Count pairs of neighbours and merge one: a step of byte pair encoding.

Sennrich, Haddow and Birch 2016. A tokenizer is trained by repeating these two functions: count,
merge the most frequent pair, count again.
"""

import re
from itertools import pairwise

from scratch_embed.lesson.exercises.parting import marks

LESSON = 7
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
    No token is empty.

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
        trial.same("pair_counts", mistakes=COUNTS, tokens=tokens)
        for pair in (("a", "b"), ("b", "b"), ("ab", "a")):
            trial.same("merge", mistakes=MERGES, tokens=tokens, pair=pair)
    for tokens in ([], ["a"], ["a", "b"], list("aaaa"), list("aaaaa"), list("xaay")):
        trial.same("pair_counts", mistakes=COUNTS, tokens=tokens)
        trial.same("merge", mistakes=MERGES, tokens=tokens, pair=("a", "a"))
    for pair in ((".", "a"), ("a", "b")):
        trial.same("merge", mistakes=MERGES, tokens=list("xa.a a b"), pair=pair)
    kinds = ["A", "b", "a b", "a", "B", "A", "b", "a b", "a"]  # one has a space in it
    trial.same("pair_counts", mistakes=COUNTS, tokens=kinds)
    trial.same("merge", mistakes=MERGES, tokens=[*"ABabAb"], pair=("a", "b"))
    for letter in marks(trial.yours.merge.yours):
        tokens = [f"x{letter}a", "b", "a", "b", f"a{letter}b"]
        trial.same("merge", mistakes=MERGES, tokens=tokens, pair=("a", "b"))


def _counted(pairs):
    counts = {}
    for pair in pairs:
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def _without_overlap(tokens):
    """Of a, a, a only the first pair."""
    pairs, end = [], {}
    for n, pair in enumerate(pairwise(tokens)):
        if end.get(pair, -1) < n:
            pairs.append(pair)
            end[pair] = n + 1
    return _counted(pairs)


def _walked(step, most=None):
    def wrong(tokens, pair):
        out, i, done = [], 0, 0
        while i < len(tokens):
            if tuple(tokens[i : i + 2]) == tuple(pair) and done != most:
                out.append(tokens[i] + tokens[i + 1])
                i, done = i + step, done + 1
            else:
                out.append(tokens[i])
                i += 1
        return out

    return wrong


def _from_the_right(tokens, pair):
    out, i = [], len(tokens) - 1
    while i >= 0:
        if i > 0 and (tokens[i - 1], tokens[i]) == tuple(pair):
            out.append(tokens[i - 1] + tokens[i])
            i -= 2
        else:
            out.append(tokens[i])
            i -= 1
    return out[::-1]


def _either_way_round(tokens, pair):
    out, i = [], 0
    while i < len(tokens):
        if set(tokens[i : i + 2]) == set(pair) and len(tokens[i : i + 2]) == 2:
            out.append(tokens[i] + tokens[i + 1])
            i += 2
        else:
            out.append(tokens[i])
            i += 1
    return out


def _of_a_text(pattern):
    """All tokens in one text, with spaces between them."""

    def wrong(tokens, pair):
        found = rf"(?<!\S){pattern(' '.join(pair))}(?!\S)"
        return re.sub(found, "".join(pair), " ".join(tokens)).split()

    return wrong


WALK = r"\bfor\b|\bwhile\b"  # what the guilty line looks like
COUNTS = {
    ("pair_counts leaves out pairs that overlap: in a, a, a the pair (a, a) stands twice", WALK):
        _without_overlap,
    "pair_counts notes which pairs there are, and not how often":
        lambda tokens: dict.fromkeys(pairwise(tokens), 1),
    ("pair_counts leaves out the first pair", WALK):
        lambda tokens: _counted(pairwise(tokens[1:])),
    ("pair_counts leaves out the last pair", WALK):
        lambda tokens: _counted(pairwise(tokens[:-1])),
    ("pair_counts counts each second pair: step by one token, not by two", WALK):
        lambda tokens: _counted(zip(tokens[::2], tokens[1::2])),
    ("pair_counts takes (a, b) and (b, a) for one pair", WALK):
        lambda tokens: _counted(tuple(sorted(pair)) for pair in pairwise(tokens)),
}  # fmt: skip
MERGES = {
    ("merge joins overlapping pairs from the right: of a, a, a the first two are to be joined",
     WALK): _from_the_right,
    ("merge uses a token twice: after a merge go on behind both", r"\+= *1\b"): _walked(step=1),
    ("merge stops after the first place: every place is merged", WALK): _walked(step=2, most=1),
    "merge joins the pair the other way round as well": _either_way_round,
    ("merge takes a token for a pattern, in which a dot is any character", r"\bre\."):
        _of_a_text(str),
    ("merge makes a text of the tokens, and a token that is a space is lost in it", r"join|split"):
        _of_a_text(re.escape),
    ("merge loses the last token", WALK): lambda tokens, pair: _walked(step=2)(tokens, pair)[:-1],
}  # fmt: skip
