"""A mean whose backward does not divide: told from a sum by showing forward everything twice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from scratch_embed.gradcheck.predictions import Case, close, ratio
from scratch_embed.gradcheck.walk import forward_of, plain

MOST = 64  # ids that are doubled one by one


def missing_mean(case: Case) -> str | None:
    """A whole factor that an average divides by, in an operation that takes one."""
    c, size = ratio(case), case.dout.size
    if c is None or size >= case.part.tensor.size or abs(c - round(c)) > 1e-6 * abs(c):
        return None
    if np.count_nonzero(case.right) <= size and not case.arrays("iu"):
        return None  # of a maximum few numbers count
    return str(round(c)) if round(c) in _counts(case) - {0, 1} else None


def _counts(case: Case) -> set[int]:
    """The numbers of entries that forward takes a mean of: it answers the same where each of them
    comes twice. A sum is twice as large then, a norm sqrt(2) times."""
    lengths, counts = {}, set()
    for axis, which, length, named in _ways(case):
        out = forward_of(case.part.node, _repeated(case, axis, which, 2))
        if out is None or not close(out, case.part.out):
            continue
        lengths[axis] = length
        counts |= _that_count(case, axis, which, length) if named else set()
    few = range(1, len(lengths) + 1)
    subsets = (itertools.combinations(lengths.values(), k) for k in few)
    return counts | {math.prod(some) for some in itertools.chain(*subsets)}


def _that_count(case: Case, axis: int, which: set[int], length: int) -> set[int]:
    """How many ids a mean is taken over, or one in each row of them: the others are ignored, and
    forward answers the same where one of these comes twice. Where it cannot be asked, any number.
    """
    given = [plain(value) for value in case.part.node.inputs]
    ids = [given[k] for k in sorted(which) if given[k].dtype.kind in "iu"]
    out, by_row = case.part.out, axis == 1 and case.part.out.shape[:1] == ids[0].shape[:1]
    if len(ids) > 1 or length > MOST or not (by_row or ids[0].ndim == 1):
        return set(range(2, sum(array.size for array in ids) + 1))
    counted = np.zeros(len(out) if by_row else 1, int)
    for at in range(length):
        twice = 1 + (np.arange(length) == at)
        beside = forward_of(case.part.node, _repeated(case, axis, which, twice))
        if beside is None or beside.shape != out.shape:
            return set(range(2, ids[0].size + 1))
        counted += (np.abs(beside - out) > 1e-9 * np.abs(out)).reshape(len(counted), -1).any(axis=1)
    return set(counted.tolist())


def _repeated(case: Case, axis: int, which: set[int], times) -> list:
    """The inputs of forward, some of them with their numbers repeated along an axis."""
    given = [plain(value) for value in case.part.node.inputs]
    return [np.repeat(v, times, axis) if k in which else v for k, v in enumerate(given)]


def _ways(case: Case) -> Iterator[tuple[int, set[int], int, int]]:
    """An axis, and the places of the inputs to be doubled there: this one, the ids, or this one and
    all that are as long there. With that length, and how many ids are among them."""
    given = [plain(value) for value in case.part.node.inputs]
    arrays = {k: v for k, v in enumerate(given) if isinstance(v, np.ndarray)}
    ids, mine = {k for k, v in arrays.items() if v.dtype.kind in "iu"}, case.part.place
    for axis in range(max(v.ndim for v in arrays.values())):
        of = {k: v.shape[axis] for k, v in arrays.items() if v.ndim > axis}
        alike = {k for k in of if of[k] == of.get(mine)}
        for which in ({mine}, ids, alike):
            if which and which <= of.keys():
                yield axis, which, of[min(which)], sum(arrays[k].size for k in which & ids)
