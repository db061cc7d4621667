"""A run: its options, its folder with a checkpoint, and how it ends.

run.save(step=7, **learning.state_dict())     # `--resume` finds it in run.saved
return run.stopped("at step 7")               # after Ctrl-C, with the line that goes on
return run.finish(results, figure)
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scratch_embed import checkpoint
from scratch_embed.ending import STOPPED
from scratch_embed.files import check_writable, from_json, open_regular, read_bytes, replacing
from scratch_embed.text.counting import may_be_ids
from scratch_embed.training.results import write_results

CHECKPOINT = "checkpoint.npz"
IDS = "text.ids"
ENDED = (CHECKPOINT, "results.json")  # what a run leaves, whatever else it writes
NEW_IDS = f"{IDS}.new"
BEGUN = f"{IDS}.begun"  # the options of a run that has not saved yet, for it reads its text
WRITTEN = (*ENDED, IDS, NEW_IDS, BEGUN, "results.png")
READ = ("text", "vectors", "similarity", "analogies")  # options that name a file to be read
# These say where a run lies and what to show of it; all other options say what it computes.
SHOWN = ("prompt", "formats", "save_every")  # a resumed run may be given others of these
PLACES = ("out", "resume", *SHOWN)


class Run:
    """One run of a command.

    options : those of the command line, or those with which a resumed run was begun.
    saved : what the checkpoint of a resumed run holds; else empty.
    usual : what the options are when nothing is given.
    """

    def __init__(self, command: str, options: argparse.Namespace, saved: dict, usual: dict):
        self.options, self.saved = options, saved
        self._again = " ".join(_places(options, usual))
        self._command, self._saved_at = command, time.monotonic()
        self._writes: list[str] = []  # besides what every run does
        self._began = False  # to read its text
        for name in WRITTEN:
            self.will_write(name)
        begun = _has(options.out, *ENDED)
        for ids in (options.out / NEW_IDS, *[options.out / IDS] * (not begun)):
            if ids.is_file() and (ids.is_symlink() or not may_be_ids(ids)):
                raise _written_by_nobody(ids)
        begun_with(options.out)  # raises for a file of somebody else

    def will_write(self, name: str) -> Path:
        """The path of a file in the run's folder. Raises OSError when it cannot be written, and
        ValueError when it is what the run reads, or no run of ours wrote it: told before hours of
        work are spent."""
        path = self.options.out / name
        check_writable(path)
        for option in READ:
            if _names(getattr(self.options, option, None), path):
                raise ValueError(f"{path} is to be read and to be written: choose another --out")
        if name not in WRITTEN and path.is_file() and not _wrote(self.options.out, name):
            raise _written_by_nobody(path)
        if name not in WRITTEN:
            self._writes.append(name)
        return path

    @property
    def earlier(self) -> list[Path]:
        """The files that the run which ended in this folder wrote, besides what every run does."""
        paths = (self.options.out / name for name in _results(self.options.out).get("files", []))
        return [path for path in paths if path.is_file()]

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """A block that reads from `saved`: what it stumbles over is told of the checkpoint."""
        try:
            yield
        except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
            if not self.saved:
                raise
            raise ValueError(
                f"{self.options.out / CHECKPOINT} is not as this command writes it "
                f"({type(error).__name__}: {error}); begin anew, with another --out"
            ) from error

    @property
    def due(self) -> bool:
        """Whether it is time for another checkpoint."""
        return time.monotonic() - self._saved_at >= self.options.save_every

    def begin(self) -> None:
        """Write the options down before anything is read, for a `--resume` that comes before the
        first checkpoint."""
        with replacing(self.options.out / BEGUN) as temporary:
            temporary.write_text(json.dumps(self._begun()) + "\n", encoding="utf-8")
        self._began = True

    def _begun(self) -> dict:
        """What `--resume` goes on with: what is computed, and what is shown if no other is given;
        and which files are this run's to write."""
        shown = {name: value for name, value in vars(self.options).items() if name in SHOWN}
        return {"options": computing(self.options), "shown": shown, "writes": self._writes}

    def save(self, **parts) -> None:
        """Write the checkpoint: all that `--resume` needs to go on to the same bits."""
        checkpoint.save(self.options.out / CHECKPOINT, **self._begun(), **parts)
        (self.options.out / BEGUN).unlink(missing_ok=True)
        self._saved_at = time.monotonic()

    def forget(self) -> None:
        """Of a run that failed before it saved anything `--resume` has nothing to go on with."""
        if self._began and (self.options.out / BEGUN).is_file():
            for name in (BEGUN, *[IDS] * (not _has(self.options.out, *ENDED))):
                (self.options.out / name).unlink(missing_ok=True)

    def stopped(self, where: str) -> int:
        """Say how to go on; returns the exit code of a run that Ctrl-C stopped, after it saved."""
        print(f"stopped {where}, and saved. To go on:")
        print(f"{self._command} {self._again} --resume")
        return STOPPED

    def finish(self, results: dict, figure=None, more: tuple[Path, ...] = ()) -> int:
        """Write results and picture, tell all files written; returns the exit code of success."""
        results = {"command": self._command, "options": computing(self.options), **results}
        results["checkpoint"] = _digest(self.options.out / CHECKPOINT)
        wrote = _results(self.options.out).get("files", [])
        results["files"] = sorted({*map(str, wrote), *(path.name for path in more)})
        for path in (*more, *write_results(self.options.out, results, figure)):
            print(path)
        return 0


