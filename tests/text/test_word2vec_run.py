"""A training in blocks: the bits of the one in memory, stopped anywhere or not at all."""

from __future__ import annotations

import json

import numpy as np
import pytest

from scratch_embed import checkpoint, geometry
from scratch_embed.ops.cross_entropy import cross_entropy_forward
from scratch_embed.ops.sgns import sgns_forward
from scratch_embed.text import toy, word2vec_fast, word2vec_run, word2vec_softmax
from scratch_embed.text.held_out import HeldOut
from scratch_embed.text.word2vec_run import Settings, Training

V = 50
CORPUS = toy.zipf_classes(30_000, V, 4)
COUNTS = np.bincount(CORPUS.tokens, minlength=V)
WAYS = [("skip-gram", "negative"), ("cbow", "negative"), ("cbow", "softmax")]


def small(**more) -> Settings:
    return Settings(**{"dim": 6, "window": 2, "epochs": 2, "seed": 3} | more)


def finished(run: Training) -> Training:
    while not run.finished:
        assert 0 <= run.share < 1
        run.advance()
    assert run.share == 1
    return run


@pytest.mark.parametrize("model", ["skip-gram", "cbow"])
def test_a_text_of_one_stretch_gives_the_bits_of_training_in_memory(model):
    settings = small(model=model, subsample_at=0)
    run = Training(CORPUS.tokens, COUNTS, settings)
    held = np.arange(run.size) % run.period >= run.period - run.span
    assert held.sum() == 200
    learned = CORPUS.tokens[~held]
    options = {"window": 2, "epochs": 2, "rng": 3, "subsample_at": None, "model": model}
    expected = word2vec_fast.train(learned, V, 6, **options)
    own = finished(Training(CORPUS.tokens, np.bincount(learned, minlength=V), settings))
    np.testing.assert_array_equal(own.tables.vectors, expected.vectors)
    np.testing.assert_array_equal(own.tables.outputs, expected.outputs)


@pytest.mark.parametrize(("model", "loss"), WAYS)
def test_a_run_that_was_stopped_anywhere_ends_with_the_same_bits(
    tmp_path, monkeypatch, model, loss
):
    monkeypatch.setattr(word2vec_run, "STRETCH", 12_000)  # three stretches in an epoch
    settings, text = small(model=model, loss=loss), CORPUS.tokens
    if loss == "softmax":
        text, settings = text[:6000], small(model=model, loss=loss, epochs=1, subsample_at=0)
        monkeypatch.setattr(word2vec_run, "STRETCH", 2_500)
    whole = finished(Training(text, COUNTS, settings))
    rng, run, stops = np.random.default_rng(0), Training(text, COUNTS, settings), 0
    while not run.finished:
        for _ in range(rng.integers(1, 4)):
            if not run.finished:
                run.advance()
        checkpoint.save(tmp_path / "run.npz", **run.state_dict())
        run, stops = Training(text, COUNTS, settings), stops + 1
        run.load_state_dict(checkpoint.load(tmp_path / "run.npz"))
    assert stops > 2
    np.testing.assert_array_equal(run.tables.vectors, whole.tables.vectors)
    np.testing.assert_array_equal(run.tables.outputs, whole.tables.outputs)
    assert json.dumps(run.curve) == json.dumps(whole.curve)
    assert run.done == run.total == whole.done


@pytest.mark.parametrize(("model", "loss"), WAYS)
def test_what_is_learned_foretells_what_was_not_learned_from(model, loss):
    few = loss == "softmax"
    settings = small(model=model, loss=loss, lr=0.05, epochs=2 if few else 5, subsample_at=0)
    run = finished(Training(CORPUS.tokens[: 15_000 if few else None], COUNTS, settings))
    assert run.curve[-1][1] < run.judge.by_frequency < run.judge.untrained
    cosines = geometry.cosines(run.tables.vectors)
    np.fill_diagonal(cosines, -2)
    assert (CORPUS.classes[cosines.argmax(axis=1)] == CORPUS.classes).mean() > 0.8


