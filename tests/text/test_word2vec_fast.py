"""The compiled word2vec: each of its steps is one of `ops.sgns`, and a seed is enough."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import geometry
from scratch_embed.kernels import run, skip_gram_loops
from scratch_embed.ops.sgns import cbow_backward, cbow_forward, sgns_backward, sgns_forward
from scratch_embed.text import toy, word2vec_fast
from scratch_embed.text.word2vec import Negatives

V, D, RATE = 30, 7, 0.05


def by_definition(vectors, outputs, text, widths, targets, first):
    """One `sgns` step after the other, from the operation's own halves; outputs move at the end.

    The word and five negatives make the first batch of a place, each six negatives more another,
    in which a row of zeros stands for the word: it adds nothing to the gradient of the others.
    """
    for n, (word, *negatives) in enumerate(targets):
        i = first + n
        for at in range(-1, len(negatives), 6):
            others = [u for u in negatives[max(at, 0) : at + 6] if u != word]
            moved = outputs.copy()
            for j in range(max(i - widths[n], 0), min(i + widths[n] + 1, len(text))):
                if j != i:
                    c, o = text[j], outputs[word] * (at < 0)
                    rows = vectors[c][None], o[None], outputs[others][None]
                    dcenter, dcontext, dothers = sgns_backward(RATE, sgns_forward(*rows)[1])
                    vectors[c] -= dcenter[0]
                    moved[word] -= dcontext[0] * (at < 0)
                    moved[others] -= dothers[0]
            outputs[:] = moved


def cbow_by_definition(vectors, outputs, text, widths, targets, first):
    """One `cbow` step after the other, from the operation's own halves."""
    for n, (word, *negatives) in enumerate(targets):
        i, others = first + n, [u for u in negatives if u != word]
        around = [j for j in range(i - widths[n], i + widths[n] + 1) if j != i]
        contexts = text[[j for j in around if 0 <= j < len(text)]]
        rows = vectors[contexts][None], outputs[word][None], outputs[others][None]
        dcontexts, dcenter, dothers = cbow_backward(RATE, cbow_forward(*rows)[1])
        np.subtract.at(vectors, contexts, dcontexts[0])  # a neighbour may stand there twice
        outputs[word] -= dcenter[0]
        outputs[others] -= dothers[0]


LOOPS = {
    skip_gram_loops.skip_gram: by_definition,
    skip_gram_loops.cbow: cbow_by_definition,
}


def fine_sigmoid(size: int = 1 << 18, reach: float = 8.0) -> np.ndarray:
    x = ((np.arange(size) + 0.5) / size * 2 - 1) * reach
    return 1 / (1 + np.exp(-x))


def case(rng, places: int = 60, first: int = 20, size: int = 5):
    """Tables, text, and draws in which the word itself comes up among its own negatives."""
    vectors, outputs = rng.standard_normal((2, V, D)) / 2
    text, widths = rng.integers(0, V, 100), rng.integers(1, 4, places)
    targets = np.stack([rng.permutation(V)[:size] for _ in range(places)])  # no negative twice
    targets[:, 0] = text[first : first + places]
    return vectors, outputs, text, widths, targets, first


@pytest.mark.parametrize("size", [3, 6, 14])  # a part of six rows, six, and more
@pytest.mark.parametrize("first", [0, 20, 40])  # at the start, in the middle, up to the end
@pytest.mark.parametrize("loop", LOOPS)
def test_every_step_is_one_of_the_operation(loop, first, size):
    given = case(np.random.default_rng(first), first=first, size=size)
    assert any(word in others for word, *others in given[4].tolist())
    slow, fast = ([array.copy() for array in given[:2]] for _ in range(2))
    LOOPS[loop](*slow, *given[2:])
    table = fine_sigmoid()
    run(loop, 1, *fast, *given[2:], table, 8.0, RATE, 1)
    for ours, expected, before in zip(fast, slow, given):
        np.testing.assert_allclose(ours, expected, atol=1e-5)
        assert abs(expected - before).max() > 0.02  # the steps are thousands of times the tolerance


@pytest.mark.parametrize("model", ["skip-gram", "cbow"])
def test_many_places_in_parts_learn_about_the_same(model):
    """Threads race, so only the outcome can be compared: the loss on the pairs learned."""
    corpus = toy.zipf_classes(20_000, 60, 4)
    options = {"model": model, "window": 2, "epochs": 5, "lr": 0.05, "subsample_at": None}
    for workers in (1, 2):
        run = word2vec_fast.train(corpus.tokens, 60, 8, workers=workers, **options)
        cosines = geometry.cosines(run.vectors)
        np.fill_diagonal(cosines, -2)
        assert (corpus.classes[cosines.argmax(axis=1)] == corpus.classes).mean() > 0.9
        assert run.vectors.dtype == np.float32 and run.vectors.shape == (60, 8)


