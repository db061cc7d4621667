"""Which questions a person answered, and whether the last answer was right."""

from __future__ import annotations

from scratch_embed.lesson import notes

NOTE = "quiz"


def answered() -> dict[str, bool]:
    """{key of a question: whether its last answer was right}, oldest answer first."""
    return {key: right for key, right in notes.read(NOTE).items() if isinstance(right, bool)}


def remember(key: str, right: bool) -> None:
    """Note how a question was answered, in place of its last answer."""
    known = answered()
    known.pop(key, None)
    notes.write(NOTE, known | {key: right})
