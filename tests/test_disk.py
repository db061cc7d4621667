"""Tables on disk: larger than the memory allowed, killed in the middle, refused when wrong."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from scratch_embed import SGD, Adagrad, Embedding
from scratch_embed.disk import create_table, open_table
from scratch_embed.optim import LazyAdam

ROOT = Path(__file__).resolve().parent.parent


def start(code: str, *arguments) -> subprocess.Popen:
    """Run code in a fresh interpreter."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


# ---- the file ------------------------------------------------------------------------------------


def test_a_table_is_drawn_and_found_again(tmp_path):
    table = create_table(tmp_path / "t.npy", 500, 8, std=0.5, rng=3)
    rows = np.random.default_rng(3).standard_normal((500, 8), np.float32) * np.float32(0.5)
    assert np.array_equal(table, rows) and isinstance(table, np.memmap)
    table[7] = 1
    table.flush()
    rows[7] = 1
    assert np.array_equal(open_table(tmp_path / "t.npy"), rows)
    assert np.array_equal(np.load(tmp_path / "t.npy"), rows)  # a plain .npy file
    assert [path.name for path in tmp_path.iterdir()] == ["t.npy"]


def test_blocks_do_not_show(tmp_path, monkeypatch):
    whole = create_table(tmp_path / "a.npy", 101, 3, dtype=np.float64, rng=0)
    monkeypatch.setattr("scratch_embed.disk.BLOCK", 7)
    assert np.array_equal(create_table(tmp_path / "b.npy", 101, 3, dtype=np.float64, rng=0), whole)


def test_what_is_no_table_is_refused(tmp_path):
    create_table(tmp_path / "t.npy", 2, 2)
    with pytest.raises(FileExistsError, match=r"t\.npy exists; open it with open_table"):
        create_table(tmp_path / "t.npy", 3, 3)
    with pytest.raises(TypeError, match="float16"):
        create_table(tmp_path / "half.npy", 2, 2, dtype=np.float16)
    assert not (tmp_path / "half.npy").exists()
    for name, array in {
        "3-d": np.zeros((2, 2, 2)),
        "integers": np.zeros((2, 2), int),
        "columns": np.asfortranarray(np.zeros((3, 2))),
    }.items():
        np.save(tmp_path / f"{name}.npy", array)
        with pytest.raises(ValueError, match="a table has two axes"):
            open_table(tmp_path / f"{name}.npy")
    for content in (
        b"the cat sat",
        b"\x93NUMPY",
        b"\x93NUMPY\x09\x00",
        b"\x93NUMPY\x01\x00v\x00{'",
    ):
        (tmp_path / "text.npy").write_bytes(content)
        with pytest.raises(ValueError, match="text.npy is no .npy table"):
            open_table(tmp_path / "text.npy")


@pytest.mark.parametrize("header", [b"{", b"(1,", b"{'a': 1", b"  x\n y", b"'", b"{}", b"-[]"])
def test_a_header_that_is_no_python_is_refused(tmp_path, header):
    """NumPy reads it as source, and raises whatever tokenize and ast raise."""
    path = tmp_path / "table.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(ValueError, match="is no .npy table"):
        open_table(path)


def test_a_file_whose_size_is_not_what_its_header_asks_for_is_refused_and_kept(tmp_path):
    path = tmp_path / "t.npy"
    create_table(path, 500, 10, rng=0)
    whole = path.read_bytes()
    cut, longer = whole[:5000], whole + b"more"
    with open(tmp_path / "claims.npy", "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (10**7, 100)}
        np.lib.format.write_array_header_1_0(file, header)
    claims = (tmp_path / "claims.npy").read_bytes()
    for content, told in [
        (cut, "5,000 bytes, and its header asks for 20,128: 500 rows of 10 float32. It was cut"),
        (longer, "20,132 bytes, and its header asks for 20,128"),
        (claims, "128 bytes, and its header asks for 4,000,000,128"),
    ]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=told):
            open_table(path)
        assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((3.9, 2), "num_embeddings is 3.9; it must be a whole number of at least 1"),
        (("5", 2), "num_embeddings is '5'"),
        ((True, 2), "num_embeddings is True"),
        ((2, 0), "embedding_dim is 0"),
        ((2, 2, float("nan")), "std is nan; it must be a finite number of at least 0"),
        ((2, 2, -1), "std is -1"),
        ((2, 2, float("inf")), "std is inf"),
    ],
)
def test_arguments_that_make_no_table(tmp_path, arguments, told):
    with pytest.raises(ValueError, match=told):
        create_table(tmp_path / "t.npy", *arguments)
    assert os.listdir(tmp_path) == []


