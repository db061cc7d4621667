"""The lines that a function ran, one by one, each with the names it made: a walk inside the code.

    visit = walk(layer_norm_backward, dout, saved)       calls it, and watches
    for row in visit.rows:
        row.number, row.source, row.made                 162, "mean = g.mean(...)", {"mean": array}
    visit.result                                         what it returned

    with watching(lambda code: code is lookup_forward.__code__) as visits:
        loss = model(ids)                                whoever calls it, deep inside a model
    visits[0].rows

It is the very code that runs, not a copy: Python tells a trace function (`sys.settrace`, the same
on every version) which line comes next, and what is new among the local names by then, the line
before has made. A function of the same file that a line calls is a visit of its own, among the
`inner` of that line. Everything else that a line calls (NumPy, a compiled kernel) stays one line.
What they hold is kept as it was (`trace.moment`), so that later lines may change it.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FrameType

from scratch_embed.trace.moment import differ, kept

MOST_ROWS = 200  # of one visit; a loop may run much longer


@dataclass
class Row:
    """One statement that ran: its line in the file, its source, and what it made."""

    number: int
    source: str  # without the indentation that all of its lines share
    made: dict[str, object] = field(default_factory=dict)  # local names, new or changed
    inner: list[Visit] = field(default_factory=list)  # calls into the same file


@dataclass
class Visit:
    """One call: with which arguments, the statements in the order they ran, and the result."""

    name: str
    path: str
    number: int  # the line of its def
    given: dict[str, object]
    rows: list[Row] = field(default_factory=list)
    left_out: int = 0  # rows after the first MOST_ROWS, but for the last
    last: Row | None = None  # the statement that returned, if it comes after those
    result: object = None  # None, too, of a call that raised


def walk(function: Callable, /, *args, **kwargs) -> Visit:
    """Call a function that is written in Python, and return what it did line by line.

    Raises TypeError for a function without Python code or lines, and whatever the call raises.

    >>> import numpy as np
    >>> def norm(x):
    ...     squares = x * x
    ...     return squares.sum() ** 0.5
    >>> visit = walk(norm, np.array([3.0, 4.0]))
    >>> visit.rows[0].made, float(visit.result)
    ({'squares': array([ 9., 16.])}, 5.0)
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    name = getattr(function, "__name__", type(function).__name__)
    if code is None:
        raise TypeError(f"walk: {name} has no Python code to walk through")
    with watching(lambda called: called is code, most=1) as visits:
        function(*args, **kwargs)
    if not visits:
        raise TypeError(f"walk: {name} is no def in Python, and has no lines to walk through")
    return visits[0]


@contextmanager
def watching(wanted: Callable[[CodeType], bool], most: int = 20) -> Iterator[list[Visit]]:
    """Collect a Visit for each of the first `most` calls of wanted functions in this block.

    wanted: given the code object of a function that is called, says whether to watch it. Only this
    thread is watched. What else was tracing (a debugger) waits until the end of the block.
    """
    watch = _Watch(wanted, most)
    before = sys.gettrace()
    sys.settrace(watch.call)
    try:
        yield watch.visits
    finally:
        sys.settrace(before)


class _Watch:
    """The trace function's memory: finished visits, and the calls that are under way."""

    def __init__(self, wanted: Callable[[CodeType], bool], most: int):
        self.wanted, self.most = wanted, most
        self.visits: list[Visit] = []
        self.open: list[_Call] = []

    def call(self, frame: FrameType, event: str, arg):
        """Python calls this at every call of a function; it answers how to trace the inside."""
        code = frame.f_code
        if event != "call" or code.co_name.startswith("<") or code.co_flags & inspect.CO_GENERATOR:
            return None
        if self.open:
            caller = self.open[-1]
            near = code.co_filename == caller.frame.f_code.co_filename or self.wanted(code)
            shown = caller.row is not None and not caller.visit.left_out
            if frame.f_back is not caller.frame or not shown or not near:
                return None
            home = caller.row.inner
        elif len(self.visits) < self.most and self.wanted(code):
            home = self.visits
        else:
            return None
        call = _Call(frame, self)
        home.append(call.visit)
        self.open.append(call)
        return call.event


class _Call:
    """One call that is under way."""

    def __init__(self, frame: FrameType, watch: _Watch):
        code = frame.f_code
        self.frame, self.watch = frame, watch
        self.known = _locals(frame)
        self.visit = Visit(code.co_name, code.co_filename, code.co_firstlineno, dict(self.known))
        self.row: Row | None = None  # the statement that runs now
        self.leaves: Row | None = None  # the last `return`, behind which a `with` may end
        self.span: tuple[int, int] | None = None

    def event(self, frame: FrameType, event: str, arg):
        """Python calls this before every line, and when the function returns or raises."""
        if event == "line":
            self.line(frame.f_lineno)
        elif event == "return":
            self.finish()
            self.returned(arg)
            self.watch.open.pop()
        return self.event

    def returned(self, result) -> None:
        """What is returned, the last `return` that ran has made; it is shown, whatever is not."""
        self.visit.result, row = result, self.leaves or self.row
        if row is not None and result is not None:
            row.made |= {"return": kept(result)}
        if self.visit.left_out and row is not None and all(row is not r for r in self.visit.rows):
            self.visit.last = row
            self.visit.left_out -= 1

    def line(self, number: int) -> None:
        span = _statements(self.visit.path).get(number, (number, number))
        if span == self.span:
            return  # within a statement: to and fro between its lines, or (3.12) a comprehension's
        self.finish()
        self.span = span
        self.row = Row(span[0], _source(self.visit.path, span))
        if self.row.source.startswith("return"):
            self.leaves = self.row
        if len(self.visit.rows) < MOST_ROWS:
            self.visit.rows.append(self.row)
        else:
            self.visit.left_out += 1

    def finish(self) -> None:
        """What is new among the local names, the statement that ends here has made."""
        if self.row is None or self.visit.left_out:  # of what is not shown nothing is copied
            return
        now = _locals(self.frame)
        new = (k for k, v in now.items() if k not in self.known or differ(self.known[k], v))
        self.row.made |= {k: now[k] for k in new}
        self.known = now


def _locals(frame: FrameType) -> dict[str, object]:
    return {name: kept(value) for name, value in frame.f_locals.items()}


@lru_cache(maxsize=64)
def _statements(path: str) -> dict[int, tuple[int, int]]:
    """{line: (first, last) line of its statement}; of an `if` or a loop its head alone counts."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except SyntaxError:
        return {}
    found = {}
    for node in ast.walk(tree):  # outer statements before those in them
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno
            span = (node.lineno, max(node.lineno, last))
            found |= dict.fromkeys(range(span[0], span[1] + 1), span)
    return found


def _source(path: str, span: tuple[int, int]) -> str:
    lines = [linecache.getline(path, number) for number in range(span[0], span[1] + 1)]
    return textwrap.dedent("".join(lines)).rstrip()