def test_a_seed_gives_the_same_vectors_with_one_worker():
    text = toy.zipf_classes(3000, 50, 4).tokens
    first, again, other = (
        word2vec_fast.train(text, 50, 6, epochs=2, rng=seed) for seed in (3, 3, 4)
    )
    for a, b, c in zip(first[:2], again[:2], other[:2]):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)


def test_what_lies_behind_a_row_stays_zero_and_changes_nothing():
    """A row of 7 is learned like one of 8 whose last number is always 0."""
    text, rng = toy.zipf_classes(3000, 50, 4).tokens, np.random.default_rng(0)
    tables = word2vec_fast.Tables(np.bincount(text, minlength=50), 7, rng=rng)
    before, state = tables._rows.copy(), rng.bit_generator.state
    tables.learn(text, 0, 0.025, rng)
    assert tables._rows.shape == (2, 50, 8) and not tables._rows[:, :, 7:].any()
    assert tables._rows.ctypes.data % 64 == 0  # it begins where a line of the cache does
    assert tables.vectors.shape == (50, 7) and np.shares_memory(tables.vectors, tables._rows)
    rng.bit_generator.state = state
    places = word2vec_fast.draw(text, 5, 5, tables._noise, rng)
    narrow = [np.ascontiguousarray(table[:, :7]) for table in before]
    how = (tables._sigmoid, word2vec_fast.REACH, np.float32(0.025), 1)
    run(skip_gram_loops.skip_gram, 1, *narrow, text, *places, 0, *how)
    for table, wide, first in zip(narrow, (tables.vectors, tables.outputs), before):
        # Eight numbers are added in another order than seven, and a sum on the edge of two entries
        # of the sigmoid's table may take the other: 1e-4, where rows move by 0.01.
        np.testing.assert_allclose(wide, table, atol=5e-4)
        assert abs(table - first[:, :7]).max() > 0.01


def test_the_tables_are_what_they_stand_for():
    noise = Negatives([16, 0, 1, 81, 0])
    table = word2vec_fast.noise_table(noise)
    share = np.bincount(table, minlength=5) / len(table)
    np.testing.assert_allclose(share, noise.p, atol=2 / len(table))
    assert share[[1, 4]].tolist() == [0, 0]  # words that never occur
    x = np.linspace(-8, 8, 1001)[:-1]
    parts = ((x + 8) / 16 * word2vec_fast.STEPS).astype(int)
    error = abs(word2vec_fast.sigmoid_table()[parts] - 1 / (1 + np.exp(-x)))
    assert error.max() < 1.0e-3


def test_draws():
    rng, centers = np.random.default_rng(0), np.array([4, 5, 6] * 2000)
    noise = word2vec_fast.noise_table(Negatives(np.ones(7)))
    widths, targets = word2vec_fast.draw(centers, 3, 4, noise, rng)
    assert np.bincount(widths)[1:] / 6000 == pytest.approx(1 / 3, abs=0.03)
    assert targets.shape == (6000, 5) and (targets[:, 0] == centers).all()
    assert np.bincount(targets[:, 1:].ravel()) / 24_000 == pytest.approx(1 / 7, abs=0.02)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"workers": 0}, ValueError, "workers is 0"),
        ({"model": "glove"}, ValueError, "model is 'glove'"),
        ({"window": 0}, ValueError, "window is 0"),
        ({"negatives": 0}, ValueError, "negatives is 0"),
        ({"ids": [0, 1, 7]}, IndexError, r"ids\[2\] = 7 is too large"),
        ({"ids": [1, 1, 1]}, ValueError, "fewer than two words"),
    ],
)
def test_bad_input_is_explained(options, error, words):
    with pytest.raises(error, match=words):
        word2vec_fast.train(**{"ids": [0, 1, 0], "num_embeddings": 3, "embedding_dim": 2} | options)


@pytest.mark.parametrize(
    ("text", "first", "rate", "said"),
    [
        (np.array([0, 9]), 0, 0.1, r"text\[0:\d+\]\[1\] = 9 is too large"),
        (np.array([0, -1]), 0, 0.1, "= -1 is negative"),
        (np.array([[0, 1], [1, 0]]), 0, 0.1, "one text is"),
        ([0, 1], 0, 0.1, "text must be an array"),
        (np.array([0, 1]), 2, 0.1, "and first, 2, a place in it"),
        (np.array([0, 1]), -1, 0.1, "and first, -1, a place in it"),
        (np.array([0, 1]), 0, np.nan, "is nan; it must be a finite number above 0"),
    ],
)
def test_compiled_code_sees_no_text_of_another_vocabulary(text, first, rate, said):
    rng = np.random.default_rng(0)
    tables = word2vec_fast.Tables([5, 5], 4, rng=0)
    before = tables.vectors.copy()
    with pytest.raises((ValueError, IndexError), match=said):
        tables.learn(text, first, rate, rng)
    np.testing.assert_array_equal(tables.vectors, before)
