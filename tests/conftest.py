"""What tests in several folders share."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter

import pytest

# A process of tests on every core: a second thread of its matrix products would only wait.
# Here, before the first import of numpy; the processes that pytest-xdist begins inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Stands in the reason of a test that is left out because a library is not installed.
NEEDS = re.compile(r"the extra '(\w+)'|see (\.ci/\w+|setup\.cfg)")


def left_out(config: pytest.Config) -> Counter:
    """How many tests were left out for want of each extra of setup.cfg, and of other things."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", ()) if reporter else ()  # a process of xdist has none
    found = (NEEDS.search(str(report.longrepr)) for report in reports)
    return Counter(match[1] or match[2] for match in found if match)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """In one line what was left out, and how to get it."""
    lacking = left_out(terminalreporter.config)
    extras = sorted(name for name in lacking if name.isidentifier())
    others = sorted(set(lacking) - set(extras))
    ways = [f'make test EXTRAS="{" ".join(extras)}"'] * bool(extras)
    ways += [f"see {', '.join(others)}"] * bool(others)
    told = ", ".join(f"{lacking[name]} of {name}" for name in (*extras, *others))
    if lacking:
        terminalreporter.write_line(f"left out: {told}. To run them: {'; '.join(ways)}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """`make test EXTRAS=...` promises that what needs them runs: left out is failed."""
    promised = os.environ.get("TESTS_WITH", "").split()
    if session.exitstatus == 0 and set(promised) & set(left_out(session.config)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def ctrl_c_is_heard():
    """A shell starts what runs in the background deaf to Ctrl-C, and our children would inherit it.

    What is handled here in any way begins with its default in a new program.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
