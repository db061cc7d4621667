"""Wrong answers to every exercise: edits of its solution, and the words that must tell them.

Each is a mistake that a learner makes. `old` stands once in the solution and becomes `new`.
"""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """One wrong answer; `says` must occur in what the learner is told."""

    exercise: str
    mistake: str
    old: str
    new: str
    says: str


def of(exercise: str, *edits: tuple[str, str, str, str]) -> list[Mutant]:
    return [Mutant(exercise, *edit) for edit in edits]
