"""What tests in several folders share."""

from __future__ import annotations

import os
import signal

import pytest

# A process of tests on every core: a second thread of its matrix products would only wait.
# Here, before the first import of numpy; the processes that pytest-xdist begins inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture
def ctrl_c_is_heard():
    """A shell starts what runs in the background deaf to Ctrl-C, and our children would inherit it.

    What is handled here in any way begins with its default in a new program.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
