"""Runs a lesson, a lab or a page of claims, and keeps what it showed."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from scratch_embed.book.kept import Job, done
from scratch_embed.book.pieces import Piece, cut
from scratch_embed.lesson.claims.pages import heading, judge_page
from scratch_embed.lesson.play.page import page as play_page
from scratch_embed.lesson.record import Options
from scratch_embed.lesson.tools import is_lab
from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.course import Course
from scratch_embed.lesson.walk.runner import new_record, run_cell, stage
from scratch_embed.lesson.walk.tracer import watching_backward
from scratch_embed.simulations import NAMES, load
from scratch_embed.trace import Trace

MOST = 1_000_000  # letters of a page that walks through a trace
COLUMNS = "80"  # of printed lines: a page is no wider


class Ran(NamedTuple):
    """A script that ran: its pieces, and what each of them showed, bundle by bundle.

    A bundle is {kind: content} as in `look.page`; what was printed has the kind "stream". A trace
    is a whole page, by the line of the script that went back.
    """

    path: Path
    pieces: list[Piece]
    shown: list[list[dict[str, str]]]
    traces: dict[str, str]


class Screen(io.StringIO):
    """Standard output of a run: what is printed and what is shown, in order."""

    def __init__(self):
        super().__init__()
        self.bundles: list[dict[str, str]] = []

    def display(self, bundle: dict[str, str]) -> None:
        """Take a bundle; what was printed before stands before it."""
        if text := self.getvalue():
            self.bundles.append({"stream": text})
            self.seek(0)
            self.truncate()
        self.bundles.append(bundle)

    def take(self) -> list[dict[str, str]]:
        """Everything since the last time."""
        self.display({})
        taken, self.bundles = self.bundles[:-1], []
        return taken


def ran(paths: Iterable[Path], kept: Path, quick: bool = False) -> Iterator[Ran]:
    """Run scripts, unless their result lies in the folder `kept`, and yield them as they end.

    quick : labs in their quick size. Raises RuntimeError for a script that fails.
    """
    by_name = {path.stem: path for path in paths}
    jobs = [
        Job(name, run, (path, quick and is_lab(path)), _files(path))
        for name, path in by_name.items()
    ]
    for name, result in done(jobs, kept):
        yield Ran(by_name[name], cut(cells.load(by_name[name])).cells, **result)


def judged(course: Course, kept: Path) -> Iterator[tuple[str, dict]]:
    """(name, what `judge` returns) of every page of claims, as they end."""
    files = tuple(sorted([*course.folder.glob("*.py"), *course.folder.glob("labs/*.py")]))
    ledger = course.folder / "claims" / "claims.csv"
    jobs = [
        Job(f"claims-{name}", judge, (path,), (path, ledger, *files))
        for name, path in course.pages.items()
    ]
    for name, page in done(jobs, kept):
        yield name.removeprefix("claims-"), page


def simulations(kept: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """(name, {"title", "question", "page"}) of every simulation, as their pages get drawn."""
    for name, told in done([Job(f"play-{name}", simulation, (name,), ()) for name in NAMES], kept):
        yield name.removeprefix("play-"), told


def simulation(name: str) -> dict[str, str]:
    """What a simulation is called, what it asks, and its page for a browser, with all states."""
    made = load(name)
    return {"title": made.title, "question": made.notice.question, "page": play_page(made)}


def _files(path: Path) -> tuple[Path, ...]:
    """What a run depends on. A lab may take values of a lesson."""
    folder = path.parent.parent if is_lab(path) else path.parent
    return (path, *sorted(folder.glob("*.toml")), *(sorted(folder.glob("ch*.py")) * is_lab(path)))


def run(path: Path, quick: bool = False) -> dict:
    """Run a script: {"shown": what each piece shows, "traces": pages of each backward, by line}.

    Raises RuntimeError, with the script's traceback, when it fails or its numbers do not agree.
    """
    os.environ["COLUMNS"] = COLUMNS
    lesson, screen, shown = cut(cells.load(path)), Screen(), []
    record = new_record(lesson, Options(quick=quick))
    record.display = screen.display
    watching = nullcontext({}) if is_lab(path) else watching_backward(lesson.path)
    with stage(lesson, record) as module, redirect_stdout(screen), watching as seen:
        for position, piece in enumerate(lesson.cells):
            failure = None
            if piece.kind == "code":
                failure = run_cell(position, lesson, module, record)
            if failure is not None:
                raise RuntimeError(f"{path.name} failed:\n{failure.text}")
            shown.append(screen.take())
    wrong = [row.name for row in record.rows if not row.holds]
    if wrong:
        raise RuntimeError(f"{path.name}: these do not agree: {', '.join(wrong)}")
    return {"shown": shown, "traces": {line: _walk(one.trace) for line, one in seen.items()}}


def _walk(trace: Trace) -> str:
    """The page to walk through a trace; empty where it would be too long or too large a page."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            text = trace.html(Path(folder, "trace.html")).read_text(encoding="utf-8")
        except ValueError:
            return ""
    return text if len(text) <= MOST else ""


def judge(path: Path) -> dict:
    """Judge a page of claims: its title, what it says below it, its verdicts and printed calls."""
    page, (title, below) = judge_page(path), heading(path)
    return {
        "title": title,
        "below": below,
        "verdicts": [asdict(verdict) for verdict in page.verdicts],
        "calls": [asdict(call) for call in page.calls],
    }
