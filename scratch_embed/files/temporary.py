"""The hidden file that a new one is written to, and what killed runs have left of theirs.

A run that writes `table.npy` makes two files beside it:

    .table.npy.k2x9f0ab.scratch_embed.tmp     what is written, renamed when it is complete
    .table.npy.k2x9f0ab.scratch_embed.lock    held by the run as long as it lives

The system lets go of the lock when the run ends, however it ends. A lock that nobody holds
therefore marks what a killed run left, and the next run that writes into the folder removes both.
It asks neither for the number of a process, which may have been given out again, nor for the
machine: a folder may be shared.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where a file that a run has open cannot be removed: lock enough
    fcntl = None

LOCK, TEMPORARY = ".scratch_embed.lock", ".scratch_embed.tmp"
LONGEST = 40  # letters of the name that we add to: the whole must not get too long for the system


@contextmanager
def temporary_beside(target: Path) -> Iterator[Path]:
    """A new, empty file in the folder of `target`, gone when the block ends."""
    remove_leftovers(target.parent)
    lock, handle = _locked(target)
    temporary = Path(str(lock).removesuffix(LOCK) + TEMPORARY)
    try:
        open(temporary, "xb").close()  # with the permissions that new files get here
        yield temporary
    finally:
        os.close(handle)
        temporary.unlink(missing_ok=True)
        lock.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove what runs that are no more have left in a folder."""
    for lock in folder.glob(f".*{LOCK}"):
        with suppress(OSError):  # its run lives, or we may not remove it
            _remove(lock)


def _remove(lock: Path) -> None:
    """Remove a lock and what it stands for; OSError when its run still holds it."""
    handle = None
    try:
        if fcntl:
            handle = os.open(lock, os.O_RDWR)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.unlink()
        Path(str(lock).removesuffix(LOCK) + TEMPORARY).unlink(missing_ok=True)
    finally:
        if handle is not None:
            os.close(handle)


def _locked(target: Path) -> tuple[Path, int]:
    """A new lock beside `target`, and the open handle that holds it."""
    while True:
        # mkstemp opens the file as nobody else can, so two runs never share a name.
        prefix = f".{target.name[:LONGEST]}."
        try:
            handle, name = tempfile.mkstemp(LOCK, prefix, target.parent)
        except OSError as error:  # told of the file that the caller knows
            raise OSError(error.errno, error.strerror, str(target)) from None
        if fcntl:
            with suppress(OSError):  # a disk without locks, where nobody can take ours for left
                fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return Path(name), handle
        os.close(handle)  # another run saw it before we held it, and removed it
