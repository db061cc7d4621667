"""How a compiled loop is run: on one thread or on several, with the same bits."""

from __future__ import annotations

import logging  # noqa: F401  so that its lock is taken after ours before a fork: Numba asks for it
import operator
import os
import sys
import threading
from collections.abc import Callable
from functools import cache

from scratch_embed.kernels import compiling
from scratch_embed.kernels.compiling import compiled, is_interpreted

# Waking a thread takes 10 to 100 microseconds: a part of fewer elements than this is not worth it.
PART = 1 << 19

_num_threads: int | None = None  # as set by set_num_threads
_forked = False
_running = threading.RLock()  # held by the one Python thread that may use several threads


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


def run(loop: Callable, parts: int, *args):
    """Call the compiled form of a loop; with more than one part, `prange` runs on threads.

    Where Numba has neither OpenMP nor TBB (a plain Mac), a second Python thread that enters a
    threaded loop aborts the process. So one at a time does; whoever comes meanwhile takes the
    same loop on its own thread, without waiting, and gets the same bits. So does a forked child.
    """
    if parts > 1 and _has_threads() and _running.acquire(blocking=False):
        try:
            return _run_threaded(loop, parts, args)
        finally:
            _running.release()
    return compiled[loop, False](*args)


def _has_threads() -> bool:
    """A forked child has no threads but its own, and OpenMP, once used, hangs in it."""
    return not (_forked or is_interpreted())


def _run_threaded(loop: Callable, parts: int, args: tuple):
    """Wake as many threads as there are parts, and leave Numba's own setting as it was."""
    import numba

    _load_threads()
    before, wanted = numba.get_num_threads(), min(parts, numba.config.NUMBA_NUM_THREADS)
    if wanted == before:  # to set it twice takes 20 microseconds after a loop that swept the caches
        return compiled[loop, True](*args)
    numba.set_num_threads(wanted)
    try:
        return compiled[loop, True](*args)
    finally:
        numba.set_num_threads(before)


_held: list = []  # by the thread that is about to fork


def _before_fork() -> None:
    """Wait until no thread imports Numba or compiles: a child would find what it holds meanwhile
    taken for ever, by a thread that the child has not.
    """
    compiling.lock.acquire()
    _held.append(compiling.lock)
    numbas = sys.modules.get("numba.core.compiler_lock")
    if numbas:
        numbas.global_compiler_lock.acquire()
        _held.append(numbas.global_compiler_lock)


def _after_fork() -> None:
    while _held:
        _held.pop().release()


def _in_child() -> None:
    global _forked
    _forked = True
    _after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)


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
        with compiling.lock:  # who forks now would leave a lock of LLVM's taken in the child
            numba.get_num_threads()  # loads them
    finally:
        if not chosen:
            del os.environ["OMP_WAIT_POLICY"]
