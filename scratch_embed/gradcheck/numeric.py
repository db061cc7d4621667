"""Derivatives measured from outside: nudge the input, watch the loss.

    central      (L(x + h) - L(x - h)) / 2h       error about h^2 from curvature, and eps |L| / h
                                                  from rounding; h = 1e-5 balances them in float64
    richardson   central at h, h/2 and h/4, combined so that the h^2 and h^4 terms cancel; what
                                                  the last step of that changed is an estimate of
                                                  the error
    complex      Im L(x + ih) / h                 nothing is subtracted, so h may be 1e-20 and the
                                                  answer is right to the last digits; it needs
                                                  every operation on the way to be analytic

Richardson's extrapolation is from 1911 (Phil. Trans. A 210). The complex step is due to Lyness &
Moler (1967) and Squire & Trapp (1998).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from scratch_embed.gradcheck.data import HUGE, reach
from scratch_embed.gradcheck.quotient import exact_step, quotient
from scratch_embed.tensor import Tensor, no_grad

EPS = float(np.finfo(float).eps)
CENTRAL_STEP = 1e-5  # about eps^(1/3)
RICHARDSON_STEP = 4e-3  # about eps^(1/7), the largest of its three steps
COMPLEX_STEP = 1e-20
ONE_SIDED_STEP = 1e-4
STEPS_CLOSER = 8  # each a sixteenth of the one before
ONE_THREAD = 4096  # numbers, of which no library sums a product on several


def stream(seed: int) -> np.random.Generator:
    """The generator of cotangents and samples for a seed.

    Not default_rng(seed): the caller may well have drawn the data from that one, and a cotangent
    equal to the data makes x.T @ dout symmetric, so that its transpose would pass.
    """
    return np.random.default_rng([seed, 0x67636B])


def ways(seed: int) -> np.random.Generator:
    """The generator of directions: not that of cotangents, for the same reason."""
    return np.random.default_rng([seed, 0x776179])


def shown(items: Sequence, what: str = "each entry by itself") -> Iterable:
    """The items, with a bar at a terminal where they take longer than one waits."""
    from tqdm import tqdm

    return tqdm(items, desc=what, delay=2, disable=None, leave=False)


def _inner(a: np.ndarray, b: np.ndarray):
    """The sum of all products, on one thread: more of them cost more here than they save."""
    if a.size < ONE_THREAD:
        return np.vdot(a, b)
    return np.einsum("i,i", a.reshape(-1), b.reshape(-1))


class Loss:
    """L = sum(fn(*tensors) * cotangent), as a function to call again and again."""

    def __init__(self, fn: Callable[..., Tensor], tensors: tuple[Tensor, ...], cotangent):
        self.fn, self.tensors, self.cotangent = fn, tensors, cotangent
        self.refused: Exception | None = None

    def __call__(self):
        """L here. A step may lead out of where fn is defined: there it is NaN, and what fn said of
        it is kept as `refused`."""
        with no_grad(), np.errstate(all="ignore"):
            try:
                out = self.fn(*self.tensors).data
                found = _inner(self.cotangent, out)
                if np.isnan(found):  # 0 times infinity, of what is masked, is no part of the loss
                    found = _inner(self.cotangent, np.where(self.cotangent == 0, 0, out))
                return found
            except Exception as error:  # as a learner's own forward refuses what it does not take
                if any(tensor.dtype.kind == "c" for tensor in self.tensors):
                    raise
                self.refused = error
                return np.nan

    def rounding(self) -> float:
        """How much rounding the last sum alone leaves in L, if every product has its own error."""
        with no_grad(), np.errstate(invalid="ignore"):  # 0 times infinity, of what is masked
            products = np.abs(self.fn(*self.tensors).data * self.cotangent)
        return EPS * float(products.sum())


class Line:
    """L along one line through the present point: `line(t)` is L with the tensor moved by t.

    Parameters
    ----------
    loss : a `Loss`.
    tensor : the one that moves.
    index : which entry moves, or
    direction : an array of the tensor's shape that the whole tensor moves along.
    side : 0, or the only direction (+1 or -1) in which L is measured. Where fn edits its table in
        place, as max_norm does, only one side of the point is free of the edit.
    edits : fn writes to the tensor, which is therefore put back after every call.
    """

    def __init__(self, loss: Loss, tensor: Tensor, index=None, direction=None, side=0, edits=False):
        self.loss, self.tensor, self.index, self.direction = loss, tensor, index, direction
        self.side, self.edits = side, edits
        # Where a nudge takes a row beyond its max_norm, all of the row is written to.
        self.put_back = () if index is None or edits else index[:1]
        self.start = np.copy(tensor.data[self.put_back])
        moved = tensor.data if index is None else tensor.data[index]
        size = reach(loss, tensor) if index is None else float(np.abs(moved))
        self.scale = max(1.0, size) if size < HUGE else 1.0

    def __call__(self, t):
        array = self.tensor.data
        if self.index is None:
            array[...] = self.start + t * self.direction
        else:
            array[self.index] += t
        try:
            return self.loss()
        finally:  # the saved values, not x + t - t; and this array, if fn has set another
            array[self.put_back] = self.start
            self.tensor.data = array

    def largest(self) -> float:
        """The largest number of the tensor, next to which others are rounded."""
        return reach(self.loss, self.tensor)

    def step(self, h: float) -> float:
        """A step near to h * scale for which x + h and x - h are floating-point numbers."""
        h *= self.scale
        if self.index is None:
            return h
        x = float(self.tensor.data[self.index].real)
        if not abs(x) < HUGE:  # infinity stays where it is
            return h
        return exact_step(x, h) or (x + h) - x


class Measured(NamedTuple):
    """One derivative from outside."""

    value: float
    step: float  # the smallest that was taken
    noise: float  # an eighth of how far the value may be off by rounding
    error: float = np.nan  # the method's own estimate of its error, where it has one


def central(line: Line, noise: float, h: float = CENTRAL_STEP) -> Measured:
    """(L(x + h) - L(x - h)) / 2h; near an edit in place, the same from one side.

    Where L is much larger at the ends than here, as x^2 near 0 is, it is rounded there as such.
    """
    if line.side:
        return one_sided(line, noise)
    h, ends = line.step(h), []

    def end(t):
        ends.append(line(t))
        return ends[-1]

    slope = quotient(end, h)
    return Measured(slope, h, max(noise, EPS * float(np.max(np.abs(ends)))) / h)


def one_sided(line: Line, noise: float, h: float = ONE_SIDED_STEP) -> Measured:
    """(-11 L(0) + 18 L(h) - 9 L(2h) + 2 L(3h)) / 6h, whose error falls as h^3."""
    h = line.side * line.step(h)
    at = [line(k * h) for k in range(4)]
    slope = (-11 * at[0] + 18 * at[1] - 9 * at[2] + 2 * at[3]) / (6 * h)
    return Measured(slope, abs(h), 7 * noise / abs(h))


def richardson(line: Line, noise: float, h: float = RICHARDSON_STEP) -> Measured:
    """Central differences at h, h/2, h/4, extrapolated twice, with an estimate of the error."""
    if line.side:
        coarse, fine = one_sided(line, noise), one_sided(line, noise, ONE_SIDED_STEP / 2)
        return fine._replace(error=abs(fine.value - coarse.value))
    first, second, third = (central(line, noise, h / k) for k in (1, 2, 4))
    early = (4 * second.value - first.value) / 3  # the h^2 term cancels
    late = (4 * third.value - second.value) / 3
    value = (16 * late - early) / 15  # and the h^4 term
    return Measured(value, third.step, 2 * third.noise, abs(late - early))


def complex_step(line: Line, noise: float, h: float = COMPLEX_STEP) -> Measured:
    """Im L(x + ih) / h, of a tensor that holds complex numbers."""
    value = line(1j * h)
    return Measured(float(np.imag(value)) / h, h, noise)


NUMERATORS = {"central": central, "complex": complex_step, "richardson": richardson}
METHODS = tuple(NUMERATORS)
BEST_FIRST = ("complex", "richardson", "central")


def closer(line: Line, noise: float) -> Measured:
    """Central differences at ever smaller steps: the one with the least doubt about it.

    Which step suits depends on the scale of the function, and log near 0 or sin(1000 x) have one of
    their own. Each step is a sixteenth of the one before. An eighth of what the last of them
    changed, which is more than the error left whether it falls with h or with h^2, counts as noise;
    all of it where it is most of the slope, and whatever later steps change beyond their rounding:
    the first ones may go beyond a pole.
    """
    return _closest(line, noise, _ever_shorter(line, noise))


def _ever_shorter(line: Line, noise: float) -> list[Measured]:
    """The slopes of ever smaller steps, each a sixteenth of the one before."""
    found: list[Measured] = []
    for k in range(STEPS_CLOSER):
        if not line.step(CENTRAL_STEP / 16**k):  # x + h is x
            break
        if line.side:
            found.append(one_sided(line, noise, ONE_SIDED_STEP / 16**k))
        else:
            found.append(central(line, noise, CENTRAL_STEP / 16**k))
    return found


def _closest(line: Line, noise: float, found: list[Measured]) -> Measured:
    """The one of them with the least doubt about it."""
    pairs = [(k, abs(b.value - a.value)) for k, (a, b) in enumerate(pairwise(found), start=1)]
    doubted = [_doubted(found[k:], changed) for k, changed in pairs if np.isfinite(changed)]
    best = min(doubted, key=lambda measured: measured.noise, default=central(line, noise))
    return best._replace(noise=best.noise + _of_inputs(line, best.step))


def _doubted(found: list[Measured], changed: float) -> Measured:
    """The first of some slopes, with the doubt about it: it `changed`, and later ones go on to."""
    now, *later = found
    settled = changed / 64 if changed < abs(now.value) / 2 else changed
    return now._replace(noise=now.noise + settled + _drift(now, later))


def _drift(now: Measured, shorter: list[Measured]) -> float:
    """How far shorter steps go on, beyond their rounding."""
    drifts = [abs(each.value - now.value) for each in shorter]
    return max((d for d, each in zip(drifts, shorter) if d > 64 * each.noise), default=0.0)


def _of_inputs(line: Line, h: float) -> float:
    """What rounding of x + h and of what is computed from it leaves, where the slope there is not
    the slope here: of x^2 around a large mean that is more than the rounding of x^2 itself."""
    if line.side or not h:
        return 0.0
    bend = abs(line(h) + line(-h) - 2 * line(0.0))
    return EPS * line.largest() * float(bend) / h / h


def farther(line: Line, noise: float) -> Measured:
    """Richardson's, whose steps are long, so that rounding in L matters less.

    Ten times its estimate of its own error counts as noise.
    """
    found = richardson(line, noise)
    return found._replace(noise=found.noise + 10 * found.error)


def clearer(line: Line, noise: float) -> Measured:
    """By ever shorter steps or by long ones, whichever leaves less doubt.

    Long ones agree with each other beyond whole waves, too, as of sin(x) at x = 1e12: what shorter
    ones change beyond their rounding, counts as noise.
    """
    shorter, long = _ever_shorter(line, noise), farther(line, noise)
    doubt = _drift(long, shorter) + _of_inputs(line, long.step)
    long = long._replace(noise=long.noise + doubt)
    both = long, _closest(line, noise, shorter)
    return min(both, key=lambda measured: np.nan_to_num(measured.noise, nan=np.inf))
