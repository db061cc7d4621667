"""Work that is done once: its result is kept as JSON until what it depends on changes.

What is kept lies in build/pages, under a name made of the files and settings that the work depends
on, the package, and the versions of Python and NumPy.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import as_completed
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scratch_embed.files import from_json, replacing
from scratch_embed.workers import workers

PACKAGE = Path(__file__).parents[1]


class Job(NamedTuple):
    """A piece of work: function(*arguments), in another process, returns what JSON can hold."""

    name: str
    function: Callable[..., Any]
    arguments: tuple
    files: tuple[Path, ...]  # what it depends on, beside the package and the arguments


def done(jobs: Iterable[Job], folder: Path) -> Iterator[tuple[str, Any]]:
    """(name, result) of each job: first those that are kept in the folder, then as they end.

    They are shared out to a process for each core. What a job raises is raised here; what other
    jobs came to is kept.
    """
    places = {job.name: folder / f"{job.name}-{_key(job)}.json" for job in jobs}
    waiting = []
    for job in jobs:
        try:
            result = _read(places[job.name])
        except (OSError, ValueError):  # not there, or damaged
            waiting.append(job)
        else:
            yield job.name, result
    if not waiting:
        return
    with workers(len(waiting)) as pool:
        for ended in as_completed([pool.submit(_do, job, places[job.name]) for job in waiting]):
            name = ended.result()
            yield name, _read(places[name])


def _do(job: Job, place: Path) -> str:
    result = job.function(*job.arguments)
    with replacing(place) as temporary:
        temporary.write_text(json.dumps(result, ensure_ascii=False), encoding="utf-8")
    for old in place.parent.glob(f"{job.name}-{'?' * 12}.json"):
        if old != place:
            old.unlink(missing_ok=True)
    return job.name


def _read(place: Path) -> Any:
    return from_json(place.read_text(encoding="utf-8"))


def _key(job: Job) -> str:
    """What the job depends on, in twelve letters."""
    settings = f"{_package()} {job.arguments} {platform.python_version()} {np.__version__}"
    found = hashlib.sha256(settings.encode())
    for file in job.files:
        found.update(file.read_bytes())
    return found.hexdigest()[:12]


@cache
def _package() -> str:
    """Of all files of the package that a run may depend on: the book only lays out."""
    found = hashlib.sha256()
    own = [Path(__file__).with_name(name) for name in ("running.py", "pieces.py")]
    files = [path for path in PACKAGE.rglob("*.*") if path.suffix in (".py", ".html", ".json")]
    for path in sorted(files):
        if path in own or path.parent != Path(__file__).parent:
            found.update(path.relative_to(PACKAGE).as_posix().encode() + path.read_bytes())
    return found.hexdigest()
