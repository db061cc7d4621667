"""What a variable held at one moment, kept while the code that made it runs on.

Later statements may change in place what it holds. So arrays are copied, and lists, dicts, sets and
tuples with all that is in them; what is too large to copy at every line is known by its size.
"""

from __future__ import annotations

import copy
import reprlib
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from typing import Any

import numpy as np

LARGEST = 100_000  # entries of an array that is copied; of a larger one its Size is kept
LONGEST = 1_000  # things in a list, and in what it holds, that are copied; else a Glimpse is kept
DEEPEST = 20  # of lists in lists: what is further down stays as it is
MAPPINGS = dict, Counter, OrderedDict, defaultdict
HOLDERS = {list, set, deque, *MAPPINGS}


@dataclass(frozen=True)
class Size:
    """Stands for an array that is too large to copy at every line."""

    shape: tuple[int, ...]
    dtype: np.dtype


@dataclass(frozen=True, repr=False)
class Glimpse:
    """Stands for a list, or a dict or set, that is too long to copy at every line."""

    beginning: str
    length: int

    def __repr__(self) -> str:
        return f"{self.beginning}, {self.length:,} in all"


def kept(value: Any, depth: int = 0) -> Any:
    """The value as it is now.

    >>> grads = [np.zeros(2)]
    >>> before = kept(grads)
    >>> grads[0] += 1
    >>> before, grads, differ(before, kept(grads))
    ([array([0., 0.])], [array([1., 1.])], True)
    """
    if isinstance(value, np.ndarray):
        return value.copy() if value.size <= LARGEST else Size(value.shape, value.dtype)
    if depth == DEEPEST:
        return value
    if type(value) is tuple or hasattr(type(value), "_make"):
        items = [kept(item, depth + 1) for item in value]
        if all(new is old for new, old in zip(items, value)):
            return value
        return tuple(items) if type(value) is tuple else value._make(items)
    if type(value) not in HOLDERS:
        return value
    if _is_long(value):
        return Glimpse(reprlib.repr(value), len(value))
    now = copy.copy(value)
    if not isinstance(now, set):  # whose things are never changed
        for at, item in list(now.items() if isinstance(now, dict) else enumerate(now)):
            now[at] = kept(item, depth + 1)
    return now


def _is_long(value: Any) -> bool:
    """Whether it holds more than LONGEST things, with those in the lists that it holds."""
    left, count = [value], 0
    while left and count <= LONGEST:
        holder = left.pop()
        count += len(holder)
        items = holder.values() if isinstance(holder, dict) else holder
        left += [item for item in items if type(item) in HOLDERS]
    return count > LONGEST


def differ(old: Any, new: Any) -> bool:
    """Whether two values that were `kept` are not the same."""
    if old is new:
        return False
    if type(old) is not type(new):
        return True
    if isinstance(old, np.ndarray):
        same = old.shape == new.shape and old.dtype == new.dtype
        return not (same and old.tobytes() == new.tobytes())
    if isinstance(old, (int, float, str, set, Size, Glimpse)):
        return old != new
    if isinstance(old, MAPPINGS):
        return list(old) != list(new) or differ(list(old.values()), list(new.values()))
    if isinstance(old, (list, tuple, deque)):
        return len(old) != len(new) or any(map(differ, old, new))
    return True
