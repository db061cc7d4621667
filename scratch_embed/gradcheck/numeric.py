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
Moler (1967) and Squire & Trapp (1998). How much rounding the loss itself carries is measured with
a difference table after Moré & Wild, "Estimating computational noise" (SIAM J. Sci. Comput. 2011).
What was rounded away inside fn before L became small is not seen so: -ln p of a p that is nearly 1,
as of a target 20 ahead of the others, comes in steps of 2e-16. A right gradient of some 1e-9 or
less cannot be told then, and of a mean of many such it may be called WRONG. Check a loss at logits
of some units.
"""

from __future__ import annotations

from collections.abc import Callable
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
NOISE_SPACINGS = 1e-9, 1e-12  # of points at which rounding is looked for
NEAR = 0, 1, 2, 3  # powers of 1/16, times CENTRAL_STEP: steps at which kinks are looked for
WIDE = -2, -1.5, -1, -0.5, 0  # the same where rounding hides what short ones show
STEPS_CLOSER = 8  # each a sixteenth of the one before


def stream(seed: int) -> np.random.Generator:
    """The generator of cotangents and samples for a seed.

    Not default_rng(seed): the caller may well have drawn the data from that one, and a cotangent
    equal to the data makes x.T @ dout symmetric, so that its transpose would pass.
    """
    return np.random.default_rng([seed, 0x67636B])


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
                found = np.vdot(self.cotangent, out)
                if np.isnan(found):  # 0 times infinity, of what is masked, is no part of the loss
                    found = np.vdot(self.cotangent, np.where(self.cotangent == 0, 0, out))
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
        return float(np.finfo(float).eps * products.sum())


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
        whole = index is None or edits
        self.start = tensor.data.copy() if whole else tensor.data[index]
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
        finally:  # the saved value, not x + t - t
            if self.index is None or self.edits:
                array[...] = self.start
            else:
                array[self.index] = self.start

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


def loss_noise(
    line: Line, floor: float, spacings: tuple[float, ...] = NOISE_SPACINGS, start: float = 0.0
) -> float:
    """The size of the rounding error in one evaluation of L: measured, and at least `floor`.

    start : how far from the present point; where all numbers are 0, nothing is rounded there.

    Third differences of L at eleven close points remove its smooth part and leave the rounding.
    Their weights are 1, 3, 3, 1, so their variance is 20 times that of one value; the median is
    taken because a kink would spoil up to three of the eight.
    """
    noise = np.inf
    for spacing in spacings:
        values = np.array([line(start + k * spacing * line.scale) for k in range(-5, 6)])
        spread = float(np.median(np.abs(np.diff(values, 3)))) / 0.6745 / np.sqrt(20)
        if np.isfinite(noise) and len(np.unique(values)) < len(values):
            break  # rounding hides what such short steps change, so they do not show it either
        noise = min(noise, 3 * spread if np.isfinite(spread) else np.inf)
        if noise <= 10 * floor:
            break  # else it may be no rounding, but a kink or a pole that is nearer than that
    return max(floor, noise) if np.isfinite(noise) else floor


def is_kink(line: Line, slope: float | None, noise: float) -> bool:
    """Whether the slopes from left and right stay apart however small the step, `slope` between.

    With None for the slope they need only stay apart: along a direction in which several entries
    come to a kink at once, what lies between the two sums is not what lies between the slopes.
    Where rounding hides a kink at short steps, as beside a mask of -1e9, longer ones are taken.
    """
    found = _jumps(line, slope, noise, NEAR)
    if found.hidden and len(found.sizes) < 2:
        found = _jumps(line, slope, noise, WIDE)
        if not found.hidden and len(found.sizes) < len(WIDE):  # none at a step that would show it
            return False
    if len(found.sizes) < 2 or found.outside:
        return False
    # Of a curve it is 1/16, of one step of rounding 16; of wide steps 1/4 and 4.
    return 0.5 < found.sizes[-1] / found.sizes[-2] < 8


class _Jumps(NamedTuple):
    """How far the slopes from both sides are apart, at ever smaller steps."""

    sizes: list[float]
    hidden: bool  # whether rounding could explain as much at the next step
    outside: bool = False  # whether the slope asked for lies not between them


def _jumps(line: Line, slope: float | None, noise: float, powers: tuple[float, ...]) -> _Jumps:
    """Backward may give the very slope from one side, which curvature would bring out of reach but
    for half a step more: of the two, it cancels. The longest step is for kinks so faint that
    rounding hides them at all but one of the others."""
    jumps: list[float] = []
    for k in powers:
        h = line.step(CENTRAL_STEP / 16.0**k)
        if line.side or not h:
            return _Jumps(jumps, False)
        here = line(0.0)
        left, right = ((line(step) - here) / step for step in (-h, h))
        rounding = 8 * noise / h
        doubt = 1e-6 * max(abs(left), abs(right)) + rounding
        if not abs(right - left) > 10 * doubt:  # rounding at this step could explain as much
            return _Jumps(jumps, rounding > 0.1 * doubt and (not jumps or jumps[-1] < 20 * doubt))
        if slope is not None and k > powers[0]:
            nearer = ((line(step) - here) / step for step in (-h / 2, h / 2))
            straight = [2 * near - far for near, far in zip(nearer, (left, right))]
            ends = left, right, *straight
            if not min(ends) - doubt <= slope <= max(ends) + doubt:
                return _Jumps(jumps, False, outside=True)
        jumps.append(abs(right - left))
    return _Jumps(jumps, False)


def jump(line: Line, h: float) -> float:
    """The slope from the right less that from the left, at a short step."""
    h, here = line.step(h), line(0.0)
    return float((line(h) - here) - (here - line(-h))) / h


def leaps(line: Line, noise: float) -> bool:
    """Whether L is not continuous here: what it differs by on both sides stays, however near."""
    if line.side:
        return False
    steps = (line.step(CENTRAL_STEP / 16**k) for k in range(3))
    gaps = [abs(line(h) - line(-h)) for h in steps]
    return min(gaps) > max(0.5 * max(gaps), 64 * noise)


def goes_in_steps(line: Line, unit: float) -> bool:
    """Whether L stays as it is or moves by about `unit`, the rounding of numbers of order 1 that
    cancel on the way to it."""
    values = [line(k * NOISE_SPACINGS[0] * line.scale) for k in range(-5, 6)]
    moves = np.abs(np.diff(values))
    return not (0 < moves[moves > 0].min(initial=np.inf) < unit / 4)


def stairs(line: Line) -> float:
    """By how much L jumps, again and again, with flats between: so it does where a nudge is added
    to a number like 1e9, of which it moves the last digits. 0 where it is smooth, or flat."""
    for spacing in 10.0 ** np.arange(-11, -3, 0.5):
        values = [line(k * spacing * line.scale) for k in range(-8, 9)]
        moves = np.abs(np.diff(values))
        if np.all(moves > 0):
            return 0.0  # there is no flat as long as that
        if np.sum((moves[:-2] == 0) & (moves[1:-1] > 0) & (moves[2:] == 0)) > 1:
            return float(np.nanmax(moves))
    return 0.0


def moves_farther_off(line: Line) -> bool:
    """Whether L is another at a long step, on both sides."""
    h = line.step(RICHARDSON_STEP)
    return line(0.0) not in (line(h), line(-h))


def closer(line: Line, noise: float) -> Measured:
    """Central differences at ever smaller steps: the one with the least doubt about it.

    Which step suits depends on the scale of the function, and log near 0 or sin(1000 x) have one of
    their own. Each step is a sixteenth of the one before. An eighth of what the last of them
    changed, which is more than the error left whether it falls with h or with h^2, counts as noise.
    """
    found, before = [], np.nan
    for k in range(STEPS_CLOSER):
        if not line.step(CENTRAL_STEP / 16**k):  # x + h is x
            break
        if line.side:
            now = one_sided(line, noise, ONE_SIDED_STEP / 16**k)
        else:
            now = central(line, noise, CENTRAL_STEP / 16**k)
        if np.isfinite(now.value - before):
            found.append(now._replace(noise=now.noise + abs(now.value - before) / 64))
        before = now.value
    best = min(found, key=lambda measured: measured.noise, default=central(line, noise))
    return best._replace(noise=best.noise + _of_inputs(line, best.step))


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
    """By ever shorter steps or by long ones, whichever leaves less doubt."""
    found = farther(line, noise), closer(line, noise)
    return min(found, key=lambda measured: np.nan_to_num(measured.noise, nan=np.inf))
