"""Deep copies and pickles of a Tensor and of the tape behind it, as of a model that keeps its last
state."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

PICKLED = 100  # lines of a tape behind one another: some 40 more, and Python's own limit is reached


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


def check_pickled(tensors: Sequence[Any]) -> None:
    """RecursionError of a tape, from its first line to its last, that is too long for a pickle,
    which calls itself at each line."""
    behind: dict[int, int] = {}
    for tensor in tensors:
        inputs = tensor.node.inputs if tensor.node else ()
        behind[id(tensor)] = 1 + max((behind.get(id(each), 0) for each in inputs), default=-1)
    longest = max(behind.values(), default=0)
    if longest > PICKLED:
        raise RecursionError(
            f"a pickle of this tensor would hold its tape, {longest:,} lines behind one another, "
            f"and {PICKLED} at most can be pickled: pickle t.detach(), or t.numpy(), where the way "
            "back ends; copy.deepcopy copies a tape of any length"
        )
