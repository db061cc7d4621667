"""The tied head and its loss: N by V logits that are never held."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from scratch_embed import Tensor
from scratch_embed import functional as F

from .registry import Bench, benchmark
from .shapes import normal

SHAPES = [(2_048, 50_257, 256), (1_024, 32_000, 512)]
QUICK_SHAPE = 512, 20_000, 128

# In a process of its own: what one step adds to the highest memory, beyond its two gradients.
PEAK = """
from tests.benchmarks.tied import highest, inputs, {way} as way
N, V, D = {shape}
small, real = way(*inputs(64, 500, 32)), way(*inputs(N, V, D))
small()
before = highest()
real()
print(highest() - before - 4 * D * (N + V))
"""


@benchmark(
    "tied cross-entropy",
    "loss and both gradients in at most torch's time, and at most one tenth of its extra memory",
)
def tied(bench: Bench) -> None:
    for N, V, D in [QUICK_SHAPE] if bench.quick else SHAPES:
        arrays = inputs(N, V, D)
        row = bench.row(f"N={N:,} V={V:,}", N=N, V=V, D=D, dtype="float32", ids="uniform")
        for what, fused, plain in zip(("loss", "dh", "dweight"), ours(*arrays)(), apart(*arrays)()):
            row.check(f"{what} against project and cross_entropy", fused, plain, 1e-4, 1e-8)
        ways = {"ours": ours(*arrays), "ours, two operations": apart(*arrays)}
        if bench.peer("torch"):
            ways["torch"] = theirs(*arrays)
        row.time(ways)
        row.bar("torch over ours", row.ratio("torch"), at_least=1)
        memory = {way: peak(way, (N, V, D)) for way in ("ours", "apart", "theirs")}
        for way, name in (("ours", "ours"), ("apart", "two operations"), ("theirs", "torch")):
            row.note(f"extra MB, {name}", memory[way] and round(memory[way] / 1e6, 1))
        share = memory["ours"] / memory["theirs"] if all(memory.values()) else None
        row.bar("extra memory, ours over torch", share, at_most=0.1)


def inputs(N: int, V: int, D: int) -> tuple:
    rng = np.random.default_rng(5)
    return normal((N, D), rng), normal((V, D), rng) * np.float32(0.05), rng.integers(0, V, N)


def ours(h, weight, targets):
    return _stepper(h, weight, lambda h, E: F.tied_cross_entropy(h, E, targets))


def apart(h, weight, targets):
    return _stepper(h, weight, lambda h, E: F.cross_entropy(F.project(h, E), targets))


def _stepper(h, weight, loss_of):
    def step():
        tensors = [Tensor(array, requires_grad=True) for array in (h, weight)]
        loss = loss_of(*tensors)
        loss.backward()
        return loss.data, *(t.grad for t in tensors)

    return step


def theirs(h, weight, targets):
    import torch

    targets = torch.from_numpy(targets)

    def step():
        tensors = [torch.from_numpy(array).requires_grad_() for array in (h, weight)]
        loss = torch.nn.functional.cross_entropy(tensors[0] @ tensors[1].T, targets)
        loss.backward()
        return loss, *(t.grad for t in tensors)

    return step


def highest() -> int:
    """The most bytes that this process has held so far."""
    try:  # getrusage would also count what the parent held when it started us
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return 1024 * int(status.split("VmHWM:")[1].split()[0])
    except OSError:
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def peak(way: str, shape: tuple) -> int | None:
    """Bytes, or None where the system or the peer is missing."""
    code = PEAK.format(way=way, shape=shape)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")
    return int(done.stdout) if done.returncode == 0 else None
