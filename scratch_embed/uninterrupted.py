"""What must not end in the middle: Numba, interrupted while it compiles, stays broken.

And a step that was interrupted would have moved some tables, and others not.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# What people and systems end, save and limit programs with; not all systems have all of them.
NAMES = (
    "SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK", "SIGQUIT", "SIGTSTP", "SIGCONT", "SIGCHLD", "SIGIO",
    "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGXCPU", "SIGUSR1", "SIGUSR2",
)  # fmt: skip
HELD = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]


_aside: dict = {}  # the handlers of before, while the outermost block runs


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block is through, and so does any of HELD that Python answers.

    Only the main thread gets a signal, and only it may ask for another answer to it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {n: handler for n in HELD if callable(handler := signal.getsignal(n))}
    came, outermost = [], not _aside
    try:
        if outermost:
            _aside.update(handlers)
        _answer_with(dict.fromkeys(handlers, lambda *arguments: came.append(arguments)))
        yield
    finally:
        if outermost:
            _aside.clear()
        _hand_on(came, handlers)


def _answer_with(handlers: dict) -> None:
    """Take a handler at a time out of the dict, once it answers.

    A loop of its own: in Python 3.13, what arrives as a loop begins anew passes by the `try` that
    the loop stands in, but not by one around the call.
    """
    while handlers:
        number = next(reversed(handlers))
        signal.signal(number, handlers[number])
        del handlers[number]


def _hand_on(came: list, handlers: dict) -> None:
    """Put every handler back, and let it answer what came; raises the first of their errors, but
    what ends the program, as Ctrl-C does, before what is meant to be caught.

    One that is back already may raise at any moment, and the others are put back all the same.
    """
    absent, errors = dict(handlers), []
    while absent or came:
        try:
            _answer_with(absent)
            _tell(came, handlers)
        except BaseException as error:  # noqa: BLE001  of a handler: raised below
            errors.append(error)
    if errors:
        raise next((error for error in errors if not isinstance(error, Exception)), errors[0])


def _tell(came: list, handlers: dict) -> None:
    while came:
        number, frame = came.pop(0)
        handlers[number](number, frame)


def _in_child() -> None:
    """In a process that another thread forks while a block runs, nobody will put them back."""
    for number, handler in _aside.items():
        signal.signal(number, handler)
    _aside.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
