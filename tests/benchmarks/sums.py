"""A sum over rows: the gradient of whatever was broadcast, and its precision."""

from __future__ import annotations

import numpy as np

from scratch_embed import kernels

from .limits import time_with_copy
from .registry import Bench, benchmark

ROWS = 1 << 20
WIDTHS = (64, 3)


@benchmark(
    "sum over rows",
    "a million rows of float32 in the time of a copy, and not slower than np.sum and torch.sum; "
    "the sum within a few units in the last place, where np.sum is off by thousands",
)
def sum_over_rows(bench: Bench) -> None:
    for width in bench.some(WIDTHS):
        values = np.full((ROWS, width), 0.1, np.float32)
        row = bench.row(f"{width} columns", N=ROWS, D=width, dtype="float32")
        ways = {
            "ours": lambda values=values: kernels.sum_over(values, axis=0),
            "np.sum": lambda values=values: values.sum(axis=0),
            "np.sum in double": lambda values=values: values.sum(axis=0, dtype=np.float64),
        }
        torch = bench.peer("torch")
        if torch:
            tensor = torch.from_numpy(values)
            ways["torch.sum"] = lambda tensor=tensor: tensor.sum(dim=0)
        exact = ROWS * float(np.float32(0.1))
        for name, way in ways.items():
            off = np.abs(np.asarray(way()) - exact).max() / float(np.spacing(np.float32(exact)))
            row.note(name, f"off by {off:,.1f} units in the last place")
            if name == "ours":
                row.bar("units in the last place", off, at_most=4)
        time_with_copy(row, ways, values.nbytes, values.nbytes)
        for peer in ("copy", "np.sum", "torch.sum"):
            row.bar(f"{peer} over ours", row.ratio(peer), at_least=1)
