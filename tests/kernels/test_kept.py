"""What is kept of compiled loops: never an old one, never a damaged one; and not at any price."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

from scratch_embed.kernels import compiling, kept, table_loops
from tests.kernels.processes import ROOT, output, python

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
    edited = edited.replace("copy_row(out, n, table, row)", "out[n] = FACTOR * table[row]")
    assert edited.count("FACTOR") == 2
    (copy / "kernels" / "table_loops.py").write_text(edited, encoding="utf-8")
    (copy / "kernels" / "factor.py").write_text("FACTOR = 2.0\n", encoding="utf-8")
    return copy


def test_an_edited_package_never_answers_from_an_old_kernel(package):
    assert output(LOOK_UP, package.parent) == "2.0"
    assert list(package.glob("kernels/__pycache__/numba-*/gather-serial-*"))
    assert output(LOOK_UP, package.parent) == "2.0"
    (package / "kernels" / "factor.py").write_text("FACTOR = 3.0\n", encoding="utf-8")
    assert output(LOOK_UP, package.parent) == "3.0"


def test_where_compiled_loops_are_kept(package, tmp_path):
    chosen, home, blocked = tmp_path / "chosen", tmp_path / "home", tmp_path / "blocked"
    blocked.write_text("a file is no folder", encoding="utf-8")
    settings = {"SCRATCH_EMBED_CACHE": str(home), "PYTHONDONTWRITEBYTECODE": "1"}

    output(LOOK_UP, package.parent, NUMBA_CACHE_DIR=str(chosen), **settings)
    assert list(chosen.glob("scratch_embed/numba-*/gather-serial-*"))
    assert not list(package.rglob("__pycache__/*")) and not home.exists()

    (package / "kernels" / "__pycache__").write_text(
        "an install that is read-only", encoding="utf-8"
    )
    output(LOOK_UP, package.parent, **settings)
    assert list(home.glob("numba-*/gather-serial-*"))

    settings["SCRATCH_EMBED_CACHE"] = str(blocked)
    done = python(LOOK_UP, package.parent, NUMBA_CACHE_DIR=str(blocked / "inside"), **settings)
    assert done.returncode == 0 and done.stdout.strip() == "2.0"
    assert done.stderr.count("found no place to keep compiled loops") == 1
    assert "NUMBA_CACHE_DIR" in done.stderr


# ----------------------------------------------------------------- damaged files, and a full disk

DAMAGES = {
    "empty": lambda whole: b"",
    "cut": lambda whole: whole[: len(whole) // 2],
    "garbage": lambda whole: np.random.default_rng(0).bytes(1000),
    "a page of zeros": lambda whole: whole[:1000] + bytes(4096) + whole[1000 + 4096 :],
    "one bit": lambda whole: whole[:2000] + bytes([whole[2000] ^ 1]) + whole[2001:],
}


@pytest.fixture(scope="module")
def in_use(tmp_path_factory) -> Path:
    """A cache as a run leaves it."""
    place = tmp_path_factory.mktemp("cache")
    output(LOOK_UP, NUMBA_CACHE_DIR=str(place))
    return place


def files_in(place: Path) -> list[Path]:
    return sorted(path for path in place.rglob("*") if path.is_file())


def test_with_damaged_files_a_new_process_compiles_anew(in_use):
    files = files_in(in_use)
    before = [file.stat().st_size for file in files]
    for file in files:
        file.write_bytes(DAMAGES["a page of zeros"](file.read_bytes()))
    assert output(LOOK_UP, NUMBA_CACHE_DIR=str(in_use)) == "1.0"
    assert files and files_in(in_use) == files
    assert all(file.stat().st_size >= size / 2 for file, size in zip(files, before))  # whole again


def test_the_file_of_another_loop_is_compiled_anew(in_use):
    """Whole, so its own hash is right, but it would run in place of what was asked for."""
    files = {file.name.split("-")[0]: file for file in files_in(in_use)}
    other = LOOK_UP + "from scratch_embed.kernels import group_rows; group_rows([1], 2)"
    output(other, NUMBA_CACHE_DIR=str(in_use))
    sort = next(file for file in files_in(in_use) if file.name.startswith("sort-"))
    files["gather"].write_bytes(sort.read_bytes())
    assert output(LOOK_UP, NUMBA_CACHE_DIR=str(in_use)) == "1.0"


@pytest.mark.skipif(os.name == "nt", reason="this system has no limit of what a process may write")
def test_a_full_disk_costs_a_sentence(tmp_path):
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
    two_loops = LOOK_UP + "from scratch_embed.kernels import group_rows; group_rows([1], 2)"
    done = python(full + two_loops, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0 and done.stdout.strip() == "1.0", done.stderr
    assert done.stderr.count("a compiled loop cannot be kept in") == 1
    assert files_in(tmp_path) == []  # nor is half a file left


# ----------------------------------------------------------------- one loop, asked for repeatedly


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    if compiling.is_interpreted():
        pytest.skip("nothing is compiled")
    monkeypatch.setattr(kept, "find_place", lambda: tmp_path)
    return tmp_path


def hits(loop, *arguments) -> int:
    """How often a new process would have found the loop, when it calls it once."""
    compiled = compiling.Compiled()[loop, False]
    compiled(*arguments)
    return sum(compiled.stats.cache_hits.values())


IDS = np.array([0, 3])
LOOP, OWN = table_loops.copy_ids, np.empty(2, np.int64)


def test_a_loop_is_found_again_for_the_same_kind_of_arguments_only(place):
    assert [hits(LOOP, OWN, IDS, 4) for _ in range(2)] == [0, 1]
    assert hits(LOOP, OWN, IDS[::-1], 4) == 0  # not contiguous: another loop
    assert hits(LOOP, OWN, IDS, 4) == 1
    assert len(files_in(place)) == 2


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_compiled_anew(damage, place):
    assert hits(LOOP, OWN, IDS, 4) == 0
    (file,) = files_in(place)
    whole = file.read_bytes()
    file.write_bytes(DAMAGES[damage](whole))
    assert file.read_bytes() != whole
    assert [hits(LOOP, OWN, IDS, 4) for _ in range(2)] == [0, 1]  # and whole again


def test_a_loop_with_a_variable_from_outside_is_not_kept(place):
    def scaled_by(factor):
        def scaled(n):
            return factor * n

        return scaled

    assert compiling.Compiled()[scaled_by(2), False](21) == 42
    assert compiling.Compiled()[scaled_by(3), False](21) == 63
    assert files_in(place) == []


def test_a_loop_without_a_file_is_not_kept(place):
    typed_in = LOOP.__code__.replace(co_filename="<cell 1 of a notebook>")
    loop = FunctionType(typed_in, {})
    assert [hits(loop, OWN, IDS, 4) for _ in range(2)] == [0, 0]
    assert files_in(place) == []


def test_a_loop_that_holds_an_address_of_this_process_is_not_kept(place):
    assert [hits(reads_large, 5) for _ in range(2)] == [0, 0]
    assert files_in(place) == []


LARGE = np.arange(1 << 20)


def reads_large(n):
    """A loop that reads a global array, which Numba compiles in by its address."""
    return LARGE[n]
