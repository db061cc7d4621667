"""Runs a lesson's cells as the script they are.

While a lesson runs, its module is `sys.modules["__main__"]` with the file's true name, so that
pickling, dataclasses, `inspect.getsource`, process pools and Numba's cache find what they look for.
Afterwards everything is put back.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
import time
import traceback
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from scratch_embed.lesson.proof import summary
from scratch_embed.lesson.record import Failure, Options, Record, current, recording
from scratch_embed.lesson.tools import is_lab
from scratch_embed.lesson.usage import spoken
from scratch_embed.lesson.walk.cells import Cell, Lesson
from scratch_embed.look.render import markdown
from scratch_embed.look.terminal import coloured, paint

MOST_LINES = 15  # of a function that a plain run shows


def new_record(lesson: Lesson, options: Options | None = None) -> Record:
    """An empty record for a run of the lesson."""
    return Record(
        lesson=lesson.name,
        title=lesson.title,
        path=lesson.path,
        options=options or Options(),
    )


def run(lesson: Lesson, options: Options | None = None) -> Record:
    """Run a whole lesson: its prose and its output are printed, its answers returned.

    A cell that raises ends the lesson: its traceback goes to standard error and into the record.
    KeyboardInterrupt passes through.
    """
    record = new_record(lesson, options)
    for _ in play(lesson, record):
        pass
    return record


def play(lesson: Lesson, record: Record) -> Iterator[Cell]:
    """Run the lesson into the record, pausing behind each cell, when that has printed its part."""
    start = time.perf_counter()
    with stage(lesson, record) as module:
        for position, cell in enumerate(lesson.cells):
            if cell is lesson.cells[-1] and _found_elsewhere(cell, record):
                print("\n  (Found in full size, with the standard text, and not by this run:)")
            if cell.kind == "markdown":
                print(f"\n{markdown(spoken(cell.text))}\n")
                yield cell
                continue
            for code in shown_code(cell):
                print(paint(code, "cyan") + "\n")
            failure = run_cell(position, lesson, module, record)
            yield cell
            if failure is not None:
                sys.stdout.flush()
                print(paint(failure.text, "red", on=coloured(sys.stderr)), file=sys.stderr)
                break
        record.closed = not record.failures
        if told := summary(record):
            print(f"\n{told}")
    record.names = dict(module.__dict__)
    record.seconds = time.perf_counter() - start


def _found_elsewhere(last: Cell, record: Record) -> bool:
    """Whether the closing words of a lab are of a larger run, or of another text, than this one."""
    other = record.options.quick or record.options.text
    return bool(other) and last.kind == "markdown" and is_lab(record.path)


@contextmanager
def stage(lesson: Lesson, record: Record) -> Iterator[types.ModuleType]:
    """The lesson's module, set up as the running script and put away at the end of the block."""
    module = types.ModuleType("__main__", lesson.doc)
    module.__file__ = str(lesson.path)
    kept = sys.modules.get("__main__"), sys.argv, sys.path
    sys.modules["__main__"] = module
    sys.argv = [str(lesson.path)]
    sys.path = [str(lesson.path.parent), *kept[2]]
    linecache.checkcache(str(lesson.path))
    try:
        with recording(record), np.printoptions(), np.errstate():
            yield module
    finally:
        sys.modules["__main__"], sys.argv, sys.path = kept


def run_cell(
    position: int, lesson: Lesson, module: types.ModuleType, record: Record
) -> Failure | None:
    """Run one code cell. What it recorded in an earlier run is replaced.

    Returns, and records, the failure when the cell raised. Ctrl-C and a closed pipe pass through.
    """
    record.forget(position)
    record.cell = position
    try:
        execute(lesson.cells[position], lesson, module)
    except BrokenPipeError:
        raise  # the reader of our output has gone; the lesson is not to blame
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a lesson raises is reported
        if isinstance(error, SystemExit) and error.code in (None, 0):
            return None
        told = _told(error, lesson.path)
        if record.options.text and not isinstance(error, SystemExit):
            said = f"{type(error).__name__}: {error}".removesuffix(": ")
            told = f"{record.options.text} may lack what is looked for in it: it ends in {said}"
        record.failures.append(Failure(told, position))
        return record.failures[-1]
    finally:
        record.cell = None
    return None


def shown_code(cell: Cell) -> list[str]:
    """The functions of a cell, as text for a plain run: they are the operations of the lesson.

    Those of more than MOST_LINES lines, or with a leading underscore, are left to the file.
    """
    lines = cell.text.splitlines()
    found = []
    for node in cell.nodes:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            first, last = node.lineno - cell.line, node.end_lineno - cell.line
            if last - first < MOST_LINES:
                found.append("\n".join(f"    {line}" for line in lines[first : last + 1]))
    return found


def execute(cell: Cell, lesson: Lesson, module: types.ModuleType) -> None:
    """Run the cell's share of the file's syntax tree, compiled under the file's own name.

    As in a notebook, a cell that ends on a bare expression shows its value. A call is left alone:
    what the lesson calls (worked.dot, compare, ...) prints for itself.
    """
    nodes, last = cell.nodes, cell.nodes[-1]
    shows = isinstance(last, ast.Expr) and not isinstance(last.value, (ast.Call, ast.Constant))
    body = ast.Module(nodes[:-1] if shows else nodes, type_ignores=[])
    settings = {"filename": str(lesson.path), "flags": lesson.flags, "dont_inherit": True}
    exec(compile(body, mode="exec", **settings), module.__dict__)  # noqa: S102 - this is the task
    if shows:
        code = compile(ast.Expression(last.value), mode="eval", **settings)
        value = eval(code, module.__dict__)
        if value is not None:
            current().put(repr(value), getattr(value, "_repr_html_", None))


def _told(error: BaseException, path: Path) -> str:
    """The sentence of `raise SystemExit("sentence")`, as Python prints it; else the traceback."""
    if isinstance(error, SystemExit) and isinstance(error.code, str):
        return error.code
    return lesson_traceback(error, path)


def lesson_traceback(error: BaseException, path: Path) -> str:
    """The traceback with the lesson's own lines only, and where in other code it was raised."""
    told = traceback.TracebackException.from_exception(error)
    link, raised = told, None
    while link is not None:
        frames = list(link.stack)
        mine = [frame for frame in frames if frame.filename == str(path)]
        if raised is None and frames and mine and frames[-1].filename != str(path):
            raised = frames[-1]
        if mine:
            link.stack = traceback.StackSummary.from_list(mine)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    text = "".join(told.format()).rstrip()
    if raised is not None:
        where = (
            os.path.relpath(raised.filename) if _below_here(raised.filename) else raised.filename
        )
        text += f"\n(raised in {where}, line {raised.lineno}, in {raised.name})"
    return text


def _below_here(filename: str) -> bool:
    return Path(filename).is_relative_to(Path.cwd())
