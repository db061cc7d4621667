"""word2vec: the loss and its gradient, the draws, and vectors that find hidden classes."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import functional as F
from scratch_embed import geometry
from scratch_embed.ops.sgns import cbow_backward, cbow_forward, sgns_backward, sgns_forward
from scratch_embed.text import toy
from scratch_embed.text import word2vec_fast as fast
from scratch_embed.text.word2vec import Negatives, pairs, subsample, train, windows
from tests.wrong_backward import caught, leaf

LN3 = np.log(3)
RNG = np.random.default_rng(0)


def test_skip_gram_by_hand():
    c, o = np.array([[1.0, 0.0]]), np.array([[LN3, 2.0]])  # score ln 3, s = 3/4
    u = np.array([[[-LN3, 1.0], [0.0, 4.0]]])  # scores -ln 3 and 0, s = 1/4 and 1/2
    loss, saved = sgns_forward(c, o, u)
    assert loss == pytest.approx(np.log(4 / 3) + np.log(4 / 3) + np.log(2))
    dc, do, du = sgns_backward(np.array(1.0), saved)
    np.testing.assert_allclose(do, [[-0.25, 0]])
    np.testing.assert_allclose(du, [[[0.25, 0], [0.5, 0]]])
    np.testing.assert_allclose(dc, [[-0.25 * LN3 - 0.25 * LN3, -0.5 + 0.25 + 2]])


def test_cbow_is_skip_gram_of_the_mean():
    rng = np.random.default_rng(0)
    contexts, center, u = (rng.standard_normal(s) for s in ((2, 3, 4), (2, 4), (2, 5, 4)))
    present = np.array([[True, True, True], [False, True, False]])
    loss, saved = cbow_forward(contexts, center, u, present)
    means = np.stack([contexts[0].mean(axis=0), contexts[1, 1]])
    expected, other = sgns_forward(means, center, u)
    assert loss == pytest.approx(expected)
    dcontexts, dmean = cbow_backward(np.array(1.0), saved)[0], sgns_backward(1.0, other)[0]
    np.testing.assert_allclose(dcontexts[0], [dmean[0] / 3] * 3)
    np.testing.assert_allclose(dcontexts[1], [0 * dmean[1], dmean[1], 0 * dmean[1]])


def test_scores_of_a_thousand_stay_finite():
    loss, saved = sgns_forward(np.array([[1000.0]]), np.array([[-1.0]]), np.array([[[1.0]]]))
    assert loss == 2000 and np.isfinite(np.concatenate(sgns_backward(1.0, saved)[:2])).all()


def wrong_sign(dout, saved):
    dc, do, du = sgns_backward(dout, saved)
    return dc, do, -du


def lost_negatives(dout, saved):
    _, do, du = sgns_backward(dout, saved)
    return do / saved.center * saved.context, do, du


@pytest.mark.parametrize("wrong", [wrong_sign, lost_negatives])
def test_planted_bugs_are_caught(wrong):
    assert caught(sgns_forward, wrong, leaf(4, 3), leaf(4, 3, seed=1), leaf(4, 2, 3, seed=2))


def test_a_cbow_that_forgets_to_divide_is_caught():
    def wrong(dout, saved):
        dcontexts, *rest = cbow_backward(dout, saved)
        return dcontexts * 2, *rest

    assert caught(cbow_forward, wrong, leaf(4, 2, 3), leaf(4, 3, seed=1), leaf(4, 2, 3, seed=2))


def test_negatives_follow_the_power_law_and_avoid_the_true_word():
    noise, rng = Negatives([16, 0, 1, 81, 0]), np.random.default_rng(0)
    assert noise.p == pytest.approx(np.array([8, 0, 1, 27, 0]) / 36)
    share = np.bincount(noise.draw((100_000,), rng), minlength=5) / 100_000
    assert share == pytest.approx(noise.p, abs=0.005)
    true = np.array([3] * 5000 + [0] * 5000)
    others = noise.draw_others(true, 4, rng)
    assert others.shape == (10_000, 4) and not (others == true[:, None]).any()
    assert (others[:5000] == 0).mean() == pytest.approx(8 / 9, abs=0.01)  # 8 of the 9 that are left


def test_windows_pairs_and_widths():
    centers, contexts = pairs(np.array([5, 6, 7, 8]), 2)
    expected = [(5, 6), (5, 7), (6, 5), (6, 7), (6, 8), (7, 5), (7, 6), (7, 8), (8, 6), (8, 7)]
    assert list(zip(centers.tolist(), contexts.tolist())) == expected
    around = windows(np.arange(2000), 3, np.random.default_rng(0))
    sizes = np.bincount(around.present[3:-3].sum(axis=1)) / 1994
    assert sizes[[2, 4, 6]] == pytest.approx(1 / 3, abs=0.04)  # each width is as likely
    assert len(windows(np.array([4]), 2).centers) == 0


def test_frequent_words_are_thinned_out():
    ids = np.repeat([0, 1], [96_000, 4000])
    kept = np.bincount(subsample(ids, [96_000, 4000], 1e-3, np.random.default_rng(0)))
    assert kept[0] / 96_000 == pytest.approx(np.sqrt(1e-3 / 0.96), abs=0.003)
    assert kept[1] / 4000 == pytest.approx(np.sqrt(1e-3 / 0.04), abs=0.02)


@pytest.fixture(scope="module")
def corpus():
    return toy.zipf_classes(12_000, 60, 4)


def same_class(vectors, classes) -> float:
    """Share of nearest neighbours that are of one's own hidden class; 0.25 by chance."""
    cosines = geometry.cosines(vectors)
    np.fill_diagonal(cosines, -2)
    return float((classes[cosines.argmax(axis=1)] == classes).mean())


