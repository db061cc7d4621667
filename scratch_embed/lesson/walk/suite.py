"""Lessons run one after another, or walked through by a person."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Iterable
from contextlib import nullcontext, redirect_stdout
from functools import partial
from pathlib import Path

from scratch_embed.files import replacing, sentence
from scratch_embed.lesson import notes
from scratch_embed.lesson.proof import summary
from scratch_embed.lesson.record import Failure, Options, Record
from scratch_embed.lesson.tools import home, shown_path
from scratch_embed.lesson.usage import spoken
from scratch_embed.lesson.walk import cells, marks
from scratch_embed.lesson.walk.course import Course
from scratch_embed.lesson.walk.runner import run
from scratch_embed.look import keys
from scratch_embed.look.screen import noticing
from scratch_embed.look.terminal import paint

LINE = "\r\x1b[2K"  # back to the start of the line, which is emptied


def run_all(paths: list[Path], options: Options, quiet: bool = False) -> int:
    """Run lessons in order; a crash of one is reported and the others go on. Returns the exit code.

    quiet: print only what is wrong. With options.figures: run quietly and list the figures drawn;
    one that cannot be saved then counts as a failure.
    """
    quiet = quiet or options.figures
    records: list[Record] = []
    for path in _progress(paths, quiet):
        if not quiet and len(paths) > 1:
            print(paint(f"\n[{len(records) + 1}/{len(paths)}] {path.name}", "bold"))
        with redirect_stdout(io.StringIO()) if quiet else nullcontext():
            records.append(_run_or_report(path, options))
        if records[-1].results and records[-1].passed:  # half of them take no whole one's place
            _keep_results(records[-1])
        elif records[-1].passed and not options.figures:
            marks.finish(path.stem, records[-1].kinds)
    if not quiet and (told := notes.unkept()):
        print(told, file=sys.stderr)
    if quiet:
        for record in records:
            _what_is_wrong(record)
    if options.figures:
        print("\n".join(str(path) for record in records for path, _ in record.figures))
    saved = not (options.figures and any(record.unsaved for record in records))
    return 0 if saved and all(record.passed for record in records) else 1


def _keep_results(record: Record) -> None:
    """What a lab measured, as build/labs/NAME.json; of a smaller run or of another text beside it,
    as NAME.quick.json or NAME.text.json."""
    from scratch_embed.lesson.lab import dump

    kind = ".quick" * bool(record.options.quick) + ".text" * bool(record.options.text)
    name = f"{record.path.stem}{kind}.json"
    path = home(record.path) / "build" / "labs" / name
    try:
        with replacing(path) as temporary:
            temporary.write_text(dump(record.results), encoding="utf-8")
    except OSError as error:
        print(f"The results {name} are not saved. {sentence(error)}", file=sys.stderr)
        return
    print(f"  results    {Path(shown_path(path)).as_posix()}")


def step_one(path: Path, options: Options) -> int:
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
    if record.passed and record.closed:
        marks.finish(path.stem, record.kinds)
        if told := notes.unkept():
            print(told)
        following = Course(path.parent).following(marks.finished())
        if following is not None:
            print(spoken(f"Next: python -m lessons {following} --step"))
    return 0 if record.passed else 1


def trace_one(path: Path, options: Options) -> int:
    """Run one lesson without its output, then walk one of its tapes. Returns the exit code."""
    # here: only a person who asks needs the trace
    from scratch_embed.lesson.walk.tracer import walk_seen, watching_backward

    print(paint(f"Running {path.name}, to walk through its backward ...", "dim"), flush=True)
    say, at_once = partial(print, end="", file=sys.stdout, flush=True), keys.at_once()
    with (noticing(lambda note: say(LINE + note)), redirect_stdout(io.StringIO()),
          watching_backward(path.resolve()) as found):  # fmt: skip
        record = _run_or_report(path, options)
    if at_once:
        say(LINE)
        keys.forget()  # what was typed meanwhile was not meant for the walk
    walked = walk_seen(record, found)
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
    for row in record.rows:
        if not row.holds:
            print(f"  {paint('DISAGREES ', 'red')} {row.name}: difference {row.difference:.1e}")
