"""Which lessons a person has finished, and which kinds of calculations stood in them."""

from __future__ import annotations

from collections.abc import Iterable

from scratch_embed.lesson import notes

NOTE = "finished"


def finished() -> set[str]:
    """The names of the lessons that were run or walked to their end."""
    return _words("lessons")


def shown() -> set[str]:
    """The kinds of calculations, such as "dot", that stood in a lesson that was finished."""
    return _words("kinds")


def finish(name: str, kinds: Iterable[str] = ()) -> None:
    """Note that a lesson was finished, with the kinds of its calculations."""
    notes.write(NOTE, {"lessons": sorted(finished() | {name}), "kinds": sorted(shown() | {*kinds})})


def _words(field: str) -> set[str]:
    noted = notes.read(NOTE).get(field)
    return {word for word in noted if isinstance(word, str)} if isinstance(noted, list) else set()
