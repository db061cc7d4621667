"""How much rounding the loss itself carries, or a gradient, so that a slope can be told from it.

It is measured with a difference table after Moré & Wild, "Estimating computational noise" (SIAM J.
Sci. Comput. 2011). What was rounded away inside fn before L became small is not seen so: -ln p of a
p that is nearly 1, as of a target 20 ahead of the others, comes in steps of 2e-16. Longer steps
tell such a right gradient down to some 1e-12; below that, as of a target 30 ahead, it may be called
WRONG. Check a loss at logits of some units.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from scratch_embed.gradcheck.data import moved
from scratch_embed.gradcheck.numeric import EPS, RICHARDSON_STEP, Line
from scratch_embed.gradcheck.reentrant import gradients
from scratch_embed.gradcheck.walk import Part, answers

NOISE_SPACINGS = 1e-9, 1e-12  # of points at which rounding is looked for
UNEVEN = np.arange(-5, 6) + 0.2 * np.sin(np.arange(-5, 6) ** 2)  # 0 in the middle
FARTHEST = 10**-3.5  # apart are points between which jumps are looked for
STRETCHES = 1, -1, 2, -2, 3, -3  # by so many last digits


def loss_noise(
    line: Line, floor: float, spacings: tuple[float, ...] = NOISE_SPACINGS, start: float = 0.0
) -> float:
    """The size of the rounding error in one evaluation of L: measured, and at least `floor`.

    start : how far from the present point; where all numbers are 0, nothing is rounded there.

    Third differences of L at eleven close points remove its smooth part and leave the rounding. The
    median is taken because a kink would spoil up to three of the eight. The points are not evenly
    apart, for then x + h may be rounded alike at all of them.
    """
    noise, weights = np.inf, _third_differences(UNEVEN)
    for spacing in spacings:
        values = np.array([line(start + k * spacing * line.scale) for k in UNEVEN])
        differences = (weights * sliding_window_view(values - values[5], 4)).sum(axis=1)
        spread = float(np.median(np.abs(differences))) / 0.6745
        if np.isfinite(noise) and len(np.unique(values)) < len(values):
            break  # rounding hides what such short steps change, so they do not show it either
        noise = min(noise, 3 * spread if np.isfinite(spread) else np.inf)
        if noise <= 10 * floor:
            break  # else it may be no rounding, but a kink or a pole that is nearer than that
    return max(floor, noise) if np.isfinite(noise) else floor


def _third_differences(at: np.ndarray) -> np.ndarray:
    """The weights of four values each, which make 0 of any parabola, of length 1 in every row."""
    four = sliding_window_view(at, 4)
    apart = four[:, :, None] - four[:, None, :] + np.eye(4)
    weights = 1 / apart.prod(axis=2)
    return weights / np.sqrt((weights**2).sum(axis=1, keepdims=True))


def goes_in_steps(line: Line, unit: float) -> bool:
    """Whether L stays as it is or moves by about `unit`, the rounding of numbers of order 1 that
    cancel on the way to it."""
    values = [line(k * NOISE_SPACINGS[0] * line.scale) for k in range(-5, 6)]
    moves = np.abs(np.diff(values))
    return not (0 < moves[moves > 0].min(initial=np.inf) < unit / 4)


def has_steps_within(line: Line, height: float) -> bool:
    """Whether L jumps by about that between smooth pieces, as x (1 + erf(x)) does at -7.

    What is smooth bends ten times as much over points that are three times as far apart.
    """
    before = 0.0
    for values in _ever_farther(line, 1e-9):
        bends = np.abs(np.diff(values, 2)).max()
        if 1e3 * before < bends and height / 2**14 < bends <= height:
            return True
        before = bends
    return False


def stairs(line: Line) -> float:
    """By how much L jumps, again and again, with flats between: so it does where a nudge is added
    to a number like 1e9, of which it moves the last digits. 0 where it is smooth, or flat."""
    for values in _ever_farther(line, 1e-11):
        moves = np.abs(np.diff(values))
        if np.all(moves > 0):
            return 0.0  # there is no flat as long as that
        if np.sum((moves[:-2] == 0) & (moves[1:-1] > 0) & (moves[2:] == 0)) > 1:
            return float(np.nanmax(moves))
    return 0.0


def _ever_farther(line: Line, least: float) -> Iterator[list[float]]:
    """L at 17 points in a row, `least` apart and ever farther; once only if it is flat all over."""
    first = _around(line, least)
    yield first
    if len(set(first)) > 1 or len(set(_around(line, FARTHEST))) > 1:
        exponents = np.arange(np.log10(least) + 0.5, np.log10(FARTHEST) + 0.25, 0.5)
        yield from (_around(line, apart) for apart in 10.0**exponents)


def _around(line: Line, apart: float) -> list[float]:
    return [line(k * apart * line.scale) for k in range(-8, 9)]


def moves_farther_off(line: Line) -> bool:
    """Whether L is another at a long step, on both sides."""
    h = line.step(RICHARDSON_STEP)
    return line(0.0) not in (line(h), line(-h))


def rounding(part: Part, *douts: np.ndarray) -> float:
    """What rounding may leave of a gradient that is 0: of a softmax over one column, say.

    Where large numbers cancel, as in attention to equal keys, it is what the last digits of dout
    make of it, or of other `douts`.
    """
    with np.errstate(all="ignore"):  # 0 times infinity, of what is masked
        douts = part.dout, *douts
        loss = max(float(np.abs(dout * part.out).sum()) for dout in douts)
        changes = [change for dout in douts for change in _changes(part, dout)]
    size = float(np.abs(part.tensor.data).max(initial=0)) or 1.0
    return 1e3 * (EPS * loss / size + max(filter(np.isfinite, changes), default=0.0))


def _changes(part: Part, dout: np.ndarray) -> Iterator[float]:
    """By how much an answer changes with the last digits of dout. All are stretched by the same
    factor: equal numbers stay equal, and 0 is 0."""
    first = answers(part, dout.copy(order="K"))
    for k in STRETCHES:
        stretched = dout.copy(order="K")  # and not in its layout, which some backward may read
        stretched *= 1 + k * EPS
        yield from (np.abs(b - a).max(initial=0) for a, b in zip(first, answers(part, stretched)))


def of_backward(point) -> list[np.ndarray]:
    """What rounding may make of each entry of the gradients of a `Point`, as those of a variance of
    equal numbers: a hundred times what last digits change, of the cotangent and of all inputs.

    What lies on a kink, from which inputs move off to both sides as they are stretched, is no rest
    of rounding: the lesser side counts. An entry that happens to stay as it is has the doubt of
    most others.
    """
    changes = [_stretched(point, k) for k in STRETCHES]
    up, down = ([np.max(each, axis=0) for each in zip(*changes[side::2])] for side in (0, 1))
    least = [np.fmin(*pair) for pair in zip(up, down)]
    return [1e2 * np.fmax(each, np.median(each)) if each.size else each for each in least]


@np.errstate(all="ignore")
def _stretched(point, k: int) -> list[np.ndarray]:
    """By how much each entry of its gradients changes if all numbers are larger by k last digits;
    0 where fn does not take them."""
    with moved(point.checked, [k * EPS * tensor.data for tensor in point.checked]):
        try:
            cotangent = point.cotangent * (1 + k * EPS)
            got = gradients(point.fn(*point.tensors), cotangent, point.checked)
        except Exception:  # noqa: BLE001  it may say so in any way
            got = point.grads
    return [np.abs(a - b) for a, b in zip(got, point.grads)]
