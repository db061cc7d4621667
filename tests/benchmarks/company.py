"""Gather in company: cold after other work, and while another program has one of the cores.

`gather.py` measures it warmed up and alone. In a training neither holds: between two lookups lie
products that fill the caches and let the threads fall asleep, and machines are shared.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from scratch_embed import kernels

from .gather import ways_into
from .limits import time_with_copy
from .registry import Bench, benchmark
from .shapes import BY_NAME, Shape, ids_like, normal

LARGE = ("cached", "GPT-2", "wide", "recommender")
SHARE = {"GPT-2": 0.75, "wide": 0.75, "cached": 0.65, "recommender": 0.65}  # README.md: why no more
BESIDE = "import time; end = time.time() + 60\nwhile time.time() < end: pass"


@benchmark(
    "gather in company",
    "after a step's other work 0.75 of copy where a row has 3 KB or more, 0.65 at D = 64; then and "
    "with one core busy within a tenth of np.take and torch",
)
def gather_in_company(bench: Bench) -> None:
    for name in bench.some(LARGE):
        shape = BY_NAME[name]
        table, out = normal((shape.V, shape.D), bench.rng()), np.empty((shape.N, shape.D), "f4")
        ids = ids_like("uniform", shape.V, shape.N, bench.rng())
        ways = ways_into(bench, table, ids, out)
        row = open_row(bench, shape, "after a step's other work")
        row.check("gather(out=) against table[ids]", kernels.gather(table, ids, out), table[ids])
        step = other_work()
        time_with_copy(row, ways, out.nbytes, 2 * out.nbytes, before=step)
        row.bar("share of copy", row.share(), at_least=SHARE[name])
        judge(row, ways)
        row = open_row(bench, shape, "one core busy")
        with one_core_busy():
            time_with_copy(row, ways, out.nbytes, 2 * out.nbytes)
        judge(row, ways)


def open_row(bench: Bench, shape: Shape, how: str):
    facts = {"V": shape.V, "D": shape.D, "N": shape.N, "table_bytes": shape.table_bytes()}
    return bench.row(f"{shape.name}, {how}", dtype="float32", ids="uniform", **facts)


def judge(row, ways: dict) -> None:
    for peer in ways:
        if peer != "ours":
            row.bar(f"{peer} over ours", row.ratio(peer), at_least=0.9)


def other_work():
    """What stands between two lookups: a product, and a pass over 32 MB."""
    hidden, weight = np.ones((8192, 512), np.float32), np.ones((512, 512), np.float32)
    passed = np.ones(1 << 23, np.float32)

    def step() -> None:
        np.maximum(hidden @ weight, 0)
        np.add(passed, 1, out=passed)

    return step


@contextmanager
def one_core_busy() -> Iterator[None]:
    """Another program counts all the time; it ends by itself after a minute."""
    program = subprocess.Popen([sys.executable, "-c", BESIDE])
    try:
        yield
    finally:
        program.kill()
        program.wait()
