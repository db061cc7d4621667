"""A mean whose backward does not divide: told from a sum by showing forward everything twice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from scratch_embed.gradcheck.predictions import Case, close, ratio
from scratch_embed.gradcheck.walk import forward_of, plain


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
    for axis, length, named, given in _twice(case):
        out = forward_of(case.part.node, given)
        if out is None or not close(out, case.part.out):
            continue
        lengths[axis] = length
        counts |= set(range(2, named + 1))  # as many as are not ignored, or in a bag
    few = range(1, len(lengths) + 1)
    subsets = (itertools.combinations(lengths.values(), k) for k in few)
    return counts | {math.prod(some) for some in itertools.chain(*subsets)}


def _twice(case: Case) -> Iterator[tuple[int, int, int, list]]:
    """The inputs with each number doubled along an axis: of this one, of the ids, or of this one
    and all that are as long there. With the axis, its length, and how many ids are doubled."""
    given = [plain(value) for value in case.part.node.inputs]
    arrays = {k: v for k, v in enumerate(given) if isinstance(v, np.ndarray)}
    ids, mine = {k for k, v in arrays.items() if v.dtype.kind in "iu"}, case.part.place
    for axis in range(max(v.ndim for v in arrays.values())):
        of = {k: v.shape[axis] for k, v in arrays.items() if v.ndim > axis}
        alike = {k for k in of if of[k] == of.get(mine)}
        for which in ({mine}, ids, alike):
            if which and which <= of.keys():
                twice = [np.repeat(v, 2, axis) if k in which else v for k, v in enumerate(given)]
                yield axis, of[min(which)], sum(arrays[k].size for k in which & ids), twice