@pytest.mark.parametrize("model", ["skip-gram", "cbow"])
def test_vectors_find_the_hidden_classes(corpus, model):
    options = {"model": model, "window": 2, "epochs": 3, "lr": 0.05, "subsample_at": None}
    run = train(corpus.tokens, 60, 8, **options)
    assert same_class(run.vectors, corpus.classes) > 0.9
    assert run.losses[0] == pytest.approx(6 * np.log(2))  # outputs at 0: every chance is 1/2
    assert run.losses[-20:].mean() < 0.7 * run.losses[0]
    assert run.vectors.dtype == np.float32
    again = train(corpus.tokens, 60, 8, **options)
    assert np.array_equal(run.vectors, again.vectors)
    assert not np.array_equal(run.vectors, train(corpus.tokens, 60, 8, rng=1, **options).vectors)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda: F.sgns(np.ones((2, 3)), np.ones((2, 3)), np.ones((2, 3))), "do not fit"),
        (lambda: F.cbow(np.ones((1, 2, 3)), np.ones((1, 3)), np.ones((1, 1, 3)), [[False] * 2]),
         r"contexts\[0\] has no word"),
        (lambda: Negatives([1, 0]), "fewer than two words"),
        (lambda: Negatives([1, -1]), "finite and >= 0"),
        (lambda: Negatives([999, 1000], 400.0), "power is 400.0: word 1 would take all draws"),
        (lambda: Negatives([1000, 10], 5), "power is 5: word 0 would take all draws"),
        (lambda: train([0, 1, 0], 2, 2, model="glove"), "model is 'glove'"),
        (lambda: train([0, 1, 0], 2, 2, epochs=0), "epochs is 0"),
        (lambda: windows(np.arange(3), 0), "window is 0"),
        (lambda: train([0, 1, 0], 2, 2, lr=-1), "lr is -1"),
        (lambda: fast.train([0, 1, 0], 2, 2, lr=np.nan), "lr is nan"),
        (lambda: train([0, 1, 0], 2, 2, subsample_at=-1), "threshold is -1"),
        (lambda: train([0, 1] * 9, 2, 2, subsample_at=1e-300), "no word that was kept has"),
        (lambda: fast.train([0, 1] * 9, 2, 2, subsample_at=1e-300), "no word that was kept has"),
    ],
)  # fmt: skip
def test_bad_input_is_explained(use, words):
    with pytest.raises(ValueError, match=words):
        use()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda: pairs(np.ma.masked_equal([1, 2, 3], 2), 1), TypeError, "mask"),
        (lambda: windows([[1, 2], [3, 4]], 1), ValueError, r"ids have shape \(2, 2\)"),
        (lambda: pairs([1.0, 2.0], 1), TypeError, r"ids\[0\] = 1\.0"),
        (lambda: windows([1, -1], 1), IndexError, r"ids\[1\] = -1 is negative"),
        (lambda: subsample([-1, 0], [3, 4], 0.1, RNG), IndexError, r"ids\[0\] = -1 is negative"),
        (lambda: subsample([0, 2], [3, 4], 0, RNG), IndexError, r"ids\[1\] = 2 is too large"),
        (lambda: Negatives(np.ma.masked_equal([1.0, 2.0, 50.0], 50.0)), TypeError, "mask"),
    ],
)
def test_ids_and_counts_are_looked_at_by_every_part(use, error, words):
    with pytest.raises(error, match=words):
        use()


def test_a_step_size_that_is_too_large_is_told_and_gives_no_nan():
    """256 examples at once over 40 words move each row many times over."""
    tokens = toy.zipf_classes(4000, 40, 5).tokens
    with pytest.raises(FloatingPointError, match=r"lr 0\.5 with batch_size 256"):
        train(tokens, 40, 16, window=1, epochs=10, lr=0.5, batch_size=256, subsample_at=None)


def test_a_threshold_of_zero_keeps_every_word():
    ids = np.random.default_rng(0).integers(0, 20, 3000)
    for way in (train, fast.train):
        kept, all_of_it = (way(ids, 20, 4, epochs=1, subsample_at=at) for at in (0, None))
        assert np.array_equal(kept.vectors, all_of_it.vectors) and kept.outputs.any()


def test_a_fast_training_that_overflows_is_told():
    ids = np.random.default_rng(0).integers(0, 20, 3000)
    with pytest.raises(FloatingPointError, match="vectors became infinite: lr 1000"):
        fast.train(ids, 20, 4, lr=1e10)


def test_a_dtype_may_be_named_and_must_hold_floats():
    ids = np.arange(60) % 5
    for dtype in ("float32", np.dtype("float64")):
        assert train(ids, 5, 4, subsample_at=None, dtype=dtype).vectors.dtype == dtype
    with pytest.raises(TypeError, match="dtype is int64; vectors are floats"):
        train(ids, 5, 4, dtype=np.int64)
