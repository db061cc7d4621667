"""Text from a file, a folder, standard input, or what every Python has: a megabyte at a time.

    for piece in open_source("novels/").pieces(): ...

A piece is a str that ends where a word ends, with "\n" for every line end. However long the text,
one piece is in memory.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from scratch_embed.files import open_regular
from scratch_embed.files.regular import refuse_special
from scratch_embed.text.corpus import not_utf8, python_text

PIECE = 1 << 20  # bytes
LONGEST = 1 << 24  # bytes without a space: no text is like that
ENDINGS = (".txt", ".text", ".md", ".rst")  # what is read from a folder
SPACES = (b" ", b"\n", b"\t")
STANDARD = "the standard text"  # docstrings of the Python that runs this
STDIN = "standard input"


class Source:
    """A text that is read once, in pieces.

    name : for sentences.
    size : in bytes; None where nobody knows before the end.
    done : bytes read so far.
    """

    def __init__(
        self, name: str, size: int | None, open_parts: Callable[[], Iterator[tuple[str, BinaryIO]]]
    ):
        self.name, self.size, self.done = name, size, 0
        self._open_parts = open_parts

    def pieces(self) -> Iterator[str]:
        """The text, from beginning to end, in pieces of about `PIECE` bytes.

        Raises ValueError for bytes that are not UTF-8 text (with the file, the offset and the
        line), and OSError for what cannot be read.
        """
        for name, part in self._open_parts():
            with part:
                yield from self._decoded(name, part)

    def _decoded(self, name: str, part: BinaryIO) -> Iterator[str]:
        rest, offset, line, more = b"", 0, 1, True
        while more:
            data = part.read(PIECE)
            self.done += len(data)
            whole, more = rest + data, bool(data)
            cut = max(map(whole.rfind, SPACES)) if more else len(whole)
            cut -= whole[cut - 1 : cut + 1] == b"\r\n"  # which is one line end
            if cut <= 0 and more:
                if len(whole) > LONGEST:
                    raise ValueError(
                        f"{name} has no space within {LONGEST:,} bytes, from offset {offset:,} on; "
                        "is it text?"
                    )
                rest = whole
                continue
            text, rest = whole[:cut], whole[cut:]
            yield _decode(name, text, offset, line)
            offset, line = offset + cut, line + text.count(b"\n")


def open_source(
    what: str | os.PathLike | None, without: Callable[[Path], bool] = lambda path: False
) -> Source:
    """The text of a file, of the text files in a folder, of "-" (standard input), or the standard
    text for None.

    A folder is read with all folders in it and those that it links to, each once, in the order of
    names, and a file once however many names it has. Hidden files are left out, and so are those of
    which `without` is true, for what a program itself has written there. What can be found wrong
    without reading is found here: FileNotFoundError, OSError for what is neither file nor folder,
    ValueError for an empty file and for a folder without a text file.
    """
    if what is None:
        return _in_memory(STANDARD, python_text(progress=False).encode("utf-8"))
    if str(what) == "-":
        return Source(STDIN, None, lambda: iter([(STDIN, sys.stdin.buffer)]))
    if not os.path.isdir(what):
        open_regular(what).close()
        files = [Path(what)]
    else:
        files = _text_files(Path(what), without)
    size = sum(file.stat().st_size for file in files)
    return Source(str(what), size, lambda: ((str(file), open_regular(file)) for file in files))


def _in_memory(name: str, data: bytes) -> Source:
    return Source(name, len(data), lambda: iter([(name, io.BytesIO(data))]))


def _text_files(folder: Path, without: Callable[[Path], bool]) -> list[Path]:
    found, seen = {}, {os.path.realpath(folder)}
    for inside, folders, names in os.walk(folder, onerror=_refuse, followlinks=True):
        new = []
        for name in sorted(name for name in folders if not name.startswith(".")):
            real = os.path.realpath(Path(inside, name))  # a link may lead back to where we were
            if real not in seen:
                new.append(name)
                seen.add(real)
        folders[:] = new
        for path in (Path(inside, name) for name in names if not name.startswith(".")):
            if path.suffix.lower() not in ENDINGS:
                continue
            status = path.stat()  # raises for a link that leads nowhere, as where a disk is away
            refuse_special(path, status.st_mode)
            if status.st_size and not without(path):
                same = (status.st_dev, status.st_ino)
                found[same] = min(path, found.get(same, path))
    if not found:
        raise ValueError(
            f"{folder} holds no text: files that end in {', '.join(ENDINGS)} are read, and not "
            "empty ones. Name a file to have it read whatever it is called."
        )
    return sorted(found.values())


def _refuse(error: OSError) -> None:
    raise error  # a folder that cannot be opened: to pass over it would be to read half a text


def _decode(name: str, data: bytes, offset: int, line: int) -> str:
    """The text of bytes that begin at this offset, in this line, of what is called `name`."""
    if not offset and data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise not_utf8(name, data, 0, 0, 1)
    if (at := data.find(b"\0")) >= 0:
        raise ValueError(
            f"{name} holds a zero byte at offset {offset + at:,}: it is a binary file, or "
            "UTF-16, and no UTF-8 text"
        )
    try:
        text = data.decode("utf-8" if offset else "utf-8-sig")
    except UnicodeDecodeError as error:
        before = line + data[: error.start].count(b"\n")
        raise not_utf8(name, data, error.start, offset + error.start, before) from None
    text = text.replace("\ufeff", "")  # between files that were put together, each with its mark
    return text.replace("\r\n", "\n").replace("\r", "\n")
