"""The limit: how fast this machine copies, with as many threads as ours may use."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scratch_embed.ladder import copy


def copy_way(nbytes: int) -> tuple[Callable[[], None], int]:
    """(copy, bytes that it moves): give the first to `row.time` as "copy", the second as `copied`.

    It copies an array of nbytes into another one, on all threads, so it moves twice as many.
    """
    source = np.ones(max(nbytes // 4, 1), np.float32)
    target = np.zeros_like(source)
    return lambda: copy(target, source), 2 * source.nbytes
