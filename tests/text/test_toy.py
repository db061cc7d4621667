"""Made-up texts hold what they promise."""

import numpy as np
import pytest

from scratch_embed.text import toy
from scratch_embed.text.corpus import zipf_slope


def test_zipf_classes_holds_what_it_promises():
    corpus = toy.zipf_classes(60_000, rng=np.random.default_rng(5))
    assert corpus.tokens.shape == (60_000,) and corpus.classes.shape == (400,)
    assert np.bincount(corpus.classes).tolist() == [40] * 10
    assert np.allclose(corpus.transition.sum(axis=0), 1)
    assert np.allclose(corpus.transition.sum(axis=1), 1)
    counts = np.bincount(corpus.tokens, minlength=400)
    assert zipf_slope(counts, 1, 100) == pytest.approx(-1, abs=0.1)
    assert counts[:10].sum() > 5 * counts[200:210].sum()
    # The classes that follow one another are those of the matrix, within sampling error.
    seen = corpus.classes[corpus.tokens]
    pairs = np.zeros((10, 10))
    np.add.at(pairs, (seen[:-1], seen[1:]), 1)
    assert np.abs(pairs / pairs.sum(axis=1, keepdims=True) - corpus.transition).max() < 0.03


def test_inside_a_class_a_word_says_nothing_about_the_next_class():
    """The hidden class is all there is: two words of one class are followed alike."""
    corpus = toy.zipf_classes(200_000, 40, 4, rng=np.random.default_rng(2))
    after = np.zeros((40, 4))
    np.add.at(after, (corpus.tokens[:-1], corpus.classes[corpus.tokens[1:]]), 1)
    after /= after.sum(axis=1, keepdims=True)
    assert np.abs(after - corpus.transition[corpus.classes]).max() < 0.05


def test_the_exponent_sets_the_slope():
    flat = toy.zipf_classes(60_000, 50, 5, exponent=0.0)
    assert np.bincount(flat.tokens).min() > 900  # 1,200 each on average
    steep = toy.zipf_classes(60_000, 50, 5, exponent=2.0)
    assert zipf_slope(np.bincount(steep.tokens, minlength=50), 1, 25) < -1.5


def test_zipf_classes_is_seeded_and_checks_its_arguments():
    first, again = toy.zipf_classes(500), toy.zipf_classes(500)
    assert np.array_equal(first.tokens, again.tokens)
    other = toy.zipf_classes(500, rng=np.random.default_rng(1))
    assert not np.array_equal(first.tokens, other.tokens)
    state = np.random.get_state()[1].copy()
    toy.zipf_classes(50)
    assert np.array_equal(state, np.random.get_state()[1])
    for arguments in (
        {"num_words": 5},
        {"num_tokens": 0},
        {"exponent": -1},
        {"followers": (0.9, 0.2)},
    ):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            toy.zipf_classes(**arguments)


def test_antonyms_share_every_context():
    def contexts(word):
        return {s.replace(word, "_") for s in toy.CONTEXTS if word in s.split()}

    assert contexts("hot") == contexts("cold") and len(contexts("hot")) == 4
    assert contexts("piano").isdisjoint(contexts("hot"))
