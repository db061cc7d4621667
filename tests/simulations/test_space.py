"""The space explorer: its forces are the slope of its energy; a moved control moves the picture."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import geometry, plot
from scratch_embed.simulations import space
from scratch_embed.simulations.controls import check_values, defaults

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


def dots(figure) -> np.ndarray:
    return np.concatenate([np.asarray(c.get_offsets()) for c in figure.axes[0].collections])


def test_moving_a_control_moves_the_picture():
    figure, _ = plot.figure()
    space.draw(figure)
    before, bars = dots(figure), [bar.get_height() for bar in figure.axes[1].patches]
    assert figure.axes[0].get_title() == "Training step 0 / 500"
    np.testing.assert_allclose(bars, space.simulate().tables[0, 0])  # the row of "cat"
    space.draw(figure, step=500)
    assert len(figure.axes) == 3 and np.abs(dots(figure) - before).max() > 0.5
    space.draw(figure, step=500, word="blue", dim=2)
    assert 'The row of "blue"' == figure.axes[1].get_title()
    assert len(figure.axes[1].patches) == 2
    space.draw(figure, theme="Grammar", word="cat")  # which it does not have
    assert 'The row of "house"' == figure.axes[1].get_title()


def test_controls_open_on_allowed_values_and_refuse_others():
    check_values(space.CONTROLS, defaults(space.CONTROLS))
    with pytest.raises(ValueError, match="step is 3; choose one of 0, 5, 10, ..., 500"):
        check_values(space.CONTROLS, {"step": 3})
    with pytest.raises(TypeError, match="'speed' is not a control; there are theme, dim"):
        check_values(space.CONTROLS, {"speed": 1})


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
