"""Where a person stopped stepping through a lesson, and what went wrong until there."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from scratch_embed.lesson import notes

NOTE = "places"


class Missed(NamedTuple):
    """A question that was answered wrongly, and the step to read again."""

    step: int  # as a person counts, from 1
    question: str
    typed: str
    shown: str


class Place(NamedTuple):
    """A step, as a person counts, and what was missed before it."""

    step: int
    missed: tuple[Missed, ...] = ()


def keep(lesson: str, steps: int, place: Place | None) -> None:
    """Note the place in a lesson of so many steps; None forgets it."""
    noted = notes.read(NOTE)
    noted.pop(lesson, None)
    if place is not None:
        missed = [list(one) for one in place.missed]
        noted[lesson] = {"step": place.step, "of": steps, "missed": missed}
    notes.write(NOTE, noted)


def kept(lesson: str, steps: int) -> Place | None:
    """The place, unless there is none, or the lesson has another number of steps by now."""
    noted = notes.read(NOTE).get(lesson)
    try:
        step, missed = noted["step"], tuple(Missed(*one) for one in noted["missed"])
        fits = noted["of"] == steps and type(step) is int and 1 < step <= steps
        fits = fits and all(map(partial(_is_sound, steps=steps), missed))
    except (TypeError, KeyError):
        return None
    return Place(step, missed) if fits else None


def _is_sound(one: Missed, steps: int) -> bool:
    """Whether what a file says was missed could have been: a file may be damaged."""
    texts = all(isinstance(text, str) for text in one[1:])
    return texts and type(one.step) is int and 1 <= one.step <= steps
