"""Counting co-occurrence, PPMI and its SVD."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed.text.ppmi import cooccurrence, ppmi, svd_vectors


def test_cooccurrence_equals_plain_loops():
    ids = np.random.default_rng(0).integers(0, 5, 60)
    plain = np.zeros((5, 5))
    for i, u in enumerate(ids):
        for j, v in enumerate(ids):
            plain[u, v] += 0 < abs(i - j) <= 3
    assert np.array_equal(cooccurrence(ids, 5, window=3), plain)
    assert not cooccurrence([2], 5).any() and not cooccurrence([], 5).any()


def test_ppmi_by_hand():
    counts = np.array([[0.0, 4.0], [4.0, 2.0]])  # P(0) = 0.4, P(1) = 0.6, P(0, 1) = 0.4
    value = np.log(0.4 / (0.4 * 0.6))
    np.testing.assert_allclose(ppmi(counts), [[0, value], [value, 0]])  # ln(0.2 / 0.36) < 0
    np.testing.assert_allclose(ppmi(counts, shift=1.5)[0, 1], value - np.log(1.5))
    contexts = np.array([4, 6]) ** 0.75
    smooth = np.log(0.4 / (0.4 * contexts[1] / contexts.sum()))
    assert ppmi(counts, alpha=0.75)[0, 1] == pytest.approx(smooth)


def test_independent_words_have_no_information_and_unseen_ones_no_nan():
    share = np.array([0.5, 0.3, 0.2, 0.0])
    assert ppmi(1000 * np.outer(share, share)) == pytest.approx(np.zeros((4, 4)), abs=1e-12)


def test_svd_vectors_rebuild_the_matrix():
    half = np.random.default_rng(0).standard_normal((6, 3))
    matrix = half @ half.T  # symmetric, of rank 3: U S U^T
    vectors = svd_vectors(matrix, 3)
    np.testing.assert_allclose(vectors @ vectors.T, matrix, atol=1e-12)
    assert (vectors.max(axis=0) == np.abs(vectors).max(axis=0)).all()  # the sign is settled
    np.testing.assert_allclose(svd_vectors(matrix, 3, power=0).T @ svd_vectors(matrix, 3, power=0),
                               np.eye(3), atol=1e-12)  # fmt: skip


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda: cooccurrence([0], 10**6), "would take 7450.6 GiB"),
        (lambda: cooccurrence([0, 1], 2, window=0), "window is 0"),
        (lambda: ppmi(np.zeros((2, 2))), "not all 0"),
        (lambda: ppmi(np.array([[1.0, -1.0]])), ">= 0"),
        (lambda: ppmi(np.ones((2, 2)), shift=0), "shift is 0"),
        (lambda: ppmi(np.ones((2, 2)), alpha=np.nan), "alpha is nan"),
        (lambda: svd_vectors(np.ones((3, 3)), 4), "dim is 4"),
        (lambda: svd_vectors(np.ones(3), 1), "rows and columns"),
        (lambda: svd_vectors(np.array([[1.0, np.nan]]), 1), r"matrix\[0, 1\] is nan"),
    ],
)
def test_bad_input_is_explained(use, words):
    with pytest.raises(ValueError, match=words):
        use()
