"""Whether operations write on the tape, and how much of what they know: `no_grad`, `lean`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Recording(threading.local):
    """How many blocks of each kind a Python thread is in: counted, because blocks in generators may
    end in another order than they began."""

    off = 0
    leans = 0
    wholes = 0

    @property
    def on(self) -> bool:
        return not self.off

    @property
    def lean(self) -> bool:
        return bool(self.leans and not self.wholes)


recording = _Recording()


def no_grad(function: Callable | None = None):
    """Write nothing on the tape inside this block, in this Python thread: `with no_grad():`, and
    before a function `@no_grad` or `@no_grad()`.

    In front of a generator function it would cover the call alone and nothing that is computed on
    the way: write the block inside.
    """
    return _off() if function is None else _off()(function)


@contextmanager
def _off() -> Iterator[None]:
    recording.off += 1
    try:
        yield
    finally:
        recording.off -= 1


@contextmanager
def lean() -> Iterator[None]:
    """Keep on the tape only what backward reads, inside this block, in this Python thread.

    Otherwise it holds every tensor in between, which `trace` and `gradcheck` look at: of a
    Transformer's numbers a third that no gradient needs. The gradients are the same.

    >>> from scratch_embed import Tensor
    >>> x = Tensor([1.0, 2.0], requires_grad=True)
    >>> with lean():
    ...     loss = (x * x + 3).sum()             # the sum of x^2 and 3 is let go
    >>> loss.backward()
    >>> x.grad.tolist()
    [2.0, 4.0]
    """
    recording.leans += 1
    try:
        yield
    finally:
        recording.leans -= 1


@contextmanager
def whole() -> Iterator[None]:
    """Keep all on the tape inside this block, also where `lean` is asked for: to look at it."""
    recording.wholes += 1
    try:
        yield
    finally:
        recording.wholes -= 1
