"""What a program may do to us, or a machine: each way yields once for every case that went well."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from scratch_embed import checkpoint
from scratch_embed.text.vectors import read_vectors
from tests.soak import trainings

PATIENCE = 60  # seconds after which a process counts as hanging


def check_kernels(rng: np.random.Generator) -> None:
    """Some calls of kernels, large enough for threads, each compared with NumPy."""
    from scratch_embed.kernels import gather, group_rows, scatter_add, sum_groups

    dtype = rng.choice([np.float32, np.float64])
    V, D, N = (int(rng.integers(low, high)) for low, high in ((1, 300), (1, 40), (0, 2000)))
    table, ids = rng.standard_normal((V, D)).astype(dtype), rng.integers(0, V, N)
    rows = gather(table, ids)
    expected, mine = table.copy(), table.copy()
    np.add.at(expected, ids, rows)
    scatter_add(mine, ids, rows)
    groups, sums = group_rows(ids, V), np.zeros((V, D), dtype)
    np.add.at(sums, ids, rows)
    assert np.array_equal(rows, table[ids])
    assert np.array_equal(mine, expected)
    assert np.array_equal(sum_groups(rows, groups), sums[groups.rows])


def with_small_parts(rng: np.random.Generator) -> None:
    """Let loops use threads that are far too small for it."""
    from scratch_embed.kernels import set_num_threads, threads

    threads.PART = int(rng.integers(64, 4096))
    set_num_threads(int(rng.integers(1, 5)))


def together(rng: np.random.Generator, seconds: float) -> Iterator[None]:
    """Several Python threads that call kernels at the same time."""
    counts, errors, until = [], [], time.monotonic() + seconds

    def work(own: np.random.Generator):
        try:
            while time.monotonic() < until:
                check_kernels(own)
                counts.append(1)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=[own]) for own in rng.spawn(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    yield from [None] * len(counts)


def in_threads(rng: np.random.Generator) -> Iterator[None]:
    """By either of Numba's threading layers that every system has."""
    os.environ["NUMBA_THREADING_LAYER"] = str(rng.choice(["default", "workqueue"]))
    with_small_parts(rng)
    yield from together(rng, 5)


def in_forks(rng: np.random.Generator) -> Iterator[None]:
    """Children that are forked while the parent's threads are at work."""
    with_small_parts(rng)
    check_kernels(rng)
    for _ in range(8):
        own, (behind,) = np.random.default_rng(rng.integers(2**32)), rng.spawn(1)
        at_work = threading.Thread(target=lambda behind=behind: list(together(behind, 0.3)))
        at_work.start()
        time.sleep(rng.uniform(0, 0.1))
        child = os.fork()
        if not child:
            right = 1
            try:
                for _ in range(5):
                    check_kernels(own)
                right = 0
            finally:
                os._exit(right)
        status = _waited_for(child)
        at_work.join()
        assert status == 0, f"the child ended with {status}"
        yield


def _waited_for(child: int) -> int:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("a forked child hangs")


def interrupted(rng: np.random.Generator) -> Iterator[None]:
    """Ctrl-C at any moment, of kernels and of a checkpoint that is being written."""
    with_small_parts(rng)
    check_kernels(rng)
    with tempfile.TemporaryDirectory() as folder:
        path, weight = Path(folder) / "run.npz", rng.standard_normal((50, 40))
        checkpoint.save(path, step=0, weight=weight)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # by the signal itself, for compiling lets no other one wait
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
        for step in range(1, 201):
            try:
                # and once more: Python passes over one that comes while it deletes something
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 5e-3), 1.0)
                while True:
                    check_kernels(rng)
                    checkpoint.save(path, step=step, weight=weight + step)
            except KeyboardInterrupt:
                pass
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            saved = checkpoint.load(path)
            assert np.array_equal(saved["weight"], weight + saved["step"])
            check_kernels(rng)
            yield


WRITER = """
import sys, numpy as np
from pathlib import Path
from scratch_embed import checkpoint
from scratch_embed.text.vectors import write_vectors
folder, weight = Path(sys.argv[1]), np.arange(40_000.0).reshape(1000, 40)
for step in range(10**6):
    checkpoint.save(folder / "run.npz", step=step, weight=weight + step)
    write_vectors(folder / "words.txt", ["a", "b"], weight[:2, :2] + step)
    if not step: print("writing", flush=True)
"""


