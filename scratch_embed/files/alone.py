"""A folder that one run at a time may fill."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scratch_embed.files.folders import make_folder, no_empty_folders

try:
    import fcntl
except ImportError:  # Windows, where a folder cannot be locked
    fcntl = None


@contextmanager
def alone_in(folder: str | os.PathLike) -> Iterator[None]:
    """Be the only one in such a block with this folder, which is made if it is not there, and goes
    again if nothing came into it.

    The system lets go of the lock when the process ends, however it ends. Raises BlockingIOError
    when another block has it; does nothing where folders cannot be locked.
    """
    with no_empty_folders(folder), _locked(make_folder(folder)):
        yield


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BlockingIOError(
                f"Another run is writing into {folder}. Wait for its end, or choose another folder."
            ) from None
        except OSError:
            pass  # a disk without locks
        yield
    finally:
        os.close(handle)
