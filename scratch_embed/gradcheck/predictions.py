"""What each mistake makes of the right gradient, as tests on one wrong contribution.

A test answers None when its prediction is not what backward gave, and otherwise the detail that its
sentence in `causes` has room for, which may be "".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from scratch_embed.gradcheck.surrogates import has_options, sent_by_id, stated_gradient
from scratch_embed.gradcheck.walk import Part, looked_up, plain
from scratch_embed.kernels.ids import count_ids


class Case(NamedTuple):
    """One contribution that is wrong, and what it should be."""

    part: Part
    wrong: np.ndarray
    right: np.ndarray
    others: dict[int, np.ndarray]  # what the same operation owes to its other inputs, by place

    @property
    def dout(self) -> np.ndarray:
        return self.part.dout

    def arrays(self, kinds: str) -> list[np.ndarray]:
        """The inputs of the operation that are arrays of these dtype kinds, without Tensors."""
        given = map(plain, self.part.node.inputs)
        return [a for a in given if isinstance(a, np.ndarray) and a.dtype.kind in kinds]

    def is_like(self, prediction: np.ndarray) -> bool:
        return close(self.wrong, prediction)


def close(a: np.ndarray, b: np.ndarray, tolerance: float = 1e-7) -> bool:
    """Equal in shape, and in numbers up to `tolerance` of the largest."""
    if a.shape != b.shape:
        return False
    size = max(float(np.abs(a).max(initial=0)), float(np.abs(b).max(initial=0)))
    return bool(np.abs(a - b).max(initial=0) <= tolerance * size)


def scatter(case: Case) -> tuple[np.ndarray, np.ndarray] | None:
    """(ids, values) that the operation is to add up by id, if it looked up rows."""
    saved, shape = case.part.node.saved, case.right.shape
    if hasattr(saved, "bags") and case.part.place == 0:
        return sent_by_id(case.part)
    ids = looked_up(case.part)
    if ids is None or case.dout.size != ids.size * shape[1]:
        return None
    return ids, case.dout.reshape(-1, shape[1])


def rows(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """(ids (N,), values (N, D)); none of either for operations that look nothing up."""
    found = scatter(case)
    if found is None:
        return np.zeros(0, np.int64), np.zeros((0, 1))
    return found[0].reshape(-1), found[1]


def added(case: Case, ids: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A table of zeros with the values added to their rows."""
    out = np.zeros(case.right.shape)
    if len(ids):
        np.add.at(out, ids, values)
    return out


def assigned(case: Case, index, values) -> np.ndarray:
    """A table of zeros with the values written to their rows, one over the other."""
    out = np.zeros(case.right.shape)
    out[index] = values
    return out


# ---- rows of a table --------------------------------------------------------------------------


def nothing(case: Case) -> str | None:
    """All zeros."""
    return None if case.wrong.any() else ""


def overwritten(case: Case) -> str | None:
    """Of the contributions to a row only the last, or only the first."""
    ids, values = rows(case)
    if case.part.node.name == "getitem":
        index = plain(case.part.node.inputs[1])
        return "last" if case.is_like(assigned(case, index, case.dout)) else None
    if len(ids):
        if case.is_like(assigned(case, ids, values)):
            return "last"
        if case.is_like(assigned(case, ids[::-1], values[::-1])):
            return "first"
    return None


def reversed_ids(case: Case) -> str | None:
    """dout[n] added to the row of id N - 1 - n."""
    ids, values = rows(case)
    return "" if case.is_like(added(case, ids[::-1], values)) else None


def swapped_axes(case: Case) -> str | None:
    """The ids (B, T) read as (T, B)."""
    found = scatter(case)
    if found is None or found[0].ndim != 2:
        return None
    return "" if case.is_like(added(case, found[0].T.reshape(-1), found[1])) else None


