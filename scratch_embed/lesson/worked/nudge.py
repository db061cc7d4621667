"""The nudge: move one number a little, and see by how much the loss moves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scratch_embed.digits import NEAR, short
from scratch_embed.gradcheck.quotient import moved
from scratch_embed.lesson.worked.present import present
from scratch_embed.look.numbers import number
from scratch_embed.working import Line

STEP = 1e-4
DIGITS = (11, 12, 13, 14)  # of a loss; what takes more to tell is rounding


def nudge(
    label: str,
    loss: Callable[[np.ndarray], float],
    array,
    index: tuple[int, ...] | int,
    step: float = STEP,
    why: str = "",
) -> float:
    """(L(x + h) - L(x - h)) / 2h for one entry of an array, written out. Returns the slope.

    loss: takes an array like `array` and returns a number; it is called with copies.

    >>> _ = nudge("w", lambda w: float((w**3).sum()), [1.0, 2.0], 1, step=0.01)
      nudge w[1] = 2 by h = 0.01
      L(w[1] + h) = 9.120601
      L(w[1] - h) = 8.880599
      difference = 0.240002
      slope = 0.240002 / 0.02 = 12.0001
    """
    array = np.array(array, dtype=np.float64)
    index = (index,) if isinstance(index, (int, np.integer)) else tuple(index)
    above, below = (float(loss(moved(array, index, h))) for h in (step, -step))
    slope = (above - below) / (2 * step)
    name = f"{label}[{', '.join(map(str, index))}]" if index else label
    losses = _told(above, below)

    def told() -> tuple[Line, ...]:
        gap = short(above - below)
        return (
            Line("", (f"nudge {name} = {short(array[index])} by h = {step:g}",), why=why),
            Line(f"L({name} + h)", losses[:1], above),
            Line(f"L({name} - h)", losses[1:], below),
            Line("difference", (gap,), above - below),
            Line("slope", (f"{gap} / {2 * step:g}", short(slope)), slope),
        )

    return present("nudge", f"nudge {name}", told, slope)


def _told(above: float, below: float) -> tuple[str, str]:
    """Two losses with as many digits as tell how far they are apart; with eleven where none do."""

    def enough(digits: int) -> bool:
        gap = float(f"{above:.{digits}g}") - float(f"{below:.{digits}g}")
        return abs(gap - (above - below)) <= NEAR * abs(above - below)

    digits = next(filter(enough, DIGITS), DIGITS[0])
    return number(above, digits), number(below, digits)
