"""Whether operations write on the tape, and how much of what they know: `no_grad`, `lean`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Recording(threading.local):  # each Python thread switches its own
    on = True
    lean = False  # see `lean`
    whole = False  # see `whole`


recording = _Recording()


@contextmanager
def no_grad() -> Iterator[None]:
    """Write nothing on the tape inside this block, in this Python thread."""
    before, recording.on = recording.on, False
    try:
        yield
    finally:
        recording.on = before


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
    before, recording.lean = recording.lean, not recording.whole
    try:
        yield
    finally:
        recording.lean = before


@contextmanager
def whole() -> Iterator[None]:
    """Keep all on the tape inside this block, also where `lean` is asked for: to look at it."""
    before = recording.whole, recording.lean
    recording.whole, recording.lean = True, False
    try:
        yield
    finally:
        recording.whole, recording.lean = before
