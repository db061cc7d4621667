"""What an operation costs beyond its arithmetic: tiny inputs."""

from __future__ import annotations

import numpy as np

from scratch_embed import Tensor
from scratch_embed import functional as F

from .registry import Bench, benchmark
from .shapes import BY_NAME, normal


@benchmark("overhead", "one op on tiny inputs in at most 2 times torch's time")
def overhead(bench: Bench) -> None:
    V, D, N = BY_NAME["tiny"][1:]
    rng = bench.rng()
    table, x, y, ids = normal((V, D), rng), normal((N, D), rng), normal((N, D), rng), [4, 1, 1]
    E, a, b = (Tensor(array, requires_grad=True) for array in (table, x, y))
    ids, dout = np.array(ids), np.ones((N, D), np.float32)
    ours = {"lookup": lambda: F.lookup(E, ids), "add": lambda: a + b, "matmul": lambda: a @ b}
    torch, theirs = bench.peer("torch"), {}
    if torch:
        tE, ta, tb = (torch.from_numpy(array).requires_grad_() for array in (table, x, y))
        tids, tdout, embedding = (
            torch.from_numpy(ids),
            torch.ones(N, D),
            torch.nn.functional.embedding,
        )
        theirs["lookup"] = lambda: embedding(tids, tE)
        theirs["add"], theirs["matmul"] = lambda: ta + tb, lambda: ta @ tb
    for name, run in ours.items():
        row = bench.row(name, V=V, D=D, N=N, dtype="float32")
        ways = {"ours": run, "ours, and backward": lambda run=run: and_back(run, dout, E, a, b)}
        if torch:
            run = theirs[name]
            row.check("against torch", ways["ours"]().data, run().detach().numpy(), rtol=1e-6)
            ways["torch"] = run
            ways["torch, and backward"] = lambda run=run: and_back(run, tdout, tE, ta, tb)
        row.time(ways)
        ratio = row.times["ours"] / row.times["torch"] if torch else None
        row.bar("time over torch's", ratio, at_most=2)
        both = row.times["ours, and backward"] / row.times["torch, and backward"] if torch else None
        row.bar("time over torch's, with backward", both, at_most=2)


def and_back(run, dout, *leaves) -> None:
    for leaf in leaves:
        leaf.grad = None
    run().backward(dout)
