"""The companions of the nine: beside values by hand, nudges, and counts made another way."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from scratch_embed import geometry
from scratch_embed.gradcheck import slopes
from scratch_embed.simulations import (
    Scene,
    analogy,
    break_it,
    collisions,
    load,
    norm_attention,
    softmax_gradient,
    spectrum,
    step_curve,
    tape,
    touched,
)


def test_the_softmax_gradient_is_what_nudges_measure_and_its_rows_sum_to_zero():
    hidden, target = np.array([0.7, -1.2]), 3
    p, dz, dE, dh, loss = softmax_gradient.gradients(hidden, target)
    z = softmax_gradient.TABLE @ hidden
    assert loss == pytest.approx(np.log(np.exp(z).sum()) - z[target])
    assert dz == pytest.approx(p - np.eye(5)[target])
    nudged = slopes(lambda h: softmax_gradient.gradients(h, target)[4], hidden)
    np.testing.assert_allclose(dh, nudged, atol=1e-8)
    np.testing.assert_allclose(dE, np.outer(dz, hidden))
    np.testing.assert_allclose(dE.sum(axis=0), 0, atol=1e-12)
    shown = Scene(load("softmax_gradient"), target="cat", angle=180, length=0.5).numbers
    assert not any("-0.000" in text for text in shown.values())


def test_a_long_key_gains_below_90_degrees_and_loses_beyond():
    scores, shares = norm_attention.weights(60, 2.0)
    assert scores[0] == pytest.approx(1.5 * 2 * 0.5 / np.sqrt(2))  # |q| |k| cos / sqrt(D)
    assert shares == pytest.approx(np.exp(scores) / np.exp(scores).sum())
    for angle, sign in ((0, 1), (75, 1), (105, -1), (180, -1)):
        course = [norm_attention.weights(angle, n)[1][0] for n in norm_attention.NORMS]
        assert (sign * np.diff(course) > 0).all()
    assert np.ptp([norm_attention.weights(90, n)[1][0] for n in norm_attention.NORMS]) < 1e-12


@pytest.mark.parametrize(
    "angle, told", [(45, "louder"), (90, "length does not matter"), (120, "quieter")]
)
def test_a_key_of_length_0_is_told_what_length_would_do(angle, told):
    scene = Scene(load("norm_attention"), norm=0.0, angle=angle)
    assert told in scene.artists[-1].get_text()


def test_the_touched_share_is_that_of_many_batches():
    assert touched.touched(1000, 0.0, 1) == pytest.approx(1 / 1000)
    rng, p = np.random.default_rng(1), touched.shares(1000, 1.0)
    assert p[0] / p[9] == pytest.approx(10)
    seen = [len(np.unique(rng.choice(1000, size=256, p=p))) for _ in range(200)]
    assert np.mean(seen) / 1000 == pytest.approx(touched.touched(1000, 1.0, 256), rel=0.02)
    assert touched.drawn(1000, 1.0, 256).sum() == 256


def test_confused_words_are_those_whose_rows_all_agree():
    words, buckets = 300, 64
    rows = [collisions._rows(words, buckets, seed) for seed in range(2)]
    for hashes in (1, 2):
        together = Counter(tuple(sorted(pair)) for pair in zip(*rows[:hashes], strict=True))
        alone = sum(count for count in together.values() if count == 1)
        assert collisions.confused(words, buckets, hashes, 0) == words - alone
    assert (
        collisions.confused(words, buckets, 1, 0) == collisions.counted(words, buckets, 0).sharing
    )


def test_the_spectrum_belongs_to_a_table_that_was_trained_by_its_slopes():
    rng = np.random.default_rng(4)
    E, R, counts = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.integers(4, size=(5, 5))
    dE, dR, _ = spectrum.gradients(E, R, counts)
    nudged = slopes(lambda E: spectrum.gradients(E, R, counts)[2], E)
    np.testing.assert_allclose(dE, nudged, atol=1e-7)
    nudged = slopes(lambda R: spectrum.gradients(E, R, counts)[2], R)
    np.testing.assert_allclose(dR, nudged, atol=1e-7)
    assert np.linalg.matrix_rank(spectrum.cut(E, 1) - E.mean(axis=0)) == 1
    np.testing.assert_allclose(spectrum.cut(E, 3), E)


def test_nine_directions_carry_ten_classes_and_none_carry_shuffled_words():
    real, shuffled = (spectrum.course(text, seed=1) for text in spectrum.TEXTS)  # not the one shown
    now, nine = spectrum.STOPS.index(40), spectrum.KEEP.index(9)
    assert real.shares[0][8] < 0.55 and real.shares[now][8] > 0.75
    assert real.losses[now][nine] < real.losses[now][-1] < real.unigram - 1
    assert real.losses[now][nine] < real.losses[now][spectrum.KEEP.index(4)] - 0.05
    assert shuffled.shares[now][8] < 0.7 and shuffled.losses[now].argmin() == 0
    assert shuffled.losses[now].min() > shuffled.unigram  # there is nothing else to know
    for found in (real, shuffled):  # by heart: the tail rises, and the loss
        assert found.losses[-1][-1] > found.losses[now][-1] + 0.3
        assert found.ranks[now] < found.ranks[-1]


def test_the_parallelogram_closes_and_paris_among_the_fruits_points_at_fruits():
    ids = [analogy.WORDS.index(word) for word in ("king", "man", "woman", "queen")]
    king, man, woman, queen = analogy.table()[ids]
    np.testing.assert_array_equal(king - man + woman, queen)
    scene = Scene(load("analogy"), sum="paris - france + italy")
    assert scene.numbers["its answer"] == "rome"
    scene.move(fruit=1.0)
    assert scene.numbers["its answer"] in ("apple", "pear", "plum")
    scene = Scene(load("analogy"), exclude=False, queen=1.0)
    assert scene.numbers["its answer"] == "king and queen"  # as near one as the other
    rows = analogy.table(queen=1.5)
    assert int(geometry.analogy(rows, *ids[:3], 1, False, "euclidean").rows[0]) == ids[0]


def test_the_step_curve_falls_with_the_square_of_the_step_and_rises_again():
    h = 1e-2
    pair = [
        abs(step_curve.measured(s, "float64", "both") - step_curve.slope()) for s in (h, h / 10)
    ]
    assert pair[0] / pair[1] == pytest.approx(100, rel=0.05)
    one = [abs(step_curve.measured(s, "float64", "one") - step_curve.slope()) for s in (h, h / 10)]
    assert one[0] / one[1] == pytest.approx(10, rel=0.05)
    for precision in ("float64", "float32"):
        errors = step_curve._errors(precision, "both")
        assert errors.argmin() not in (0, len(errors) - 1) and errors[-1] > 1e3 * errors.min()


def test_the_step_curve_says_which_arm_it_is_on():
    """Beside the same quotient in more digits, in which nearly all of the error is curvature."""
    wide = np.longdouble
    if np.finfo(wide).eps > 1e-18:
        pytest.skip("long double has no more digits here")

    def loss(nudge):
        table = step_curve.TABLE.astype(wide)
        table[step_curve.ENTRY] += wide(nudge)
        z = (table * step_curve.HIDDEN.astype(wide)).sum(axis=1)
        return np.log(np.exp(z - z.max()).sum()) - (z[step_curve.TARGET] - z.max())

    for sides in ("both", "one"):
        for h in step_curve.STEPS[:41]:
            two = sides == "both"
            exact = (loss(h) - loss(-h if two else 0.0)) / ((2 if two else 1) * wide(h))
            curvature = abs(float(exact) - step_curve.slope())
            rounding = abs(step_curve.measured(h, "float64", sides) - float(exact))
            arm = step_curve._arm(h, np.float64, sides)
            assert arm != "curvature" or curvature > rounding, (sides, h)
            assert arm != "rounding" or rounding > curvature, (sides, h)
    assert step_curve._arm(1e-5, np.float64, "both") == "a little of both"


def test_the_healthy_backward_is_right_and_the_three_damaged_are_not():
    rng = np.random.default_rng(2)
    ids, targets = np.array([0, 3, 0, 7, 3]), np.array([3, 0, 7, 1, 0])  # 0 and 3 are read twice
    E, W = rng.normal(size=(break_it.V, break_it.D)), rng.normal(size=(break_it.D, break_it.D))

    def gap(damage):
        saved = break_it.forward(E, W, ids, targets)[1]
        return np.abs(break_it.backward(saved, damage)[0] - nudged).max(axis=1) > 1e-6

    nudged = slopes(lambda E: break_it.forward(E, W, ids, targets)[0], E)
    assert not gap("none").any() and not gap("rows shuffled").any()
    assert np.nonzero(gap("repeats lost"))[0].tolist() == [0, 3]
    assert gap("scoring part lost").all() and gap("-1 forgotten")[[0, 1, 3, 7]].all()


def test_each_damage_does_what_its_notice_says():
    uniform, unigram = break_it.baselines()
    ends = {damage: break_it.course(damage).losses[-1] for damage in break_it.DAMAGES}
    assert len(ends) == 8 and ends["none"] == min(ends.values()) < unigram
    assert ends["repeats lost"] < ends["none"] + 0.1
    assert ends["-1 forgotten"] == pytest.approx(uniform, abs=0.01)
    assert not break_it.course("all rows start at 0").tables.any()
    assert ends["one column"] < unigram < uniform < ends["rows shuffled"]


@pytest.mark.parametrize("damage", ["-1 forgotten", "all rows start at 0"])
def test_what_equals_a_plain_guess_but_for_rounding_does_not_beat_it(damage):
    told = {
        dict(Scene(load("break_it"), damage=damage, step=step).numbers)["beats a plain guess"]
        for step in break_it.STOPS
        if step >= 50
    }
    assert told == {"no (3.178)"}


def test_the_tape_ends_on_the_gradient_of_backward_in_two_parts():
    walk, table = tape.walked()
    scene = Scene(load("tape"), step=len(walk))
    assert scene.numbers["dE"] == "2 of 2 parts"
    E = table.copy()

    def loss(E):
        W = walk.sources["W"]
        z = np.tanh(E[tape.IDS] @ W) @ E.T
        return (np.log(np.exp(z).sum(axis=1)) - z[np.arange(3), tape.TARGETS]).mean()

    shown = np.array([text.get_text() for text in scene.artists[3].texts], dtype=float)
    np.testing.assert_allclose(shown.reshape(table.shape), slopes(loss, E), atol=0.0051)
