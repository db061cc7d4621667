"""Scatter-add: rows of gradient, added into a table."""

from __future__ import annotations

import numpy as np

from scratch_embed import kernels
from scratch_embed.kernels import tables

from .limits import time_with_copy
from .registry import Bench, Row, benchmark
from .shapes import BY_NAME, PATTERNS, SHAPES, ids_like, normal

HITS = 1 << 25  # of one row, in the benchmark of accuracy
QUICK_HITS = 1 << 22


@benchmark(
    "scatter-add",
    "into an existing array: at least 0.8 of copy uniform (0.6 for recommender), 1.5 Zipf (1 at "
    "D = 64); at least 20 times np.add.at and as fast as index_add_ at every shape but tiny; "
    "all-equal ids within 1.5 of uniform",
)
def scatter_add(bench: Bench) -> None:
    for shape in bench.some(SHAPES):
        rng = bench.rng()
        table, values = normal((shape.V, shape.D), rng), normal((shape.N, shape.D), rng)
        for pattern in PATTERNS:
            ids = ids_like(pattern, shape.V, shape.N, bench.rng())
            row = bench.row(
                f"{shape.name} {pattern}",
                V=shape.V,
                D=shape.D,
                N=shape.N,
                dtype="float32",
                ids=pattern,
                table_bytes=shape.table_bytes(),
            )
            check(row, ids, values, shape)
            measure(bench, row, table, ids, values, shape)
            judge(row, shape.name, pattern)


def check(row: Row, ids: np.ndarray, values: np.ndarray, shape) -> None:
    """Against np.add.at, bit for bit; rows that are hit very often against doubles."""
    fast, slow = (np.zeros((shape.V, shape.D), np.float32) for _ in range(2))
    kernels.scatter_add(fast, ids, values)
    np.add.at(slow, ids, values)
    rows, counts = np.unique(ids, return_counts=True)
    often = rows[counts > tables.LONG]
    for v in often:
        slow[v] = values[ids == v].sum(axis=0, dtype=np.float64)
    row.check("scatter_add against np.add.at", fast, slow, *((1e-6, 0) if len(often) else ()))


def measure(bench: Bench, row: Row, table, ids, values, shape) -> None:
    ways = {
        "ours": lambda: kernels.scatter_add(table, ids, values),
        "np.add.at": lambda: np.add.at(table, ids, values),
    }
    if row.facts["ids"] == "all equal":
        uniform = ids_like("uniform", shape.V, shape.N, bench.rng())
        ways["ours, uniform ids"] = lambda: kernels.scatter_add(table, uniform, values)
    torch = bench.peer("torch")
    if torch:
        weight, indices, added = (torch.from_numpy(array) for array in (table, ids, values))
        ways["torch index_add_"] = lambda: weight.index_add_(0, indices, added)
    # a row of values is read, and a row of the table is read and written
    time_with_copy(row, ways, values.nbytes, moved=3 * values.nbytes)


def judge(row: Row, shape: str, pattern: str) -> None:
    if shape not in ("small", "tiny"):
        uniform = 0.6 if shape == "recommender" else 0.8
        zipf = 1 if BY_NAME[shape].D == 64 else 1.5
        least = {"uniform": uniform, "Zipf": zipf}.get(pattern)
        if least:
            row.bar("share of copy", row.share(), at_least=least)
    if pattern == "all equal":
        slower = row.times["ours"] / row.times["ours, uniform ids"]
        row.bar("time over that of uniform ids", slower, at_most=1.5)
    if shape != "tiny":
        row.bar("np.add.at over ours", row.ratio("np.add.at"), at_least=20)
        row.bar("torch index_add_ over ours", row.ratio("torch index_add_"), at_least=1)


@benchmark("same bits", "1, 2 and 4 threads, and np.add.at")
def same_bits(bench: Bench) -> None:
    before = kernels.get_num_threads()
    try:
        for name in bench.some(["cached", "small", "GPT-2", "recommender"]):
            for pattern in PATTERNS:
                compare_threads(bench, BY_NAME[name], pattern)
    finally:
        kernels.set_num_threads(before)


def compare_threads(bench: Bench, shape, pattern: str) -> None:
    rng = bench.rng()
    values = normal((shape.N, shape.D), rng)
    ids = ids_like(pattern, shape.V, shape.N, rng)
    row = bench.row(f"{shape.name} {pattern}", V=shape.V, D=shape.D, N=shape.N, ids=pattern)
    counts = np.bincount(ids, minlength=shape.V)
    results = {}
    for threads in (1, 2, 4):
        kernels.set_num_threads(threads)
        table = np.zeros((shape.V, shape.D), np.float32)
        kernels.scatter_add(table, ids, values)
        sums = kernels.sum_groups(values, kernels.group_rows(ids, shape.V))
        results[threads] = table, kernels.gather(table, ids), sums
    names = "scatter_add", "gather", "groups"
    for threads in (2, 4):
        for what, one, other in zip(names, results[threads], results[1]):
            row.check(f"{what}, {threads} threads and 1", one, other)
    table, gathered, sums = results[1]
    slow = np.zeros_like(table)
    np.add.at(slow, ids, values)
    seldom = counts <= tables.LONG  # the others are summed in double precision, on purpose
    row.check("scatter_add and np.add.at", table[seldom], slow[seldom])
    row.check("groups and scatter_add", sums, table[counts > 0])
    row.check("gather and table[ids]", gathered, table[ids])
    row.bar("checks that agree to the last bit", len(row.checks), at_least=9)


@benchmark(
    "accuracy",
    "a row hit millions of times in float32 stays within a few units in the last place of the "
    "float64 sum",
)
def accuracy(bench: Bench) -> None:
    hits = QUICK_HITS if bench.quick else HITS
    ids, values = np.zeros(hits, np.int64), np.full((hits, 1), 0.1, np.float32)
    row = bench.row("0.1 added to one row", V=2, D=1, N=hits, dtype="float32", ids="all equal")
    exact = hits * float(np.float32(0.1))
    ways = {"ours": kernels.scatter_add, "np.add.at": np.add.at}
    torch = bench.peer("torch")
    if torch:
        ways["torch index_add_"] = lambda *arrays: torch.from_numpy(arrays[0]).index_add_(
            0, *map(torch.from_numpy, arrays[1:])
        )
    row.note("exact sum", exact)
    for name, add in ways.items():
        table = np.zeros((2, 1), np.float32)
        add(table, ids, values)
        off = abs(float(table[0, 0]) - exact) / float(np.spacing(np.float32(exact)))
        row.note(name, f"{table[0, 0]:,.0f}, off by {off:,.1f} units in the last place")
        if name == "ours":
            row.bar("units in the last place", off, at_most=4)
