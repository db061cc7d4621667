"""What `make test` says of tests that were left out, and that a promise to run them is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = """
import pytest

@pytest.mark.parametrize("n", [0, 1])
def test_a_library(n):
    pytest.importorskip("no_such_library", reason="not installed (the extra 'cluster')")

def test_a_system():
    pytest.skip("Windows has no such files")

def test_a_browser():
    pytest.skip("not installed (see .ci/book)")
"""
LINE = (
    'left out: 2 of cluster, 1 of .ci/book. To run them: make test EXTRAS="cluster"; see .ci/book'
)


@pytest.mark.parametrize(("promised", "code"), [("", 0), ("peers", 0), ("peers cluster", 1)])
def test_what_was_left_out_is_told_in_a_line_and_fails_where_it_was_promised(
    tmp_path, promised, code
):
    (tmp_path / "test_few.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "--rootdir", tmp_path, "."]
    env = {**os.environ, "TESTS_WITH": promised, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(
        command, check=False, cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == code, done.stdout
    assert LINE in done.stdout.splitlines()
