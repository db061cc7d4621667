"""Has somebody written to what a tape keeps?

An operation keeps references to the arrays that its backward will need, not copies: those of every
weight would take as much memory again. So the numbers can change between forward and backward, and
backward would then answer, without a word, for a point where forward never was. This is noticed:

    an optimiser's step, and    exactly: both say so by `wrote(array)`, which counts for all views
    a lookup with max_norm      of one array that reach into its part of the memory (two arrays that
                                were each made over a buffer of somebody else's, as by
                                np.frombuffer, are looked at as below)
    anybody else's writes       by a sample. Of each array that is kept, about ENTRIES = 1,024
                                numbers, spread evenly, are remembered, and looked at again before
                                backward uses it: every number, when it has no more than that

An optimiser's step is noticed also where backward does not need the numbers that it changed: a
RuntimeWarning says so, for the gradient is that of a point left behind.

So `x.data *= 2` is noticed where a number of the sample is not 0, and `x.data[3] = 0` in any array
of up to 1,024 numbers; in a larger one, only if the sample holds a number of row 3. To have
everything remembered, at the cost of a copy of everything, write

    with watching(math.inf):
        loss = ...
        loss.backward()

A Tensor that is given another array of its shape and dtype, `t.data = new`, changes nothing: the
tape holds the old one.

Not noticed is what is written into the `.data` of a result before anything uses it, as by
`h = relu(x); h.data[0] = 0`: from there on the numbers are the new ones, and the way back is that
of relu. Write `h * mask`, which is an operation.
"""

from __future__ import annotations

import itertools
import math
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

ENTRIES = 1024  # 8 kB for an array of float64, in a microsecond or two

clock = itertools.count()  # numbers the lines of the tape and the writes, in the order they came

PARTS = 1024  # of one array that are known apart


class _Times:
    """When was each part of which array written to?"""

    def __init__(self):
        self.last = -1  # of any
        self._of: dict[int, dict[tuple[int, int], int]] = {}  # by the id() of the owner

    def note(self, array: np.ndarray, now: int) -> None:
        whole, part = owner(array), byte_bounds(array)
        if id(whole) not in self._of:
            weakref.finalize(whole, self._of.pop, id(whole), None)  # an id is used again
        parts = self._of.setdefault(id(whole), {})
        if len(parts) >= PARTS and part not in parts:
            parts.clear()
            part = byte_bounds(whole)
        parts[part] = self.last = now

    def since(self, array: np.ndarray, time: int) -> bool:
        if self.last <= time:
            return False
        low, high = byte_bounds(array)
        parts = list(self._of.get(id(owner(array)), {}).items())  # another thread may add one
        return any(then > time and low < end and start < high for (start, end), then in parts)


_writes, _steps = _Times(), _Times()  # of anybody who says so; of optimisers alone


class _Watch(threading.local):
    entries: float = ENTRIES  # each Python thread sets its own


_watch = _Watch()


Kept = tuple[Any, int, bytes]  # an array; the step from one remembered number to the next; those


def keep(array: Any) -> Kept:
    """Remember what an array looks like. Of anything else nothing is remembered.

    >>> x = np.zeros(3)
    >>> kept = keep(x)
    >>> x[1] = 5
    >>> has_changed(kept)
    True
    """
    entries = _watch.entries
    if not isinstance(array, np.ndarray) or not entries:
        return array, 0, b""
    if array.size <= entries:
        return array, 1, array.tobytes()
    step = int(array.size // entries)
    while math.gcd(step, array.size) > 1:  # else it would meet some columns of a table only
        step -= 1  # 1 has none
    return array, step, array.tobytes() if step == 1 else _sample(array, step)


def has_changed(kept: Kept) -> bool:
    """Whether a number that is remembered is another now, if only by a bit."""
    array, step, before = kept
    if not step:
        return False
    return (array.tobytes() if step == 1 else _sample(array, step)) != before


def to_copy(kept: Kept, time: int) -> Kept:
    """What a copy is told of an array: all that this one knows of writes since `time`, for it has
    other arrays and begins to count anew."""
    array, step, _ = kept
    return (array, step, b"") if has_changed(kept) or written_since(array, time) else kept


def copied(kept: Kept) -> Kept:
    """The same of the array that was copied, whose numbers may lie in another order."""
    return keep(kept[0]) if kept[2] else kept


def _sample(array: np.ndarray, step: int) -> bytes:
    flat = array.ravel("K") if array.flags.forc else array.flat  # neither copies the array
    return flat[::step].tobytes()


def keep_all(saved: Any) -> list[Kept]:
    """`keep` every array of what an operation saved: a tuple, a list, a dict or an array.

    Tuples inside are looked into. A list or dict inside is left alone: that is where a backward
    puts things by, and takes them out again.
    """
    if not isinstance(saved, (tuple, list)):
        saved = saved.values() if isinstance(saved, dict) else (saved,)
    found = []
    for item in saved:
        if isinstance(item, np.ndarray):
            found.append(keep(item))
        elif isinstance(item, tuple):
            found += keep_all(item)
    return found


def arrays(value: Any) -> Iterator[np.ndarray]:
    """Every array inside what an operation saved, however deep."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from arrays(item)
    elif isinstance(value, dict):
        yield from arrays(list(value.values()))


def owner(array: np.ndarray) -> np.ndarray:
    """The array that this one is a view of, itself where it is of none."""
    base = array.base
    while base is not None:
        if isinstance(base, np.ndarray):
            array = base
        base = getattr(base, "base", None)
    return array


def wrote(array: np.ndarray, step: bool = False) -> None:
    """Say that an array has just been written to in place, as by the step of an optimiser."""
    now = next(clock)
    for times in (_writes, _steps)[: 1 + step]:
        times.note(array, now)


def written_since(array: np.ndarray, time: int) -> bool:
    """Whether `wrote` was called, after this time of `clock`, for what shares memory with it."""
    return _writes.since(array, time)


def any_step_since(time: int) -> bool:
    """Whether an optimiser took a step after this time of `clock`."""
    return _steps.last > time


def stepped_since(array: np.ndarray, time: int) -> bool:
    """The same of an optimiser's step."""
    return _steps.since(array, time)


@contextmanager
def watching(entries: float) -> Iterator[None]:
    """Remember so many numbers of each kept array inside this block, in this Python thread.

    `math.inf` remembers all of them, and 0 none: then only `wrote` is noticed.

    Raises ValueError for a negative number.
    """
    if not entries >= 0:
        raise ValueError(f"entries is {entries!r}; it must be 0 or more, math.inf for all")
    before, _watch.entries = _watch.entries, entries
    try:
        yield
    finally:
        _watch.entries = before
