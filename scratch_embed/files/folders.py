"""Folders are made on the way to a file, and go again where nothing came into them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def refuse_tilde(path: str | os.PathLike) -> None:
    """Raise ValueError for ~ and what lies in it: only a shell takes that for the home folder, and
    here a folder of that name would be made."""
    if Path(path).parts[:1] == ("~",):
        raise ValueError(
            f"{path} begins with ~, which only a shell takes for your home folder: write "
            "os.path.expanduser(path)"
        )


def make_folder(folder: str | os.PathLike) -> Path:
    """The folder, made with those above it where it is not there.

    Raises ValueError for ~, and NotADirectoryError for a file.
    """
    refuse_tilde(folder)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(
            f"{folder} is a file, so nothing can be written inside it."
        ) from None
    return folder


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
