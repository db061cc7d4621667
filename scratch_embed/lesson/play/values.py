"""Values of controls as a person types them, on a command line or in an address."""

from __future__ import annotations

import re
from collections.abc import Iterable

from scratch_embed.lesson.play.frames import told
from scratch_embed.simulations import Control

NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d*)(\.\d*)?([eE][+-]?\d+)?", re.ASCII)


def read_values(controls: Iterable[Control], typed: Iterable[tuple[str, str]]) -> dict:
    """The values that (name, text) pairs stand for.

    TypeError for a name that no control has, ValueError for a text that none of its values is.
    """
    by_name = {control.name: control for control in controls}
    values = {}
    for name, text in typed:
        if name not in by_name:
            raise TypeError(f"there is no control {name}; there are {', '.join(by_name)}")
        if name in values:
            raise ValueError(f"{name} is set twice: give it one value")
        values[name] = read_value(by_name[name], text)
    return values


def read_value(control: Control, text: str):
    """The value of a control that a text stands for.

    >>> read_value(Control("tied", (True, False), True, "Tied"), "off")
    False
    """
    if not control.free:
        for value in control.values:
            if text == told(value) or text == str(value) or _same_number(text, value):
                return value
    control.check(text)
    return text


def _same_number(text: str, value) -> bool:
    """Whether it is this number; commas stand before three digits: 1,6 is neither 1.6 nor 16."""
    if isinstance(value, (str, bool)) or not NUMBER.fullmatch(text):
        return False
    try:
        return float(text.replace(",", "")) == value
    except ValueError:  # a sign or a point alone
        return False
