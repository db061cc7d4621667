"""Only regular files are read and replaced: a pipe may never answer, and a device never ends."""

from __future__ import annotations

import os
import stat

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
