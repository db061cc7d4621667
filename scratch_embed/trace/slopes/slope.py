"""What the local derivatives of one entry are, and how they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from scratch_embed.look.numbers import number
from scratch_embed.trace.walk import ForwardStep

DIGITS = 4
Index = tuple[int, ...]


class Slopes(NamedTuple):
    """The entries of the output that one entry of an input moves, and the derivative at each."""

    places: np.ndarray  # (K, number of axes of the output)
    values: np.ndarray  # (K,)
    said: Callable[[Index], tuple[str, ...]]  # at one of them: in names, then perhaps in numbers
    measured: bool = False


Rule = Callable[[ForwardStep, int, Index], Slopes | None]


def entry(name: str, index: Index) -> str:
    """E[1,0]; without an index, as for a number that stands alone, E."""
    return f"{name}[{','.join(map(str, map(int, index)))}]" if len(index) else name


def grid(*axes: np.ndarray) -> np.ndarray:
    """Every combination of these positions, (K, number of axes)."""
    if not axes:
        return np.zeros((1, 0), int)
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def taken(array: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The numbers of an array at these places, (K,), also where it has no axes."""
    return np.broadcast_to(array[tuple(places.T)], len(places))


def short(x) -> str:
    """A number with four digits."""
    return number(float(x), DIGITS)


def factor(x) -> str:
    """A number inside a product: a negative one in brackets."""
    return f"({short(x)})" if x < 0 else short(x)