def shifted(case: Case) -> str | None:
    """Rows moved by one, around the end or held there; or each id with its neighbour's values."""
    ids, values = rows(case)
    count = len(case.right) if case.right.ndim else 0
    for by in (1, -1):
        around = np.roll(case.right, by, axis=0) if count > 1 else np.zeros(0)
        held = added(case, np.clip(ids + by, 0, count - 1), values)
        if case.is_like(around) or case.is_like(held):
            return f"row v has what belongs to row v {'-' if by > 0 else '+'} 1"
        if len(ids) and case.is_like(added(case, ids, np.roll(values, by, axis=0))):
            return "each id is paired with the gradient of its neighbour in the batch"
    return None


def missed(case: Case) -> str | None:
    """All but the last position, or all but the first."""
    ids, values = rows(case)
    if len(ids) and case.is_like(added(case, ids[:-1], values[:-1])):
        return "last"
    if len(ids) and case.is_like(added(case, ids[1:], values[1:])):
        return "first"
    return None


def averaged(case: Case) -> str | None:
    """Each row divided by its number of uses."""
    ids, _ = rows(case)
    if not len(ids):
        return None
    counts = np.maximum(count_ids(ids, len(case.right)), 1)
    return "" if (counts > 1).any() and case.is_like(case.right / counts[:, None]) else None


def option_ignored(case: Case) -> str | None:
    """The derivative where padding_idx or scale_grad_by_freq asks for something else."""
    if not has_options(case.part):
        return None
    true, _, why = stated_gradient(case.part)
    return " and ".join(sorted(set(why.values()))) if case.is_like(true) else None


def row_dropped(case: Case) -> str | None:
    """All rows right but one, which is 0."""
    if case.right.ndim != 2:
        return None
    empty = np.flatnonzero(~case.wrong.any(axis=1) & case.right.any(axis=1))
    rest = case.right.copy()
    rest[empty] = 0
    return str(empty[0]) if len(empty) == 1 and case.is_like(rest) else None


def one_way_unpaid(case: Case) -> str | None:
    """A table read by ids and used in another way too, as a tied one is, with one way unpaid."""
    for counts, wrong in _named_rows(case):
        if case.wrong.any() and not case.wrong[counts == 0].any():
            return "only the rows that its ids name get anything"
        if np.array_equal(wrong, counts > 0):
            return "every row is right but those that its ids name"
    return None


def overwritten_beside(case: Case) -> str | None:
    """Such a table with both ways paid, and just the rows wrong that were read more than once."""
    for counts, wrong in _named_rows(case):
        if np.array_equal(wrong, counts > 1) and (counts == 1).any():
            return ""
    return None


