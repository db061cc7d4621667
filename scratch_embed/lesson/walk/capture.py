"""What a cell prints while a person steps: kept until the next stop puts it on the sheet."""

from __future__ import annotations

import io
import sys

from scratch_embed.look.screen import COMPILING
from scratch_embed.look.streams import InFront, Sieve


class Capture(InFront):
    """Takes what is printed, and says of itself what the true output says (colours, letters)."""

    def __init__(self, stream):
        super().__init__(stream)
        self.buffer = io.StringIO()

    def write(self, text: str) -> int:
        return self.buffer.write(text)

    def take(self) -> str:
        """What was printed since it was last asked, without empty lines around it."""
        text = self.buffer.getvalue()
        self.buffer = io.StringIO()
        return text.strip("\n").rstrip()


class Aside(Sieve):
    """Standard error: a progress bar, which goes back to the start of its line, and what is being
    compiled are shown at once; a warning goes where the output goes, or the next screen would cover
    it."""

    def __init__(self, capture: Capture):
        super().__init__(sys.stderr)
        self.capture = capture

    def write(self, text: str) -> int:
        if text.startswith(("\r", "\x1b", COMPILING)):
            self.stream.write(text)
        else:
            self.capture.write(text)
        return len(text)
