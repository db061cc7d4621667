"""The loop of a training: a bar on a terminal, plain lines in a log, Ctrl-C between two steps.

with Progress(start, stop) as progress:
    for step in progress:
        ...
        progress.says = f"loss {loss:.3f}"
if progress.stopped:                        # Ctrl-C: the model is after its last whole step
    save(...)

Work that is no row of equal steps says itself how far it is: progress.to(words_done).
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Self

EVERY = 10.0  # seconds between two lines of a log
MANY = 100_000  # steps that a bar counts in thousands and millions
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Progress:
    """The steps `start`, ..., `stop - 1`, and how far they are.

    Ctrl-C, or the signal that a system ends programs with, lets the step that is under way end, and
    then there are no more; a second one breaks it off. `done` is how many steps have been taken,
    those before `start` included, and `stopped` whether the run was broken off.

    stop : None where nobody knows. unit : what a step is called. every : seconds between two lines
    where there is no terminal. waits : whether a step is let end; else the first press breaks off.
    """

    def __init__(
        self, start: int, stop: int | None, unit: str = "step", every: float = EVERY,
        waits: bool = True,
    ):  # fmt: skip
        self.done, self.stop, self.unit, self.every = start, stop, unit, every
        self.says, self.stopped, self.waits = "", False, waits
        self._start, self._before, self._bar = start, {}, None

    def __enter__(self) -> Self:
        from tqdm import tqdm

        self._bar = tqdm(
            total=self.stop, initial=self.done, unit=self.unit, dynamic_ncols=True, disable=None,
            unit_scale=self.stop is None or self.stop >= MANY,
        )  # fmt: skip
        if threading.current_thread() is threading.main_thread():  # only there Ctrl-C arrives
            self._before = {each: signal.signal(each, self._interrupted) for each in SIGNALS}
        self._began = self._said = time.monotonic()
        return self

    def __exit__(self, *error) -> None:
        self._bar.close()
        for each, handler in self._before.items():
            signal.signal(each, handler or signal.SIG_DFL)

    def __iter__(self) -> Iterator[int]:
        while self.done < self.stop and not self.stopped:
            yield self.done
            self.to(self.done + 1)

    def to(self, done: int) -> None:
        """So many steps have been taken."""
        ends = done == self.stop and done > self.done
        self.done = done
        if not self._bar.disable:
            self._bar.set_postfix_str(self.says, refresh=False)
            self._bar.update(done - self._bar.n)
            return
        now = time.monotonic()
        if now - self._said >= self.every or ends:
            self._line((done - self._start) / max(now - self._began, 1e-9))
            self._said = now

    def _line(self, rate: float) -> None:
        pace = f"{rate:{',.0f' if rate >= 100 else '.3g'}} {self.unit}s a second"
        of = ""
        if self.stop is not None:
            of = f" of {self.stop:,}"
            pace += f", {(self.stop - self.done) / max(rate, 1e-9):,.0f} s left"
        parts = [f"{self.unit} {self.done:,}{of}", self.says, pace]
        print("; ".join(filter(None, parts)), file=sys.stderr, flush=True)

    def _interrupted(self, number, frame) -> None:
        if self.stopped or not self.waits:
            raise KeyboardInterrupt
        self.stopped = True