def test_the_judge_says_what_the_operations_say():
    rng = np.random.default_rng(0)
    vectors, outputs = rng.standard_normal((2, V, 6))
    text = CORPUS.tokens[:500]
    judge = HeldOut([text], COUNTS, window=2, most=300)
    contexts, targets = judge.contexts[:, 0], judge.targets
    rows = vectors[contexts], outputs[targets], outputs[judge.negatives]
    assert judge(vectors, outputs) == pytest.approx(float(sgns_forward(*rows)[0]) / 300)
    assert judge(vectors, 0 * outputs) == pytest.approx(judge.untrained)
    soft = HeldOut([text], COUNTS, loss="softmax", window=2, most=300)
    logits = vectors[soft.contexts[:, 0]] @ outputs.T
    expected = float(cross_entropy_forward(logits, soft.targets)[0])
    assert soft(vectors, outputs) == pytest.approx(expected, rel=1e-6)
    assert soft(vectors, 0 * outputs) == pytest.approx(soft.untrained)


def test_no_score_by_frequency_is_better_than_by_frequency():
    """With one number for each word (D = 1, all vectors 1), nudged anywhere, the loss grows."""
    text, rng = CORPUS.tokens, np.random.default_rng(0)
    judge = HeldOut([text], COUNTS, window=2, most=60_000)
    share = COUNTS / COUNTS.sum()
    noise = share**0.75 / (share**0.75).sum()
    others = 1 - np.eye(V)  # no word is drawn beside itself
    drawn = noise * (others @ (share / (1 - noise)))
    score = np.log(share / (5 * drawn))[:, None]
    best = judge(np.ones((V, 1)), score)
    assert best == pytest.approx(judge.by_frequency)
    for _ in range(10):
        assert judge(np.ones((V, 1)), score + rng.normal(0, 0.5, (V, 1))) > best


@pytest.mark.parametrize("size", [2, 3, 10])
def test_of_words_that_stand_anywhere_frequency_is_all_that_can_be_said(size):
    """Words drawn independently, so that neighbours tell nothing."""
    share = np.arange(size, 0, -1.0) ** 2
    ids = np.random.default_rng(0).choice(size, 40_000, p=share / share.sum())
    counts = np.bincount(ids)
    judge = HeldOut([ids], counts, window=2, most=100_000)
    seen, drawn = (np.bincount(a.ravel(), minlength=size) for a in (judge.targets, judge.negatives))
    best = judge(np.ones((size, 1)), np.log(seen / drawn)[:, None])  # of these very draws
    assert judge.by_frequency == pytest.approx(best, rel=1e-3) and judge.by_frequency >= best


@pytest.mark.parametrize("model", ["skip-gram", "cbow"])
def test_a_softmax_step_is_the_gradient_of_its_loss(model):
    """Each example of a block alone: what moves is -rate times the difference quotient."""
    tables = word2vec_softmax.Tables(5, 3, model=model, window=2, rng=0)
    tables.outputs[:] = np.random.default_rng(1).standard_normal((5, 3))
    contexts, present = np.array([[1, 2, 1, 4]]), np.array([[True, True, True, False]])

    def loss(vectors, outputs):
        mean = vectors[[1, 2, 1]].mean(axis=0)
        return float(cross_entropy_forward((mean @ outputs.T)[None], np.array([3]))[0])

    before = [tables.vectors.astype(float), tables.outputs.astype(float)]
    tables._step(contexts, present, np.array([3]), np.float32(0.5))
    for at, after in enumerate((tables.vectors, tables.outputs)):
        for place in np.ndindex(5, 3):
            up, down = ([table.copy() for table in before] for _ in range(2))
            up[at][place] += 1e-5
            down[at][place] -= 1e-5
            slope = (loss(*up) - loss(*down)) / 2e-5
            assert after[place] - before[at][place] == pytest.approx(-0.5 * slope, abs=1e-6)


