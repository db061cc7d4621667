"""Runs a lesson or lab once, and keeps what each of its pieces showed.

What is kept lies in build/pages, under a name made of the script, the package and the versions of
Python and NumPy: as long as none of them changes, nothing runs again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import redirect_stdout
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scratch_embed.book.pieces import Piece, cut
from scratch_embed.files import replacing
from scratch_embed.lesson.record import Options
from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.runner import new_record, run_cell, stage

PACKAGE = Path(__file__).parents[1]
COLUMNS = "80"  # of printed lines: a page is no wider


class Ran(NamedTuple):
    """A script that ran: its pieces, and what each of them showed, bundle by bundle.

    A bundle is {kind: content} as in `look.page`; what was printed has the kind "stream".
    """

    path: Path
    pieces: list[Piece]
    shown: list[list[dict[str, str]]]
    seconds: float


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


def ran(paths: Iterable[Path], build: Path, quick: bool = False) -> Iterator[Ran]:
    """Run scripts, a process for each core, and yield them as they come to their end.

    build : the folder under which pages are kept. Raises RuntimeError, with the traceback of the
    script, for one that fails.
    """
    package = _package_hash()
    kept = {path: build / "pages" / f"{path.stem}-{_key(path, package, quick)}.json"
            for path in paths}  # fmt: skip
    waiting = [path for path, place in kept.items() if not place.exists()]
    for path, place in kept.items():
        if path not in waiting:
            yield _read(path, place)
    if not waiting:
        return
    workers = min(os.cpu_count() or 1, len(waiting))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        jobs = {pool.submit(run_and_keep, path, kept[path], quick): path for path in waiting}
        try:
            for job in as_completed(jobs):
                job.result()
                yield _read(jobs[job], kept[jobs[job]])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def run_and_keep(path: Path, place: Path, quick: bool) -> None:
    """Run a script in this process, and keep what it showed in the file `place`."""
    os.environ["COLUMNS"] = COLUMNS
    start = time.perf_counter()
    shown = run(path, quick)
    kept = {"shown": shown, "seconds": round(time.perf_counter() - start, 1)}
    with replacing(place) as temporary:
        temporary.write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")
    for old in place.parent.glob(f"{path.stem}-*.json"):
        if old != place and len(old.stem) == len(place.stem):
            old.unlink(missing_ok=True)


def run(path: Path, quick: bool = False) -> list[list[dict[str, str]]]:
    """Run a script; what each of its pieces shows. RuntimeError with its traceback if it fails."""
    lesson, screen, shown = cut(cells.load(path)), Screen(), []
    record = new_record(lesson, Options(quick=quick))
    record.display = screen.display
    with stage(lesson, record) as module, redirect_stdout(screen):
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
    return shown


def _read(path: Path, place: Path) -> Ran:
    kept = json.loads(place.read_text(encoding="utf-8"))
    return Ran(path, cut(cells.load(path)).cells, kept["shown"], kept["seconds"])


def _package_hash() -> str:
    """Of all files of the package that a run may depend on."""
    found = hashlib.sha256()
    own = [Path(__file__), Path(__file__).with_name("pieces.py")]  # the others only lay out
    for path in sorted(PACKAGE.rglob("*.py")):
        if path in own or path.parent != own[0].parent:
            found.update(path.relative_to(PACKAGE).as_posix().encode() + path.read_bytes())
    return found.hexdigest()


def _key(path: Path, package: str, quick: bool) -> str:
    """What the run of a script depends on, in twelve letters. A lab may run a lesson as well."""
    above = path.parent.parent if path.parent.name == "labs" else path.parent
    others = sorted(above.glob("ch*.py")) if path.parent.name == "labs" else []
    versions = f"{platform.python_version()} {np.__version__}"
    found = hashlib.sha256(f"{package} {quick} {versions}".encode())
    for file in [path, *others, *sorted(above.glob("*.toml"))]:
        found.update(file.read_bytes())
    return found.hexdigest()[:12]
