"""How close the methods of a check are to each other, and each to backward."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed.gradcheck.numeric import METHODS
from scratch_embed.gradcheck.place import Place
from scratch_embed.gradcheck.point import Point


class Agreement(NamedTuple):
    """How close the methods are to each other, and each to backward."""

    gaps: dict[str, float]  # largest distance from backward, by method
    apart: float  # largest distance between two methods at one place
    largest: float  # derivative
    skipped: dict[str, str]  # methods that could not be used, and why

    def __str__(self) -> str:
        lines = [f"no {method} step: {why}" for method, why in self.skipped.items()]
        if len(self.gaps) > 1:
            *most, last = self.gaps
            each = ", ".join(f"{method} {gap:.1e}" for method, gap in self.gaps.items())
            lines.append(
                f"{', '.join(most)} and {last} agree with each other to {self.apart:.1e}, where "
                f"the largest derivative is {self.largest:.1e}; from backward: {each}"
            )
        if self.complex_alone:
            lines.append(
                "the complex step stands alone: some operation on the way is not analytic, such "
                "as abs or a comparison of complex numbers"
            )
        return "\n".join(lines)

    @property
    def complex_alone(self) -> bool:
        """Whether backward agrees with the real steps, and the complex one with neither."""
        real = [gap for method, gap in self.gaps.items() if method != "complex"]
        return bool(real) and self.gaps.get("complex", 0.0) > 1e-6 * self.largest > 10 * max(real)


def agreement(point: Point, places: list[Place], found, skipped: dict[str, str]) -> Agreement:
    """The closing line of a report."""
    used = [m for m in METHODS if found and m in found[0]]
    if not used:
        return Agreement({}, 0.0, 0.0, skipped)
    values = np.array([[got[m].value for m in used] for got in found])
    stated = np.array(
        [p.of(point.grads[p.position]) + p.of(point.missing[p.position]) for p in places]
    )
    gaps = np.abs(values - stated[:, None]).max(axis=0)
    apart = float(np.ptp(values, axis=1).max())
    return Agreement(dict(zip(used, map(float, gaps))), apart, float(np.abs(values).max()), skipped)