@pytest.mark.parametrize(
    ("changed", "error", "said"),
    [
        ({"loss": "hinge"}, ValueError, "loss is 'hinge'"),
        ({"model": "glove"}, ValueError, "model is 'glove'"),
        ({"epochs": 0}, ValueError, "epochs is 0"),
        ({"lr": -1}, ValueError, "lr is -1"),
        ({"subsample_at": -1}, ValueError, "subsample_at is -1"),
        ({"power": float("nan")}, ValueError, "power is nan"),
    ],
)
def test_bad_settings_are_explained(changed, error, said):
    with pytest.raises(error, match=said):
        Training(CORPUS.tokens, COUNTS, small(**changed))


def test_bad_text_states_and_rates_are_explained():
    with pytest.raises(ValueError, match="3 words with a vector are too few"):
        Training(np.array([0, 1, 0]), COUNTS, small())
    with pytest.raises(IndexError, match="too large"):
        Training(np.full(1000, V), COUNTS, small())
    run = Training(CORPUS.tokens, COUNTS, small())
    with pytest.raises(KeyError, match="lacks rng"):
        run.load_state_dict({k: v for k, v in run.state_dict().items() if k != "rng"})
    with pytest.raises(ValueError, match=r"vectors has shape \(5, 6\)"):
        run.load_state_dict(run.state_dict() | {"vectors": np.zeros((5, 6), np.float32)})
    with pytest.raises(FloatingPointError, match="lr 1e\\+30 is too large"):
        finished(Training(CORPUS.tokens, COUNTS, small(lr=1e30)))


@pytest.mark.parametrize(
    ("texts", "more", "said"),
    [
        ([[0, 1]], {"model": "CBOW"}, "model is 'CBOW'; it must be 'skip-gram' or 'cbow'"),
        ([[0, 1]], {"loss": "nce"}, "loss is 'nce'; it must be 'negative' or 'softmax'"),
        ([[0, 1]], {"negatives": 0}, "negatives is 0"),
        ([[0, 1]], {"most": 0}, "most is 0"),
        ([[0, -1]], {}, "= -1 is negative"),
        (np.array([0, 1]), {}, "a list of texts, if only of one"),
    ],
)
def test_a_judge_is_made_for_what_there_is(texts, more, said):
    with pytest.raises((ValueError, IndexError, TypeError), match=said):
        HeldOut(texts, [5, 5], **more)


def test_a_state_is_a_copy_and_is_taken_over_whole_or_not_at_all():
    ids = np.random.default_rng(0).integers(0, 50, 60_000)
    counts = np.bincount(ids)
    training = Training(ids, counts, Settings(dim=4, subsample_at=0))
    training.advance()
    best = training.state_dict()
    then = best["vectors"].copy()
    training.advance()
    np.testing.assert_array_equal(best["vectors"], then)
    now = training.tables.vectors.copy()
    for spoiled in ({"outputs": best["outputs"][1:]}, {"start": 10**7}, {"epoch": -1}, {"rng": {}}):
        with pytest.raises((ValueError, KeyError, TypeError)):
            training.load_state_dict(best | spoiled)
        np.testing.assert_array_equal(training.tables.vectors, now)
    training.load_state_dict(best)
    np.testing.assert_array_equal(training.tables.vectors, then)


def test_a_last_block_may_end_beyond_its_stretch(monkeypatch):
    """As with 105 workers and more, whose block is longer than a stretch."""
    monkeypatch.setattr(word2vec_run, "STRETCH", 30_000)
    ids = np.random.default_rng(0).integers(0, 50, 30_000)
    settings = Settings(dim=4, subsample_at=0, workers=4, epochs=1)
    training = finished(Training(ids, np.bincount(ids), settings))
    again = Training(ids, np.bincount(ids), settings)
    again.load_state_dict(training.state_dict())
    assert again.finished
