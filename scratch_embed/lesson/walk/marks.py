"""Which lessons a person has finished."""

from __future__ import annotations

from scratch_embed.lesson import notes

NOTE = "finished"


def finished() -> set[str]:
    """The names of the lessons that were run or walked to their end."""
    names = notes.read(NOTE).get("lessons")
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()


def finish(name: str) -> None:
    """Note that a lesson was finished."""
    notes.write(NOTE, {"lessons": sorted(finished() | {name})})
