"""What counting alone achieves: the unigram and the bigram that a language model has to beat.

    bigram = Bigram(ids, num_embeddings=1000)
    bigram.loss(held_out[:-1], held_out[1:])        # nats a token

Both give every token of the vocabulary a chance above 0, so that no text costs infinitely much,
and the chances add up to 1. A text that is too long for the memory is counted a stretch at a time:
give an iterator over its stretches.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scratch_embed.arguments import check_count
from scratch_embed.kernels.ids import check_ids, check_sequence, count_ids

AT_ONCE = 1 << 20  # pairs that wait to be counted together


class Unigram:
    """p(w) = (count of w + 1) / (N + V): each token for itself, as if each had been seen once more.

    ids : (N,) the tokens to count, or an iterator over stretches of them. num_embeddings : V.
    Raises what `check_ids` raises, and ValueError for ids that are no single row.

    >>> Unigram([0, 0, 1], num_embeddings=3).chances([0, 1, 2]).round(3).tolist()
    [0.5, 0.333, 0.167]
    """

    def __init__(self, ids, num_embeddings: int):
        num_embeddings = check_count(num_embeddings, "num_embeddings")
        counts = np.zeros(num_embeddings, np.int64)
        for part in _stretches(ids):
            counts += count_ids(check_sequence(part, num_embeddings), num_embeddings)
        self.table = (counts + 1) / (counts.sum() + num_embeddings)

    def chances(self, targets) -> np.ndarray:
        """p of each target, float64 in the shape of `targets`."""
        return self.table[check_ids(targets, len(self.table))]

    def loss(self, targets) -> float:
        """Mean of -ln p, in nats a token."""
        return _mean_loss(self.chances(targets))


class Bigram:
    """p(w | v) = max(c(v, w) - d, 0) / c(v) + d n(v) / c(v) q(w): the token before decides.

    Kneser & Ney 1995 in the interpolated form (Chen & Goodman 1999, section 4.1.6): d is taken off
    each count, and what that frees goes to q, which asks behind how many different tokens w stands.
    c(v, w) counts pairs, c(v) = sum of c(v, w), and n(v) is how many different tokens follow v; q
    counts like a unigram, each pair once. Behind a v never seen q decides alone. With n1 and n2 the
    number of pairs seen once and twice, d = n1 / (n1 + 2 n2) (Ney, Essen & Kneser 1994), or 0.5
    without any.

    ids : (N,) a text of at least two tokens, or an iterator over stretches; the last token of one
    and the first of the next are no pair. num_embeddings : V. Raises what `check_ids` raises, and
    ValueError for a text without a pair.

    >>> bigram = Bigram([0, 1, 0, 1, 2], num_embeddings=3)       # 01 twice, 10 and 12 once: d = 0.5
    >>> bigram.chances([0, 0, 0], [0, 1, 2]).round(3).tolist()   # q = 1/3 each
    [0.083, 0.833, 0.083]
    """

    def __init__(self, ids, num_embeddings: int):
        V = self.num_embeddings = check_count(num_embeddings, "num_embeddings")
        self._pairs, self._counts = _count_pairs(_stretches(ids), V)
        once, twice = ((self._counts == n).sum() for n in (1, 2))
        self.discount = once / (once + 2 * twice) if once else 0.5
        before, after = np.divmod(self._pairs, V)
        self._behind = Unigram(after, V)
        self._seen = count_ids(before, V, self._counts)
        self._kinds = count_ids(before, V)

    def chances(self, before, targets) -> np.ndarray:
        """p of each target behind the token before it, float64; both have one shape."""
        before, targets = (check_ids(ids, self.num_embeddings) for ids in (before, targets))
        if before.shape != targets.shape:
            raise ValueError(f"before {before.shape} and targets {targets.shape} have two shapes")
        wanted = before * self.num_embeddings + targets
        at = np.searchsorted(self._pairs, wanted).clip(max=len(self._pairs) - 1)
        counts = np.where(self._pairs[at] == wanted, self._counts[at], 0)
        seen = self._seen[before]
        left = np.where(seen > 0, self.discount * self._kinds[before], 1) / np.maximum(seen, 1)
        kept = np.maximum(counts - self.discount, 0) / np.maximum(seen, 1)
        return kept + left * self._behind.chances(targets)

    def loss(self, before, targets) -> float:
        """Mean of -ln p, in nats a token."""
        return _mean_loss(self.chances(before, targets))


def _mean_loss(chances: np.ndarray) -> float:
    if not chances.size:
        raise ValueError("there are no targets, so there is no mean loss")
    return float(-np.log(chances).mean())


def _stretches(ids) -> Iterator:
    return ids if isinstance(ids, Iterator) else iter([ids])


def _count_pairs(stretches: Iterator, V: int) -> tuple[np.ndarray, np.ndarray]:
    """(pairs, counts): each different pair v, w as v V + w, in rising order, and how often."""
    pairs, counts, waiting = np.empty(0, np.int64), np.empty(0, np.int64), []
    read = 0

    def counted():
        found, number = np.unique(np.concatenate([*waiting, pairs]), return_inverse=True)
        each = count_ids(number[: len(number) - len(pairs)], len(found))
        each[number[len(number) - len(pairs) :]] += counts
        return found, each

    for stretch in stretches:
        ids = check_sequence(stretch, V)
        read += len(ids)
        waiting.append(ids[:-1] * V + ids[1:])
        if sum(map(len, waiting)) >= AT_ONCE:
            pairs, counts = counted()
            waiting.clear()
    if waiting:
        pairs, counts = counted()
    if not len(pairs):
        raise ValueError(f"the text has {read} tokens; a pair takes two")
    return pairs, counts
