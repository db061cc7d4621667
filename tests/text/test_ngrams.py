"""Unigram and bigram: by hand, against the definition, and as what they are, distributions."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from scratch_embed.text import ngrams
from scratch_embed.text.ngrams import Bigram, Unigram

V = 7


def text(seed, length=60):
    """Tokens of which row 6 is never seen, and row 5 only as the last."""
    ids = np.random.default_rng(seed).zipf(1.5, length) % 5
    return np.append(ids, 5)


def by_definition(ids, before, target):
    """Interpolated Kneser-Ney as the formula stands, with dictionaries."""
    pairs = Counter(zip(ids[:-1].tolist(), ids[1:].tolist()))
    once, twice = (sum(c == n for c in pairs.values()) for n in (1, 2))
    d = once / (once + 2 * twice)
    following = defaultdict(dict)
    for (v, w), c in pairs.items():
        following[v][w] = c
    q = (sum(w == target for _, w in pairs) + 1) / (len(pairs) + V)
    row = following[before]
    if not row:
        return q
    total = sum(row.values())
    return max(row.get(target, 0) - d, 0) / total + d * len(row) / total * q


@pytest.mark.parametrize("seed", range(3))
def test_the_bigram_is_kneser_ney(seed):
    ids = text(seed)
    before, after = np.meshgrid(np.arange(V), np.arange(V), indexing="ij")
    found = Bigram(ids, V).chances(before, after)
    expected = [[by_definition(ids, v, w) for w in range(V)] for v in range(V)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    assert found.min() > 0


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_stretches_are_counted_as_one_text_without_the_pairs_between(monkeypatch, at_once):
    monkeypatch.setattr(ngrams, "AT_ONCE", at_once)
    ids = text(3, 90)
    parts = [ids[:40], ids[40:41], ids[41:]]
    before, after = np.meshgrid(np.arange(V), np.arange(V), indexing="ij")
    np.testing.assert_array_equal(Unigram(iter(parts), V).table, Unigram(ids, V).table)
    pairs = Counter(p for part in parts for p in zip(part[:-1].tolist(), part[1:].tolist()))
    made = Bigram(iter(parts), V)
    assert dict(zip(zip(*np.divmod(made._pairs, V)), made._counts)) == pairs
    np.testing.assert_allclose(made.chances(before, after).sum(axis=1), 1, rtol=1e-12)
    whole = Bigram(iter([ids]), V).chances(before, after)
    np.testing.assert_array_equal(whole, Bigram(ids, V).chances(before, after))


def test_the_unigram_counts_each_token_once_more():
    unigram = Unigram([0, 0, 1], num_embeddings=4)
    np.testing.assert_allclose(unigram.chances(np.arange(4)), np.array([3, 2, 1, 1]) / 7)
    assert unigram.loss([2, 0]) == pytest.approx(-(math.log(1 / 7) + math.log(3 / 7)) / 2)


def test_where_the_token_before_tells_the_bigram_is_ahead():
    ids = np.tile([0, 1, 2], 50)
    assert Unigram(ids, 3).loss(ids[1:]) == pytest.approx(math.log(3), abs=1e-3)
    assert Bigram(ids, 3).loss(ids[:-1], ids[1:]) < 0.05


def test_a_single_token_has_no_pair():
    with pytest.raises(ValueError, match="has 1 tokens; a pair takes two"):
        Bigram([3], V)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda: Bigram([[0, 1], [1, 2]], 3), r"ids have shape \(2, 2\), and one text is \(N,\)"),
        (lambda: Unigram([[0, 1]], 3), r"ids have shape \(1, 2\)"),
        (lambda: Bigram([0, 1, 2], 3).loss([[0], [1]], [0, 1]), r"before \(2, 1\) and targets"),
        (lambda: Bigram([0, 1, 2], 3).loss([], []), "there are no targets"),
        (lambda: Unigram([0, 1, 2], 3).loss([]), "there are no targets"),
    ],
)
def test_shapes_that_would_be_stretched_are_told(use, words):
    with pytest.raises(ValueError, match=words):
        use()