def _named_rows(case: Case) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(how often ids name each row, which rows are wrong), where rows not named get something."""
    if case.right.ndim != 2 or not case.right.any():
        return
    gap = np.abs(case.wrong - case.right).max(axis=1)
    wrong = gap > 1e-7 * np.abs(case.right).max()
    for ids in case.arrays("iu"):
        if ids.size and 0 <= ids.min() and ids.max() < len(wrong):
            counts = count_ids(ids, len(wrong))
            if case.right[counts == 0].any():
                yield counts, wrong


# ---- factors and sums -------------------------------------------------------------------------


def ignores_dout(case: Case) -> str | None:
    """Backward is linear in dout: twice the dout must give twice the gradient."""
    grads = case.part.node.gradients(2 * case.dout)
    doubled = [np.asarray(grad) for tensor, grad in grads if tensor is case.part.tensor]
    return "" if any(case.is_like(grad) for grad in doubled) else None


def wrong_sign(case: Case) -> str | None:
    """Minus the gradient."""
    return "" if case.is_like(-case.right) else None


def ratio(case: Case) -> float | None:
    """c where the wrong gradient is c times the right one."""
    size = float(np.vdot(case.right, case.right))
    if case.right.size < 2 or not size:
        return None
    c = float(np.vdot(case.right, case.wrong)) / size
    return c if case.is_like(c * case.right) else None


def constant_factor(case: Case) -> str | None:
    """A multiple of the gradient."""
    c = ratio(case)
    return None if c is None else f"{c:.6g}"


def missing_mean(case: Case) -> str | None:
    """A whole factor that an average could have divided by, in an operation that reduces."""
    c, tensor = ratio(case), case.part.tensor
    if c is None or case.dout.size >= tensor.size or abs(c - round(c)) > 1e-6 * abs(c):
        return None
    counts = {tensor.size // max(case.dout.size, 1)}
    for shape in (tensor.shape, case.dout.shape):
        for k in range(1, len(shape) + 1):
            counts |= {int(np.prod(some)) for some in itertools.combinations(shape, k)}
    for ids in case.arrays("iu"):
        counts |= set(range(2, ids.size + 1))  # as many as are not ignored, or in a bag
    return str(round(c)) if round(c) in counts - {0, 1} else None


def not_summed(case: Case) -> str | None:
    """One slice, or the mean, of what is to be summed over the copies of a stretched input."""
    out = case.part.out
    if case.right.size >= out.size:
        return None
    c = ratio(case)
    if c and 0 < c < 1 and abs(1 / c - out.size / case.right.size) < 1e-6 / c:
        return "the mean of its copies"
    for copies in _copies(case):
        for which, words in ((0, "the first of its copies"), (-1, "the last of its copies")):
            if case.is_like(_one_copy(copies, case.right.shape, which)):
                return words
    return None


def _copies(case: Case) -> Iterator[np.ndarray]:
    """What the gradient might be before it is summed: dout, perhaps times another input."""
    for other in (np.ones(()), *case.arrays("f")):
        try:
            copies = case.dout * other
        except ValueError:  # shapes that do not go together
            continue
        if copies.shape == case.part.out.shape:
            yield from (copies, -copies)


def _one_copy(copies: np.ndarray, shape: tuple[int, ...], which: int) -> np.ndarray:
    while copies.ndim > len(shape):
        copies = copies[which]
    for axis, (length, wanted) in enumerate(zip(copies.shape, shape)):
        if wanted == 1 and length > 1:
            copies = np.take(copies, [which], axis)
    return copies


# ---- the right numbers in the wrong places ----------------------------------------------------


def exchanged(case: Case) -> str | None:
    """The gradient of another input of the same operation."""
    return "" if any(case.is_like(other) for other in case.others.values()) else None


def transposed(case: Case) -> str | None:
    """Axes in another order, or dout multiplied by a matrix that should be transposed first."""
    shape = case.right.shape
    guesses = []
    if 2 <= len(shape) <= 4:
        orders = list(itertools.permutations(range(len(shape))))[1:]
        guesses += [case.right.transpose(order) for order in orders]
    if case.dout.size == case.right.size and case.dout.shape != shape:
        guesses.append(case.dout.reshape(shape, order="F"))
    for matrix in case.arrays("f"):
        if matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]:
            for side in (matrix, matrix.T):
                if case.dout.shape[-1:] == side.shape[:1]:
                    guesses.append(case.dout @ side)
                if case.dout.shape[-2:-1] == side.shape[:1]:
                    guesses.append(side @ case.dout)
    return "" if any(case.is_like(guess) for guess in guesses) else None


def forward_again(case: Case) -> str | None:
    """dout sent through the forward of a linear operation, where its transpose is due."""
    node, given = case.part.node, [plain(value) for value in case.part.node.inputs]
    if case.dout.shape != given[case.part.place].shape:
        return None
    given[case.part.place] = case.dout
    try:
        with np.errstate(all="ignore"):  # a dout below 0 is nothing for a logarithm
            through, _ = node.forward(*given, **node.options)
    except (TypeError, ValueError, IndexError):  # forward does not take it: not what happened
        return None
    return "" if np.shape(through) == case.wrong.shape and case.is_like(through) else None


def misplaced(case: Case) -> str | None:
    """The same numbers in another order."""
    same = close(np.sort(case.wrong, axis=None), np.sort(case.right, axis=None))
    return "" if same and case.right.size > 2 else None
