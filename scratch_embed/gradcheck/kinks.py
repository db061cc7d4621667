"""Where one operation has several kinks at once, as relu(x @ W) at x = 0 or a maximum of zeros.

Each output may answer there with its slope from the left or from the right, or with one between.
What they send back together need not lie between the two slopes of the loss: where half of them
are weighed by less than 0, left and right change places for these.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from scratch_embed.gradcheck.causes import Cause, half
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
    return all(_may_be(part, tuple(at)) for at in np.argwhere(~same))


def cancelling(point, runs: Callable[[Part], bool]) -> list[Cause]:
    """Operations on kinks that are gone from fn as a whole, as those of relu(x) - relu(-x) at 0.

    runs : whether the forward of one can be run again alone.
    """
    sentence = (
        "forward of {} meets a kink here, where {} may take a side and be right by itself; "
        "together the sides that were taken are no slope of fn, whose own kink is gone or "
        "elsewhere: check at another point, or write fn without it"
    )
    found = []
    for part in point.walk.parts:
        op = part.node.name
        if runs(part) and any(_may_be(part, at) for at in np.ndindex(part.tensor.shape)):
            words = sentence.format(op.removesuffix("_backward"), half(op))
            found.append(Cause("kinks that cancel", op, words))
    return found if found and point.right_beside else []


def _may_be(part: Part, at: tuple[int, ...]) -> bool:
    """Whether one number of the gradient is in reach of outputs that each take a side."""
    jumps, grad = [], part.grad[at]
    for step in STEPS:
        left, right = (part.dout * slopes for slopes in _sides(part, at, step))
        low, high = float(np.minimum(left, right).sum()), float(np.maximum(left, right).sum())
        size = float(np.abs(left).sum() + np.abs(right).sum())
        jumps.append(high - low)
        if not (jumps[-1] > LEAST * size and low - DOUBT * size <= grad <= high + DOUBT * size):
            return False
    return all(after > 0.9 * before for before, after in pairwise(jumps))


def _sides(part: Part, at: tuple[int, ...], step: float) -> tuple[np.ndarray, np.ndarray]:
    """The slope of each output from the left and from the right, as one input moves."""
    given = [plain(value) for value in part.node.inputs]
    x = given[part.place] = given[part.place].astype(float)
    start, h = x[at], step * max(1.0, float(np.abs(x).max()))
    outs = []
    for moved in (start - h, start, start + h):
        x[at] = moved
        with np.errstate(all="ignore"):
            outs.append(np.array(part.node.forward(*given, **part.node.options)[0]))
    below, here, above = outs
    return (here - below) / h, (above - here) / h
