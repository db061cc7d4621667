"""What the checking process does: judge one file after the other, each within its time.

It is started with a folder that holds `jobs.json`, and adds a line of JSON to `verdicts.jsonl` for
each job. `faults.txt` is for what ends it before that: a crash, or the clock.
"""

from __future__ import annotations

import faulthandler
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scratch_embed.lesson.exercises.judge import Quit, TooMuch, judge

MEMORY = 4 << 30  # bytes: more than any answer needs, and less than would bring a machine down
MOST_PRINTED, KEPT = 1_000_000, 2_000  # characters


class Paper(io.TextIOBase):
    """Standard output for a learner's file: keeps the beginning, and ends a flood."""

    def __init__(self):
        self.text, self.length = "", 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text[: max(KEPT - self.length, 0)]
        self.length += len(text)
        if self.length > MOST_PRINTED:
            raise TooMuch(f"over {MOST_PRINTED:,} characters")
        return len(text)


def main(folder: str) -> None:
    """Work through the jobs of a folder, then leave, whatever threads are still running."""
    jobs = json.loads(Path(folder, "jobs.json").read_text(encoding="utf-8"))
    _keep_within(MEMORY)
    leave, os._exit, here = os._exit, _quit, os.getpid()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: setattr(os, "_exit", leave))
    for handle in (1, 2):  # what compiled code prints goes nowhere; Python's goes on paper
        os.dup2(os.open(os.devnull, os.O_WRONLY), handle)
    with (
        open(Path(folder, "faults.txt"), "w", encoding="utf-8") as faults,
        open(Path(folder, "verdicts.jsonl"), "w", encoding="utf-8") as verdicts,
    ):
        faulthandler.enable(faults)
        for job in jobs:
            faulthandler.dump_traceback_later(job["seconds"], exit=True, file=faults)
            sys.stdout = sys.stderr = paper = Paper()
            with _beside(Path(job["file"]).parent):
                verdict = judge(job["exercise"], job["file"], job["timed"])
            if os.getpid() != here:  # a child that the file made, and let run on
                leave(0)
            faulthandler.cancel_dump_traceback_later()
            verdicts.write(json.dumps({**verdict, "printed": paper.text}) + "\n")
            verdicts.flush()
    leave(0)


@contextmanager
def _beside(folder: Path) -> Iterator[None]:
    """A block that may import the files of a folder, as a learner's other answers, and leaves
    neither their modules nor a __pycache__ behind."""
    paths, writes, sys.dont_write_bytecode = list(sys.path), sys.dont_write_bytecode, True
    sys.path.append(str(folder))  # last: no file there takes the place of a library
    try:
        yield
    finally:
        sys.path[:], sys.dont_write_bytecode = paths, writes
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file and Path(file).parent == folder:
                del sys.modules[name]


def _keep_within(size: int) -> None:
    """Let what asks for more memory meet a MemoryError, where the system knows of such a limit."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most == resource.RLIM_INFINITY or most > size:
        resource.setrlimit(resource.RLIMIT_DATA, (size, most))


def _quit(code: int = 0) -> None:
    raise Quit
