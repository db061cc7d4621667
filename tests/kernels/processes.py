"""Fresh interpreters, for what can be seen only once in a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def python(code: str, path: Path = ROOT, **variables: str) -> subprocess.CompletedProcess:
    """Run code in a fresh interpreter. A hang is a failure."""
    environment = {**os.environ, "PYTHONPATH": str(path), **variables}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=path,  # "-c" looks for modules there first
        env=environment,
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=120,
    )


def output(code: str, path: Path = ROOT, **variables: str) -> str:
    done = python(code, path, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
