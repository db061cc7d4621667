"""Every simulation keeps the contract, in the states that its controls can reach."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed.simulations import NAMES, Scene, load
from tests.simulations.seen import Sight

FEW = 6  # values of each control, from its first to its last; and as many states at random


@pytest.fixture(scope="module", params=NAMES)
def scene(request, a_short_text):
    return Scene(load(request.param))


@pytest.fixture(scope="module")
def sight(scene):
    return Sight(scene.figure)


def some(control) -> list:
    """The first values of a control, its last, and some between."""
    last = len(control.values) - 1
    at = {0, 1, last} | set(np.linspace(0, last, FEW).astype(int).tolist())
    return [control.values[i] for i in sorted(at) if i <= last]


def test_every_control_moves_the_picture_no_text_lies_on_another_no_artist_is_made(scene, sight):
    simulation = scene.simulation
    at_the_end = {c.name: c.values[-1] for c in simulation.controls if c.play}
    base = simulation.defaults | at_the_end  # where all has happened, every control matters
    numbers = scene.move(**base)
    first, artists = sight.picture(), {id(artist) for artist in scene.figure.findobj()}

    def look(**values):
        scene.move(**base | values)
        assert sight.troubles() == [], values
        assert all(isinstance(said, str) and said for said in scene.numbers.values())

    for control in simulation.controls:
        moves = False
        for value in some(control):
            look(**{control.name: value})
            moves = moves or (scene.numbers != numbers and sight.picture() != first)
        assert moves, control.name
    rng = np.random.default_rng(3)
    for _ in range(FEW):
        look(**{c.name: c.values[rng.integers(len(c.values))] for c in simulation.controls})
    assert {id(artist) for artist in scene.figure.findobj()} == artists
    assert scene.move(**base) == numbers
    assert sight.picture() == first  # nothing of the way is kept


def test_where_it_was_opened_does_not_show(scene):
    """A scene opened elsewhere and moved here looks as one that was opened here."""
    elsewhere = {control.name: control.values[-1] for control in scene.simulation.controls}
    pictures = []
    for one in (Scene(scene.simulation), Scene(scene.simulation, **elsewhere)):
        one.move(**scene.simulation.defaults)
        one.figure.canvas.draw()
        pictures.append(np.asarray(one.figure.canvas.buffer_rgba(), int))
    assert np.abs(pictures[0] - pictures[1]).max() < 8  # of 255


def test_it_opens_on_values_that_it_has_also_on_a_page(scene):
    simulation = scene.simulation
    simulation.check(simulation.defaults)
    for control in simulation.controls:
        assert control.default in control.on_page and set(control.on_page) <= set(control.values)
        assert len(set(map(str, control.values))) == len(control.values)
    assert simulation.num_states == sum(1 for _ in simulation.states()) <= 800
    assert simulation.notice.question.endswith("?") and len(simulation.notice.look) > 80


def test_a_wrong_value_is_refused_and_nothing_moves(scene, sight):
    before = sight.picture()
    control = scene.simulation.controls[0]
    with pytest.raises(ValueError, match=f"{control.name} is -3; "):
        scene.move(**{control.name: -3})
    with pytest.raises(TypeError, match=f"'speed' is not a control; there are {control.name}"):
        scene.move(speed=1)
    assert sight.picture() == before


def test_a_name_that_is_not_there_is_answered_with_those_that_are():
    with pytest.raises(ValueError, match="no simulation 'wave'; there are lookup, there_and_back"):
        load("wave")


def test_a_text_on_another_is_noticed():
    """The tests above can fail."""
    scene = Scene(load("tied"))
    sight = Sight(scene.figure)
    assert sight.troubles() == []
    head = scene.artists[3][2]
    head.set_text(head.get_text() * 3)
    assert any("leaves the figure" in trouble for trouble in sight.troubles())
    head.set_text("")
    one, other = scene.artists[2].texts[:2]
    one.set(text="0.123456", position=other.get_position(), va=other.get_va())
    assert any(" on " in trouble for trouble in sight.troubles())
