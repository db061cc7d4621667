"""Processes that share out work, and end with the one that began them, however that ends."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process


@contextmanager
def workers(most: int) -> Iterator[ProcessPoolExecutor]:
    """A pool with a process for each core, at most so many, and one at least.

    After an error they end what they do, and begin nothing more. By Ctrl-C they are ended in the
    middle of it, and so where this process is killed: that must leave nothing half written.
    """
    others = set(active_children())
    with ProcessPoolExecutor(
        max(min(os.cpu_count() or 1, most), 1), get_context("spawn"), initializer=_follow
    ) as pool:
        try:
            yield pool
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if not isinstance(error, Exception):
                for child in set(active_children()) - others:
                    child.terminate()
            raise


def _follow() -> None:
    """In a worker: Ctrl-C, which a terminal sends to all, is for the one that began it. Bars have a
    lock of this process alone: one for all is a semaphore, left behind by whoever is ended."""
    from tqdm import tqdm

    tqdm.set_lock(threading.RLock())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent_process(),), daemon=True).start()


def _end_with(parent) -> None:
    parent.join()
    os._exit(1)