def killed(rng: np.random.Generator) -> Iterator[None]:
    """A run that is killed while it writes: its files are whole, and what it left is removed."""
    for _ in range(5):
        with tempfile.TemporaryDirectory() as folder:
            child = subprocess.Popen(
                [sys.executable, "-c", WRITER, folder], stdout=subprocess.PIPE, text=True
            )
            assert child.stdout.readline() == "writing\n"
            time.sleep(rng.uniform(0, 0.1))
            child.kill()
            child.communicate()
            saved, words = checkpoint.load(f"{folder}/run.npz"), read_vectors(f"{folder}/words.txt")
            expected = np.arange(40_000.0).reshape(1000, 40) + saved["step"]
            assert np.array_equal(saved["weight"], expected)
            assert words.words == ("a", "b") and words.vectors[0, 1] - words.vectors[0, 0] == 1
            checkpoint.save(f"{folder}/run.npz", step=0)
            assert sorted(os.listdir(folder)) == ["run.npz", "words.txt"]
            yield


def disk_full(rng: np.random.Generator) -> Iterator[None]:
    """No file may grow past a limit: the old one stays, and nothing half is left."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with tempfile.TemporaryDirectory() as folder:
        path, weight = Path(folder) / "run.npz", rng.standard_normal((40, 40))
        checkpoint.save(path, weight=weight)
        whole = path.read_bytes()
        for _ in range(100):
            limit = int(rng.integers(0, len(whole)))
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
            try:
                checkpoint.save(path, weight=weight + 1)
            except OSError:
                pass
            else:
                raise AssertionError(f"{limit} bytes were enough for {len(whole)}")
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            assert path.read_bytes() == whole and os.listdir(folder) == ["run.npz"]
            yield


SMALL_RUN = """
import numpy as np
from tests.soak.hostile import check_kernels
for seed in range(3): check_kernels(np.random.default_rng(seed))
print("right")
"""


def _small_run(place: str, **more) -> subprocess.Popen:
    environment = {**os.environ, "NUMBA_CACHE_DIR": place}
    return subprocess.Popen(
        [sys.executable, "-c", SMALL_RUN], env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, **more,
    )  # fmt: skip


def _right(place: str) -> None:
    said = _small_run(place).communicate(timeout=3 * PATIENCE)[0]
    assert said.endswith("right\n"), said


def cache_damaged(rng: np.random.Generator) -> Iterator[None]:
    """Compiled loops on disk that were cut, overwritten, emptied, exchanged or taken away."""
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as folder:
        _right(whole)
        for _ in range(3):
            place = Path(folder) / "cache"
            shutil.copytree(whole, place)
            files = [path for path in place.rglob("*") if path.is_file()]
            for file in rng.permutation(files)[: rng.integers(1, len(files) + 1)]:
                _damage(file, files, rng)
            _right(str(place))
            shutil.rmtree(place)
            yield


def _damage(file: Path, files: list[Path], rng: np.random.Generator) -> None:
    content = bytearray(file.read_bytes()) if file.is_file() else bytearray(b"gone")
    at = int(rng.integers(0, max(len(content), 1)))
    way = rng.integers(6)
    if way == 0:
        del content[at:]
    elif way == 1:
        content[at : at + 1] = bytes(b ^ 1 << int(rng.integers(8)) for b in content[at : at + 1])
    elif way == 2:
        content[at : at + 4096] = bytes(4096)
    elif way == 3:
        file.unlink(missing_ok=True)
        return
    elif way == 4:
        file.unlink(missing_ok=True)
        file.mkdir(exist_ok=True)
        return
    else:  # whole, but another loop's
        others = [other for other in files if other.is_file() and other != file]
        content = others[int(rng.integers(len(others)))].read_bytes() if others else content
    if not file.is_dir():
        file.write_bytes(content)


def killed_compiling(rng: np.random.Generator) -> Iterator[None]:
    """Runs that are killed while they compile, two at once into one cache; the next is right."""
    with tempfile.TemporaryDirectory() as place:
        for _ in range(3):
            runs = [_small_run(place), _small_run(place)]
            time.sleep(rng.uniform(0.5, 6))
            for run in runs:
                run.kill()
                run.communicate()
        _right(place)
        left = [path.name for path in Path(place).rglob("*") if path.name.startswith(".")]
        assert not left, f"left behind: {left}"
        yield


WAYS = {
    "threads": in_threads,
    "forks": in_forks,
    "interrupts": interrupted,
    "kills": killed,
    "full disk": disk_full,
    "cache": cache_damaged,
    "compiling killed": killed_compiling,
    "trainings killed": trainings.killed,
}
