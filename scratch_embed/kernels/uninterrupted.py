"""What must not end in the middle: Numba, interrupted while it compiles, stays broken.

And a step that was interrupted would have moved some tables, and others not.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

# What people and systems end, save and limit programs with; not all systems have all of them.
NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK", "SIGALRM", "SIGUSR1", "SIGUSR2")
HELD = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block is through, and so does any signal that Python answers.

    Only the main thread gets a signal, and only it may ask for another answer to it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {n: handler for n in HELD if callable(handler := signal.getsignal(n))}
    came, holding = [], True

    def later(number, frame) -> None:
        if holding:
            came.append((number, frame))
        else:  # in the moment in which the handlers go back to their places
            handlers[number](number, frame)

    try:
        for number in handlers:
            signal.signal(number, later)
        yield
    finally:
        holding = False
        with ExitStack() as last:  # whose callbacks are all called, the last first, if one raises
            for number, frame in reversed(came):
                last.callback(handlers[number], number, frame)
            for number, handler in handlers.items():
                last.callback(signal.signal, number, handler)
