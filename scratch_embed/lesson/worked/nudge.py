"""The nudge: move one number a little, and see by how much the loss moves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scratch_embed.gradcheck.quotient import moved
from scratch_embed.lesson.worked.present import present
from scratch_embed.look.numbers import number
from scratch_embed.working import Line

STEP = 1e-4


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
    lines = (
        Line("", (f"nudge {name} = {number(array[index])} by h = {step:g}",), why=why),
        Line(f"L({name} + h)", (number(above, 11),), above),
        Line(f"L({name} - h)", (number(below, 11),), below),
        Line("difference", (number(above - below),), above - below),
        Line("slope", (f"{number(above - below)} / {2 * step:g}", number(slope)), slope),
    )
    return present("nudge", f"nudge {name}", lines, slope)
