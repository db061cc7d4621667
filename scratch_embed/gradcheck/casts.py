"""The complex step is lost where forward casts its numbers to real ones: here that is an error.

NumPy warns of it. What becomes of a warning is for the whole process to say, so one thread at a
time says it: two would put back each other's rules.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import scratch_embed.tensor  # noqa: F401  its locks are taken after this one: see tensor/adding.py

_saying = threading.RLock()

if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(
        before=_saying.acquire, after_in_parent=_saying.release, after_in_child=_saying.release
    )


@contextmanager
def no_casts() -> Iterator[None]:
    """Raise ComplexWarning where an imaginary part is dropped."""
    with _saying, warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        yield
