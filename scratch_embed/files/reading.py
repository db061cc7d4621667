"""Reading: regular files only, and no more of one than it holds when it is opened."""

from __future__ import annotations

import json
import lzma
import os
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from scratch_embed.files.regular import refuse_special

# What NumPy may raise for a .npy file: its header is Python source that it parses, and an array of
# text may hold numbers that are no letters.
BAD_HEADER = (
    ValueError, KeyError, TypeError, SyntaxError, RecursionError, tokenize.TokenError, SystemError,
)  # fmt: skip
# What NumPy, zipfile and its unpackers say of a .npz file that is damaged.
BAD_NPZ = (
    *BAD_HEADER, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, AttributeError,
    RuntimeError, MemoryError, OverflowError,
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
        raise ValueError(f"{path} is empty: take another file.")
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


def from_json(text: str | bytes) -> Any:
    """What JSON says. Raises ValueError for what is none, and for what is nested too deep."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def read_array(entries: zipfile.ZipFile, name: str) -> np.ndarray:
    """An array of a .npz file, read to the end of its entry; nothing is unpickled.

    zipfile compares the checksum when it comes to the end, where NumPy alone need not come.
    Raises ValueError for an entry that is longer than its array, and what NumPy and zipfile raise.
    """
    with entries.open(name) as entry:
        array = np.lib.format.read_array(entry, allow_pickle=False)
        if entry.read(1):
            raise ValueError(f"{name} is longer than the array in it")
    return array
