"""The course as a folder: its lessons, labs, pages of claims, the order in which they teach.

lessons/ch00_lookup.py ...      lessons, by number
lessons/labs/*.py               labs, by name
lessons/claims/*.py             pages of claims
lessons/course.toml             first_path, whole_path, [questions]
lessons/glossary.toml           term = [number of the lesson that explains it, "a line"]
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection
from functools import cached_property
from pathlib import Path

from scratch_embed.lesson.usage import UsageError
from scratch_embed.lesson.walk import cells

COMMANDS = ("all", "claims", "errata", "exercise", "figures", "glossary", "lab", "quiz")


class Course:
    """What lies in a folder of lessons. Nothing is run."""

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self.lessons = cells.find(self.folder)

    @cached_property
    def labs(self) -> dict[str, Path]:
        """The labs by name."""
        return {path.stem: path for path in sorted((self.folder / "labs").glob("[!_]*.py"))}

    @cached_property
    def pages(self) -> dict[str, Path]:
        """The pages of claims by name."""
        return {path.stem: path for path in sorted((self.folder / "claims").glob("[!_]*.py"))}

    @cached_property
    def plan(self) -> dict:
        """course.toml; a folder without one teaches in the order of the numbers."""
        path = self.folder / "course.toml"
        return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    @cached_property
    def glossary(self) -> dict[str, tuple[int, str]]:
        """term -> (the lesson that explains it, what it means in a line), in alphabetical order."""
        path = self.folder / "glossary.toml"
        terms = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return {term: tuple(terms[term]) for term in sorted(terms, key=str.casefold)}

    @property
    def first_path(self) -> list[int]:
        """The numbers of the lessons to begin with."""
        return [n for n in self.plan.get("first_path", []) if n in self.lessons]

    @property
    def whole_path(self) -> list[int]:
        """All numbers, in the order in which they teach."""
        planned = [n for n in self.plan.get("whole_path", []) if n in self.lessons]
        return [*planned, *(n for n in self.lessons if n not in planned)]

    def following(self, done: Collection[str]) -> int | None:
        """The number of the lesson to go on with, when those of these names are done."""
        return next((n for n in self.whole_path if self.lessons[n].stem not in done), None)

    @property
    def questions(self) -> dict[str, int]:
        """Single questions, and the number of the lesson that answers each."""
        asked = self.plan.get("questions", {})
        return {question: n for question, n in asked.items() if n in self.lessons}

    def find(self, word: str) -> Path:
        """A lesson by its number ("4", "ch04"), its name or a part of it ("tied").

        Raises UsageError for a word that fits none, or several.
        """
        plain = word.removesuffix(".py").rpartition("/")[2].casefold()
        digits = plain.removeprefix("ch")
        if digits.isdecimal():
            if int(digits) in self.lessons:
                return self.lessons[int(digits)]
            known = ", ".join(map(str, self.lessons)) or "none yet"
            raise UsageError(f"there is no lesson {word}; there are {known}.")
        return self._named(plain, word, {path.stem: path for path in self.lessons.values()})

    def find_lab(self, word: str) -> Path:
        """A lab by its name or a part of it. Raises UsageError as `find` does."""
        return self._named(word.removesuffix(".py").rpartition("/")[2], word, self.labs, "lab")

    def _named(self, plain: str, word: str, known: dict[str, Path], what: str = "lesson") -> Path:
        if plain in known:
            return known[plain]
        short = {name: name.partition("_")[2] for name in known}
        fits = [name for name in known if plain == short[name] and what == "lesson"]
        fits = fits if len(fits) == 1 else [name for name in known if plain and plain in name]
        if len(fits) == 1:
            return known[fits[0]]
        if fits:
            raise UsageError(f"{word} may be {' or '.join(fits)}: say which {what}.")
        words = [*known, *short.values(), *(COMMANDS if what == "lesson" else ())]
        close = difflib.get_close_matches(plain, [w for w in words if w != plain], n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        lists = "lessons" if what == "lesson" else f"lessons {what}"
        named = f"{what} {word or repr(word)}"
        raise UsageError(f"there is no {named}; python -m {lists} lists them.{hint}")
