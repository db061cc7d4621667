"""What killed runs leave is removed by the next one; what living ones write is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from scratch_embed.files import replacing, temporary

ROOT = Path(__file__).resolve().parents[2]

WRITER = """
import sys
from scratch_embed.files import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("from the child")
    print("writing", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def writing(tmp_path):
    """A process that is in the middle of writing tmp_path / "child.txt"."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "child.txt")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdout.readline() == "writing\n"
    yield process
    process.kill()
    process.communicate()


def write(path: Path) -> None:
    with replacing(path) as file:
        file.write_text("ours", encoding="utf-8")


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_what_a_killed_run_left_is_removed_by_the_next(writing, tmp_path):
    strangers = [".notes.lock", ".child.txt.abc.tmp", "a.scratch_embed.lock"]
    for name in strangers:
        (tmp_path / name).write_text("not ours", encoding="utf-8")
    writing.kill()
    writing.wait()
    assert len(names(tmp_path)) == len(strangers) + 2  # the half file and its lock
    write(tmp_path / "another.txt")
    assert names(tmp_path) == sorted([*strangers, "another.txt"])


def test_what_a_living_run_writes_is_left_alone(writing, tmp_path):
    write(tmp_path / "another.txt")
    assert len(names(tmp_path)) == 3
    writing.communicate("go on\n", timeout=60)
    assert writing.returncode == 0 and names(tmp_path) == ["another.txt", "child.txt"]
    assert (tmp_path / "child.txt").read_text(encoding="utf-8") == "from the child"


def test_one_run_may_write_several_files_at_once(tmp_path):
    with replacing(tmp_path / "a") as a, replacing(tmp_path / "b") as b, replacing(tmp_path / "a"):
        for file in (a, b):
            file.write_text("x", encoding="utf-8")
    assert names(tmp_path) == ["a", "b"]


@pytest.mark.skipif(os.name == "nt", reason="Windows does not remove a file that is open")
def test_a_lock_that_is_taken_for_left_before_it_is_held(tmp_path, monkeypatch):
    made, mkstemp = [], tempfile.mkstemp

    def seen_by_another_run(*arguments):
        made.append(mkstemp(*arguments))
        if len(made) == 1:
            temporary.remove_leftovers(tmp_path)
        return made[-1]

    monkeypatch.setattr(tempfile, "mkstemp", seen_by_another_run)
    with replacing(tmp_path / "a") as file:
        temporary.remove_leftovers(tmp_path)  # it is held now
        file.write_text("whole", encoding="utf-8")
    assert len(made) == 2 and names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text(encoding="utf-8") == "whole"


@pytest.mark.skipif(temporary.fcntl is None, reason="Windows needs no locks")
def test_on_a_disk_without_locks_nothing_is_taken_for_left(tmp_path, monkeypatch):
    def no_locks(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(temporary.fcntl, "flock", no_locks)
    with replacing(tmp_path / "a") as file:
        file.write_text("whole", encoding="utf-8")
        temporary.remove_leftovers(tmp_path)
    assert (tmp_path / "a").read_text(encoding="utf-8") == "whole" and names(tmp_path) == ["a"]
