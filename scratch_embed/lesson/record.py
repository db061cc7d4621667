"""What one run of a lesson leaves behind: comparisons, workings, questions, figures and errors.

The functions a lesson calls (compare, guess, save_figure, ...) write to the record of the run they
are called in. `current()` finds it; outside the engine (in a notebook, say) one is made on first
use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from scratch_embed.look.page import bundle, notebook


@dataclass(frozen=True)
class Options:
    """What the command line asked."""

    text: Path | None = None  # a file to read instead of the standard text
    quick: bool = False
    figures: bool = False  # to draw the figures that are kept


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
    ask: Callable | None = None  # how a guess asks a person; None: nobody is asked
    cell: int | None = None  # the cell that runs now
    rows: list[Row] = field(default_factory=list)
    figures: list[tuple[Path, int | None]] = field(default_factory=list)
    unsaved: list[tuple[Path, int | None]] = field(default_factory=list)  # could not be written
    failures: list[Failure] = field(default_factory=list)
    workings: list[tuple] = field(default_factory=list)  # (a `Working`, its cell)
    questions: list = field(default_factory=list)  # a `Question` each
    shown: dict[str, str] = field(default_factory=dict)  # what show printed last under each name
    results: list = field(default_factory=list)  # of a lab, a `Results` each
    reveal: Callable | None = None  # how a person sees a working; None: it is printed
    display: Callable | None = None  # how a page takes what is shown; None: there is no page
    judged: Callable | None = None  # called with a question when what a person typed was judged
    names: dict = field(default_factory=dict, repr=False)  # what the lesson leaves behind
    seconds: float = 0.0
    closed: bool = False  # it came to its end

    def show(self, working) -> None:
        """A hand calculation: kept, and shown; on a page, open when it is the first of its kind."""
        first = all(working.kind != shown.kind for shown, _ in self.workings)
        self.workings.append((working, self.cell))
        if self.reveal is not None:
            self.reveal(working)
        else:
            self.put(working.text(), lambda: working.page(opened=first))

    def put(
        self,
        text: str,
        page: Callable[[], str] | None = None,
        picture: Path | None = None,
        words: str = "",
    ) -> None:
        """Print the text, or show what stands for it on a page: HTML (made by `page`), a picture.

        A page is where a notebook runs, and where `display` takes the bundles. words: what the
        picture shows, for whoever does not see it.
        """
        display = self.display or notebook()
        if display is None:
            print(text)
        else:
            display(bundle(words or text, page() if page else "", picture))

    def forget(self, cell: int) -> None:
        """Drop what a cell recorded: it is about to run again."""
        self.rows = [row for row in self.rows if row.cell != cell]
        self.figures = [figure for figure in self.figures if figure[1] != cell]
        self.unsaved = [figure for figure in self.unsaved if figure[1] != cell]
        self.failures = [failure for failure in self.failures if failure.cell != cell]
        self.workings = [working for working in self.workings if working[1] != cell]
        self.questions = [question for question in self.questions if question.cell != cell]
        self.closed = False

    @property
    def kinds(self) -> set[str]:
        """What its workings are examples of."""
        return {working.kind for working, _ in self.workings}

    @property
    def passed(self) -> bool:
        """No disagreement and no crash."""
        return not self.failures and all(row.holds for row in self.rows)


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
