"""What a simulation is: a picture whose artists are made once, and that answers when it is moved.

    simulation = load("scale")              # by scratch_embed.simulations
    scene = Scene(simulation)               # the picture, as it opens
    scene.move(scale=16.0)                  # sets data on its artists; returns the numbers
    scene.figure                            # a Matplotlib figure, for whoever shows it

A front end knows none of the simulations. It shows the question of `notice` first, then a control
for each of `controls`, the picture, the numbers beside it, and what to look for. A click is told by
the artist: one whose gid is "word=cat" sets that control to that value, and one with "column@x
row@y" sets both, to the value that stands as far along as the click does in the artist's frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from typing import Any, NamedTuple

from scratch_embed import plot
from scratch_embed.uninterrupted import uninterrupted

SIZE = (6.4, 6.6)  # inches: one column, so that a telephone shows it too
STYLE = plot.STYLE | {
    "font.size": 12,
    "axes.titlesize": 12,
    "axes.labelsize": 11.5,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "legend.fontsize": 11,
    "mathtext.default": "regular",
    "path.simplify_threshold": 1.0,  # a long curve keeps what can be seen of it
}
LONGEST = 200  # characters that may be typed


class Control(NamedTuple):
    """One control. Numbers in order make a slider, True and False a switch, texts a menu."""

    name: str
    values: tuple  # every value that is allowed, in the order in which a person finds them
    default: object
    label: str  # what stands beside it
    page: tuple = ()  # the values on a page that holds every state; all of them when empty
    play: bool = False  # it may run on its own, from the first value to the last
    free: bool = False  # any text may be typed, and `values` are suggestions

    @property
    def on_page(self) -> tuple:
        """The values that a page offers."""
        return self.page or self.values

    def check(self, value) -> None:
        """Raises ValueError for a value that it does not take, with those that it does."""
        if self.free:
            if not isinstance(value, str) or not 0 < len(value) <= LONGEST or "\n" in value:
                raise ValueError(
                    f"{self.name} is {value!r}; it takes one line of text, up to {LONGEST} "
                    "characters"
                )
        elif not any(value == known and _kind(value) is _kind(known) for known in self.values):
            few = self.values
            if len(few) > 8:
                few = (*few[:3], "...", few[-1])
            raise ValueError(f"{self.name} is {value!r}; choose one of {', '.join(map(str, few))}")


class Notice(NamedTuple):
    """What is asked before the first move, and what to look for after it."""

    question: str
    look: str


class Simulation(NamedTuple):
    """A picture with controls.

    build(figure) makes the artists, once, and returns them, in whatever form `update` wants them.
    update(artists, values) sets their data and makes none; values holds one for each control.
    It returns the numbers that the picture shows, as texts by their names.
    """

    title: str
    controls: tuple[Control, ...]
    notice: Notice
    build: Callable[[Any], Any]
    update: Callable[[Any, dict], dict[str, str]]
    size: tuple[float, float] = SIZE

    @property
    def defaults(self) -> dict:
        """The values with which it opens, by the names of its controls."""
        return {control.name: control.default for control in self.controls}

    def check(self, values: dict) -> None:
        """Raises TypeError for a name that no control has, ValueError for a value it lacks."""
        by_name = {control.name: control for control in self.controls}
        for name, value in values.items():
            if name not in by_name:
                raise TypeError(f"{name!r} is not a control; there are {', '.join(by_name)}")
            by_name[name].check(value)

    def states(self) -> Iterator[dict]:
        """The values of every state that a page holds, the last control changing fastest."""
        for values in product(*(control.on_page for control in self.controls)):
            yield dict(zip(self.defaults, values, strict=True))

    @property
    def num_states(self) -> int:
        return prod(len(control.on_page) for control in self.controls)


class Scene:
    """A simulation in a figure: its artists, the values of its controls, the numbers it shows.

    figure: a Matplotlib figure or part of one, with nothing in it; a new one when None.
    """

    def __init__(self, simulation: Simulation, figure=None, **values):
        simulation.check(values)
        self.simulation = simulation
        self.figure = new_figure(simulation.size) if figure is None else figure
        self.values = simulation.defaults
        with _style():
            self.artists = simulation.build(self.figure)
        self.move()
        root = self.figure.figure
        root.draw_without_rendering()  # now the layout is found, the same whatever it opens on,
        root.set_layout_engine("none")  # and stays, whatever the titles say later
        self.move(**values)  # what is placed by pixels finds its place

    def move(self, **values) -> dict[str, str]:
        """Set controls by name and return the numbers shown. As it was if a value is refused."""
        self.simulation.check(values)
        moved = {**self.values, **values}
        with _style():
            self.numbers = self.simulation.update(self.artists, moved)
        self.values = moved
        return self.numbers


def new_figure(size: tuple[float, float] = SIZE):
    """A figure without axes, drawn by Agg: no window and no global state."""
    with uninterrupted():  # Matplotlib, interrupted while it is imported, stays broken
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _style():
    from matplotlib import rc_context

    return rc_context(STYLE)


def _kind(value) -> type:
    """True is not 1 here, and 1 is 1.0."""
    return bool if isinstance(value, bool) else str if isinstance(value, str) else float
