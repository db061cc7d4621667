"""Operations that go entry by entry."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scratch_embed.trace.slopes.entrywise import operand
from scratch_embed.trace.slopes.slope import Index, entry, factor
from scratch_embed.trace.walk import ForwardStep


def unary(form: str) -> Callable[[ForwardStep, Index], list[str]]:
    """A function of one number, in a form such as "ln {}"."""

    def stages(at: ForwardStep, index: Index) -> list[str]:
        given = at.inputs[0]
        return [form.format(a) for a in (entry(given.name, index), factor(given.value[index]))]

    return stages


def binary(sign: str) -> Callable[[ForwardStep, Index], list[str]]:
    """Two numbers with a sign between them; an operand that was stretched gives its own."""

    def stages(at: ForwardStep, index: Index) -> list[str]:
        pair = at.inputs[:2]
        arrays = [np.asarray(given.value, float) for given in pair]
        names = [operand(given, array, index) for given, array in zip(pair, arrays)]
        numbers = [np.broadcast_to(array, at.out.shape)[index] for array in arrays]
        return [sign.join(names), sign.join(factor(x) for x in numbers)]

    return stages


def powered(at: ForwardStep, index: Index) -> list[str]:
    """a^exponent"""
    a, exponent = at.inputs[0], at.node.saved[1]
    return [f"{entry(a.name, index)}^{exponent}", f"{factor(a.value[index])}^{exponent}"]


def let_through(at: ForwardStep, index: Index) -> list[str]:
    """Dropout, with the mask that was drawn."""
    x, saved = at.inputs[0], at.node.saved
    if not saved.kept[index]:
        return [f"0, as {entry(x.name, index)} was dropped"]
    return [f"{entry(x.name, index)} / (1 - {saved.p:g})",
            f"{factor(x.value[index])} / (1 - {saved.p:g})"]  # fmt: skip
