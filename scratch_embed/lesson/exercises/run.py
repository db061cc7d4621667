"""Check learners' files in a process of their own, which may loop, crash or print as it likes.

The process is started anew, not forked, so it works the same on every system. It hands back JSON,
and it ends itself when a file takes too long; if it cannot even do that, it is ended from here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scratch_embed.lesson.exercises.exercise import Exercise
from scratch_embed.lesson.exercises.guilty import definition

BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from scratch_embed.lesson.exercises.child import main; main(sys.argv[2])"
)
GRACE = 30  # seconds to start, and to stop by itself
FRAME = re.compile(r'File "(.*)", line (\d+) in')


class Job(NamedTuple):
    """A file to check against an exercise; `timed` is whether speed counts."""

    exercise: Exercise
    file: Path
    timed: bool = True
    seconds: float | None = None  # None: the exercise's own limit


def check(job: Job) -> dict[str, Any]:
    """The verdict on one file: see `judge.judge`, and "printed", the start of what it printed."""
    return check_all([job])[0]


def check_all(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """The verdicts on several files, in one process as long as none of them brings it down."""
    jobs = [job._replace(seconds=_limit(job)) for job in jobs]
    verdicts: list[dict[str, Any]] = []
    while len(verdicts) < len(jobs):
        verdicts += _run(list(jobs[len(verdicts) :]))
    return verdicts


def _run(jobs: list[Job]) -> list[dict[str, Any]]:
    """Verdicts on the first jobs: all of them, or up to the one that ended the process.

    One that crashes behind others is left for a process of its own: compiled code of theirs may
    have written where it should not.
    """
    with tempfile.TemporaryDirectory(prefix="exercise_", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "jobs.json").write_text(json.dumps([_told(job) for job in jobs]), "utf-8")
        code, errors = _process(folder, sum(job.seconds for job in jobs) + GRACE)
        verdicts = [json.loads(line) for line in _read(folder / "verdicts.jsonl").splitlines()]
        if len(verdicts) < len(jobs):
            faults = _read(folder / "faults.txt")
            if not faults and code not in (0, None) and not (folder / "faults.txt").exists():
                raise RuntimeError(f"the checking process did not start:\n{errors.rstrip()}")
            if not verdicts or _is_out_of_time(code, faults):
                verdicts.append(_ended(jobs[len(verdicts)], code, faults))
        return verdicts


def _told(job: Job) -> dict[str, Any]:
    return {
        "exercise": str(job.exercise.path.resolve()),
        "file": str(job.file.resolve()),
        "timed": job.timed,
        "seconds": job.seconds,
    }


def _limit(job: Job) -> float:
    """Seconds by the clock; more where several programs want each core, for all takes longer."""
    if job.seconds is not None:
        return job.seconds
    try:
        busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):  # as on Windows
        busy = 1.0
    return round(job.exercise.seconds * min(max(busy, 1.0), 10.0))


def _process(folder: Path, seconds: float) -> tuple[int | None, str]:
    """Run the checking process to its end: exit code (None when it was ended here), errors."""
    paths = json.dumps([str(Path(p).resolve()) for p in sys.path])
    command = [sys.executable, "-I", "-X", "utf8", "-c", BOOT, paths, str(folder)]
    try:  # on a time-out or Ctrl-C, run ends the process first
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stderr.decode("utf-8", "replace")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _is_out_of_time(code: int | None, faults: str) -> bool:
    return code is None or faults.startswith("Timeout")


def _ended(job: Job, code: int | None, faults: str) -> dict[str, Any]:
    """The verdict on a file that ended the process, from what was written on the way down."""
    line = _line(job.file, faults)
    if line is None and len(job.exercise.functions) == 1:  # compiled code has no lines
        function = definition(job.file, job.exercise.functions[0].name)
        line = function.lineno if function else None
    reason = faults.partition("\n")[0].removeprefix("Fatal Python error: ").strip()
    if _is_out_of_time(code, faults):
        sentence = f"this was still running after {job.seconds:g} s: does a loop ever end?"
    elif reason:
        sentence = f"this crashed Python itself ({reason})"
    else:
        sentence = f"the file ended the process without a word (exit code {code})"
    found = {"passed": False, "found": {}, "sentence": sentence, "line": line, "printed": ""}
    return {**found, "detail": _source_line(job.file, line)}


def _line(file: Path, faults: str) -> int | None:
    """The innermost line of the learner's file in a fault handler's traceback.

    It writes other letters than ASCII as escapes, and cuts a path after 500 characters.
    """
    path = str(file.resolve()).encode("ascii", "backslashreplace").decode()
    for seen, number in FRAME.findall(faults):
        if os.path.normcase(path).startswith(os.path.normcase(seen.removesuffix("..."))):
            return int(number)
    return None


def _source_line(file: Path, line: int | None) -> str:
    lines = _read(file).splitlines()
    return lines[line - 1].strip() if line and line <= len(lines) else ""