def test_of_several_that_create_a_table_at_once_one_succeeds(tmp_path):
    made, together = [], threading.Barrier(4)

    def create(seed):
        together.wait(timeout=30)
        try:
            made.append(np.array(create_table(tmp_path / "t.npy", 50_000, 8, rng=seed)))
        except FileExistsError:
            made.append(None)

    threads = [threading.Thread(target=create, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [table for table in made if table is not None]
    assert len(made) == 4 and np.array_equal(open_table(tmp_path / "t.npy"), winner)
    assert os.listdir(tmp_path) == ["t.npy"]


@pytest.mark.parametrize("std", [0, 0.02])
def test_a_full_disk_is_told_before_a_row_is_drawn(tmp_path, monkeypatch, std):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(OSError, match="the file takes 4,128 bytes.*t.npy"):
        create_table(tmp_path / "t.npy", 100, 10, std=std)
    assert os.listdir(tmp_path) == []


def test_a_table_larger_than_what_is_free_takes_none_of_it(tmp_path, monkeypatch):
    taken = []
    monkeypatch.setattr(os, "posix_fallocate", lambda *given: taken.append(given), raising=False)
    with pytest.raises(OSError, match="the file takes [0-9,]+ bytes, and [0-9,]+ are free.*t.npy"):
        create_table(tmp_path / "t.npy", 1 << 40, 1 << 10)
    assert os.listdir(tmp_path) == [] and not taken


@pytest.mark.parametrize("std", [0, 0.02])
def test_where_no_room_can_be_taken_ahead_all_is_written(tmp_path, monkeypatch, std):
    if hasattr(os, "posix_fallocate"):
        monkeypatch.delattr(os, "posix_fallocate")
    monkeypatch.setattr("scratch_embed.disk.BLOCK", 7000)
    table = create_table(tmp_path / "t.npy", 1000, 100, std=std, rng=1)
    rows = np.random.default_rng(1).standard_normal((1000, 100), np.float32) * np.float32(std)
    assert np.array_equal(table, rows)
    (tmp_path / "zeros").write_bytes(bytes(128 + 400_000))  # what zeros take on this disk
    status, zeros = (tmp_path / "t.npy").stat(), (tmp_path / "zeros").stat()
    assert status.st_size == zeros.st_size
    assert getattr(status, "st_blocks", 0) >= getattr(zeros, "st_blocks", 0)  # no holes


# ---- training ------------------------------------------------------------------------------------


def trained(table: np.ndarray, optimizer, states: dict[str, np.ndarray]) -> np.ndarray:
    """Three steps of a row-sparse lookup with random cotangents and repeated ids."""
    layer = Embedding.from_pretrained(table, freeze=False, sparse=True)
    optimizer = optimizer(layer.parameters(), lr=0.1)
    optimizer.state[0].update(states)
    rng = np.random.default_rng(1)
    for _ in range(3):
        optimizer.zero_grad()
        ids = rng.integers(0, len(table), (4, 5)) // 3
        layer(ids).backward(rng.standard_normal((4, 5, table.shape[1]), np.float32))
        optimizer.step()
    return table


@pytest.mark.parametrize(
    "optimizer, memory", [(SGD, []), (Adagrad, ["sum"]), (LazyAdam, ["m", "v"])]
)
def test_a_table_on_disk_learns_as_one_in_memory(tmp_path, optimizer, memory):
    table = create_table(tmp_path / "t.npy", 30, 4, rng=0)
    inside = trained(np.array(table), optimizer, {})
    states = {name: create_table(tmp_path / f"{name}.npy", 30, 4, std=0) for name in memory}
    trained(table, optimizer, {**states, "t": 0})
    table.flush()
    assert np.array_equal(np.load(tmp_path / "t.npy"), inside)
    assert not np.array_equal(inside[:10], create_table(tmp_path / "u.npy", 30, 4, rng=0)[:10])
    assert all(np.any(state) for state in states.values())  # these, and no others, were used


LARGE = """
import resource, sys
import numpy as np
from scratch_embed import SGD, Embedding
from scratch_embed.disk import create_table

limit = 512 << 20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
V, D = 2 * limit // 256, 64
table = create_table(sys.argv[1], V, D, std=0)
assert table.nbytes == 2 * limit
try:
    np.zeros((V, D), np.float32)
except MemoryError:
    print("a copy in memory does not fit")
layer = Embedding.from_pretrained(table, freeze=False, sparse=True)
optimizer = SGD(layer.parameters(), lr=1.0)
rng = np.random.default_rng(0)
expected = {}
for step in range(5):
    optimizer.zero_grad()
    ids = np.append(rng.integers(0, V, 2000), [0, V - 1, V - 1])
    g = rng.integers(-9, 10, (len(ids), D)).astype(np.float32)
    layer(ids).backward(g)
    optimizer.step()
    for id, row in zip(ids.tolist(), g):
        expected[id] = expected.get(id, 0) - row
table.flush()
rows = np.array(list(expected))
assert np.array_equal(table[rows], np.array(list(expected.values())))
untouched = np.setdiff1d(rng.integers(0, V, 2000), rows)
assert not table[untouched].any()
print("learned")
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="only Linux limits what a process allocates without counting mapped files",
)
def test_a_table_of_twice_the_memory_allowed(tmp_path):
    run = start(LARGE, tmp_path / "large.npy")
    printed, errors = run.communicate(timeout=300)
    assert run.returncode == 0, errors
    assert printed.splitlines() == ["a copy in memory does not fit", "learned"]
    (tmp_path / "large.npy").unlink()  # a gigabyte


KILLED = """
import sys
import numpy as np
from scratch_embed import SGD, Embedding
from scratch_embed.disk import create_table

table = create_table(sys.argv[1], 100_000, 64, std=0)
layer = Embedding.from_pretrained(table, freeze=False, sparse=True)
optimizer = SGD(layer.parameters(), lr=1.0)
ids, g = np.arange(0, 100_000, 7), -np.ones((14_286, 64), np.float32)
for step in range(1, 100_000):
    optimizer.zero_grad()
    layer(ids).backward(g)
    optimizer.step()
    print(step, flush=True)
"""


def test_a_killed_run_leaves_a_readable_table(tmp_path):
    run = start(KILLED, tmp_path / "t.npy")
    try:
        for line in run.stdout:
            if int(line) == 5:
                break
    finally:
        run.kill()  # no flush, no goodbye
        _, errors = run.communicate(timeout=60)
    assert "Error" not in errors
    table = open_table(tmp_path / "t.npy")
    assert table.shape == (100_000, 64)
    steps = np.unique(table[::7])  # every number is that of the last whole step, or of the next
    assert steps[0] >= 5 and len(steps) <= 2 and steps[-1] - steps[0] <= 1
    assert steps[0] == int(steps[0])
    others = np.arange(100_000) % 7 != 0
    assert not table[others].any()
    before = np.array(table)  # and training goes on from there
    trained(table, SGD, {})
    assert not np.array_equal(table, before)


def test_a_std_at_which_numbers_overflow_is_told(tmp_path):
    with pytest.raises(ValueError, match=r"std is 1e\+38; in float32 it must be at most 9e\+36"):
        create_table(tmp_path / "t.npy", 3, 2, std=1e38)
    assert not list(tmp_path.iterdir())
    assert np.isfinite(create_table(tmp_path / "t.npy", 300, 20, std=8e36)).all()
