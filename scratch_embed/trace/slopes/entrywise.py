"""Local derivatives of operations that go entry by entry; those with two inputs broadcast."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scratch_embed.look.numbers import number
from scratch_embed.ops import arithmetic, elementwise
from scratch_embed.trace.slopes.slope import Index, Rule, Slopes, entry, factor, own, reached, taken
from scratch_embed.trace.walk import ForwardStep

UNARY = {  # the derivative, and how it is written
    elementwise.exp_backward: (lambda a, out: out, "{out}"),
    elementwise.log_backward: (lambda a, out: 1 / a, "1/{a}"),
    elementwise.sqrt_backward: (lambda a, out: 1 / (2 * out), "1/(2 {out})"),
    elementwise.tanh_backward: (lambda a, out: 1 - out * out, "1 - {out}^2"),
    elementwise.sigmoid_backward: (lambda a, out: out * (1 - out), "{out} (1 - {out})"),
    elementwise.log_sigmoid_backward: (
        lambda a, out: elementwise.sigmoid_forward(-a)[0],
        "sigmoid(-{a})",
    ),
    elementwise.relu_backward: (lambda a, out: float(a > 0), "1 where {a} > 0, else 0"),
    arithmetic.neg_backward: (lambda a, out: -1.0, "-1"),
}


def unary(at: ForwardStep, place: int, index: Index) -> Slopes:
    """A function of one array, from UNARY."""
    a, out = np.float64(at.inputs[0].value[index]), np.float64(at.out[index])
    slope, text = UNARY[at.node.backward]
    names = {"a": entry(at.inputs[0].name, index), "out": entry(at.name, index)}

    def said(o: Index) -> tuple[str, ...]:
        numbers = {"a": factor(a), "out": factor(out)}
        return tuple(dict.fromkeys((text.format(**names), text.format(**numbers))))

    with np.errstate(all="ignore"):  # NumPy's numbers say inf where Python's would raise
        value = slope(a, out)
    return Slopes(np.array([index], int), np.array([value]), said)


def power(at: ForwardStep, place: int, index: Index) -> Slopes:
    """a^exponent"""
    a, exponent = np.float64(at.inputs[0].value[index]), float(at.node.saved[1])
    with np.errstate(all="ignore"):
        value = 0.0 if exponent == 0 else exponent * a ** (exponent - 1)

    def said(o: Index) -> tuple[str, ...]:
        both = entry(at.inputs[0].name, index), factor(a)
        return tuple(f"{number(exponent)} {x}^{number(exponent - 1)}" for x in both)

    return Slopes(np.array([index], int), np.array([value]), said)


def binary(slope: Callable, text: tuple[str, str]) -> Rule:
    """A rule for an operation of two arrays that broadcasts, from both its derivatives."""

    def rule(at: ForwardStep, place: int, index: Index) -> Slopes:
        pair = [np.asarray(given.value, float) for given in at.inputs[:2]]
        stretched = [np.broadcast_to(array, at.out.shape) for array in pair]
        places = reached(index, pair[place].shape, at.out.shape)
        numbers = [taken(array, places) for array in stretched]
        values = np.broadcast_to(slope(*numbers)[place], len(places))

        def said(o: Index) -> tuple[str, ...]:
            names = [operand(g, x, o) for g, x in zip(at.inputs, pair)]
            values = [factor(array[tuple(o)]) for array in stretched]
            texts = (text[place].format(a=a, b=b) for a, b in (names, values))
            return tuple(dict.fromkeys(texts))

        return Slopes(places, values, said)

    return rule


def operand(given, array: np.ndarray, o: Index) -> str:
    """An operand of a broadcast as it is called at entry o of the output."""
    if given.name is None:
        return factor(float(array))
    return entry(given.name, own(array.shape, o))


def let_through(at: ForwardStep, place: int, index: Index) -> Slopes:
    """Dropout, with the mask that was drawn."""
    saved = at.node.saved
    kept = bool(saved.kept[index])
    value = 1 / (1 - saved.p) if kept else 0.0
    text = f"1 / (1 - {number(saved.p)}), as it was kept" if kept else "0, as it was dropped"
    return Slopes(np.array([index], int), np.array([value]), lambda o: (text,))
