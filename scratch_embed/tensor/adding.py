"""One thread at a time adds to a `.grad`: `grad = grad + part` reads, adds and stores."""

from __future__ import annotations

import os
import threading

import numpy as np

import scratch_embed.kernels  # noqa: F401  its locks are taken after this one: see below
from scratch_embed.rows import RowGrad

adding = threading.RLock()

# A child of fork would find taken for ever what another thread holds meanwhile; so the fork waits.
# Who adds may run a compiled loop. Of locks the last to be registered is the first to be taken.
if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(
        before=adding.acquire, after_in_parent=adding.release, after_in_child=adding.release
    )


def summed(grad: np.ndarray | RowGrad, part: np.ndarray | RowGrad) -> np.ndarray | RowGrad:
    """Of two arrays of shape () too, which NumPy makes a number of."""
    total = grad + part
    return total if isinstance(total, RowGrad) else np.asarray(total)
