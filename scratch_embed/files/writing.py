"""Writing: a file appears whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from scratch_embed.files.folders import make_folder, no_empty_folders, refuse_tilde
from scratch_embed.files.regular import refuse_special
from scratch_embed.files.temporary import temporary_beside

FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
CANNOT = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}  # a disk that cannot take room ahead


@contextmanager
def replacing(path: str | os.PathLike, new: bool = False) -> Iterator[Path]:
    """Hand out a temporary file beside `path`, and rename it to `path` when the block succeeds.

    A reader sees the old file or the new one, never half of it. When the block fails, or is
    interrupted with Ctrl-C, the temporary file is removed and `path` stays as it was; what a killed
    run leaves is removed by the next one that writes into the folder. A folder that does not exist
    yet is made. A link stays, and the file that it leads to is replaced.

        with replacing("figures/table.png") as temporary:
            temporary.write_bytes(picture)

    new : nothing may have that name, not even a link. Of several that create the same file at once,
        one succeeds.

    Raises IsADirectoryError when `path` is a folder, FileExistsError when it must be new and is
    not, PermissionError when it is write-protected, and OSError for a pipe, a device, or when
    nothing can be written there.
    """
    target = _target(path, new)
    with temporary_beside(target) as temporary:
        with _interrupts(), _told_of(path):
            yield temporary
            _settle(temporary)
        if new:
            _name_new(temporary, target)
        else:
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            os.replace(temporary, target)


def check_writable(path: str | os.PathLike) -> None:
    """Raise what `replacing(path)` would raise, before hours of work are spent on the content."""
    with no_empty_folders(Path(path).parent), temporary_beside(_target(path)):
        pass


def check_ending(path: str | os.PathLike, endings: Iterable[str], what: str = "a picture") -> str:
    """The ending of a path in small letters, ".png"; ValueError where `what` does not end so."""
    ending = Path(path).suffix
    if ending.lower() not in endings:
        raise ValueError(f"{path} ends in {ending!r}; {what} ends in {' or '.join(endings)}")
    return ending.lower()


def reserve(file: BinaryIO, size: int, path: str | os.PathLike) -> bool:
    """Take room on the disk for an open file of `size` bytes, all of them zero.

    Returns False where the system or the disk cannot do that; then only writing takes room.
    Raises OSError, naming `path`, when there is not enough.
    """
    free = shutil.disk_usage(Path(path).parent).free
    if size > free:  # told before the disk is filled to find it out
        raise _no_room(errno.ENOSPC, size, free, path)
    if not hasattr(os, "posix_fallocate"):
        return False
    try:
        os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        if error.errno in CANNOT:
            return False
        raise _no_room(error.errno, size, free, path) from None
    return True


def _no_room(number: int, size: int, free: int, path: str | os.PathLike) -> OSError:
    what = f"{os.strerror(number)}: the file takes {size:,} bytes, and {free:,} are free"
    return OSError(number, what, str(path))


def _target(path: str | os.PathLike, new: bool = False) -> Path:
    """The file that `path` stands for, links followed; its folder is there, and it is no device."""
    path = Path(path)
    refuse_tilde(path)
    if new:
        if os.path.lexists(path):
            raise FileExistsError(f"{path} exists, and is not overwritten.")
    else:
        try:
            refuse_special(path, os.stat(path).st_mode)  # raises for links that lead in a circle
        except FileNotFoundError:
            pass  # a new file, or the one that a link names and that is not there yet
        path = Path(os.path.realpath(path))
        if path.exists() and not os.access(path, os.W_OK):  # a rename would not ask
            raise PermissionError(f"{path} is write-protected, and is not overwritten.")
    make_folder(path.parent)
    return path


@contextmanager
def _told_of(path: str | os.PathLike) -> Iterator[None]:
    """A disk that is full says so of the file that the caller knows: writing names none."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


@contextmanager
def _interrupts() -> Iterator[None]:
    """Ctrl-C stays Ctrl-C where a writer stumbles over it, as zipfile does on its way out."""
    try:
        yield
    except Exception as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


def _settle(temporary: Path) -> None:
    """Have the bytes on the disk before the name is: a power cut must not leave an empty file."""
    with open(temporary, "rb+") as file:
        os.fsync(file.fileno())


def _name_new(temporary: Path, target: Path) -> None:
    """Give the file its name unless something has it by now, in one step of the system's."""
    try:
        os.link(temporary, target)  # a second name; the temporary one goes with the block
    except FileExistsError:
        raise FileExistsError(f"{target} exists by now, and is not overwritten.") from None
    except OSError:  # a disk without second names, as on USB sticks: claim it empty, then replace
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.replace(temporary, target)
