"""Skip-gram's and CBOW's loss: what does not fit, and gradients; more in text/test_word2vec."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Tensor
from scratch_embed import functional as F
from scratch_embed.gradcheck import gradcheck

AROUND = np.random.default_rng(0).standard_normal((2, 4, 3))  # N, L, D
CENTER, NEGATIVES = AROUND[:, 0], AROUND[:, :1]


@pytest.mark.parametrize(
    ("present", "error", "words"),
    [
        (np.ones((2, 3), bool), ValueError, r"contexts \(2, 4, 3\) and present \(2, 3\) do not"),
        (np.ones(4, bool), ValueError, r"present \(4,\) do not fit"),
        (np.ones((2, 1), bool), ValueError, r"present \(2, 1\) do not fit"),
        (np.ones((2, 4, 1), bool), ValueError, r"present \(2, 4, 1\) do not fit"),
        (np.full((2, 4), 2), TypeError, "present is int64; it must be boolean"),
        (np.ones((2, 4)), TypeError, r"present is float64; .*ids != padding_idx"),
        ([[True] * 4, [False] * 4], ValueError, r"contexts\[1\] has no word present"),
    ],
)
def test_a_present_that_does_not_fit_is_explained(present, error, words):
    with pytest.raises(error, match=words):
        F.cbow(AROUND, CENTER, NEGATIVES, present=present)


def test_contexts_of_two_axes_are_explained():
    for present in (None, np.ones((2, 3), bool)):
        with pytest.raises(ValueError, match=r"contexts \(2, 3\) and present \(2, 3\) do not fit"):
            F.cbow(CENTER, CENTER, NEGATIVES, present=present)


@pytest.mark.parametrize(
    ("center", "context", "negatives"),
    [
        (CENTER, CENTER[:1], NEGATIVES),
        (CENTER, CENTER, NEGATIVES[:1]),
        (CENTER, CENTER, NEGATIVES[:, :, :2]),
        (CENTER, CENTER, CENTER),
        (CENTER[0], CENTER[0], NEGATIVES),
    ],
)
def test_vectors_that_do_not_fit_are_explained(center, context, negatives):
    with pytest.raises(ValueError, match=r"do not fit: they are \(N, D\), \(N, D\) and"):
        F.sgns(center, context, negatives)


def test_no_examples_and_no_negatives():
    assert F.sgns(np.ones((0, 3)), np.ones((0, 3)), np.ones((0, 2, 3))).item() == 0
    alone = F.sgns(np.zeros((1, 3)), np.ones((1, 3)), np.ones((1, 0, 3)))
    assert alone.item() == pytest.approx(np.log(2))


def test_gradients_of_both_losses():
    c, o, n = (_leaf(3, 2, seed=1), _leaf(3, 2, seed=2), _leaf(3, 4, 2, seed=3))
    gradcheck(F.sgns, c, o, n).raise_if_wrong()
    present = np.array([[True, False], [True, True], [False, True]])
    around = _leaf(3, 2, 2, seed=4)
    gradcheck(lambda a, c, n: F.cbow(a, c, n, present=present), around, c, n).raise_if_wrong()


def _leaf(*shape, seed):
    data = np.random.default_rng(seed).standard_normal(shape)
    return Tensor(data, requires_grad=True, name=f"x{seed}")
