"""A backward that is right, but for something else than what forward did.

The derivative is measured again as if dout had been read in another order, another input had been
turned about or left out, or forward had worked along another axis. Where one of these is number by
number what backward gave, that is the mistake.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from scratch_embed.gradcheck.predictions import Case, close
from scratch_embed.gradcheck.walk import plain

MOST = 512  # entries of the input: each guess nudges all of them


def dout_in_another_order(case: Case) -> str | None:
    """Each sample or step paid with what arrived at another one."""
    if case.right.size > MOST or case.dout.size < 3:
        return None
    for words, turned in _turned(case.dout):
        owed = case.owed(turned, case.wrong)
        if owed is not None and owed.any() and case.is_like(owed):
            return words
    return None


def _turned(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The same numbers in the orders that a slip puts them in; the axes are those of the array."""
    for axis in range(array.ndim):
        if array.shape[axis] > 1:
            yield f"backwards along axis {axis}", np.flip(array, axis)
        if array.shape[axis] > 2:
            for by in (1, -1):
                yield f"moved by one along axis {axis}", np.roll(array, by, axis)
    for one, two in itertools.combinations(range(array.ndim), 2):
        swapped = array.swapaxes(one, two)
        words = f"with axes {one} and {two} exchanged"
        yield words, swapped.reshape(array.shape)
        yield words, array.reshape(swapped.shape).swapaxes(one, two)


def another_input(case: Case) -> str | None:
    """The derivative for other values of one of the other inputs."""
    if case.right.size > MOST:
        return None
    for place, value in enumerate(map(plain, case.part.node.inputs)):
        if place == case.part.place or not isinstance(value, np.ndarray):
            continue
        name = getattr(case.part.node.inputs[place], "name", None) or f"its input {place}"
        others = list(_others(value))
        if value.dtype.kind == "f" and _is_factor(case, place, value):
            others.insert(0, ("left out, as if all of it were 1", np.ones_like(value)))
        for words, other in others:
            owed = case.instead({place: other}, case.dout, case.wrong)
            if owed is not None and owed.any() and case.is_like(owed):
                return f"{name} {words}"
    return None


def _is_factor(case: Case, place: int, value: np.ndarray) -> bool:
    """Whether twice this input gives twice the derivative."""
    twice = case.instead({place: 2 * value}, case.dout, 2 * case.right)
    return twice is not None and close(twice, 2 * case.right)


def _others(value: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """What a slip makes of an input that backward needs once more."""
    if value.dtype.kind == "b":
        yield "ignored, as if all of it were True", np.ones_like(value)
        yield "turned into its opposite", ~value
    elif value.dtype.kind in "iu":
        yield "sorted", np.sort(value, axis=None).reshape(value.shape)
        yield from ((f"{'+' if by > 0 else '-'} 1", value + by) for by in (1, -1))
    if value.ndim == 2 and value.shape[0] == value.shape[1]:
        yield "transposed", value.T.copy()
    yield from _turned(value)


def another_axis(case: Case) -> str | None:
    """The derivative of the same forward along another axis."""
    x, dout, place = case.part.tensor.data, case.dout, case.part.place
    if x.size > MOST:
        return None
    for one, two in itertools.combinations(range(x.ndim), 2):
        same = dout.shape == x.shape
        turned = dout.swapaxes(one, two) if same else dout
        like = case.wrong.swapaxes(one, two)
        owed = case.instead({place: x.swapaxes(one, two).copy()}, turned, like)
        if owed is not None and owed.any() and case.is_like(owed.swapaxes(one, two)):
            return f"axes {one} and {two} are exchanged"
    return None
