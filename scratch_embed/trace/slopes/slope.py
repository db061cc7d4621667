"""What the local derivatives of one entry are, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from scratch_embed.digits import short
from scratch_embed.trace.walk import ForwardStep
from scratch_embed.working import Line

MOST = 4  # terms of a sum that are written out
LARGEST = 700  # a score z, of which a float64 still holds e^z
Index = tuple[int, ...]


class Middle(NamedTuple):
    """What a long operation makes on its way, as attention its scores, and backward their gradient.

    The gradient of an input is then told by theirs, and theirs opens into the one that arrived.
    """

    name: Callable[[Index], str]  # of its entry at a place
    gradient: Callable[[np.ndarray], np.ndarray]  # from dout, at each of the places (K,)
    told: Callable[[np.ndarray, Index], Line]  # from dout, at one of them: how it came about


class Slopes(NamedTuple):
    """The entries of the output that one entry of an input moves, and the derivative at each."""

    places: np.ndarray  # (K, number of axes of the output, or of the middle)
    values: np.ndarray  # (K,)
    said: Callable[[Index], tuple[str, ...]]  # at one of them: in names, then perhaps in numbers
    measured: bool = False
    middle: Middle | None = None  # what is moved, where that is not the output itself
    on_purpose: str = ""  # the option by which backward takes other factors than the derivatives


Rule = Callable[[ForwardStep, int, Index], Slopes | None]


def entry(name: str, index: Index) -> str:
    """E[1,0], or E[1,:] of a whole row; without an index, as for a number that stands alone, E."""
    return (
        f"{name}[{','.join(str(i if i == ':' else int(i)) for i in index)}]" if len(index) else name
    )


def grid(*axes: np.ndarray) -> np.ndarray:
    """Every combination of these positions, (K, number of axes)."""
    if not axes:
        return np.zeros((1, 0), int)
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def taken(array: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The numbers of an array at these places, (K,), also where it has no axes."""
    return np.broadcast_to(array[tuple(places.T)], len(places))


def reached(index: Index, shape: Index, out: Index) -> np.ndarray:
    """The entries of a broadcast output that one entry of an operand is copied to, (K, axes)."""
    added = len(out) - len(shape)
    axes = [np.arange(n) for n in out[:added]]
    axes += [np.arange(n) if size == 1 else np.array([i])
             for i, size, n in zip(index, shape, out[added:])]  # fmt: skip
    return grid(*axes)


def own(shape: Index, o: Index) -> Index:
    """Where an operand of this shape holds what a broadcast output reads at entry o."""
    return tuple(0 if n == 1 else int(i) for i, n in zip(o[len(o) - len(shape) :], shape))


def dot(pairs: list[tuple[str, str]], a, b, more: list = ()) -> list[str]:
    """a . b in names and in numbers; of a long one the first terms.

    >>> dot([("h[0]", "E[1,0]"), ("h[1]", "E[1,1]")], [0.5, 2], [-1, 3])
    ['h[0]*E[1,0] + h[1]*E[1,1]', '0.5*(-1) + 2*3']
    """
    shown, rest = some(pairs)
    names = [f"{x}*{y}" for x, y in shown]
    numbers = [f"{factor(x)}*{factor(y)}" for _, x, y in zip(shown, a, b)]
    names += [*rest, *(name for name, _ in more)]
    numbers += [*rest, *(factor(value) for _, value in more)]
    return [" + ".join(names), " + ".join(numbers)]


def some(terms: Sequence) -> tuple[Sequence, list[str]]:
    """The terms of a sum that are written out, and what is written for the others, if any.

    >>> some([3, 1, 4, 1, 5, 9])
    ([3, 1, 4, 1], ['... (2 more)'])
    """
    if len(terms) <= MOST + 1:
        return terms, []
    return terms[:MOST], [f"... ({len(terms) - MOST:,} more)"]


def factor(x) -> str:
    """A number inside a product: a negative one in brackets."""
    return f"({short(x)})" if x < 0 else short(x)


def exp_sum(z: np.ndarray) -> str:
    """The sum of e^z over all scores (V,); of large ones as a power of e, which none holds.

    >>> exp_sum(np.array([0.0, 0.0])), exp_sum(np.array([904.0, 36.0]))
    ('2', 'e^904')
    """
    largest = z.max()
    with np.errstate(invalid="ignore"):  # scores that are infinite, or no numbers
        total = float(largest + np.log(np.exp(z - largest).sum()))
    return short(np.exp(total)) if total < LARGEST else f"e^{factor(total)}"
