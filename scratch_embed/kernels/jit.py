"""How a plain loop is compiled and run: when first needed, kept on disk, on several threads.

The only file that imports Numba, and it does so when a loop is first run, not before. Two names
change their meaning in a compiled loop: `prange` is a range whose turns may run on several threads,
and `prefetch` asks the processor for a row that is needed soon.
"""

from __future__ import annotations

import hashlib
import operator
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from scratch_embed.files import cache_dir

# Waking a thread takes 10 to 100 microseconds: a part of fewer elements than this is not worth it.
PART = 1 << 19
SLOW = 0.5  # seconds that may pass without a word

_num_threads: int | None = None  # as set by set_num_threads
_forked = False
_running = threading.Lock()  # held by the one Python thread that may use several threads
_compiling = threading.Lock()
_compiled: dict[tuple[Callable, bool], Callable] = {}


def set_num_threads(n: int) -> None:
    """Let large loops use up to n threads. The answers have the same bits for every n."""
    global _num_threads
    if isinstance(n, bool) or operator.index(n) < 1:
        raise ValueError(f"n = {n} threads cannot run a loop: it must be a whole number from 1 up.")
    _num_threads = operator.index(n)


def get_num_threads() -> int:
    """How many threads a large loop may use: every core of this process unless it was set."""
    if _forked:
        return 1
    if _num_threads is not None:
        return _num_threads
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def num_parts(work: int) -> int:
    """Into how many parts to cut a loop over `work` elements: one a thread, none too small."""
    return 1 if work < 2 * PART else min(get_num_threads(), work // PART)


def is_interpreted() -> bool:
    """Whether loops run as plain Python, because of NUMBA_DISABLE_JIT=1."""
    import numba

    return bool(numba.config.DISABLE_JIT)


def run(loop: Callable, parts: int, *args):
    """Call the compiled form of a loop; with more than one part, `prange` runs on threads.

    Where Numba has neither OpenMP nor TBB (a plain Mac), a second Python thread that enters a
    threaded loop aborts the process. So one at a time does; whoever comes meanwhile takes the
    same loop on its own thread, without waiting, and gets the same bits.
    """
    if parts > 1 and _running.acquire(blocking=False):
        try:
            return _run_threaded(_compiled.get((loop, True)) or _compile(loop, True), parts, args)
        finally:
            _running.release()
    return (_compiled.get((loop, False)) or _compile(loop, False))(*args)


def _run_threaded(compiled: Callable, parts: int, args: tuple):
    """Wake as many threads as there are parts, and leave Numba's own setting as it was."""
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(min(parts, numba.config.NUMBA_NUM_THREADS))
    try:
        return compiled(*args)
    finally:
        numba.set_num_threads(before)


def _after_fork() -> None:
    """A forked child has no threads but its own, and OpenMP, once used, hangs in it."""
    global _forked, _compiling
    _forked, _compiling = True, threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_after_fork)


def _compile(loop: Callable, threaded: bool) -> Callable:
    """Hand the loop to Numba. It compiles later, once for every kind of arguments it is given."""
    import numba

    if is_interpreted():
        return loop
    if threaded:
        _load_threads()
    with _compiling:
        loop.__globals__.update(prange=numba.prange, prefetch=_prefetch())
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
            decorate = numba.njit(nogil=True, **options)
            compiled = _announced(decorate(loop), place)
        finally:
            numba.config.CACHE_DIR = users
        _compiled[loop, threaded] = compiled
    return compiled


@cache
def _load_threads() -> None:
    """Load Numba's threads, with the advice to sleep while they have nothing to do.

    By default OpenMP's threads stay awake for some milliseconds after a loop, and a loop that waits
    for its last part does so awake. Both take a core from whoever needs it: NumPy's product between
    two of our loops, or another program. On a busy machine we measured a gather at 8 ms instead of
    2 ms. Being woken costs a loop 10 to 100 microseconds. OpenMP reads this when it is loaded.
    """
    import numba

    chosen = os.environ.get("OMP_WAIT_POLICY")
    os.environ["OMP_WAIT_POLICY"] = chosen or "PASSIVE"
    try:
        numba.get_num_threads()  # loads them
    finally:
        if not chosen:
            del os.environ["OMP_WAIT_POLICY"]


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
