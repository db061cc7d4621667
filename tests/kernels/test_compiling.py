"""How loops are compiled and kept: each trap in a process of its own."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from scratch_embed.kernels import compiling
from tests.kernels.processes import ROOT, output, python

# ----------------------------------------------------------------- compiled or not

ANSWERS = """
import hashlib, numpy as np
from scratch_embed.kernels import gather, scatter_add, group_rows, sum_groups, set_num_threads
from scratch_embed.kernels import compiling, tables, threads
threads.PART, tables.LONG, tables.RUN = 100, 200, 64
set_num_threads(3)
rng, digest = np.random.default_rng(0), hashlib.sha256()
for dtype in ("float32", "float64"):
    table = rng.standard_normal((50, 2)).astype(dtype)
    ids = np.concatenate((rng.integers(0, 50, 400), np.full(300, 3)))
    values = rng.standard_normal((len(ids), 2)).astype(dtype)
    rows = gather(table, ids)
    scatter_add(table, ids, values)
    groups = group_rows(ids, 50)
    for array in (rows, table, *groups, sum_groups(values, groups)):
        digest.update(array.tobytes())
print(digest.hexdigest(), compiling.is_interpreted())
"""


def test_the_same_answers_without_compiling():
    compiled, interpreted = output(ANSWERS), output(ANSWERS, NUMBA_DISABLE_JIT="1")
    assert compiled.split()[0] == interpreted.split()[0]
    assert interpreted.endswith("True")


def test_numba_is_imported_by_the_first_call():
    code = """
import sys, numpy
import scratch_embed.kernels as k
assert "numba" not in sys.modules
k.gather(numpy.ones((2, 2)), [1])
assert "numba" in sys.modules
"""
    output(code)


def test_a_loop_that_stands_in_no_file_runs_too():
    """One that was typed at a prompt or in a notebook. It is compiled, and not kept."""
    code = """
import numpy as np
from scratch_embed import kernels
source = "def double(out):\\n    for n in range(len(out)):\\n        out[n] *= 2"
names = {}
exec(compile(source, "<cell 1>", "exec"), names)
out = np.arange(3.0)
kernels.run(names["double"], 1, out)
print(out.tolist(), "prange" in names)
"""
    assert output(code) == "[0.0, 2.0, 4.0] True"


def test_the_users_own_settings_of_numba_stay():
    code = """
import numba, numpy as np
numba.config.CACHE_DIR = "chosen/by/the/user"
numba.set_num_threads(1)
from scratch_embed.kernels import compiling, threads
compiling._cache_place, threads.PART = lambda: None, 1 << 16
from scratch_embed.kernels import gather, set_num_threads
set_num_threads(2)
gather(np.ones((9, 64)), np.zeros(8192, int))
assert numba.config.CACHE_DIR == "chosen/by/the/user" and numba.get_num_threads() == 1
"""
    output(code)


# ----------------------------------------------------------------- the cache

LOOK_UP = """
import numpy as np
from scratch_embed.kernels import gather
print(gather(np.ones((2, 1)), [1])[0, 0])
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package that a test may edit. Its gather multiplies by a factor elsewhere."""
    copy = tmp_path / "site" / "scratch_embed"
    shutil.copytree(ROOT / "scratch_embed", copy, ignore=lambda *_: ["__pycache__"])
    source = (copy / "kernels" / "table_loops.py").read_text(encoding="utf-8")
    edited = source.replace("import numpy as np", "import numpy as np\nfrom .factor import FACTOR")
    edited = edited.replace("out[n, d] = table[row, d]", "out[n, d] = FACTOR * table[row, d]")
    assert edited.count("FACTOR") == 2
    (copy / "kernels" / "table_loops.py").write_text(edited, encoding="utf-8")
    (copy / "kernels" / "factor.py").write_text("FACTOR = 2.0\n", encoding="utf-8")
    return copy


def test_an_edited_package_never_answers_from_an_old_kernel(package):
    assert output(LOOK_UP, package.parent) == "2.0"
    assert list(package.glob("kernels/__pycache__/numba-*/serial/*/table_loops.gather-*.nbi"))
    assert output(LOOK_UP, package.parent) == "2.0"
    (package / "kernels" / "factor.py").write_text("FACTOR = 3.0\n", encoding="utf-8")
    assert output(LOOK_UP, package.parent) == "3.0"


def test_where_compiled_loops_are_kept(package, tmp_path):
    chosen, home, blocked = tmp_path / "chosen", tmp_path / "home", tmp_path / "blocked"
    blocked.write_text("a file is no folder", encoding="utf-8")
    settings = {"SCRATCH_EMBED_CACHE": str(home), "PYTHONDONTWRITEBYTECODE": "1"}

    output(LOOK_UP, package.parent, NUMBA_CACHE_DIR=str(chosen), **settings)
    assert list(chosen.glob("scratch_embed/numba-*/serial/*/*.nbi"))
    assert not list(package.rglob("__pycache__/*")) and not home.exists()

    (package / "kernels" / "__pycache__").write_text(
        "an install that is read-only", encoding="utf-8"
    )
    output(LOOK_UP, package.parent, **settings)
    assert list(home.glob("numba-*/serial/*/*.nbi"))

    settings["SCRATCH_EMBED_CACHE"] = str(blocked)
    done = python(LOOK_UP, package.parent, NUMBA_CACHE_DIR=str(blocked / "inside"), **settings)
    assert done.returncode == 0 and done.stdout.strip() == "2.0"
    assert done.stderr.count("found no place to keep compiled loops") == 1
    assert "NUMBA_CACHE_DIR" in done.stderr


# ----------------------------------------------------------------- a word while it compiles


def test_a_slow_compile_says_so_and_a_quick_one_does_not(monkeypatch, capsys):
    monkeypatch.setattr(compiling, "SLOW", 0.05)
    slow = SimpleNamespace(__name__="gather", compile=lambda seconds: time.sleep(seconds))
    compiling._announced(slow, Path("place")).compile(0.3)
    assert capsys.readouterr().err == "scratch_embed: compiling gather, once: it is kept in place\n"
    quick = SimpleNamespace(__name__="gather", compile=lambda seconds: seconds)
    assert compiling._announced(quick, None).compile(0.3) == 0.3
    time.sleep(0.1)
    assert capsys.readouterr().err == ""
