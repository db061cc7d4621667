"""What a person may move in a simulation: a name, the values it can take, and where it starts."""

from __future__ import annotations

from typing import NamedTuple


class Control(NamedTuple):
    """One control. Numbers in order make a slider, True and False a switch, texts a menu."""

    name: str  # the keyword argument of draw
    values: tuple  # every value that is allowed, in the order in which a person finds them
    default: object
    label: str  # what stands beside it


def defaults(controls: list[Control]) -> dict:
    """The values with which a simulation opens, by name."""
    return {control.name: control.default for control in controls}


def check_values(controls: list[Control], values: dict) -> None:
    """Raises TypeError for a name that no control has, ValueError for a value that one lacks."""
    by_name = {control.name: control for control in controls}
    for name, value in values.items():
        if name not in by_name:
            raise TypeError(f"{name!r} is not a control; there are {', '.join(by_name)}")
        allowed = by_name[name].values
        if value not in allowed:
            few = allowed if len(allowed) <= 8 else (*allowed[:3], "...", allowed[-1])
            raise ValueError(f"{name} is {value!r}; choose one of {', '.join(map(str, few))}")
