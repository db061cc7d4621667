"""Options: the numbers a rule depends on, each with the range it must lie in."""

from __future__ import annotations

import difflib
import math

import numpy as np

from scratch_embed.arguments import check_flag

# of the options of all rules, and what others call them
NAMES = {"learning_rate", "rate", "step_size", "decay", "dampening", "beta1", "beta2", "epsilon"}


class Optioned:
    """Who has options. One that a rule here does not have, set as an attribute, would change
    nothing, so it is refused; a rule of one's own may keep what it likes."""

    def __setattr__(self, name: str, value):
        rule = type(self)
        ours = rule.__module__.startswith("scratch_embed.")
        if ours and not hasattr(rule, name) and _meant(name):
            raise _no_option(self, name)
        super().__setattr__(name, value)


def _meant(name: str) -> bool:
    """Whether a name is that of an option, but for a slip."""
    own = name.startswith("_")
    return not own and bool(difflib.get_close_matches(name.lower(), NAMES, 1, 0.8))


def _no_option(optimizer, name: str) -> AttributeError:
    rule = type(optimizer).__name__
    has = ", ".join(option for option in optimizer.param_groups[0] if option != "params")
    return AttributeError(f"{rule} has no option {name!r}; those of {rule} are {has}")


class Number:
    """An option that is one number from 0 up, kept in every group of parameters.

    `optimizer.lr` reads what all groups share, and `optimizer.lr = 0.1` sets it in all of them; one
    group alone is `optimizer.param_groups[1]["lr"]`, and where they differ there is no other way.
    """

    def __init__(self, below: float = math.inf):
        self.below = below

    def __set_name__(self, owner: type, name: str):
        self.name = name
        NAMES.add(name)

    def __get__(self, optimizer, owner: type | None = None):
        if optimizer is None:
            return self
        if self.name not in optimizer.param_groups[0]:  # of the rule that this one is made of
            raise _no_option(optimizer, self.name)
        first, *others = [group[self.name] for group in optimizer.param_groups]
        if any(other != first for other in others):
            raise ValueError(
                f"the groups differ in {self.name}: {[first, *others]}; take that of one group, "
                f"optimizer.param_groups[0][{self.name!r}]"
            )
        return first

    def __set__(self, optimizer, value):
        value = self.check(value)
        self.__get__(optimizer)  # raises where one value would take the place of several
        for group in optimizer.param_groups:
            group[self.name] = value

    def check(self, value) -> float:
        """The value as a float; TypeError for what is no number, ValueError out of range."""
        return in_range(self.name, value, self.below)


class Pair(Number):
    """An option that is two such numbers."""

    def check(self, value) -> tuple[float, float]:
        """The values as floats; TypeError and ValueError as for one number."""
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            raise ValueError(f"{self.name} is {value!r}; it must be two numbers, as (0.9, 0.999)")
        first, second = (
            in_range(f"{self.name}[{i}]", one, self.below) for i, one in enumerate(value)
        )
        return first, second


class Flag(Number):
    """An option that is True or False."""

    def check(self, value) -> bool:
        """The value as a bool; TypeError for anything else."""
        return check_flag(value, self.name)


def in_range(name: str, value, below: float = math.inf) -> float:
    """The value as a float in [0, below); TypeError for what is no number, ValueError otherwise."""
    if not isinstance(value, (float, int, np.floating, np.integer)) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}; it must be a number")
    try:
        number = float(value)
    except OverflowError:  # a whole number of 400 digits
        number = math.inf
    if not 0 <= number < below:  # False for NaN too
        top = "finite and not negative" if below == math.inf else f"in [0, {below:g})"
        raise ValueError(f"{name} is {value!r}; it must be {top}")
    return number
