"""A run: its options, its folder with a checkpoint, and how it ends.

run.save(step=7, **learning.state_dict())     # `--resume` finds it in run.saved
return run.stopped("at step 7")               # after Ctrl-C, with the line that goes on
return run.finish(results, figure)
"""

from __future__ import annotations

import argparse
import shlex
import time
from pathlib import Path

from scratch_embed import checkpoint
from scratch_embed.files import check_writable
from scratch_embed.training.results import write_results

CHECKPOINT = "checkpoint.npz"
STOPPED = 130  # what a shell expects of a program that Ctrl-C ended
# These say where a run lies and what to show of it; all other options say what it computes.
PLACES = ("out", "resume", "prompt", "formats", "save_every")


class Run:
    """One run of a command.

    options : those of the command line, or those with which a resumed run was begun.
    saved : what the checkpoint of a resumed run holds; else empty.
    """

    def __init__(self, command: str, options: argparse.Namespace, saved: dict):
        self.options, self.saved = options, saved
        self._command, self._saved_at = command, time.monotonic()
        check_writable(options.out / CHECKPOINT)  # before hours of work are spent

    @property
    def due(self) -> bool:
        """Whether it is time for another checkpoint."""
        return time.monotonic() - self._saved_at >= self.options.save_every

    def save(self, **parts) -> None:
        """Write the checkpoint: all that `--resume` needs to go on to the same bits."""
        options = computing(self.options)
        checkpoint.save(self.options.out / CHECKPOINT, options=options, **parts)
        self._saved_at = time.monotonic()

    def stopped(self, where: str) -> int:
        """Say how to go on; returns the exit code of a run that Ctrl-C stopped, after it saved."""
        print(f"stopped {where}, and saved. To go on:")
        print(f"{self._command} --out {shlex.quote(str(self.options.out))} --resume")
        return STOPPED

    def finish(self, results: dict, figure=None, more: tuple[Path, ...] = ()) -> int:
        """Write results and picture, tell all files written; returns the exit code of success."""
        results = {"options": computing(self.options), **results}
        for path in (*more, *write_results(self.options.out, results, figure)):
            print(path)
        return 0


def computing(options: argparse.Namespace) -> dict:
    """The options that say what a run computes, as JSON knows them."""
    return {
        name: str(value) if isinstance(value, Path) else value
        for name, value in vars(options).items()
        if name not in PLACES
    }


def load_run(folder: Path) -> dict:
    """The checkpoint in a folder; empty, and said, where there is none."""
    if (folder / CHECKPOINT).exists():
        return checkpoint.load(folder / CHECKPOINT)
    print(f"Nothing is saved in {folder} yet, so this run begins.", flush=True)
    return {}
