"""Gather: rows of a table, copied out."""

from __future__ import annotations

import numpy as np

from scratch_embed import kernels

from .limits import time_with_copy
from .registry import Bench, benchmark
from .shapes import PATTERNS, SHAPES, Shape, ids_like, normal

SHARE = {"GPT-2": 0.9, "wide": 0.9, "cached": 0.7, "recommender": 0.5}
# Before a compiled loop begins its arguments are looked at; README.md here says what that costs.
LEAST = {("small", "np.take"): 1 / 1.1, ("tiny", "np.take"): 1 / 1.6}
LEAST_INTO = LEAST | {
    (name, "torch index_select"): 0.85 for name in ("GPT-2", "wide", "cached", "recommender")
}


@benchmark(
    "gather",
    "0.9 of copy for GPT-2 and wide, 0.7 for cached, 0.5 for recommender (uniform ids); as fast as "
    "torch's embedding and index_select and np.take at every shape, 0.85 of index_select into "
    "memory that is there; small within 1.1 and tiny within 1.6 of np.take",
)
def gather(bench: Bench) -> None:
    for shape in bench.some(SHAPES):
        table = normal((shape.V, shape.D), bench.rng())
        for pattern in bench.some(PATTERNS):
            ids = ids_like(pattern, shape.V, shape.N, bench.rng())
            into_an_array(bench, shape, pattern, table, ids)
            into_a_new_array(bench, shape, pattern, table, ids)


def open_row(bench: Bench, shape: Shape, pattern: str, how: str):
    return bench.row(
        f"{shape.name} {pattern}, {how}",
        V=shape.V,
        D=shape.D,
        N=shape.N,
        dtype="float32",
        ids=pattern,
        table_bytes=shape.table_bytes(),
    )


def into_an_array(bench: Bench, shape: Shape, pattern: str, table, ids) -> None:
    """The copy alone: the rows go into memory that is there already."""
    row = open_row(bench, shape, pattern, "into out")
    out = np.empty((shape.N, shape.D), np.float32)  # of all: nobody's is warmer than another's
    row.check("gather(out=) against table[ids]", kernels.gather(table, ids, out), table[ids])
    ways = ways_into(bench, table, ids, out)
    time_with_copy(row, ways, out.nbytes, moved=2 * out.nbytes)  # rows are read, and written
    if shape.name in SHARE and pattern == "uniform":
        row.bar("share of copy", row.share(), at_least=SHARE[shape.name])
    for peer in ("np.take", "torch index_select"):
        row.bar(
            f"{peer} over ours", row.ratio(peer), at_least=LEAST_INTO.get((shape.name, peer), 1)
        )


def ways_into(bench: Bench, table, ids, out) -> dict:
    """Ours and the peers, into the same array."""
    ways = {
        "ours": lambda: kernels.gather(table, ids, out),
        # "raise", the default, would copy once more; "clip" is its fastest mode
        "np.take": lambda: np.take(table, ids, axis=0, out=out, mode="clip"),
    }
    torch = bench.peer("torch")
    if torch:
        tensors = [torch.from_numpy(array) for array in (table, ids, out)]
        ways["torch index_select"] = lambda: torch.index_select(
            tensors[0], 0, tensors[1], out=tensors[2]
        )
    return ways


def into_a_new_array(bench: Bench, shape: Shape, pattern: str, table, ids) -> None:
    """What a layer calls: memory for the rows comes on top."""
    row = open_row(bench, shape, pattern, "new array")
    row.check("gather against table[ids]", kernels.gather(table, ids), table[ids])
    ways = {
        "ours": lambda: kernels.gather(table, ids),
        "W[ids]": lambda: table[ids],
        "np.take": lambda: np.take(table, ids, axis=0),
    }
    torch = bench.peer("torch")
    if torch:
        weight, indices = torch.from_numpy(table), torch.from_numpy(ids)
        ways["torch embedding"] = lambda: torch.nn.functional.embedding(indices, weight)
        ways["torch index_select"] = lambda: torch.index_select(weight, 0, indices)
    row.time(ways)
    for peer in ("np.take", "torch embedding", "torch index_select"):
        row.bar(f"{peer} over ours", row.ratio(peer), at_least=LEAST.get((shape.name, peer), 1))
