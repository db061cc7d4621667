"""Which entry of a step is looked at, and where the arrow keys lead from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scratch_embed.rows import RowGrad
from scratch_embed.trace.walk import ForwardStep

if TYPE_CHECKING:
    from scratch_embed.trace import Trace

MOST = 8  # rows of a table that are gone through one by one; of a longer one those that matter


MANY = 4_000_000  # numbers that are looked through for the largest


class Choice(NamedTuple):
    """An entry of what a step gives: which of its parts, and where in it."""

    part: int
    index: tuple[int, ...]


def given(trace: Trace, step: int) -> list[np.ndarray | RowGrad]:
    """What a step gives: the one array that comes out of it, or backward one for each part."""
    at = trace.steps[step - 1]
    return [at.out] if isinstance(at, ForwardStep) else [part.value for part in at.parts]


def first(trace: Trace, step: int, part: int = 0) -> Choice | None:
    """The entry to begin with, the largest of a part; None where a step gives no numbers."""
    arrays = given(trace, step) if step else []
    if part >= len(arrays) or 0 in arrays[part].shape:
        return None
    array = arrays[part]
    if isinstance(array, RowGrad):
        if not len(array.rows):
            return None
        row, column = np.unravel_index(np.argmax(np.abs(array.values)), array.values.shape)
        return Choice(part, (int(array.rows[row]), int(column)))
    return Choice(part, tuple(map(int, np.unravel_index(_largest(array), array.shape))))


def _largest(array: np.ndarray) -> int:
    """Where the largest entry stands, flat; of very many numbers the largest of the first ones."""
    flat = array.reshape(-1)[:MANY]
    if flat.dtype.kind == "c":
        flat = np.abs(flat)
    high, low = int(np.argmax(flat)), int(np.argmin(flat))  # without a copy, as abs would be
    return high if not flat[high] < -flat[low] else low


def checked(trace: Trace, step: int, choice: Choice | None) -> Choice | None:
    """The choice, or the first one where none is made. Raises IndexError for one not there."""
    if choice is None:
        return first(trace, step)
    arrays = given(trace, step) if step else []
    if not 0 <= choice.part < len(arrays):
        raise IndexError(f"part is {choice.part}; step {step} gives {len(arrays)}, counted from 0")
    shape = arrays[choice.part].shape
    index = tuple(choice.index)
    if len(index) != len(shape) or not all(0 <= i < n for i, n in zip(index, shape)):
        raise IndexError(f"index is {index}; what step {step} gives there has shape {shape}")
    return Choice(choice.part, index)


def moved(trace: Trace, step: int, choice: Choice, way: str) -> Choice:
    """The entry to the left, right, up or down; beyond the last row lies the next part."""
    arrays = given(trace, step)
    array = arrays[choice.part]
    if way in ("left", "right"):
        if not choice.index:
            return choice
        to = choice.index[-1] + (1 if way == "right" else -1)
        to = min(max(to, 0), array.shape[-1] - 1)
        return Choice(choice.part, (*choice.index[:-1], to))
    by = 1 if way == "down" else -1
    rows = _rows(trace, step, choice.part)
    flat = int(np.ravel_multi_index(choice.index[:-1], array.shape[:-1])) if rows is not None else 0
    if rows is not None:
        beyond = rows[rows > flat] if by > 0 else rows[rows < flat][::-1]
        if len(beyond):
            row = np.unravel_index(int(beyond[0]), array.shape[:-1])
            return Choice(choice.part, (*map(int, row), choice.index[-1]))
    return _in_part(trace, step, choice, choice.part + by)


def _in_part(trace: Trace, step: int, choice: Choice, part: int) -> Choice:
    """The same choice in another part: its first row from above, its last from below."""
    if not 0 <= part < len(given(trace, step)):
        return choice
    begin = first(trace, step, part)
    rows = _rows(trace, step, part)
    if begin is None or rows is None or not len(rows):
        return begin or choice
    shape = given(trace, step)[part].shape
    row = np.unravel_index(int(rows[0 if part > choice.part else -1]), shape[:-1])
    return Choice(part, (*map(int, row), begin.index[-1]))


def _rows(trace: Trace, step: int, part: int) -> np.ndarray | None:
    """The rows that up and down go through, as flat positions; None without rows."""
    array = given(trace, step)[part]
    if len(array.shape) < 2:
        return None
    if isinstance(array, RowGrad):
        return array.rows
    count = int(np.prod(array.shape[:-1]))
    if count <= MOST:
        return np.arange(count)
    at = trace.steps[step - 1]
    name = at.name if isinstance(at, ForwardStep) else at.parts[part].parent
    touched = trace.touched.get(name)
    return np.arange(count) if touched is None or not len(touched) else np.asarray(touched)
