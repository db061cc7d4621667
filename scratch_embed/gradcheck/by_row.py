"""What mistakes with rows of a table make of the right gradient, as `predictions` does for numbers.

An operation that looks rows up adds what arrives at each use to the row that was used. Here the
ids and the rows of dout are paired as a mistake would pair them.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy as np

from scratch_embed.gradcheck.predictions import Case, close
from scratch_embed.gradcheck.surrogates import has_options, sent_by_id, stated_gradient
from scratch_embed.gradcheck.walk import forward_on, looked_up, plain
from scratch_embed.kernels.ids import count_ids
from scratch_embed.ops.bag import BagSaved
from scratch_embed.ops.shape import getitem_forward
from scratch_embed.watch import arrays

# What to say of rows that ids name, and of such as are copied from where they lie.
BY_IDS = {
    "repeats": "repeated ids",
    "adding": "np.add.at or scatter_add sums them all",
    "those": "the ids",
}
BY_PLACE = {
    "repeats": "copies of one row",
    "adding": "what all of them send back is summed",
    "those": "the rows that are due",
}
FEW = 8  # rows that are moved, to see where they go
LAST = "last use of a row, as grad[ids] = dout and grad[ids] += dout both do"


def reads_ids(case: Case) -> bool:
    """Whether an operation reads ids, as far as one can see: it is given some, keeps some, or finds
    some in its surroundings. A flip copies rows as well, and nobody names them."""
    node = case.part.node
    held = [*map(plain, node.inputs), *node.options.values(), *arrays(node.saved)]
    for function in (node.forward, node.backward):
        try:
            around = inspect.getclosurevars(function)
        except TypeError:  # what is compiled, or an object that is called, does not say
            return True
        found = [*around.nonlocals.values(), *around.globals.values()]
        held += [np.asarray(value) if _is_ids(value) else value for value in found]
    return any(isinstance(value, np.ndarray) and value.dtype.kind in "iu" for value in held)


def _is_ids(value) -> bool:
    return isinstance(value, list) and value and all(isinstance(each, int) for each in value)


def scatter(case: Case) -> tuple[np.ndarray, np.ndarray] | None:
    """(ids, values) that the operation is to add up by id, if it looked up rows."""
    saved, shape = case.part.node.saved, case.right.shape
    if isinstance(saved, BagSaved) and case.part.place == 0:
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


def overwritten(case: Case) -> str | None:
    """Of the contributions to a row only the last, or only the first."""
    ids, values = rows(case)
    if case.part.node.forward is getitem_forward:
        given, options = case.part.node.inputs, case.part.node.options
        index = plain(options["index"] if "index" in options else given[1])
        return LAST if case.is_like(assigned(case, index, case.dout)) else None
    if len(ids):
        if case.is_like(assigned(case, ids, values)):
            return LAST
        if case.is_like(assigned(case, ids[::-1], values[::-1])):
            return "first use of a row, as a loop from behind does that assigns"
    return None


def overwritten_within(case: Case) -> str | None:
    """Added up over sequences, time steps or bags, but overwritten inside each of them."""
    ids, values = rows(case)
    for words, group in _groups(case, len(ids)):
        out = np.zeros(case.right.shape)
        for each in np.unique(group):
            out[ids[group == each]] += values[group == each]
        if case.is_like(out) and not close(out, added(case, ids, values)):
            return words
    return None


def overwritten_copies(case: Case) -> str | None:
    """The same where forward only copies numbers, as take_along_axis does, or unfolding into
    windows that overlap."""
    numbered = np.arange(1.0, case.right.size + 1).reshape(case.right.shape)
    out = forward_on(case.part, numbered)  # the places that its numbers come from, 0 for padding
    if out is None:
        return None
    places, dout = out.reshape(-1), case.dout.reshape(-1)
    if not np.isin(places, np.arange(case.right.size + 1)).all():
        return None
    places, dout = places[places > 0].astype(int) - 1, dout[places > 0]
    flat = case._replace(wrong=case.wrong.reshape(-1), right=case.right.reshape(-1))
    if len(places) and close(flat.right, added(flat, places, dout)):
        for ends, words in ((slice(None), "last"), (slice(None, None, -1), "first")):
            if flat.is_like(assigned(flat, places[ends], dout[ends])):
                return words
    return None


def _groups(case: Case, count: int) -> Iterator[tuple[str, np.ndarray]]:
    """Which sequence, which time step or which bag each of the ids belongs to."""
    found, saved = scatter(case), case.part.node.saved
    if count and isinstance(saved, BagSaved):
        yield "bag", saved.bags
    elif count and found[0].ndim == 2:
        sequence, step = np.indices(found[0].shape)
        yield from (("sequence", sequence.reshape(-1)), ("time step", step.reshape(-1)))


def reversed_ids(case: Case) -> str | None:
    """dout[n] added to the row of id N - 1 - n."""
    ids, values = rows(case)
    return "" if len(ids) and case.is_like(added(case, ids[::-1], values)) else None


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
        around = np.roll(case.right, by, axis=0) if count > 2 else np.zeros(0)  # two: an exchange
        held = added(case, np.clip(ids + by, 0, count - 1), values)
        if case.is_like(around) or len(ids) and case.is_like(held):
            return f"row v has what belongs to row v {'-' if by > 0 else '+'} 1"
        if len(ids) and case.is_like(added(case, ids, np.roll(values, by, axis=0))):
            return "each id is paired with the gradient of its neighbour in the batch"
        if _rolled_in_time(case, by):
            return "each id is paired with the gradient of its neighbour in time"
    return None


def _rolled_in_time(case: Case, by: int) -> bool:
    found = scatter(case)
    if found is None or found[0].ndim != 2:
        return False
    ids, values = found
    rolled = np.roll(values.reshape(*ids.shape, -1), by, axis=1)
    return case.is_like(added(case, ids.reshape(-1), rolled.reshape(values.shape)))


def missed(case: Case) -> str | None:
    """All but one position: the first or the last, or one of several uses of a row."""
    ids, values = rows(case)
    if not len(ids):
        return None
    lost = case.right - case.wrong
    (wrong,) = np.nonzero(np.abs(lost).max(axis=1) > 1e-7 * np.abs(case.right).max())
    uses = np.flatnonzero(ids == wrong[0]) if len(wrong) == 1 else ()
    ends = {0: "the first position", len(ids) - 1: "the last position"}
    for n in uses:
        if close(lost[wrong[0]], values[n]) and (n in ends or len(uses) > 1):
            return ends.get(n, f"position {n}")
    return None


def averaged(case: Case) -> str | None:
    """Each row divided by its number of uses."""
    if case.right.ndim != 2:
        return None
    # A bag that counts a row once for all its uses does the same, so bags are left out.
    single = [
        ids for ids in case.arrays("iu") if ids.ndim == 1 and case.dout.shape[:1] in ((), ids.shape)
    ]
    for ids in (rows(case)[0], *single):
        if ids.size and 0 <= ids.min() and ids.max() < len(case.right):
            counts = np.maximum(count_ids(ids, len(case.right)), 1)
            if (counts > 1).any() and case.is_like(case.right / counts[:, None]):
                return ""
    return None


def option_ignored(case: Case) -> str | None:
    """The derivative where padding_idx or scale_grad_by_freq asks for something else."""
    if not has_options(case.part):
        return None
    true, _, why = stated_gradient(case.part)
    return " and ".join(sorted(set(why.values()))) if case.is_like(true) else None


def row_dropped(case: Case) -> str | None:
    """All rows right but one that was looked up, which is 0."""
    return _empty_row(case) if len(rows(case)[0]) else None


def row_missing(case: Case) -> str | None:
    """The same where nothing is looked up, so that no padding_idx can be meant."""
    return _empty_row(case)


def _empty_row(case: Case) -> str | None:
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
            return ""
    return None


def one_way_wrong(case: Case) -> str | None:
    """Such a table where just the rows are wrong that its ids name."""
    return "" if any(np.array_equal(w, n > 0) for n, w in _named_rows(case)) else None


def overwritten_beside(case: Case) -> str | None:
    """Just the rows wrong that ids name more than once, whatever else is done with them."""
    for counts, wrong in _named_rows(case, all_ways=True):
        if np.array_equal(wrong, counts > 1) and case.right[counts == 1].any():
            return ""
    return None


def _named_rows(case: Case, all_ways: bool = False) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(how often ids name each row, which rows are wrong), where rows not named get something.

    Or, with `all_ways`, wherever ids name rows. One id for each row may as well be its class, a
    column: as of a loss, whose wrong rows would be named by chance.
    """
    if not case.right.ndim or not case.right.any():
        return
    gap = np.abs(case.wrong - case.right).reshape(len(case.right), -1).max(axis=1)
    wrong = gap > 1e-7 * np.abs(case.right).max()
    for ids in case.arrays("iu"):
        classes = ids.shape == case.right.shape[:-1] and ids.max(initial=0) < case.right.shape[-1]
        if not ids.size or classes or _is_mask(case, ids) or are_segments(case, ids):
            continue
        if 0 <= ids.min() and ids.max() < len(wrong):
            counts = count_ids(ids, len(wrong))
            if all_ways or case.right[counts == 0].any():
                yield counts, wrong


def are_segments(case: Case, ids: np.ndarray) -> bool:
    """Whether there is an id for each row, and it says to which row of the output that one goes: a
    row that is moved, by so much that it would be the largest, moves that one alone."""
    x, out = case.part.tensor.data, case.part.out
    if ids.shape != x.shape[:1] or not out.ndim or not 0 <= ids.min() <= ids.max() < len(out):
        return False
    far = 1 + 2 * float(np.ptp(x))
    for row, id in enumerate(ids[:FEW].tolist()):
        other = x.copy()
        other[row] += far
        moved = forward_on(case.part, other)
        if moved is None:
            return False
        if np.flatnonzero((moved != out).reshape(len(out), -1).any(axis=1)).tolist() != [id]:
            return False
    return not np.array_equal(ids, np.arange(len(ids)))


def _is_mask(case: Case, ids: np.ndarray) -> bool:
    """Whether there are only ones and zeros, beside as many ids."""
    beside = (other for other in case.arrays("iu") if other.shape == ids.shape)
    return ids.max() <= 1 and any(other.max() > 1 for other in beside)
