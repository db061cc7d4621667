"""How much rounding the loss itself carries, so that a slope can be told from it.

It is measured with a difference table after Moré & Wild, "Estimating computational noise" (SIAM J.
Sci. Comput. 2011). What was rounded away inside fn before L became small is not seen so: -ln p of a
p that is nearly 1, as of a target 20 ahead of the others, comes in steps of 2e-16. A right gradient
of some 1e-9 or less cannot be told then, and of a mean of many such it may be called WRONG. Check a
loss at logits of some units.
"""

from __future__ import annotations

import numpy as np

from scratch_embed.gradcheck.numeric import RICHARDSON_STEP, Line

NOISE_SPACINGS = 1e-9, 1e-12  # of points at which rounding is looked for


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
