"""Compiled loops are kept on disk: a file for each loop and each kind of arguments.

Numba can keep them as well. But one file of its that is damaged breaks every run from then on, and
so does a full disk. Here a file is used only when every byte of it is what was written, and a file
that cannot be written costs a sentence and no more.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from scratch_embed.files import cache_dir, read_bytes, replacing

STAMP = hashlib.sha256().digest_size  # a file starts with a hash of its name and of the rest


class Kept:
    """What Numba asks for a loop before it compiles it, and gives it to afterwards.

    Numba's own cache has these names; a loop's dispatcher takes this one instead.
    """

    def __init__(self, place: Path, loop: Callable, threaded: bool):
        source = read_bytes(loop.__code__.co_filename)
        self.cache_path = place
        self._name = f"{loop.__name__}-{'threads' if threaded else 'serial'}"
        self._source = hashlib.sha256(source).hexdigest(), loop.__code__.co_firstlineno

    def load_overload(self, signature, target):
        """The loop for arguments of these types, or None if it is not there or damaged."""
        from numba.core.compiler import CompileResult

        file = self._file(signature, target.codegen())
        try:
            content = read_bytes(file)
        except (OSError, ValueError):  # not there, not to be read, or empty
            return None
        stamp, code = content[:STAMP], content[STAMP:]
        if _stamp(file, code) != stamp:
            return None
        target.refresh()
        return CompileResult._rebuild(target, *pickle.loads(code))

    def save_overload(self, signature, result) -> None:
        """Keep it. Not when it holds addresses of this process, such as that of a large global."""
        from numba.core.serialize import dumps

        if result.library.has_dynamic_globals or result.lifted:
            return
        file, code = self._file(signature, result.codegen), dumps(result._reduce())
        try:
            with replacing(file) as temporary:
                temporary.write_bytes(_stamp(file, code) + code)
        except OSError as error:
            say_once(
                f"a compiled loop cannot be kept in {self.cache_path} "
                f"({error.strerror or error}), so the next run compiles it anew; make room there, "
                "or set NUMBA_CACHE_DIR to another directory."
            )

    def _file(self, signature, codegen) -> Path:
        """Another one for another processor, Python or Numba, and after an edit."""
        import numba

        versions = numba.__version__, sys.version, codegen.magic_tuple()
        kind = hashlib.sha256(repr((signature, self._source, versions)).encode())
        return self.cache_path / f"{self._name}-{kind.hexdigest()[:16]}"


def _stamp(file: Path, code: bytes) -> bytes:
    """Of the name too: the file of another loop, copied over this one, is whole and wrong."""
    return hashlib.sha256(file.name.encode() + b"\0" + code).digest()


def kept(loop: Callable, threaded: bool) -> Kept | None:
    """Where this loop is kept; None where nothing can be, or not this one.

    A loop typed into a notebook has no file that tells whether it was changed, and what a closure
    holds is nowhere to be read.
    """
    place = find_place()
    try:
        return Kept(place, loop, threaded) if place and not loop.__closure__ else None
    except OSError:
        return None


@cache
def find_place() -> Path | None:
    """The first place that can be written to.

    Its name holds a hash of the sources in this folder: a loop is not only what stands in its own
    file, for it calls functions of others.
    """
    package = Path(__file__).parent
    sources = sorted(package.rglob("*.py"))
    stamp = hashlib.sha256()
    for source in sources:
        stamp.update(f"{source.relative_to(package).as_posix()}\0".encode() + source.read_bytes())
    for place in _places(package) if sources else ():
        place = place / f"numba-{stamp.hexdigest()[:16]}"
        if _writable(place):
            return place
    say_once(
        "found no place to keep compiled loops in, so every run compiles them anew; "
        "set NUMBA_CACHE_DIR to a directory that can be written to."
    )
    return None


def _places(package: Path) -> Iterator[Path]:
    """The one the user chose, else beside the sources, else the user's cache. Nothing shared."""
    import numba

    if numba.config.CACHE_DIR:
        yield Path(numba.config.CACHE_DIR) / "scratch_embed"
    yield package / "__pycache__"
    yield cache_dir()


def _writable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except OSError:
        return False
    return True


@cache
def say_once(sentence: str) -> None:
    """On stderr, where it is in the way of no result."""
    print(f"scratch_embed: {sentence}", file=sys.stderr)
