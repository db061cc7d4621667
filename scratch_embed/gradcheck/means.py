"""A mean whose backward does not divide: told from a sum by showing forward everything twice."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from scratch_embed.gradcheck.predictions import Case, close, ratio
from scratch_embed.gradcheck.walk import forward_of, plain


def missing_mean(case: Case) -> str | None:
    """A whole factor that an average divides by, in an operation that takes one."""
    c, tensor = ratio(case), case.part.tensor
    if c is None or case.dout.size >= tensor.size or abs(c - round(c)) > 1e-6 * abs(c):
        return None
    counts = {tensor.size // max(case.dout.size, 1)}
    for shape in (tensor.shape, case.dout.shape):
        for k in range(1, len(shape) + 1):
            counts |= {int(np.prod(some)) for some in itertools.combinations(shape, k)}
    for ids in case.arrays("iu"):
        counts |= set(range(2, ids.size + 1))  # as many as are not ignored, or in a bag
    return str(round(c)) if round(c) in counts - {0, 1} and _takes_a_mean(case) else None


def _takes_a_mean(case: Case) -> bool:
    """Whether forward answers the same where each number, or id, comes twice. A sum is twice as
    large then, a norm sqrt(2) times; of a maximum few numbers count."""
    if np.count_nonzero(case.right) <= case.dout.size and not case.arrays("iu"):
        return False
    outs = (forward_of(case.part.node, given) for given in _twice(case))
    return any(out is not None and close(out, case.part.out) for out in outs)


def _twice(case: Case) -> Iterator[list]:
    """The inputs with each number doubled along an axis: of this one, of the ids, or of all that
    are as long there."""
    given = [plain(value) for value in case.part.node.inputs]
    arrays = {k: v for k, v in enumerate(given) if isinstance(v, np.ndarray)}
    ids = {k for k, v in arrays.items() if v.dtype.kind in "iu"}
    for axis in range(max(v.ndim for v in arrays.values())):
        lengths = {v.shape[axis] for v in arrays.values() if v.ndim > axis}
        alike = [{k for k, v in arrays.items() if v.shape[axis:][:1] == (n,)} for n in lengths]
        for which in [{case.part.place}, ids, *alike]:
            if which and all(arrays[k].ndim > axis for k in which):
                yield [np.repeat(v, 2, axis) if k in which else v for k, v in enumerate(given)]
