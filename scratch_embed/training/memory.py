"""Freed memory that stays at hand for the next step."""

from __future__ import annotations

import numpy as np

LARGEST = 31 << 20  # bytes; beyond 32 MB the C library of Linux learns nothing from a block


def keep_freed_memory() -> None:
    """Let the C library keep what a step frees for the next step, up to some 60 MB.

    A step makes some dozens of MB of arrays and frees them all. glibc hands such memory back to the
    system and asks for it anew, which comes in empty pages of 4 kB: 10,000 of them for a model of a
    million numbers, a seventh of the step. How much it keeps follows from the largest block that
    was ever freed, so one is taken here and freed, without being written to. Other systems'
    libraries take no notice.
    """
    np.empty(LARGEST, np.uint8)
