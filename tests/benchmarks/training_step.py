"""One whole training step of a table: lookup, backward, and the optimiser."""

from __future__ import annotations

import tracemalloc

import numpy as np

from scratch_embed import SGD, Adagrad, Adam, Embedding, LazyAdam, RowAdagrad, Tensor

from .registry import Bench, benchmark
from .shapes import BY_NAME, SHAPES, Shape, ids_like, normal

OURS = {"SGD": SGD, "LazyAdam": LazyAdam, "Adagrad": Adagrad, "RowAdagrad": RowAdagrad}
# torch has no row-wise Adagrad; its nearest keeps a number for every entry
PEERS = {"SGD": "SGD", "LazyAdam": "SparseAdam", "Adagrad": "Adagrad", "RowAdagrad": "Adagrad"}
TABLES = (10_000, 100_000, 1_000_000)


@benchmark(
    "training step",
    "flat in V; ahead of torch with sparse=True and its SparseAdam or SGD at every shape; no V by "
    "D array; Adam on a dense gradient as fast as torch's, with 1.2 tables of temporaries at most",
)
def training_step(bench: Bench) -> None:
    for shape in bench.some(SHAPES):
        against_torch(bench, shape)
    for name in ["cached"] if bench.quick else ["cached", "GPT-2"]:
        flat_in_rows(bench, BY_NAME[name])
        dense_adam(bench, BY_NAME[name])


def step_of(optimizer: type, shape: Shape, ids, dout):
    """A step on a table of its own."""
    layer = Embedding(shape.V, shape.D, sparse=True, rng=0)
    rule = optimizer(layer.parameters(), lr=0.01)

    def step():
        rule.zero_grad()
        layer(ids).backward(dout)
        rule.step()
        return layer.weight.data

    return step


def torch_step(torch, optimizer: str, shape: Shape, ids, dout):
    layer = torch.nn.Embedding(shape.V, shape.D, sparse=True)
    layer.weight.data[:] = torch.from_numpy(Embedding(shape.V, shape.D, rng=0).weight.data)
    rule = getattr(torch.optim, optimizer)(layer.parameters(), lr=0.01)
    ids, dout = torch.from_numpy(ids), torch.from_numpy(dout)

    def step():
        rule.zero_grad()
        layer(ids).backward(dout)
        rule.step()
        return layer.weight.data.numpy()

    return step


def against_torch(bench: Bench, shape: Shape) -> None:
    rng = bench.rng()
    # In steps of 1/64, so that sums are exact in any order: Adam's first step is the sign of the
    # sum, and a rounding error in place of a zero would have one.
    ids = ids_like("uniform", shape.V, shape.N, rng)
    dout = np.round(normal((shape.N, shape.D), rng) * 64) / np.float32(64)
    dout.setflags(write=False)  # then backward need not copy it, as torch never does
    for name in bench.some(list(OURS)):
        facts = {"V": shape.V, "D": shape.D, "N": shape.N, "table_bytes": shape.table_bytes()}
        row = bench.row(f"{name}, {shape.name}", dtype="float32", ids="uniform", **facts)
        ways = {"ours": step_of(OURS[name], shape, ids, dout)}
        first = ways["ours"]()
        if name == "SGD":
            table = Embedding(shape.V, shape.D, rng=0).weight.data
            np.add.at(table, ids, np.float32(-0.01) * dout)
            row.check("one step against np.add.at", first, table, atol=1e-6)
        torch = bench.peer("torch")
        if torch:
            ways[f"torch {PEERS[name]}"] = torch_step(torch, PEERS[name], shape, ids, dout)
            theirs = ways[f"torch {PEERS[name]}"]()
            if name != "RowAdagrad":
                row.check("one step against torch", first, theirs, rtol=1e-4, atol=1e-5)
        row.time(ways)
        row.bar(f"torch {PEERS[name]} over ours", row.ratio(f"torch {PEERS[name]}"), at_least=1)


def dense_adam(bench: Bench, shape: Shape) -> None:
    """A gradient in every row, as a tied head sends it."""
    grad = normal((shape.V, shape.D), bench.rng())
    facts = {"V": shape.V, "D": shape.D, "table_bytes": shape.table_bytes()}
    row = bench.row(f"Adam, dense gradient, {shape.name}", dtype="float32", **facts)
    table = Tensor(np.zeros_like(grad), requires_grad=True)
    table.grad = grad
    rule = Adam([table], lr=0.01)
    rule.step()  # makes m and v, and they stay
    ways = {"ours": rule.step}
    torch = bench.peer("torch")
    if torch:
        weight = torch.nn.Parameter(torch.zeros(shape.V, shape.D))
        weight.grad = torch.from_numpy(grad)
        ways["torch Adam"] = torch.optim.Adam([weight], lr=0.01).step
        ways["torch Adam"]()
        row.check("one step against torch", table.data, weight.detach().numpy(), atol=1e-6)
    tracemalloc.start()
    rule.step()
    peak = tracemalloc.get_traced_memory()[1] / grad.nbytes
    tracemalloc.stop()
    row.bar("temporaries, in tables", peak, at_most=1.2)
    row.time(ways)
    row.bar("torch Adam over ours", row.ratio("torch Adam"), at_least=1)


def flat_in_rows(bench: Bench, shape: Shape) -> None:
    """The same batch on tables of 1e4 to 1e6 rows, with as many distinct rows on each."""
    rng = bench.rng()
    base, dout = rng.integers(0, TABLES[0], shape.N), normal((shape.N, shape.D), rng)
    dout.setflags(write=False)
    row = bench.row(f"SGD, {shape.name}, V from 1e4 on", D=shape.D, N=shape.N, dtype="float32")
    ways = {}
    for num_rows in bench.some(TABLES):
        table = Shape("", num_rows, shape.D, shape.N)
        label = "ours" if num_rows == TABLES[0] else f"ours at V={num_rows:,}"
        ways[label] = step_of(SGD, table, base * (num_rows // TABLES[0]), dout)
    row.time(ways)
    for num_rows in bench.some(TABLES)[1:]:
        grown = row.times[f"ours at V={num_rows:,}"] / row.times["ours"]
        row.bar(f"time at V={num_rows:,} over V={TABLES[0]:,}", grown, at_most=1.2)
