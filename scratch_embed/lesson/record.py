"""What one run of a lesson leaves behind: its answers, table rows, figures and errors.

The functions a lesson calls (check, compare, save_figure, ...) write to the record of the run they
are called in. `current()` finds it; outside the engine (in a notebook, say) one is made on first
use.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scratch_embed.files import replacing
from scratch_embed.lesson.claims.ledger import Claim, require, require_print
from scratch_embed.lesson.claims.printed import flatten

if TYPE_CHECKING:
    from scratch_embed.lesson.ask import Question
    from scratch_embed.lesson.lab import Results
    from scratch_embed.lesson.worked.working import Working
    from scratch_embed.trace import Trace


@dataclass(frozen=True)
class Options:
    """What the command line asked."""

    text: Path | None = None  # a file to read instead of the standard text
    quick: bool = False
    figures: bool = False  # to draw the figures that are kept


@dataclass(frozen=True)
class Answer:
    """One claim answered: what was printed, what this run computed, and whether the two agree."""

    id: str
    kind: str  # check, demonstration, erratum, reference, quiz
    printed: str | None
    computed: object  # numbers, texts, or {label: number} for a condition
    agrees: bool
    reason: str | None = None
    source: str | None = None
    lesson: str | None = None
    cell: int | None = field(default=None, compare=False)

    @property
    def holds(self) -> bool:
        """Whether the lesson is right: an erratum says that the print does NOT agree."""
        return not self.agrees if self.kind == "erratum" else self.agrees

    def as_json(self) -> dict:
        """The ledger's entry: plain types only."""
        entry = {"id": self.id, "kind": self.kind, "printed": self.printed,
                 "computed": plain(self.computed), "agrees": self.agrees}  # fmt: skip
        if self.kind == "erratum":
            entry["correction"] = plain(self.computed)
        return {**entry, "reason": self.reason, "source": self.source, "lesson": self.lesson,
                "holds": self.holds}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """The same numbers, computed in several ways."""

    name: str
    ways: dict[str, np.ndarray]
    difference: float  # the largest, between any two of them
    tolerance: float
    differs: bool = False  # one of two ways is shown because it is wrong
    cell: int | None = None

    @property
    def holds(self) -> bool:
        return (self.difference <= self.tolerance) != self.differs


@dataclass(frozen=True)
class Failure:
    """A cell that raised: its traceback as text."""

    text: str
    cell: int | None = None


@dataclass
class Record:
    """Everything one run recorded, cell by cell, so that running a cell again replaces its part."""

    lesson: str = "interactive"
    title: str = ""
    path: Path | None = None
    options: Options = field(default_factory=Options)
    claims: dict[str, Claim] = field(default_factory=dict, repr=False)
    ask: Callable | None = None  # how a quiz asks a person; None: it shows the answer
    cell: int | None = None  # the cell that runs now
    answers: list[Answer] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    figures: list[tuple[Path, int | None]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    trace: Trace | None = None  # the last one shown, for --trace to walk
    workings: list[tuple[Working, int | None]] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    results: list[Results] = field(default_factory=list)  # of a lab
    reveal: Callable[[Working], None] | None = None  # how a person sees a working; None: printed
    names: dict = field(default_factory=dict, repr=False)  # what the lesson leaves behind
    seconds: float = 0.0
    closed: bool = False  # the closing table is up to date

    def add(self, id: str, kind: str, **answer) -> Answer:
        """Record an answer. ValueError for an id or a print that claims.csv does not have."""
        require(id, self.claims)
        claim = self.claims.get(id)
        if claim is not None:
            if answer.get("printed"):
                require_print(answer["printed"], claim)
            answer["printed"] = answer.get("printed") or claim.printed or None
            answer["source"] = answer.get("source") or f"{claim.source}, {claim.section}"
        self.answers.append(Answer(id, kind, lesson=self.lesson, cell=self.cell, **answer))
        self.closed = False
        return self.answers[-1]

    def show(self, working: Working) -> None:
        """A hand calculation: kept, and shown."""
        self.workings.append((working, self.cell))
        if self.reveal is not None:
            self.reveal(working)
        else:
            print(working.text())

    def forget(self, cell: int) -> None:
        """Drop what a cell recorded: it is about to run again."""
        self.answers = [answer for answer in self.answers if answer.cell != cell]
        self.rows = [row for row in self.rows if row.cell != cell]
        self.figures = [figure for figure in self.figures if figure[1] != cell]
        self.failures = [failure for failure in self.failures if failure.cell != cell]
        self.workings = [working for working in self.workings if working[1] != cell]
        self.questions = [question for question in self.questions if question.cell != cell]
        self.closed = False

    @property
    def disagreements(self) -> list[Answer | Row]:
        return [entry for entry in [*self.answers, *self.rows] if not entry.holds]

    @property
    def passed(self) -> bool:
        """No disagreement and no crash."""
        return not self.failures and not self.disagreements


_stack: list[Record] = []
_interactive = Record()


def current() -> Record:
    """The record of the lesson that runs now."""
    return _stack[-1] if _stack else _interactive


def running() -> bool:
    """Whether the engine is running a lesson at this moment."""
    return bool(_stack)


@contextmanager
def recording(record: Record) -> Iterator[Record]:
    """Make `record` the current one inside the `with` block."""
    _stack.append(record)
    try:
        yield record
    finally:
        _stack.pop()


def plain(value) -> object:
    """The value in types that JSON has: numbers that are not finite become text, arrays lists."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    items = [
        str(item) if isinstance(item, float) and not math.isfinite(item) else item
        for item in flatten(value)
    ]
    return items[0] if np.ndim(value) == 0 else items


def write_ledger(records: list[Record], path: str | Path) -> None:
    """Every answer of the runs as JSON, written beside the target and renamed when complete."""
    entries = [answer.as_json() for record in records for answer in record.answers]
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        json.dump(entries, file, indent=1, ensure_ascii=False, allow_nan=False)
        file.write("\n")
