"""The shapes that written-out arithmetic takes: number, vector, sum, chain of equals."""

from __future__ import annotations

import numpy as np

from scratch_embed.lesson.claims.printed import number
from scratch_embed.lesson.look.terminal import visible, width, wrap

MOST = 8  # terms of a sum, or lines of a table, shown in full


def factor(x) -> str:
    """A number as it stands inside a product: negative ones in brackets."""
    return f"({number(x)})" if x < 0 else number(x)


def vector(values) -> str:
    """[0.72, -0.41, 0.15], the middle of long ones left out."""
    texts = elide([number(x) for x in np.ravel(values)])
    comma = ",\u00a0" if len(texts) <= 4 else ", "  # a short vector does not break across lines
    return f"[{comma.join(texts)}]"


def plus(values) -> str:
    """0.48 - 0.02 + 0.12, the middle of long sums left out."""
    values = list(np.ravel(values))
    texts = [number(values[0])] if values else ["0"]
    texts += [f"{'-' if x < 0 else '+'} {number(abs(x))}" for x in values[1:]]
    return " ".join(elide(texts, "+ ..."))


def elide(texts: list[str], gap: str = "...") -> list[str]:
    """The texts, with the middle of more than eight left out."""
    return texts if len(texts) <= MOST else [*texts[:3], gap, texts[-1]]


def chain(label: str, *stages: str) -> None:
    """Print label = stage = stage ..., on one line if it fits, else a line a stage."""
    single = f"  {label} = " + " = ".join(stages)
    if visible(single) <= min(width(), 72):
        print(single.replace("\u00a0", " "))
        return
    indent = 2 + visible(label) if visible(label) < width() // 3 else 4
    if indent == 4:
        print("\n".join(wrap(label, width(), "  ")))
    for position, stage in enumerate(stages):
        lead = f"  {label} = " if position == 0 and indent != 4 else " " * indent + " = "
        print("\n".join(wrap(stage, width(), lead)))


def write(text: str) -> None:
    """Print one line of working, indented, wrapped where the terminal is narrow."""
    print("\n".join(wrap(text, width(), "  ", " " * 6)))


def vectors(*named) -> list[np.ndarray]:
    """(name, value) pairs as float64 vectors of one length, which is at least one."""
    arrays = []
    for name, value in named:
        array = np.array(value, dtype=np.float64)
        if array.ndim != 1 or array.size == 0:
            raise ValueError(f"{name} must be a vector with at least one number; "
                             f"got shape {array.shape}")  # fmt: skip
        arrays.append(array)
    if len({array.size for array in arrays}) > 1:
        sizes = ", ".join(f"{name} has {array.size}" for (name, _), array in zip(named, arrays))
        raise ValueError(f"vectors must be equally long; {sizes}")
    return arrays
