"""Operations that only copy: reshape, transpose, index, concatenate, patches."""

from __future__ import annotations

import numpy as np

from scratch_embed.ops import shape
from scratch_embed.trace.replay import rerun
from scratch_embed.trace.slopes.slope import Index, entry
from scratch_embed.trace.walk import ForwardStep

UNIQUE = 1 << 24  # numbers that can be counted through without doubt, and at once


def copied(at: ForwardStep, index: Index) -> list[str]:
    """Which entry of which input stands there: found by moving positions instead of numbers."""
    several = at.node.forward is shape.concatenate_forward
    inputs = dict(enumerate(at.inputs if several else at.inputs[:1]))
    start, places = 0, {}
    for k, given in inputs.items():
        size = np.size(given.value)
        places[k] = np.arange(start, start + size, dtype=float).reshape(np.shape(given.value))
        start += size
    if start > UNIQUE:
        return []
    found = int(rerun(at, places)[index])
    for k, given in inputs.items():
        if found < np.size(given.value):
            where = np.unravel_index(found, np.shape(given.value))
            return [entry(given.name, where)]
        found -= np.size(given.value)
    return []
