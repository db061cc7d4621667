"""What is left out or weighed wrongly on a way through one operation, told by parts of dout.

Backward is linear in dout, so what each sample of the batch sends back can be had alone: the right
share by nudging, and the share that backward sends by calling it again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scratch_embed.gradcheck.numeric import ways
from scratch_embed.gradcheck.pattern import wrong_slope
from scratch_embed.gradcheck.predictions import Case, close
from scratch_embed.gradcheck.walk import answers, plain
from scratch_embed.look.numbers import told_apart

MOST_SAMPLES = 32  # that are sent one by one


def beside_itself(case: Case) -> str | None:
    """x + f(x) in one operation: dout itself is what goes back past f.

    Where all goes entry by entry, as in e^x - 1, nobody can tell x from f: the slope is off by 1.
    """
    gap = case.right - case.wrong
    lost, twice = close(gap, case.dout), close(gap, -case.dout)
    if not (lost or twice):
        return None
    if wrong_slope(case) is not None:
        off, what = ("small", "only f sends back") if lost else ("large", "the x is counted twice")
        return f"takes a slope that is 1 too {off} everywhere, as where of x + f(x) {what}"
    does = "leaves out dout itself" if lost else "sends dout itself once too often"
    return f"{does}, which goes back past f where an operation is x plus some f of it"


def one_reading(case: Case) -> str | None:
    """Rows read by two batches of ids, as two hashes do, and one of them is paid."""
    if case.right.ndim != 2:
        return None
    batches = list(_batches(case))
    for place, column, ids in batches if len(batches) > 1 else ():
        if case.dout.shape != (*ids.shape, case.right.shape[1]):
            continue
        for sign in (1, -1):
            paid = sign * _added(case, ids)
            words = _unpaid(case, paid)
            if words and _is_owed(case, place, column, sign, paid):
                return words
    return None


def _batches(case: Case) -> Iterator[tuple[int, int | None, np.ndarray]]:
    """(place of the input, column or None for all of it, ids) of whatever could be ids of rows."""
    for place, ids in enumerate(map(plain, case.part.node.inputs)):
        if not isinstance(ids, np.ndarray) or ids.dtype.kind not in "iu" or not ids.size:
            continue
        if ids.min() >= 0 and ids.max() < len(case.right):
            yield place, None, ids
            if ids.ndim == 2:
                yield from ((place, column, each) for column, each in enumerate(ids.T))


def _added(case: Case, ids: np.ndarray) -> np.ndarray:
    """dout, added up by these ids."""
    out = np.zeros(case.right.shape)
    np.add.at(out, ids.reshape(-1), case.dout.reshape(-1, out.shape[1]))
    return out


def _unpaid(case: Case, paid: np.ndarray) -> str | None:
    if case.is_like(paid):
        return "only one batch of its ids is paid"
    if case.is_like(case.right - paid):
        return "one batch of its ids is not paid"
    if case.is_like(case.right - 2 * paid):
        return "one batch of its ids is paid with the wrong sign"
    return None


def _is_owed(case: Case, place: int, column: int | None, sign: int, paid: np.ndarray) -> bool:
    """Whether forward reads the table by these ids: what is owed moves along with them."""
    other = plain(case.part.node.inputs[place]).copy()
    here = other if column is None else other[:, column]
    here[...] = len(case.right) - 1 - here
    due = case.right - paid + sign * _added(case, here)
    owed = case.instead({place: other}, case.dout, due)
    return owed is not None and close(owed, due)


def stops_at_each_step(case: Case) -> str | None:
    """What arrives at a step goes back to that step, and not to those before it."""
    for axis, words in ((0, "step"), (1, "time step")):
        if min(case.dout.ndim, case.right.ndim) <= axis:
            continue
        steps = case.dout.shape[axis]
        if steps < 2 or case.right.shape[axis] != steps:
            continue
        alone = _only(case.dout, axis, steps - 1)
        owed, given = case.owed(alone), answers(case.part, alone)
        if owed is None or len(given) != 1:
            continue
        within = _only(owed, axis, steps - 1)
        if within.any() and not close(within, owed) and close(given[0], within):
            start = _only(case.dout, axis, 0)
            first, answered = case.owed(start), answers(case.part, start)[0]
            if not close(answered, _only(answered, axis, 0)):  # it goes the other way
                continue
            if close(first, _only(first, axis, 0)):  # else they are no steps: all meet all
                return f"{words}: what arrives at one also goes back to those before it"
    return None


def weighed(case: Case) -> str | None:
    """Each sample of the output pays the right rows, with a factor of its own that is wrong."""
    count = len(case.dout) if case.dout.ndim else 0
    if not 2 <= count <= MOST_SAMPLES or case.right.size < 3 * count:
        return None
    factors = np.ones(count)
    for n in range(count):
        alone = _only(case.dout, 0, n)
        share, given = case.owed(alone), answers(case.part, alone)
        if share is None or len(given) != 1:
            return None
        size = np.vdot(share, share)
        if size:  # nothing goes through an empty bag
            factors[n] = np.vdot(share, given[0]) / size
        if not np.abs(given[0] - factors[n] * share).max() <= 1e-7 * np.abs(share).max(initial=0):
            return None
    at = int(np.argmax(np.abs(factors - 1)))
    if abs(factors[at] - 1) < 1e-7:  # each is right alone
        return None
    another = _only(ways(6).standard_normal(case.dout.shape), 0, at)
    if not close(answers(case.part, another)[0], factors[at] * case.owed(another)):
        return None  # it is no weight: another dout is weighed otherwise
    told = f"what sample {at} sends back comes times {_plainly(factors[at])}"
    if np.diff(np.sort([*factors, 1.0])).min() > 1e-6:
        told += ", each other one times another number, as where 1 / std or 1 / count is left out"
    return told


def _plainly(factor: float) -> str:
    return told_apart(factor if abs(factor) > 1e-9 else 0.0)[0]


def _only(array: np.ndarray, axis: int, at: int) -> np.ndarray:
    """The array with zeros everywhere but at one place of an axis."""
    out = np.zeros_like(array)
    here = (slice(None),) * axis + (at,)
    out[here] = array[here]
    return out
