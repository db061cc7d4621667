"""Deep copies of a Tensor and of the tape behind it, as of a model that keeps its last state."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any


def copied(tensors: Sequence[Any], memo: dict) -> Any:
    """A deep copy of the last of some tensors, which are a tape from its first line to its last.

    Each finds its inputs copied already, so no recursion runs down the tape: a chain of any length
    works.
    """
    for tensor in tensors:
        if id(tensor) not in memo:
            memo[id(tensor)] = made = type(tensor).__new__(type(tensor))
            made.__setstate__(deepcopy(tensor.__getstate__(), memo))
    return memo[id(tensors[-1])]
