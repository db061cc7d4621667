"""Where one operation has several kinks at once, as relu(x @ W) at x = 0 or a maximum of zeros.

Each output may answer there with its slope from the left or from the right, or with one between.
What they send back together need not lie between the two slopes of the loss: where half of them
are weighed by less than 0, left and right change places for these.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from scratch_embed.gradcheck.predictions import Case
from scratch_embed.gradcheck.walk import Part, plain

STEPS = 1e-6, 1e-7, 1e-8  # of the size of the input: a kink stays, what is curved goes straight
LEAST = 1e-3  # of the slopes: how far those of left and right stay apart at a kink
DOUBT = 1e-5  # of the same, for rounding and what is curved besides


def takes_a_side(part: Part, right: np.ndarray) -> bool:
    """Whether backward differs from `right` on kinks alone, and each of its numbers there is one
    that outputs could send which take a side, or something between.

    Its forward must be one that can be run again alone.
    """
    if part.tensor.dtype.kind != "f" or not np.isfinite(part.grad).all():
        return False
    same = np.abs(part.grad - right) <= 1e-7 * np.abs(right).max(initial=0)  # NaN is not
    return all(excuses(part, tuple(at)) for at in np.argwhere(~same))


def is_on_one(part: Part) -> bool:
    """Whether an entry of the input is on a kink."""
    return any(_reach(part, at) is not None for at in np.ndindex(part.tensor.shape))


def meets_one(part: Part) -> bool:
    """Whether an entry of the input is on a kink, and backward gives a slope that it may have."""
    return any(excuses(part, at) for at in np.ndindex(part.tensor.shape))


def beyond(case: Case) -> str | None:
    """Entries on kinks alone are wrong: they get more than the slopes on both sides, or less."""
    differ = np.abs(case.wrong - case.right) > 1e-7 * np.abs(case.right).max(initial=0)
    if case.part.tensor.dtype.kind != "f" or case.owed(case.dout) is None:  # it runs but once
        return None
    return "" if all(_reach(case.part, tuple(at)) for at in np.argwhere(differ)) else None


def excuses(part: Part, at: tuple[int, ...]) -> bool:
    """Whether one number of the gradient is in reach of outputs that each take a side; where a kink
    lies so close that nudges cross it, whether it is the slope on this side of it."""
    reach = _reach(part, at, beside=True)
    return reach is not None and reach[0] <= part.grad[at] <= reach[1]


def _reach(part: Part, at: tuple[int, ...], beside: bool = False) -> tuple[float, float] | None:
    """The least and the largest that outputs may send to an entry which each take a side; None
    where there is no kink, nor, if that is asked for, one beside."""
    jumps, lows, highs = [], [], []
    for step in STEPS:
        left, right = (part.dout * slopes for slopes in _sides(part, at, step))
        low, high = float(np.minimum(left, right).sum()), float(np.maximum(left, right).sum())
        size = float(np.abs(left).sum() + np.abs(right).sum())
        if not high - low > LEAST * size:
            return (low - DOUBT * size, high + DOUBT * size) if beside and jumps else None
        jumps.append(high - low)
        lows.append(low - DOUBT * size)
        highs.append(high + DOUBT * size)
    stays = all(after > 0.9 * before for before, after in pairwise(jumps))
    return (max(lows), min(highs)) if stays else None


def _sides(part: Part, at: tuple[int, ...], step: float) -> tuple[np.ndarray, np.ndarray]:
    """The slope of each output from the left and from the right, as one input moves."""
    given = [plain(value) for value in part.node.inputs]
    x = given[part.place] = given[part.place].astype(float)
    start, h = x[at], step * max(1.0, float(np.abs(x).max()))
    outs = []
    with np.errstate(all="ignore"):  # infinity less infinity too, of what is masked
        for moved in (start - h, start, start + h):
            x[at] = moved
            outs.append(np.array(part.node.forward(*given, **part.node.options)[0]))
        below, here, above = outs
        return (here - below) / h, (above - here) / h
