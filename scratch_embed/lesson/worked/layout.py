"""Numbers, vectors and sums as they stand in a hand calculation."""

from __future__ import annotations

import numpy as np

from scratch_embed.digits import short
from scratch_embed.working import Line

MOST = 8  # terms of a sum, or lines of a table, shown in full


def factor(x) -> str:
    """A number as it stands inside a product: negative ones in brackets."""
    return f"({short(x)})" if x < 0 else short(x)


def vector(values) -> str:
    """[0.72, -0.41, 0.15], the middle of long ones left out."""
    texts = elide([short(x) for x in np.ravel(values)])
    comma = ",\u00a0" if len(texts) <= 4 else ", "  # a short vector does not break across lines
    return f"[{comma.join(texts)}]"


def plus(values) -> str:
    """0.48 - 0.02 + 0.12, the middle of long sums left out."""
    values = list(np.ravel(values))
    texts = [short(values[0])] if values else ["0"]
    texts += [f"{'-' if x < 0 else '+'} {short(abs(x))}" for x in values[1:]]
    return " ".join(elide(texts, "+ ..."))


def elide(texts: list[str], gap: str = "...") -> list[str]:
    """The texts, with the middle of more than eight left out."""
    return texts if len(texts) <= MOST else [*texts[:3], gap, texts[-1]]


def few(lines: list[Line]) -> list[Line]:
    """The lines; of many, the first ones, how many were left out, and the last."""
    if len(lines) <= MOST:
        return lines
    left_out = Line("", (f"... ({len(lines) - MOST + 1} more)",))
    return [*lines[: MOST - 2], left_out, lines[-1]]


def vectors(*named) -> list[np.ndarray]:
    """(name, value) pairs as float64 vectors of one length, which is at least one."""
    arrays = []
    for name, value in named:
        array = np.array(value, dtype=np.float64)
        if array.ndim != 1 or array.size == 0:
            raise ValueError(
                f"{name} must be a vector with at least one number; got shape {array.shape}"
            )
        arrays.append(array)
    if len({array.size for array in arrays}) > 1:
        sizes = ", ".join(f"{name} has {array.size}" for (name, _), array in zip(named, arrays))
        raise ValueError(f"vectors must be equally long; {sizes}")
    return arrays


def matrix(name: str, value) -> np.ndarray:
    """A float64 array with two axes."""
    array = np.array(value, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"{name} must have two dimensions; got shape {array.shape}")
    return array
