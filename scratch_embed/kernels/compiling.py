"""How a plain loop is compiled: when it is first needed, by Numba, which is imported then."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

from scratch_embed.kernels.instructions import instructions
from scratch_embed.kernels.kept import kept, say_once
from scratch_embed.uninterrupted import uninterrupted

AS_NUMPY = {"error_model": "numpy"}  # what is divided by 0 is inf or NaN, and no error half way
SLOW = 0.5  # seconds that may pass without a word

# Held to import Numba, and to hand it one loop at a time. All locks here are RLocks: since Python
# 3.14 Ctrl-C just as `with` has taken one leaves it taken, and a thread must not wait for itself.
lock = threading.RLock()


@cache
def is_interpreted() -> bool:
    """Whether loops run as plain Python: without Numba, or with NUMBA_DISABLE_JIT=1."""
    try:
        with uninterrupted(), lock:  # a fork in the middle of it waits: see threads.py
            import numba
            import numpy.ma  # noqa: F401  which Numba would import on its own, at the first array
    except ImportError as error:
        say_once(
            f"Numba cannot be imported ({error}), so loops run as plain Python, with the same "
            "answers but a hundred times slower: pip install numba"
        )
        return True
    return bool(numba.config.DISABLE_JIT)


class Compiled(dict):
    """compiled[loop, threaded] is the form of a loop that runs on one thread, or on several."""

    def __missing__(self, key: tuple[Callable, bool]) -> Callable:
        """Hand the loop to Numba. It compiles later, once for every kind of arguments."""
        with uninterrupted(), lock:
            self[key] = key[0] if is_interpreted() else _decorated(*key)
        return self[key]


compiled = Compiled()


def _decorated(loop: Callable, threaded: bool) -> Callable:
    import numba

    loop.__globals__.update(instructions())
    for helper in getattr(loop, "helpers", ()):  # functions that the loop calls
        loop.__globals__[helper.__name__] = numba.njit(**AS_NUMPY)(helper)
    how = {"parallel": threaded, "fastmath": getattr(loop, "fastmath", False)}  # it may allow it
    dispatcher = numba.njit(nogil=True, **how, **AS_NUMPY)(loop)
    dispatcher._cache = kept(loop, threaded) or dispatcher._cache
    return _announced(dispatcher, dispatcher._cache.cache_path)


def _announced(dispatcher, place: Path | None):
    """Say what is compiling when it takes over SLOW seconds. Reading what is kept is no compiling,
    however slow the disk: Numba asks for that first, and the clock starts when nothing was found.
    """
    compile_now, load = dispatcher.compile, dispatcher._cache.load_overload
    where = f", once: it is kept in {place}" if place else ""
    message = f"scratch_embed: compiling {dispatcher.__name__}{where}\n"  # written in one piece
    timers = []  # at most one: Numba compiles a loop for one kind of arguments at a time

    def load_or_start_the_clock(*arguments):
        found = load(*arguments)
        if found is None:
            how = {"end": "", "file": sys.stderr, "flush": True}
            timer = threading.Timer(SLOW, print, (message,), how)
            timer.daemon = True
            timers.append(timer)
            timer.start()
        return found

    def compile_aloud(signature):
        try:
            with uninterrupted():
                return compile_now(signature)
        finally:
            while timers:
                timers.pop().cancel()

    dispatcher._cache.load_overload = load_or_start_the_clock
    dispatcher.compile = compile_aloud
    return dispatcher
