"""InProcess: shards in this process, and workers that are its threads."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from typing import Protocol

from scratch_embed.sharding.shard import Shard

PATIENCE = 60.0  # seconds in which a new thread may take the place of one that has ended
FIRST = 600.0  # seconds for a worker's first step, before which it may have much to read
POOLS = {"threading", "queue", "concurrent.futures.thread", "multiprocessing.pool"}
GLANCE = 0.2  # seconds after which one who waits looks round again


class Shards(Protocol):
    """Where the shards are: in this process, or on other machines. One call asks all of them."""

    def call(self, method: str, arguments: Sequence[tuple]) -> list:
        """shard[k].method(*arguments[k]) for every shard k, at the same time where it can be."""


class InProcess:
    """All shards in this process, one after another.

    A worker is waited for as long as the thread runs that took its last step. Where that has ended,
    or waits for work in a pool, or is the one that asks here, another may take its part:
    RuntimeError after PATIENCE seconds without one (FIRST where it has taken no step yet), and at
    once where no other thread has ever asked. Nothing is lost by that: the same lookup may be asked
    again.
    """

    def __init__(self, shards: Sequence[Shard]):
        self.shards = list(shards)
        self._threads: set[threading.Thread] = set()  # that have asked
        self._pushed: dict[int, threading.Thread] = {}  # in which each worker pushed last

    def __getstate__(self) -> dict:
        raise TypeError(
            "shards in this process are neither copied nor sent to another: layer.save(folder) and "
            "load into a new layer, or keep layer.table(), a copy of the rows"
        )

    def call(self, method: str, arguments: Sequence[tuple]) -> list:
        """Raises RuntimeError rather than wait for a worker that will take no further step."""
        here = threading.current_thread()
        self._threads.add(here)
        if method == "push":
            self._pushed[arguments[0][3]] = here
        answers = []
        for shard, given in zip(self.shards, arguments, strict=True):
            if method in ("pull", "save"):
                self._wait(shard, *given[1:3], behind=0 if method == "save" else None)
            answers.append(getattr(shard, method)(*given))
        return answers

    def _wait(self, shard: Shard, step: int, life: int, behind: int | None) -> None:
        begun = time.monotonic()
        while late := shard.late(step, life, behind):
            for worker in late:
                why = self._nobody_comes(worker, time.monotonic() - begun)
                if why:
                    raise RuntimeError(
                        f"step {step} waits for worker {worker}, which has pushed "
                        f"{shard.clock[worker]} steps, and {why}: give each worker a thread of its "
                        "own, or let each step before one of them goes on"
                    )
            shard.wait(step, life, behind, GLANCE)

    def _nobody_comes(self, worker: int, waited: float) -> str:
        """Why this worker takes no further step; "" while it may."""
        here, last = threading.current_thread(), self._pushed.get(worker)
        others = any(thread.is_alive() for thread in tuple(self._threads) if thread is not here)
        if threading.active_count() == 1 or (last is here and not others):
            return "no other thread could push"
        at_work = last not in (None, here) and last.is_alive() and not _is_idle(last)
        if at_work or waited < (FIRST if last is None else PATIENCE):
            return ""
        return f"in {waited:.0f} seconds no other thread has pushed (an error in the last one?)"


def _is_idle(thread: threading.Thread) -> bool:
    """Whether a thread runs nothing but the loop of a pool, which waits for work: its last task has
    ended, by an error perhaps."""
    frame, waiting = sys._current_frames().get(thread.ident), True
    while frame is not None and waiting:
        waiting = frame.f_globals.get("__name__") in POOLS
        frame = frame.f_back
    return waiting
