"""The backward of a lookup as a RowGrad: the rows of the batch, and nothing of order V."""

from __future__ import annotations

import numpy as np

from scratch_embed import kernels
from scratch_embed.ops.lookup import LookupSaved, lookup_backward
from scratch_embed.rows import RowGrad

from .registry import Bench, Row, benchmark
from .shapes import BY_NAME, ids_like, normal

TABLES = (10_000, 100_000, 1_000_000)


@benchmark(
    "row-sparse backward",
    "flat in V from 1e4 to 1e6 within 20 % for as many distinct rows; for more of them it grows no "
    "more than the bytes that move; at least 20 times torch's embedding_dense_backward and 2 times "
    "its sparse gradient with coalesce at GPT-2; for cached at most 2 times the plain scatter",
)
def row_sparse(bench: Bench) -> None:
    names = ["cached"] if bench.quick else ["cached", "GPT-2"]
    for name in names:
        against_peers(bench, name)
    for name in names:
        flat_in_rows(bench, name, same_rows=True)
        if not bench.quick:
            flat_in_rows(bench, name, same_rows=False)


def backward(ids: np.ndarray, dout: np.ndarray, num_rows: int, sparse: bool):
    """The whole gradient: a RowGrad sums equal rows when its values are asked for, so we ask."""
    grad = lookup_backward(dout, LookupSaved(ids, num_rows, None, False, sparse))
    return grad.values if sparse else grad


def against_peers(bench: Bench, name: str) -> None:
    shape, rng = BY_NAME[name], bench.rng()
    ids = ids_like("uniform", shape.V, shape.N, rng)
    dout, table = normal((shape.N, shape.D), rng), np.zeros((shape.V, shape.D), np.float32)
    row = bench.row(
        f"{name} uniform",
        V=shape.V,
        D=shape.D,
        N=shape.N,
        dtype="float32",
        ids="uniform",
        table_bytes=shape.table_bytes(),
    )
    dense = np.zeros_like(table)
    np.add.at(dense, ids, dout)
    row.check("RowGrad against np.add.at", RowGrad(ids, dout, table.shape).to_dense(), dense)
    ways = {
        "ours": lambda: backward(ids, dout, shape.V, sparse=True),
        "ours, dense gradient": lambda: backward(ids, dout, shape.V, sparse=False),
        "ours, plain scatter": lambda: kernels.scatter_add(table, ids, dout),
    }
    row.time(ways | scipy_way(bench, ids, dout) | torch_ways(bench, ids, dout, shape.V))
    if name == "GPT-2":
        row.bar("torch dense over ours", row.ratio("torch dense_backward"), at_least=20)
        row.bar("torch coalesce over ours", row.ratio("torch sparse, coalesce"), at_least=2)
        row.bar("our dense over ours", row.ratio("ours, dense gradient"), at_least=6)
    else:
        slower = row.times["ours"] / row.times["ours, plain scatter"]
        row.bar("time over the plain scatter", slower, at_most=2)


def scipy_way(bench: Bench, ids, dout) -> dict:
    if not bench.peer("scipy"):
        return {}
    from scipy.sparse import csr_matrix

    ones, ends = np.ones(len(ids), np.float32), np.arange(len(ids) + 1)

    def product():
        rows, use = np.unique(ids, return_inverse=True)
        return rows, csr_matrix((ones, use, ends), (len(ids), len(rows))).T @ dout

    return {"SciPy one-hot product": product}


def torch_ways(bench: Bench, ids, dout, num_rows: int) -> dict:
    torch = bench.peer("torch")
    if not torch:
        return {}
    indices, grad = torch.from_numpy(ids), torch.from_numpy(dout)
    size = (num_rows, dout.shape[1])

    def coalesce():
        return torch.sparse_coo_tensor(indices[None], grad, size, check_invariants=False).coalesce()

    def dense():
        return torch.ops.aten.embedding_dense_backward(grad, indices, num_rows, -1, False)

    return {"torch dense_backward": dense, "torch sparse, coalesce": coalesce}


def flat_in_rows(bench: Bench, name: str, same_rows: bool) -> None:
    """The same batch on tables of 1e4 to 1e6 rows.

    same_rows: as many distinct rows on every table, spread over it. Otherwise uniform over the
    table: a larger table then means fewer repeats, and so more rows to write.
    """
    shape, rng = BY_NAME[name], bench.rng()
    how = "as many distinct rows" if same_rows else "uniform"
    row = bench.row(f"{name}, {how}, V from 1e4 to 1e6", D=shape.D, N=shape.N, dtype="float32")
    dout, ways, distinct = normal((shape.N, shape.D), rng), {}, {}
    for num_rows in TABLES:
        ids = rng.integers(0, TABLES[0] if same_rows else num_rows, shape.N)
        ids *= num_rows // TABLES[0] if same_rows else 1
        label = "ours" if num_rows == TABLES[0] else f"ours at V={num_rows:,}"
        ways[label] = lambda ids=ids, num_rows=num_rows: backward(ids, dout, num_rows, sparse=True)
        distinct[num_rows] = len(np.unique(ids))
        row.note(f"distinct rows at V={num_rows:,}", distinct[num_rows])
    row.time(ways)
    judge_flatness(row, shape.N, distinct)


def judge_flatness(row: Row, read: int, written: dict[int, int]) -> None:
    """A backward reads N rows, and writes the distinct ones: that many more may take longer."""
    for num_rows in TABLES[1:]:
        grown = row.times[f"ours at V={num_rows:,}"] / row.times["ours"]
        moved = (read + written[num_rows]) / (read + written[TABLES[0]])
        most = max(1.2, moved)
        row.bar(f"time at V={num_rows:,} over V={TABLES[0]:,}", grown, at_most=most)