def _wrote(folder: Path, name: str) -> bool:
    """Whether a run of ours wrote a file, or may have: its results name it, or a run that has not
    ended yet set out to write it. Runs of versions that kept no such list may have written any."""
    if not begun_in(folder):
        return False
    results = _results(folder)
    if name in results.get("files", [name] if results else []):
        return True
    begun = begun_with(folder)
    if begun is None and unfinished(folder):
        begun = checkpoint.load(folder / CHECKPOINT)
    said = [] if begun is None else begun.get("writes")
    return said is None or name in said


def begun_in(folder: Path) -> bool:
    """Whether a run of ours has begun in a folder, a new one or an earlier one."""
    return _has(folder, *ENDED, IDS)


def _has(folder: Path, *names: str) -> bool:
    return any((folder / name).is_file() for name in names)


def _names(given: str | os.PathLike | None, path: Path) -> bool:
    """Whether the value of an option means the file at `path`; "-" is standard input."""
    if not isinstance(given, (str, os.PathLike)):  # a number would be that of an open file
        return False
    try:
        there = os.fstat(sys.stdin.fileno()) if given == "-" else os.stat(given)
        return os.path.samestat(there, os.stat(path))
    except (AttributeError, OSError, ValueError):  # no such file yet, or no standard input
        return False


def _places(options: argparse.Namespace, usual: dict) -> Iterator[str]:
    """The words that give the options of PLACES again: of a run to be resumed all others are in
    its checkpoint."""
    for name in PLACES:
        value = getattr(options, name, None)
        if name == "resume" or (name != "out" and value == usual.get(name)):
            continue
        flag = f"--{name.replace('_', '-')}"
        words = list(map(str, value)) if isinstance(value, list) else [str(value)]
        if words[0].startswith("-"):  # after a space it would be another option
            yield shlex.quote(f"{flag}={words[0]}")
        else:
            yield f"{flag} {shlex.join(words)}"


def computing(options: argparse.Namespace) -> dict:
    """The options that say what a run computes, as JSON knows them."""
    return {
        name: str(value) if isinstance(value, Path) else value
        for name, value in vars(options).items()
        if name not in PLACES
    }


def maker(folder: Path) -> str | None:
    """The command whose results lie in a folder; None where there are none.

    Raises ValueError where a file has the name of one that would be written over, and no command of
    ours wrote it, or nobody can see who did.
    """
    results, picture = folder / "results.json", folder / "results.png"
    if not results.exists() and not picture.is_file():
        return None
    command = _results(folder).get("command")
    if command is None:
        raise _written_by_nobody(results if results.exists() else picture)
    return command


def finished(folder: Path) -> dict | None:
    """The options of a training that has ended in a folder; None where there is none, or a quick
    one, which is made again in seconds."""
    options = _results(folder).get("options")
    whole = isinstance(options, dict) and not options.get("quick")
    return options if whole and (folder / CHECKPOINT).is_file() else None


def _results(folder: Path) -> dict:
    """What is in results.json; empty where it is not there or is no file of ours."""
    path = folder / "results.json"
    try:
        said = from_json(read_bytes(path).decode("utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        if error.strerror is None:  # it says all of itself
            raise
        raise ValueError(
            f"{path} cannot be read ({error.strerror}), and would be written over: give another "
            "--out, or move it away"
        ) from error
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _written_by_nobody(path: Path) -> ValueError:
    return ValueError(
        f"{path} was written by nobody who says so, and would be written over: give another "
        "--out, or move it away"
    )


def unfinished(folder: Path) -> bool:
    """Whether there is a checkpoint whose results were not written yet: results say of which one
    they are, so that a copied folder, whose files have other times, is the same.

    Raises ValueError for a checkpoint that no run can have written.
    """
    saved = folder / CHECKPOINT
    if not saved.is_file() or _results(folder).get("checkpoint") == _digest(saved):
        return False
    try:
        ours = isinstance(checkpoint.load(saved).get("options"), dict)
    except (OSError, ValueError):
        ours = False
    if not ours:
        raise _written_by_nobody(saved)
    return True


def _digest(path: Path) -> str | None:
    """The SHA-256 of a file; None where there is none."""
    if not path.is_file():
        return None
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def begun_with(folder: Path) -> dict | None:
    """The "options" of a run that began in a folder and has not saved yet, and what is "shown" of
    it; None where there is none.

    Raises ValueError for a file of that name that no run can have written.
    """
    path = folder / BEGUN
    if not path.is_file():
        return None
    try:
        begun = from_json(read_bytes(path).decode("utf-8"))
        options = begun["options"]
    except (ValueError, LookupError, TypeError):
        options = None
    if not isinstance(options, dict):
        raise _written_by_nobody(path)
    return {"options": options} | {name: begun.get(name) for name in ("shown", "writes")}


def load_run(folder: Path) -> dict:
    """The checkpoint in a folder; empty, and said, where there is none. Of a run that was stopped
    while it read its text the options alone, for what is saved then is of the one before."""
    begun = begun_with(folder)
    saved = (folder / CHECKPOINT).exists()
    if begun is not None:
        before = f" To go on with the one before it, remove {folder / BEGUN}." if saved else ""
        told = f"The run in {folder} had only begun to read its text, so it begins.{before}"
        print(told, flush=True)
        return begun
    if saved:
        return checkpoint.load(folder / CHECKPOINT)
    print(f"Nothing is saved in {folder} yet, so this run begins.", flush=True)
    return {}
