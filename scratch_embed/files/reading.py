"""Reading: regular files only, and no more of one than it holds when it is opened."""

from __future__ import annotations

import os
import tokenize
from pathlib import Path
from typing import BinaryIO

from scratch_embed.files.regular import refuse_special

# What NumPy may raise for a .npy file: its header is Python source that it parses, and an array of
# text may hold numbers that are no letters.
BAD_HEADER = (
    ValueError, KeyError, TypeError, SyntaxError, RecursionError, tokenize.TokenError, SystemError,
)  # fmt: skip
LARGEST = 1 << 31  # bytes read at once: 2 GiB, the text of some two thousand novels


def open_regular(path: str | os.PathLike, mode: str = "rb") -> BinaryIO:
    """Open a regular file in a binary mode. What could block, or never end, is not even opened.

    Raises FileNotFoundError, IsADirectoryError for a folder, OSError for a pipe, a device, or a
    file that the system does not let us open, and ValueError for an empty one: nothing that we read
    is empty, and what the system invents while it is read (/proc on Linux) says that it is.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path}. Looked in {Path.cwd()}.") from None
    refuse_special(path, found.st_mode)
    if not found.st_size:
        raise ValueError(f"{path} is empty.")
    return open(os.fspath(path), mode)


def read_bytes(path: str | os.PathLike, largest: int = LARGEST) -> bytes:
    """What a file holds. Bytes that somebody appends in the meantime are not read.

    Raises ValueError for a file of more than `largest` bytes, and what `open_regular` raises.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > largest:
            raise ValueError(
                f"{path} holds {size:,} bytes, and at most {largest:,} are read at once. "
                "Give a part of it."
            )
        return file.read(size)
