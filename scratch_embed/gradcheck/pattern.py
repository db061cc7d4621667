"""Which entries of dout reach which entries of the input, and how heavily: by parts of dout.

Backward is linear in dout. So a part of dout, with zeros elsewhere, shows where it goes, once by
nudging and once by the backward in doubt. No mistake is recognised here by its numbers; what is
told is a fact about them, which says where to look.
"""

from __future__ import annotations

import numpy as np

from scratch_embed.gradcheck.numeric import ways
from scratch_embed.gradcheck.predictions import Case, close
from scratch_embed.gradcheck.walk import answers
from scratch_embed.look.numbers import told_apart

MOST = 512  # entries of the input: each part of dout nudges all of them
MOST_SAMPLES = 32  # that are sent one by one


def entries_left_out(case: Case) -> str | None:
    """Nothing for some entries, and all the others right."""
    given = case.wrong != 0
    lost = ~given & (np.abs(case.right) > 1e-7 * np.abs(case.right).max(initial=0))
    if not given.any() or not lost.any() or not case.is_like(np.where(given, case.right, 0)):
        return None
    return f"{lost.sum()} of {lost.size} entries, [{_at(lost)}] first"


def shares(case: Case) -> str | None:
    """Each sample sends the right numbers to each row, but times a factor."""
    found = _factors(case)
    if found is None:
        return None
    factors, owed = found
    n, v = np.unravel_index(np.argmax(np.where(owed, np.abs(factors - 1), 0)), factors.shape)
    another = _where(ways(6).standard_normal(case.dout.shape), np.arange(len(factors)) == n)
    if not close(_answer(case, another)[v], factors[n, v] * case.owed(another)[v]):
        return None  # it is no weight: another dout is weighed otherwise
    return f"what sample {n} sends back to row {v} comes times {told_apart(factors[n, v])[0]}"


def _factors(case: Case) -> tuple[np.ndarray, np.ndarray] | None:
    """(factors, owed), both (samples, rows): how much of its share each row gets, where any."""
    count = len(case.dout) if case.dout.ndim else 0
    if not 2 <= count <= MOST_SAMPLES or case.right.ndim != 2 or case.right.shape[1] < 2:
        return None
    if case.right.size > MOST:
        return None
    factors = np.ones((count, len(case.right)))
    owed = np.zeros(factors.shape, bool)
    for n in range(count):
        alone = _where(case.dout, np.arange(count) == n)
        share, given = case.owed(alone), answers(case.part, alone)
        if share is None or len(given) != 1:
            return None
        size = (share**2).sum(axis=1)
        owed[n] = size > 1e-20 * max(float(size.max()), 1e-300)
        factors[n] = np.where(owed[n], (share * given[0]).sum(axis=1), 1) / np.where(
            owed[n], size, 1
        )
        if not close(given[0], np.where(owed[n], factors[n], 0)[:, None] * share):
            return None
    return (factors, owed) if (np.abs(factors - 1) > 1e-6).any() else None


def wrong_slope(case: Case) -> str | None:
    """Both halves go entry by entry, with another slope."""
    if not _is_like_output(case):
        return None
    weights = _weights(case)
    if not _alone(case, weights, case.owed(case.dout * weights), case.right):
        return None
    if not _alone(case, weights, _answer(case, case.dout * weights), case.wrong):
        return None
    halves = case.right, case.wrong
    at = np.unravel_index(np.argmax(np.abs(case.wrong - case.right)), case.right.shape)
    slope, taken = told_apart(*(each[at] / case.dout[at] + 0.0 for each in halves))
    return f"at {case.part.tensor.data[at]:.4g} it is {slope}, and backward takes {taken}"


def coupling_ignored(case: Case) -> str | None:
    """Backward goes entry by entry, where an entry moves others as well."""
    if not _is_like_output(case) or case.dout.size < 2:
        return None
    weights = _weights(case)
    weighed = case.dout * weights
    alone = _alone(case, weights, _answer(case, weighed), case.wrong)
    return "" if alone and not _alone(case, weights, case.owed(weighed), case.right) else None


def coupling_added(case: Case) -> str | None:
    """What arrives at some samples goes back to others, which they do not depend on."""
    if case.right.size > MOST or not case.dout.ndim or case.right.shape[:1] != case.dout.shape[:1]:
        return None
    first = np.arange(len(case.dout)) < (len(case.dout) + 1) // 2
    part = _where(case.dout, first)
    owed, given = case.owed(part), _answer(case, part)
    if len(case.dout) < 2 or owed is None or given is None or owed[~first].any():
        return None
    return "" if np.abs(given[~first]).max() > 1e-7 * np.abs(given).max() else None


def coupling_weighed(case: Case) -> str | None:
    """What goes round through a sum, a mean or a norm comes times a factor, by row or by column."""
    if not _is_like_output(case) or case.right.ndim < 1:
        return None
    mask = _mask(case)
    owed, given = case.owed(case.dout * mask), _answer(case, case.dout * mask)
    if owed is None or given is None:
        return None
    right, wrong = np.where(mask, 0, owed), np.where(mask, 0, given)
    for axis in dict.fromkeys((right.ndim - 1, 0)):
        size = (right**2).sum(axis=axis, keepdims=True)
        factors = (right * wrong).sum(axis=axis, keepdims=True) / np.where(size, size, 1)
        told = (size > 0) & ((~mask).sum(axis=axis, keepdims=True) > 1)
        off = told & (np.abs(factors - 1) > 1e-6)
        if told.any() and off.any() and wrong.any() and close(wrong, factors * right):
            if close(given, np.where(size > 0, factors * owed, given)):  # its own way as well
                return None
            return told_apart(factors[off][0])[0]
    return None


def _answer(case: Case, dout: np.ndarray) -> np.ndarray | None:
    given = answers(case.part, dout)
    return given[0] if len(given) == 1 else None


def _is_like_output(case: Case) -> bool:
    """Whether the input has the shape of the output, and not too many entries to be nudged."""
    return case.dout.shape == case.right.shape and 0 < case.right.size <= MOST


def _weights(case: Case) -> np.ndarray:
    """A weight for each entry, no two the same."""
    return ways(4).uniform(0.5, 2, case.right.shape)


def _mask(case: Case) -> np.ndarray:
    """About half of the entries."""
    half = np.arange(case.right.size) % 2 == 0
    return np.random.default_rng(0).permutation(half).reshape(case.right.shape)


def _alone(case: Case, weights: np.ndarray, part: np.ndarray | None, whole: np.ndarray) -> bool:
    """Whether weights of dout are those of the gradient; also where dout is 0 by itself."""
    return (
        part is not None
        and close(part, whole * weights)
        and close(whole, np.where(case.dout == 0, 0, whole))
    )


def _where(dout: np.ndarray, samples: np.ndarray) -> np.ndarray:
    return dout * samples.reshape(-1, *[1] * (dout.ndim - 1))


def _at(mask: np.ndarray) -> str:
    return ", ".join(map(str, np.argwhere(mask)[0]))
