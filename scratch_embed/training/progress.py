"""The loop of a training: a bar on a terminal, plain lines in a log, Ctrl-C between two steps.

with Progress(start, stop) as progress:
    for step in progress:
        ...
        progress.says = f"loss {loss:.3f}"
if progress.stopped:                        # Ctrl-C: the model is after its last whole step
    save(...)
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Self

EVERY = 10.0  # seconds between two lines of a log


class Progress:
    """The steps `start`, ..., `stop - 1`, and how far they are.

    Ctrl-C lets the step that is under way end, and then there are no more; a second Ctrl-C breaks
    it off. `done` is how many steps have been taken, those before `start` included, and `stopped`
    whether the run was broken off.

    unit : what a step is called. every : seconds between two lines where there is no terminal.
    """

    def __init__(self, start: int, stop: int, unit: str = "step", every: float = EVERY):
        self.done, self.stop, self.unit, self.every = start, stop, unit, every
        self.says, self.stopped = "", False
        self._before = self._bar = None

    def __enter__(self) -> Self:
        from tqdm import tqdm

        self._bar = tqdm(
            total=self.stop, initial=self.done, unit=self.unit, dynamic_ncols=True, disable=None
        )
        if threading.current_thread() is threading.main_thread():  # only there Ctrl-C arrives
            self._before = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *error) -> None:
        self._bar.close()
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def __iter__(self) -> Iterator[int]:
        start, began = self.done, time.monotonic()
        last = began
        while self.done < self.stop and not self.stopped:
            yield self.done
            self.done += 1
            if not self._bar.disable:
                self._bar.set_postfix_str(self.says, refresh=False)
                self._bar.update()
                continue
            now = time.monotonic()
            if now - last >= self.every or self.done == self.stop:
                self._line((self.done - start) / max(now - began, 1e-9))
                last = now

    def _line(self, rate: float) -> None:
        left = (self.stop - self.done) / rate
        pace = f"{rate:.3g} {self.unit}s a second, {left:,.0f} s left"
        parts = [f"{self.unit} {self.done:,} of {self.stop:,}", self.says, pace]
        print("; ".join(filter(None, parts)), file=sys.stderr, flush=True)

    def _interrupted(self, number, frame) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
