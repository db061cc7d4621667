"""How soon there is something to see: the import, and the first line of the first lesson."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from .registry import Bench, benchmark

ROOT = Path(__file__).resolve().parents[2]
NAMES = "from scratch_embed import Tensor, Embedding, SGD"
KEPT = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # modules are read as bytecode, as anywhere


@benchmark(
    "start",
    "import scratch_embed within 1.3 times import numpy; the first lesson's first line within 1 s "
    "warm and 3 s cold",
)
def start(bench: Bench) -> None:
    row = bench.row("import", python=sys.version.split()[0])
    row.time(
        {
            "ours": lambda: python("-c", "import scratch_embed"),
            "numpy": lambda: python("-c", "import numpy"),
            "ours, with its names": lambda: python("-c", NAMES),
            "bare Python": lambda: python("-c", "pass"),
        }
    )
    row.bar("time over import numpy", row.times["ours"] / row.times["numpy"], at_most=1.3)
    named = row.times["ours, with its names"] / row.times["numpy"]
    row.bar("Tensor, Embedding and SGD over import numpy", named, at_most=1.6)
    row = bench.row("first line of the first lesson", python=sys.version.split()[0])
    with tempfile.TemporaryDirectory() as empty:
        nothing_kept = {
            "PYTHONPYCACHEPREFIX": empty,  # no compiled modules of ours or of anybody
            "NUMBA_CACHE_DIR": empty,  # no compiled loops
            "SCRATCH_EMBED_CACHE": empty,  # no text read before
            "MPLCONFIGDIR": empty,
        }
        row.bar("seconds, cold", first_line(**nothing_kept), at_most=3)
    python("-m", "lessons", "0", "--quiet")  # leaves its compiled loops
    row.bar("seconds, warm", min(first_line() for _ in range(1 if bench.quick else 3)), at_most=1)


def python(*arguments: str) -> None:
    command, null = [sys.executable, *arguments], subprocess.DEVNULL
    subprocess.run(command, check=True, cwd=ROOT, env=KEPT, stdout=null)


def first_line(**variables: str) -> float:
    """Seconds until the lesson prints; the rest of it is not waited for."""
    began = perf_counter()
    lesson = subprocess.Popen(
        [sys.executable, "-u", "-m", "lessons", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env={**KEPT, **variables},
    )
    lesson.stdout.readline()
    taken = perf_counter() - began
    lesson.kill()
    lesson.communicate()
    return taken
