"""The space explorer: its forces are the slope of its energy; a moved control moves the picture."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import geometry
from scratch_embed.simulations import Scene, load, space

GROUPS = np.array([0, 0, 1, 1, 1, 2])  # of unequal sizes, one of them alone


def slope(table: np.ndarray, groups, h: float = 1e-5) -> np.ndarray:
    """-d energy / dE by central differences."""
    out = np.empty_like(table)
    for index in np.ndindex(table.shape):
        nudge = np.zeros_like(table)
        nudge[index] = h
        rise = space.energy(table + nudge, groups) - space.energy(table - nudge, groups)
        out[index] = -rise / (2 * h)
    return out


def test_two_words_by_hand():
    table = np.array([[0.0, 0.0], [2.0, 0.0]])
    # of one group: each has one partner; 4 / 2 = 2, and the pull on the first is the difference
    assert space.energy(table, [0, 0]) == pytest.approx(2.0)
    np.testing.assert_allclose(space.forces(table, [0, 0]), [[2, 0], [-2, 0]])
    # of two groups: -0.5 log(4.01) / 2, and a push of 0.5 * 2 / 4.01
    assert space.energy(table, [0, 1]) == pytest.approx(-0.25 * np.log(4.01))
    np.testing.assert_allclose(space.forces(table, [0, 1]), [[-1 / 4.01, 0], [1 / 4.01, 0]])


def test_forces_are_the_slope_of_the_energy_and_a_wrong_one_is_noticed():
    table = np.random.default_rng(0).standard_normal((6, 3))
    np.testing.assert_allclose(space.forces(table, GROUPS), slope(table, GROUPS), rtol=1e-6)
    doubled = space.forces(table, GROUPS, repel=1.0)
    assert np.abs(doubled - slope(table, GROUPS)).max() > 0.05


def test_without_noise_and_bound_each_step_lowers_the_energy():
    start = np.random.default_rng(0).standard_normal((6, 3))
    tables = space.settle(start, GROUPS, steps=30, noise=0.0, unit=False)
    np.testing.assert_array_equal(tables[0], start)
    assert (np.diff([space.energy(table, GROUPS) for table in tables]) < 0).all()


def test_a_run_starts_random_ends_in_groups_and_repeats_itself():
    run = space.simulate("Mixed", 8, seed=3)
    assert run.tables.shape == (space.STEPS + 1, 64, 8)
    np.testing.assert_allclose(geometry.norms(run.tables[250]), 1)
    assert run.accuracy(0) < 0.3 and run.accuracy(space.STEPS) == 1.0
    again = space.simulate.__wrapped__("Mixed", 8, seed=3)
    assert again.tables.tobytes() == run.tables.tobytes()
    with pytest.raises(ValueError, match="read-only"):
        run.tables[0, 0, 0] = 1.0


@pytest.mark.parametrize("theme", space.THEMES)
def test_every_theme_has_words_that_differ(theme):
    words, groups = space.words_of(theme)
    assert len(words) == len(set(words)) == len(groups)
    assert set(groups) == set(space.THEMES[theme])


def test_a_move_shows_the_recorded_frame():
    scene = Scene(load("space"), dim=2)
    run = space.simulate("Animals & Colors", 2)
    dots, _, words, bars, *_ = scene.artists
    for step in (0, 500):
        scene.move(step=step)
        shown = np.concatenate([np.asarray(group.get_offsets()) for group in dots])
        reach = np.abs(run.tables[[0, -1]]).max()
        np.testing.assert_allclose(shown, run.tables[step] / reach)  # groups stand in order
        heights = [bar.get_height() for bar in bars]
        np.testing.assert_allclose(heights, [*run.tables[step, 0], *[0] * 30])  # the row of cat
    scene.move(theme="Grammar", word="cat")  # which it does not have
    assert "nearest to house" in scene.numbers
    assert [text.get_gid() for text in words.texts[:2]] == ["word=house", "word=tree"]


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: space.words_of("Planets"), "theme is 'Planets'; choose one of Animals"),
        (lambda: space.simulate(dim=0), "dim is 0"),
        (lambda: space.settle(np.ones((2, 2)), [0, 1, 1]), "groups has 3 entries for 2 rows"),
    ],
)
def test_bad_input_gets_a_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_in_two_columns_a_mixed_space_takes_as_many_steps_as_it_says():
    runs = [space.simulate("Mixed", 2, 0.15, True, seed) for seed in range(10)]
    steps = [next(t for t in range(501) if run.accuracy(t) == 1) for run in runs]
    assert min(steps) >= 40 and max(steps) <= 70
