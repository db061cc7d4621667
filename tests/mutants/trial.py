"""The tests on a copy of the project that holds a mistake, in a process forked for it.

The loops run as plain Python (NUMBA_DISABLE_JIT=1): compiling each mistake would take a second
each. A fork spares every trial the import of numpy, pytest and hypothesis.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import time
from pathlib import Path

import hypothesis  # noqa: F401  imported once, for all forks
import numpy  # noqa: F401
import pytest

ROOT = Path(__file__).resolve().parents[2]
SLOW = 1.5  # seconds of the processor, however busy it is; a test that takes longer is left out,
# as is one that needs compiled loops
NOTHING = pytest.ExitCode.NO_TESTS_COLLECTED  # as of a source without an example
FOUND, PASSED, ENDLESS = "found", "passed", "endless"


class Project:
    """A copy of the package and its tests, in which one file at a time is changed."""

    def __init__(self, folder: Path):
        self.folder = folder
        for name in ("scratch_embed", "tests"):
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        for name in ("setup.cfg", "pyproject.toml"):
            shutil.copy(ROOT / name, folder)
        os.environ |= {"NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode = True

    def quick_tests(self, tests: list[str]) -> tuple[list[str], float]:
        """What to leave out of these tests, and how long the others take."""
        notes = self.folder / "notes.txt"
        notes.write_text("", encoding="utf-8")
        self.run(tests, patience=600, plugin=Timed(notes))
        lines = [line.split(" ", 1) for line in notes.read_text(encoding="utf-8").splitlines()]
        left_out = [name for took, name in lines if float(took) > SLOW]
        return left_out, sum(float(took) for took, _ in lines if float(took) <= SLOW)

    def judge(self, file: str, source: str, tests: list[str], left_out, patience: float) -> str:
        """FOUND, PASSED or ENDLESS: what the tests say of the project with this source."""
        path = self.folder / file
        right = path.read_bytes()
        path.write_text(source, encoding="utf-8")
        try:
            options = ["-x", *(f"--deselect={name}" for name in left_out)]
            code = self.run(tests, patience, options)
        finally:
            path.write_bytes(right)
        return ENDLESS if code is None else PASSED if code == 0 else FOUND

    def run(self, tests: list[str], patience: float, options=(), plugin=None) -> int | None:
        """0 when all tests pass, in a fork; None when it had to be killed.

        Each file or folder of tests is read when its turn comes: most mistakes are seen by the
        first, and to read the others would take longer than to run it.

        patience : seconds of the processor, since a busy machine makes no mistake endless; a test
            that only waits is given ten times as many by the clock.
        """
        child = os.fork()
        if not child:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (int(patience), int(patience) + 5))
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            os.chdir(self.folder)
            sys.path.insert(0, str(self.folder))
            for name in [name for name in sys.modules if name.startswith(("tests", "scratch_"))]:
                del sys.modules[name]
            always = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--doctest-modules"]
            plugins, failed = [plugin] if plugin else [], False
            for test in tests:
                code = pytest.main([*always, *options, test], plugins=plugins)
                failed = failed or code not in (pytest.ExitCode.OK, NOTHING)
                if failed and "-x" in options:
                    break
            os._exit(int(failed))
        until = time.monotonic() + 10 * patience
        done = 0
        try:
            while time.monotonic() < until:
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    return None if _out_of_patience(status) else status
                time.sleep(0.02)
            return None
        finally:  # out of patience, or Ctrl-C
            if not done:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)


def _out_of_patience(status: int) -> bool:
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU


class Timed:
    """Writes down how long each test took; one that fails on the right code takes for ever."""

    def __init__(self, notes: Path):
        self.notes = notes

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        began = time.process_time()
        yield
        self.took = time.process_time() - began

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.failed:
            took = self.took if report.passed else 1e9
            with open(self.notes, "a", encoding="utf-8") as file:
                file.write(f"{took:.3f} {report.nodeid}\n")
