"""Which entries to check when a tensor has too many for all.

Random entries are almost useless on a table: with 8 ids used of 50,257, a random row was looked
up with a chance of 1 in 6,000, and every other row only confirms that 0 = 0. So rows are drawn by
class: looked up once, more than once, never, the padding row, the first and the last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed.gradcheck.walk import Part, looked_up, padding_of
from scratch_embed.kernels.ids import count_ids
from scratch_embed.tensor import Tensor


class Uses(NamedTuple):
    """How the rows of a tensor were used, read from the tape.

    A row is used once for each id that names it, and once by every operation that takes the whole
    tensor, such as the projection that scores every row of a tied table.
    """

    counts: np.ndarray | None  # (V,) times ids named each row; None when nothing looked it up
    whole: int  # operations that take the whole tensor; 0: rows without ids must get exactly 0
    padding: tuple[int, ...]  # the row, if any, that is padding in every one of the lookups


def uses_by_row(parts: list[Part], table: Tensor) -> Uses:
    """How often each row of `table` was used."""
    counts, whole, padded = None, 0, []
    for part in parts:
        if part.tensor is not table:
            continue
        ids = looked_up(part)
        if ids is None:
            whole += 1
            continue
        used = count_ids(ids, len(table))
        counts = used if counts is None else counts + used
        padded.append(padding_of(part.node.saved))
    shared = set(padded) - {None} if len(set(padded)) == 1 else ()
    return Uses(counts, whole, tuple(shared))


def entries(
    tensor: Tensor, uses: Uses, limit: int, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Up to about `limit` indices of `tensor`: all of them when they fit."""
    if tensor.size <= limit:
        return list(np.ndindex(tensor.shape))
    if uses.counts is None or tensor.ndim != 2:
        flat = np.sort(rng.choice(tensor.size, limit, replace=False))
        return [tuple(int(i) for i in np.unravel_index(f, tensor.shape)) for f in flat]
    classes = [
        np.flatnonzero(uses.counts == 1),
        np.flatnonzero(uses.counts > 1),
        np.flatnonzero(uses.counts == 0),
        np.array(uses.padding, int),
        np.array([0]),
        np.array([len(uses.counts) - 1]),
    ]
    classes = [rows for rows in classes if len(rows)]
    chosen = set()
    for rows in classes:
        for row in rng.choice(rows, max(1, limit // len(classes))):
            chosen.add((int(row), int(rng.integers(tensor.shape[1]))))
    return sorted(chosen)
