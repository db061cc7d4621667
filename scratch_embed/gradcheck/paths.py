"""What is left out or weighed wrongly on a way through one operation, told by parts of dout.

Backward is linear in dout, so what each sample of the batch sends back can be had alone: the right
share by nudging, and the share that backward sends by calling it again.
"""

from __future__ import annotations

import numpy as np

from scratch_embed.gradcheck.predictions import Case, answers, close

MOST_SAMPLES = 32  # that are sent one by one


def beside_itself(case: Case) -> str | None:
    """x + f(x) in one operation: dout itself is what goes back past f."""
    gap = case.right - case.wrong
    if close(gap, case.dout):
        return "leaves out dout itself, which goes back past f"
    if close(gap, -case.dout):
        return "sends dout itself, which goes back past f, once too often"
    return None


def one_reading(case: Case) -> str | None:
    """Rows read by two batches of ids, as two hashes do, and one of them is paid."""
    if case.right.ndim != 2:
        return None
    for ids in case.arrays("iu"):
        if not ids.size or ids.min() < 0 or ids.max() >= len(case.right):
            continue  # these are of another table
        if case.dout.shape == (*ids.shape, case.right.shape[1]):
            for sign in (1, -1):
                paid = np.zeros(case.right.shape)
                values = sign * case.dout.reshape(-1, case.right.shape[1])
                np.add.at(paid, ids.reshape(-1), values)
                if case.is_like(paid):
                    return "only one batch of its ids is paid"
                if case.is_like(case.right - paid):
                    return "one batch of its ids is not paid"
    return None


def stops_at_each_step(case: Case) -> str | None:
    """What arrives at a step goes back to that step, and not to those before it."""
    for axis, words in ((0, "step"), (1, "time step")):
        if min(case.dout.ndim, case.right.ndim) <= axis:
            continue
        steps = case.dout.shape[axis]
        if steps < 2 or case.right.shape[axis] != steps:
            continue
        alone = _only(case.dout, axis, steps - 1)
        owed, given = case.owed(alone), answers(case, alone)
        if owed is None or len(given) != 1:
            continue
        within = _only(owed, axis, steps - 1)
        if within.any() and not close(within, owed) and close(given[0], within):
            return words
    return None


def weighed(case: Case) -> str | None:
    """Each sample of the output pays the right rows, with a factor of its own that is wrong."""
    count = len(case.dout) if case.dout.ndim > 1 else 0
    if not 2 <= count <= MOST_SAMPLES or case.right.size < 3 * count:
        return None
    shares = [case.owed(_only(case.dout, 0, n)) for n in range(count)]
    if any(share is None or not share.any() for share in shares):
        return None
    matrix = np.stack([share.reshape(-1) for share in shares], axis=1)
    factors, _, rank, _ = np.linalg.lstsq(matrix, case.wrong.reshape(-1), rcond=None)
    if rank < count or not case.is_like((matrix @ factors).reshape(case.wrong.shape)):
        return None
    at = int(np.argmax(np.abs(factors - 1)))
    return f"what sample {at} sends back comes times {factors[at]:.4g}"


def _only(array: np.ndarray, axis: int, at: int) -> np.ndarray:
    """The array with zeros everywhere but at one place of an axis."""
    out = np.zeros_like(array)
    here = (slice(None),) * axis + (at,)
    out[here] = array[here]
    return out
