"""Text streams that stand in front of another one, such as the true output."""

from __future__ import annotations

import io


class InFront(io.TextIOBase):
    """Says of itself what the stream behind it says: if a terminal reads it, and which letters."""

    def __init__(self, stream):
        self.stream = stream

    def isatty(self) -> bool:
        return self.stream.isatty()

    @property
    def encoding(self):
        return self.stream.encoding


class Sieve(InFront):
    """Lets through what its `write` does not lead elsewhere."""

    def flush(self) -> None:
        self.stream.flush()

    def fileno(self) -> int:
        return self.stream.fileno()
