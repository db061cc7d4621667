"""What must not end in the middle: Numba, interrupted while it compiles, stays broken.

And a step that was interrupted would have moved some tables, and others not.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block is through.

    Only the main thread gets a Ctrl-C, and only it may ask for another answer to it.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came = []
    signal.signal(signal.SIGINT, lambda *arguments: came.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])
