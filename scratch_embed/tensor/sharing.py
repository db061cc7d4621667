"""Does a gradient share its memory with somebody? A leaf's `.grad` is nobody else's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from scratch_embed.rows import RowGrad
from scratch_embed.watch import owner


def owners(given: Iterable[Any]) -> Counter:
    """By the id of an array, how many of the given ones are views of it, itself among them."""
    return Counter(id(owner(each)) for each in given if isinstance(each, np.ndarray))


def is_shared(part: np.ndarray | RowGrad, taken: Counter) -> bool:
    """Whether an array that was counted in `taken` is a view of the same memory as another there,
    or may not be written, as one number in many places, such as the gradient of a mean."""
    if isinstance(part, RowGrad):
        return False
    return not part.flags.writeable or taken[id(owner(part))] > 1
