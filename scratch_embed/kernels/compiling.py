"""How a plain loop is compiled: when it is first needed, by Numba, and kept on disk.

Numba is imported when a loop is first run, not before.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from scratch_embed.files import cache_dir

SLOW = 0.5  # seconds that may pass without a word

lock = threading.Lock()  # one loop at a time is handed to Numba


def is_interpreted() -> bool:
    """Whether loops run as plain Python, because of NUMBA_DISABLE_JIT=1."""
    import numba

    return bool(numba.config.DISABLE_JIT)


class Compiled(dict):
    """compiled[loop, threaded] is the form of a loop that runs on one thread, or on several."""

    def __missing__(self, key: tuple[Callable, bool]) -> Callable:
        """Hand the loop to Numba. It compiles later, once for every kind of arguments."""
        if is_interpreted():
            return key[0]
        with lock:
            self[key] = _decorated(*key)
        return self[key]


compiled = Compiled()


def _decorated(loop: Callable, threaded: bool) -> Callable:
    import numba

    words = {"prange": numba.prange, "prefetch": _prefetch()}  # see words.py
    loop.__globals__.update(words)
    for helper in getattr(loop, "helpers", ()):  # functions that the loop calls
        loop.__globals__[helper.__name__] = numba.njit(helper)
    written = os.path.exists(loop.__code__.co_filename)  # and not typed in a notebook
    place = _cache_place() if written else None
    users = numba.config.CACHE_DIR
    if place:  # Numba asks for the place while it decorates, and only then
        numba.config.CACHE_DIR = str(place / ("threads" if threaded else "serial"))
    try:
        options = {"parallel": threaded, "cache": bool(place)}
        options["fastmath"] = getattr(loop, "fastmath", False)  # a loop may allow it
        return _announced(numba.njit(nogil=True, **options)(loop), place)
    finally:
        numba.config.CACHE_DIR = users


@cache
def _prefetch():
    """The processor's prefetch instruction, as a function (array, row) for compiled loops.

    It asks for every 16th of the first 64 numbers of the row: four cache lines of float32.
    """
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    integer, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
    instruction = ir.FunctionType(ir.VoidType(), [pointer, integer, integer, integer])
    read, keep, data = integer(0), integer(3), integer(1)  # see llvm.prefetch

    @intrinsic
    def prefetch(typing_context, array, row):
        def emit(context, builder, signature, arguments):
            kind, (array, row) = signature.args[0], arguments
            array = context.make_array(kind)(context, builder, array)
            llvm = builder.module.declare_intrinsic("llvm.prefetch", [pointer], instruction)
            for d in range(0, 64, 16):
                place = [row, context.get_constant(types.intp, d)]
                address = cgutils.get_item_pointer(context, builder, kind, array, place)
                builder.call(llvm, [builder.bitcast(address, pointer), read, keep, data])
            return context.get_dummy_value()

        return types.void(array, types.intp), emit

    return prefetch


def _announced(dispatcher, place: Path | None):
    """Say what is compiling when it takes over SLOW seconds. Reading the cache does not."""
    compile_now = dispatcher.compile
    kept = f", once: it is kept in {place}" if place else ""
    message = f"scratch_embed: compiling {dispatcher.__name__.strip('_')}{kept}"

    def compile_aloud(signature):
        timer = threading.Timer(SLOW, print, (message,), {"file": sys.stderr, "flush": True})
        timer.daemon = True
        timer.start()
        try:
            return compile_now(signature)
        finally:
            timer.cancel()

    dispatcher.compile = compile_aloud
    return dispatcher


@cache
def _cache_place() -> Path | None:
    """Where compiled loops are kept: the first place that can be written to.

    Its name holds a hash of the sources in this folder. Numba looks at the file of a compiled
    function, but not at those of the functions it calls: after an edit there, it would answer from
    a stale one.
    """
    package = Path(__file__).parent
    sources = sorted(package.rglob("*.py"))
    stamp = hashlib.sha256()
    for source in sources:
        stamp.update(f"{source.relative_to(package).as_posix()}\0".encode() + source.read_bytes())
    for place in _cache_places(package) if sources else ():
        place = place / f"numba-{stamp.hexdigest()[:16]}"
        if _writable(place):
            return place
    print(
        "scratch_embed: found no place to keep compiled loops in, so every run compiles them anew; "
        "set NUMBA_CACHE_DIR to a directory that can be written to.",
        file=sys.stderr,
    )
    return None


def _cache_places(package: Path) -> Iterator[Path]:
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
