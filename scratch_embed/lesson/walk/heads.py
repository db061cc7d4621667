"""What the first lines of a lesson say of it: question, time, what it needs, where it leads.

The first [markdown] cell of a lesson holds, below its title, a paragraph for each of

    **Question.** How does an integer become a vector?
    **Afterwards** you can write both halves of an embedding layer.
    **Time** 15 minutes. **Needs** lessons 0 and 10. **Exercises** `lookup_forward`, `one_hot`.

so that a reader and the map of the course (`python -m lessons`) read the same words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FIELD = re.compile(r"\*\*([A-Z][a-z]+)\.?\*\*\s*")  # in a lab also Guess, Control, ...


@dataclass(frozen=True)
class Head:
    """The head of a lesson. Fields that it lacks are empty, and `minutes` is 0."""

    question: str = ""
    afterwards: str = ""  # "you can ..."
    minutes: int = 0
    needs: tuple[int, ...] = ()  # numbers of other lessons
    exercises: tuple[str, ...] = ()


def read_head(text: str) -> Head:
    """The head in the text of a lesson's first Markdown cell."""
    pieces = FIELD.split(" ".join(text.split()))
    found = {name.lower().rstrip("s"): said.strip() for name, said in zip(*[iter(pieces[1:])] * 2)}
    minutes = re.search(r"(\d+) minutes", found.get("time", ""))
    return Head(
        question=found.get("question", ""),
        afterwards=found.get("afterward", "").rstrip("."),
        minutes=int(minutes[1]) if minutes else 0,
        needs=tuple(int(n) for n in re.findall(r"\b\d+\b", found.get("need", ""))),
        exercises=tuple(re.findall(r"`(\w+)`", found.get("exercise", ""))),
    )
