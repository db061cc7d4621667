"""Only regular files are read and replaced: a pipe may never answer, and a device never ends.

Folders are made on the way to them, and go again where nothing came into them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SPECIAL = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def refuse_special(path: str | os.PathLike, mode: int) -> None:
    """Raise unless `mode`, the st_mode of what `path` leads to, is that of a regular file.

    Raises IsADirectoryError for a folder, and OSError for a pipe, a device or a socket.
    """
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder. Name a file inside it.")
    if not stat.S_ISREG(mode):
        kind = SPECIAL.get(stat.S_IFMT(mode), "something else")
        raise OSError(f"{path} is {kind}, not a file on a disk. Name a regular file.")


def refuse_tilde(path: str | os.PathLike) -> None:
    """Raise ValueError for ~ and what lies in it: only a shell takes that for the home folder, and
    here a folder of that name would be made."""
    if Path(path).parts[:1] == ("~",):
        raise ValueError(
            f"{path} begins with ~, which only a shell takes for your home folder: write "
            "os.path.expanduser(path)"
        )


@contextmanager
def no_empty_folders(folder: str | os.PathLike) -> Iterator[None]:
    """A block at whose end `folder` and those above it are gone if it made them and they are
    empty: what is refused leaves nothing behind."""
    missing = [path for path in (Path(folder), *Path(folder).parents) if not os.path.exists(path)]
    try:
        yield
    finally:
        with suppress(OSError):  # of the first that holds something
            for path in missing:
                path.rmdir()


def sentence(error: OSError) -> str:
    """What an OSError has to say, as one sentence: the system's own come in two parts.

    >>> sentence(PermissionError(13, "Permission denied", "notes.txt"))
    'notes.txt: Permission denied.'
    """
    if error.strerror is None:
        return str(error)
    return (
        f"{error.strerror}." if error.filename is None else f"{error.filename}: {error.strerror}."
    )
