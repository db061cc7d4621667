"""Train a tokenizer: count the pairs, merge the most frequent one, count again.

Sennrich, Haddow and Birch 2016. A vocabulary of byte pairs is nothing but the list of merges, in
the order in which they were learned.
"""

from itertools import pairwise

from scratch_embed.lesson.exercises.parting import marks

LESSON = 7
LEVEL = "medium"
HINTS = """
Hold each word as a list of tokens, at first its characters: `[list(word) for word in words]`. A
repeated word counts as often as it stands there.

One round: count all pairs of neighbours in all words, take the most frequent one, merge it in every
word from left to right. Then count anew: the merge has made new pairs and destroyed old ones.

`max(counts, key=counts.get)` returns the first of several that are equally frequent, and a
dictionary keeps the order in which its keys were put in: that is the rule for ties.

Stop early when no word has two tokens left: there is no pair to count.
"""


def train(words, num_merges):
    """The first num_merges merges of byte pair encoding, as a list of pairs (left, right)

    words  a list of strings of any characters, with repeats. Pairs are counted within a word,
           never across two.

    In every round the most frequent pair is merged in all words; of several equally frequent ones
    that which stands first in the text, read word by word. There are fewer merges when no pair is
    left.

    In "low low lot" l-o stands three times, then lo-w twice:

    >>> train(["low", "low", "lot"], 2)
    [('l', 'o'), ('lo', 'w')]
    >>> train(["ab"], 5)
    [('a', 'b')]
    """
    tokens, merges = [list(word) for word in words], []
    for _ in range(num_merges):
        counts = {}
        for word in tokens:
            for pair in pairwise(word):
                counts[pair] = counts.get(pair, 0) + 1
        if not counts:
            break
        best = max(counts, key=counts.get)
        merges.append(best)
        for n, word in enumerate(tokens):
            tokens[n] = []
            for token in word:
                if tokens[n] and (tokens[n][-1], token) == best:
                    tokens[n][-1] += token
                else:
                    tokens[n].append(token)
    return merges


def check(trial):
    texts = ["low low lower newest newest newest", "aaaa aaaaa aaab baaa aaaa", "the theme then"]
    for rng, text in zip(trial.rounds(6), [*texts, None, None, None]):
        words = text.split() if text else _random_words(rng)
        trial.same("train", mistakes=MISTAKES, words=words, num_merges=8)
    odd = ["a.b", "axb", "a.b", " a b", " a b", "(a)"]
    for words in ([], [""], ["a", "b"], odd, ["LO", "Low", "low", "LOW", "lo"]):
        trial.same("train", mistakes=MISTAKES, words=words, num_merges=3)
    for num_merges in (0, 6):
        trial.same("train", mistakes=MISTAKES, words=odd, num_merges=num_merges)
    for letter in marks(trial.yours.train.yours):
        words = [f"a{letter}b", f"a{letter}b", "ab", f"{letter}ab"]
        trial.same("train", mistakes=MISTAKES, words=words, num_merges=2)
        words = 2 * [f"{letter}{letter}a"]  # until all of it is one token
        trial.same("train", mistakes=MISTAKES, words=words, num_merges=2 * len(letter) + 1)


def _random_words(rng):
    kinds = ["".join(rng.choice(list("abc"), size)) for size in (2, 3, 4, 5, 3)]
    return [kinds[i] for i in rng.integers(len(kinds), size=9)]


def _merged(word, pair):
    out = []
    for token in word:
        if out and (out[-1], token) == pair:
            out[-1] += token
        else:
            out.append(token)
    return out


def _trained(choose=None, across=False, update=True, merge=_merged, once=False):
    """Training with one thing done otherwise."""

    def wrong(words, num_merges):
        tokens, merges, counts = [list(word) for word in words], [], {}
        if across:
            tokens = [[token for word in tokens for token in word]]
        if once:
            tokens = list(map(list, dict.fromkeys(map(tuple, tokens))))
        for _ in range(num_merges):
            if update or not merges:
                counts = {}
                for word in tokens:
                    for pair in pairwise(word):
                        counts[pair] = counts.get(pair, 0) + 1
            if not counts:
                break
            best = choose(counts) if choose else max(counts, key=counts.get)
            if not update:
                del counts[best]
            merges.append(best)
            tokens = [merge(word, best) for word in tokens]
        return merges

    return wrong


def _from_the_right(word, pair):
    turned = _merged([token[::-1] for token in reversed(word)], (pair[1][::-1], pair[0][::-1]))
    return [token[::-1] for token in reversed(turned)]


def _first_only(word, pair):
    for n in range(len(word) - 1):
        if (word[n], word[n + 1]) == pair:
            return [*word[:n], word[n] + word[n + 1], *word[n + 2 :]]
    return word


def _last_of_the_best(counts):
    return max(reversed(counts), key=counts.get)


BY_LINE = {  # what the guilty line looks like: {the mistake: who makes it}
    r"max|min|sort|most_common": {
        "train breaks a tie the wrong way: of equally frequent pairs it takes the last in the "
        "text, and the first is asked for": _trained(_last_of_the_best),
        "train breaks a tie the wrong way: it takes the smallest in the alphabet, and the first in "
        "the text is asked for": _trained(lambda n: min(n, key=lambda pair: (-n[pair], pair))),
        "train breaks a tie the wrong way: it takes the largest in the alphabet, and the first in "
        "the text is asked for": _trained(lambda n: max(n, key=lambda pair: (n[pair], pair))),
        "train takes the rarest pair, and the most frequent is asked for":
            _trained(lambda n: min(n, key=n.get)),
    },
    r"\bwords\b": {
        "train counts across words: the end of one and the beginning of the next are no pair":
            _trained(across=True),
        "train counts a word once that stands there several times": _trained(once=True),
        "train makes capitals small: each letter counts as it stands":
            lambda words, num_merges: _trained()([word.lower() for word in words], num_merges),
    },
    r"[Cc]ount": {
        "train does not update its counts: after a merge there are new pairs, and fewer of the old":
            _trained(update=False),
    },
    r"best.*token|token.*best|word\[|join": {
        "train merges overlapping pairs from the right: of a, a, a it joins the last two, and the "
        "first two are asked for": _trained(merge=_from_the_right),
        "train merges a pair once in a word: every place where it stands is merged":
            _trained(merge=_first_only),
    },
}  # fmt: skip
MISTAKES = {(told, line): who for line, known in BY_LINE.items() for told, who in known.items()}
