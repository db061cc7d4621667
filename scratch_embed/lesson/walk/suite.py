"""Several lessons one after another: the list of them, the closing table, the ledger on disk."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Iterable
from contextlib import nullcontext, redirect_stdout
from pathlib import Path

from scratch_embed.lesson.claims import ledger
from scratch_embed.lesson.claims.checks import line, summary
from scratch_embed.lesson.look.terminal import paint, table
from scratch_embed.lesson.record import Failure, Options, Record, write_ledger
from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.runner import run


def listing(folder: Path, paths: dict[int, Path]) -> str:
    """The lessons of a folder with their titles and how many claims each answers. Runs nothing."""
    listed = ledger.beside(folder / "__main__.py")
    rows, answered = [], set()
    for number, path in paths.items():
        try:
            title = cells.load(path).title
            ids = {call.id for call in ledger.calls(path) if not call.is_own}
        except SyntaxError as error:
            title, ids = f"does not parse: {error.msg}, line {error.lineno}", set()
        answered |= ids & set(listed)
        rows.append([str(number), title, str(len(ids))])
    if not rows:
        return "There are no lessons yet."
    text = table(["", "lesson", "claims"], rows, right=[0, 2])
    return f"{text}\n\n{len(answered)} of {len(listed)} claims answered"


def run_all(
    paths: list[Path],
    options: Options,
    quiet: bool = False,
    ledger: str | None = None,
) -> int:
    """Run lessons in order; a crash of one is reported and the others go on. Returns the exit code.

    quiet: print only what is wrong and the closing table. ledger: write every answer there as JSON,
    also when Ctrl-C ends the run. With options.figures: run quietly and list the figures drawn.
    """
    quiet = quiet or options.figures
    records: list[Record] = []
    try:
        for path in _progress(paths, quiet):
            if not quiet and len(paths) > 1:
                print(paint(f"\n[{len(records) + 1}/{len(paths)}] {path.name}", "bold"))
            with redirect_stdout(io.StringIO()) if quiet else nullcontext():
                records.append(_run_or_report(path, options))
    finally:
        if ledger is not None:
            write_ledger(records, ledger)
    if quiet:
        for record in records:
            _what_is_wrong(record)
    if options.figures:
        print("\n".join(str(path) for record in records for path, _ in record.figures))
    elif quiet or len(paths) > 1:
        print("\n" + closing_table(records))
    return 0 if all(record.passed for record in records) else 1


def step_one(path: Path, options: Options, ledger: str | None = None) -> int:
    """Step through one lesson with a person. Returns the exit code."""
    from scratch_embed.lesson.walk.stepper import (
        step_through,  # here: only a person who steps needs a Python prompt
    )

    try:
        lesson = cells.load(path)
    except SyntaxError as error:
        print(_unreadable(error), file=sys.stderr)
        return 1
    record = step_through(lesson, options)
    if ledger is not None:
        write_ledger([record], ledger)
    return 0 if record.passed else 1


def trace_one(path: Path, options: Options, ledger: str | None = None) -> int:
    """Run one lesson without its output, then walk the trace it shows. Returns the exit code."""
    from scratch_embed.lesson.walk.tracer import walk_shown

    print(paint(f"Running {path.name}, to walk the trace that it shows ...", "dim"), flush=True)
    with redirect_stdout(io.StringIO()):
        record = _run_or_report(path, options)
    if ledger is not None:
        write_ledger([record], ledger)
    walked = walk_shown(record)
    return 0 if walked and record.passed else 1


def _progress(paths: list[Path], quiet: bool) -> Iterable[Path]:
    if not quiet or len(paths) < 2:
        return paths
    from tqdm import tqdm

    return tqdm(paths, desc="lessons", disable=None, leave=False)


def _run_or_report(path: Path, options: Options) -> Record:
    """The record of a run; a file that does not even parse gives a record with that failure."""
    try:
        lesson = cells.load(path)
    except (SyntaxError, OSError) as error:
        text = _unreadable(error)
        print(text, file=sys.stderr)
        return Record(path.stem, path.name, path, failures=[Failure(text)])
    return run(lesson, options)


def _unreadable(error: Exception) -> str:
    return "".join(traceback.format_exception_only(error)).rstrip()


def _what_is_wrong(record: Record) -> None:
    """A quiet run's words: none when all is well. (A crash told itself on standard error.)"""
    if record.passed:
        return
    print(f"{record.lesson}: {summary(record)}")
    for answer in record.answers:
        if not answer.holds:
            print(line(answer))
    for row in record.rows:
        if not row.holds:
            print(f"  {paint('DISAGREES ', 'red')} {row.name}: difference {row.difference:.1e}")


def closing_table(records: list[Record]) -> str:
    """chapter | checks | gradient rows | seconds | verdict, a line a lesson."""
    rows = []
    for record in records:
        held, agreed = sum(a.holds for a in record.answers), sum(r.holds for r in record.rows)
        word = "CRASHED" if record.failures else "passed" if record.passed else "FAILED"
        rows.append([
            record.title,
            f"{held} of {len(record.answers)}" if record.answers else "-",
            f"{agreed} of {len(record.rows)}",
            f"{record.seconds:.1f}",
            paint(word, "green" if record.passed else "red"),
        ])  # fmt: skip
    header = ["chapter", "checks", "gradient rows", "seconds", "verdict"]
    return table(header, rows, right=[1, 2, 3])
