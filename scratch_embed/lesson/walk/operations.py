"""Into an operation: the lines of code that ran in a cell, as lines of a working.

While a cell runs, the first calls of every function of the lesson's own and of every forward and
backward in `ops/` are watched. A person then walks through one: the source of a line, with its
number in the file, and below it the shapes and numbers of what it made.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import CodeType

import numpy as np

from scratch_embed import ops
from scratch_embed.lesson.walk.sheet import fold
from scratch_embed.look.numbers import number
from scratch_embed.look.terminal import fit
from scratch_embed.trace.inside import Row, Visit
from scratch_embed.trace.moment import Size
from scratch_embed.working import Line

OPS = str(Path(ops.__file__).parent)
HALVES = ("_forward", "_backward")
MOST = 12  # calls in a cell
ROWS, COLUMNS = 4, 6  # of an array that is shown whole


class Chosen:
    """Says which calls in a cell are worth a visit: of each function the first two."""

    def __init__(self, lesson: Path):
        self.lesson, self.calls = str(lesson), {}

    def __call__(self, code: CodeType) -> bool:
        mine = code.co_filename == self.lesson and not code.co_name.startswith("_")
        op = code.co_filename.startswith(OPS) and code.co_name.endswith(HALVES)
        if not (mine or op):
            return False
        self.calls[code] = self.calls.get(code, 0) + 1
        return self.calls[code] <= 2


def heading(visit: Visit) -> str:
    """ops/lookup.py:22  lookup_forward(weight (6, 3), ids (3,))"""
    used = ((name, v) for name, v in visit.given.items() if v is not None and v is not False)
    given = ", ".join(f"{name} {_size(value)}".rstrip() for name, value in used)
    path = Path(visit.path)
    return f"{path.parent.name}/{path.name}:{visit.number}  {visit.name}({given})"


def lines(visit: Visit) -> list[Line]:
    """The rows of a visit as lines; a call into the same file opens into its own."""
    shown = [_ran(row) for row in visit.rows]
    if visit.left_out:
        shown.append(Line("", (f"... and {visit.left_out} lines more, in the same way",)))
    return shown if visit.last is None else [*shown, _ran(visit.last)]


def _ran(row: Row) -> Ran:
    return Ran("", (row.source,), row=row, parts=_parts(row))


def _parts(row: Row) -> tuple[Line, ...]:
    parts: list[Line] = []
    for inner in row.inner:
        parts += [Line("", (heading(inner),)), *lines(inner)]
    return tuple(parts)


@dataclass(frozen=True)
class Ran(Line):
    """A statement that ran, as a line: its source, and below it what it made."""

    row: Row | None = None

    def text(
        self, indent: int = 2, columns: int | None = None, stages: int | None = None
    ) -> list[str]:
        """The source with its number in the file, then name, shape and numbers."""
        columns, lead = columns or 80, " " * indent
        laid = []
        for offset, source in enumerate(self.row.source.splitlines()):
            first, *more = fold(source, columns - indent - 6)
            laid.append(f"{lead}{self.row.number + offset:>4}  {first}")
            laid += [f"{lead}      {piece}" for piece in more]
        for name, value in self.row.made.items():
            laid += [f"{lead}        {text}" for text in told(name, value, columns - indent - 8)]
        return laid


def told(name: str, value, columns: int) -> list[str]:
    """A name with its shape and numbers, or as much of them as fits a few lines."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = ", ".join(f"{field} {_size(v)}".rstrip() for field, v in value._asdict().items())
        return fold(f"{name} = {type(value).__name__}({fields})", columns)
    if isinstance(value, tuple) and any(isinstance(item, (np.ndarray, tuple)) for item in value):
        return [t for k, item in enumerate(value) for t in told(f"{name}[{k}]", item, columns)]
    if isinstance(value, Size):
        return [f"{name} {value.shape}, too large to show"]
    if not isinstance(value, np.ndarray):
        text = number(value) if isinstance(value, (int, float)) else repr(value).split("\n")[0]
        return [fit(f"{name} = {text}", columns)]
    return _array(name, value, columns)


def _array(name: str, value: np.ndarray, columns: int) -> list[str]:
    if value.ndim == 0:
        return [f"{name} = {_text(value.item())}"]
    shown = value[(0,) * max(0, value.ndim - 2)]
    grid = np.atleast_2d(shown)[:ROWS, :COLUMNS]
    texts = [[_text(x) for x in row] for row in grid.tolist()]
    widths = [max(map(len, column)) for column in zip(*texts)]
    rows = ["[" + " ".join(t.rjust(w) for t, w in zip(row, widths)) + "]" for row in texts]
    if value.ndim == 1:
        more = " ..." if value.size > COLUMNS else ""
        return fold(f"{name} {value.shape} = {rows[0] if value.size else '[]'}{more}", columns)
    cut = value.size > grid.size
    head = f"{name} {value.shape} ={' (its first numbers)' if cut else ''}"
    return [head, *(fit(f"  {row}", columns) for row in rows)]


def _text(x) -> str:
    return number(x, 4) if isinstance(x, (bool, int, float)) else str(x)


def _size(value) -> str:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return str(shape)
    simple = isinstance(value, (int, float, bool, str, type(None)))
    return f"= {value!r}" if simple else ""
