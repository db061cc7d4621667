"""Guesses: a question before the calculation, and its answer after.

    q = guess("Which rows of E get a gradient?", ["all six", "the rows that were read"])
    ...                                              # the calculation, in the same or the next cell
    q.answer("the rows that were read", because="nobody else's number is in the loss")

A run without a person prints the question, then the calculation, then the answer. A person who
steps is asked where the question stands, and judged where the answer does.
"""

from __future__ import annotations

import html
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from scratch_embed.lesson.answers import LETTERS, how_far, is_number, judge, names_an_option
from scratch_embed.lesson.record import current
from scratch_embed.look.numbers import number
from scratch_embed.look.page import fold
from scratch_embed.look.terminal import paint, width, wrap

SLIPS = "slips.toml"  # beside the lessons: ["a question"] "a wrong answer" = "what it forgets"


@dataclass
class Question:
    """A question that was asked, what was typed, and, once computed, the answer."""

    text: str
    options: list[str] | None = None
    unit: str = ""
    typed: str = ""  # what the person typed; "" when nobody was asked, or would rather see it
    right: bool | None = None  # None until answered, and when nothing was typed
    shown: str = ""  # the answer as it was told
    because: str = ""
    value: object = None  # the answer itself
    slips: dict = field(default_factory=dict)  # {a wrong answer: the mistake that leads to it}
    tolerance: float | None = None
    parts: tuple = ()  # what was to be added up, where the answer is a sum
    cell: int | None = field(default=None, compare=False)
    answered: int | None = field(default=None, compare=False)  # the cell with its answer

    def put(self) -> None:
        """Print the question and its options."""
        lines = wrap(self.text, width(), "  ? ")
        for letter, option in zip(LETTERS, self.options or []):
            lines += wrap(option, width(), f"    {letter}) ")
        current().put("\n".join(lines), self.page)

    def page(self) -> str:
        """The question as HTML."""
        letters = "".join(f"<li>{html.escape(option)}</li>" for option in self.options or [])
        options = f'<ol type="A">{letters}</ol>' if letters else ""
        return f'<div class="question"><p><b>?</b> {html.escape(self.text)}</p>{options}</div>'

    @property
    def words(self) -> str:
        """The question and its unit, in which an answer may be given."""
        return f"{self.text}{self.unit}"

    def answer_page(self) -> str:
        """The answer as HTML, folded, so that it is seen only when it is asked for."""
        reason = f": {html.escape(self.because)}" if self.because else ""
        told = f"<p><b>{html.escape(self.shown)}</b>{reason}.</p>"
        return fold(f"Answer: {html.escape(self.text)}", told)

    def answer(
        self,
        value,
        because: str | Mapping = "",
        slips: Mapping | None = None,
        tolerance: float | None = None,
    ) -> None:
        """Tell the answer that this run computed, and judge what was typed.

        value: a number, or the text of the right option, chosen by a computation.
        because: the reason, in a sentence; or {answer: its reason} where another run, as of another
        text, may have another answer.
        slips: {a wrong number or option: the mistake that leads to it}, told to whoever typed it.
        Those of lessons/slips.toml are added to them.
        tolerance: how far a typed number may be off (1 % of the answer by default).
        Raises ValueError for a text that is not among the options, TypeError for a value that is
        not one finite number.
        """
        self.value, self.tolerance = self._checked(value), tolerance
        self.because = because if isinstance(because, str) else because.get(self.value, "")
        self.answered = current().cell
        self.slips = {**(slips or {}), **_kept_slips(current().path).get(self.text, {})}
        letter = f"{LETTERS[self.options.index(self.value)]}) " if self.options else ""
        self.shown = f"{letter}{self.value if self.options else number(self.value)}{self.unit}"
        self.tell()
        if self.typed and (judged := current().judged) is not None:
            judged(self)

    def tell(self) -> None:
        """Judge what was typed, if anything, and print the answer with its reason."""
        if self.typed:
            self.right, slip = judge(
                self.typed, self.value, options=self.options, tolerance=self.tolerance,
                slips=self.slips, asked=self.words, parts=self.parts,
            )  # fmt: skip
            told = paint("Right.", "green") if self.right else paint("No.", "red")
            if not self.right and not slip and not self.options:
                slip = how_far(self.typed, self.value, self.words)
            said = wrap(f"You said {self.typed}. {told} {slip}".rstrip(), width(), "  ")
            print("\n".join(["", *said]))
        reason = f": {self.because}" if self.because else ""
        lines = wrap(f"{self.shown}{reason}.", width(), "  = ", "    ")
        gap = [] if self.typed else [""]  # the last line of a table stands above it, say
        current().put("\n".join([*gap, *lines]), self.answer_page)

    def _checked(self, value):
        if self.options is not None:
            if value not in self.options:
                raise ValueError(f"the answer {value!r} is not among the options {self.options!r}")
            return value
        if isinstance(value, (str, bool, np.bool_)) or np.ndim(value) != 0:
            raise TypeError(f"without options the answer is one number; got {value!r}")
        if not math.isfinite(value):
            raise ValueError(f"the answer must be a finite number; got {value}")
        return value.item() if hasattr(value, "item") else value


def _kept_slips(lesson: Path | None) -> dict[str, dict[str, str]]:
    """{question: {wrong answer: why}} of the file beside a lesson, which a lesson need not have."""
    return _read_slips(lesson.with_name(SLIPS)) if lesson else {}


@cache
def _read_slips(path: Path) -> dict[str, dict[str, str]]:
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def guess(question: str, options: Sequence[str] | None = None, unit: str = "") -> Question:
    """Ask before the calculation. The answer is given with `.answer(value)`, after it.

    options: the choices, labelled A, B, C, ...; None when a number is asked for.
    unit: printed behind a number, such as " MB".
    Raises ValueError for fewer than two options, or equal ones.
    """
    options = None if options is None else list(options)
    if options is not None and not (
        2 <= len(options) <= len(LETTERS) and len(set(options)) == len(options)
    ):
        raise ValueError(f"options must be 2 to {len(LETTERS)} different texts; got {options!r}")
    record = current()
    asked = Question(question, options, unit, cell=record.cell)
    asked.put()
    if record.ask is not None:
        asked.typed = read_answer(record.ask, options, words=asked.words)
    record.questions.append(asked)
    return asked


def read_answer(
    ask, options: list[str] | None, prompt: str = "    your guess (Enter to see): ", size: int = 1,
    words: str = "",
) -> str:  # fmt: skip
    """What a person types to a question: one of the options, or `size` numbers; or nothing.

    ask: takes a prompt and returns a line. words: of the question, which may stand behind a number.
    """
    wanted = f"a letter from A to {LETTERS[len(options) - 1]}" if options else "a number"
    wanted = wanted if size == 1 else f"{size} numbers"
    typed = ask(prompt).strip()
    fits = names_an_option if options else is_number
    given = (options,) if options else (size, words)
    while typed and not fits(typed, *given):
        typed = ask(f"    {wanted}, please: ").strip()
    return typed
