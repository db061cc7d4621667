"""Local derivatives on the way from scores to a loss: softmax, its logarithm, cross-entropy."""

from __future__ import annotations

import numpy as np

from scratch_embed.digits import short
from scratch_embed.look.numbers import number
from scratch_embed.trace.slopes.slope import Index, Slopes, entry, grid
from scratch_embed.trace.walk import ForwardStep


def shares(at: ForwardStep, place: int, index: Index) -> Slopes:
    """softmax: a share moves with its own score, and against all others."""
    axis = at.node.saved.axis % len(index)
    places, p, j = _stretch(at, index, axis)
    here = places[:, axis] == j

    def said(o: Index) -> tuple[str, ...]:
        mine, other = (entry(at.name, index), entry(at.name, o))
        texts = [short(at.out[index]), short(at.out[tuple(o)])]
        if o[axis] == j:
            return f"{mine} (1 - {mine})", f"{texts[0]} (1 - {short(at.out[index])})"
        return f"-{other} {mine}", f"-{texts[1]} * {texts[0]}"

    return Slopes(places, p * (here - p[j]), said)


def log_shares(at: ForwardStep, place: int, index: Index) -> Slopes:
    """The logarithm of softmax."""
    axis = at.node.saved.axis % len(index)
    places, log_p, j = _stretch(at, index, axis)
    p, name = np.exp(log_p[j]), f"e^{entry(at.name, index)}"

    def said(o: Index) -> tuple[str, ...]:
        one = "1 - " if o[axis] == j else "-"
        return f"{one}{name}", f"{one}{short(p)}"

    return Slopes(places, (places[:, axis] == j) - p, said)


def _stretch(at: ForwardStep, index: Index, axis: int) -> tuple[np.ndarray, np.ndarray, int]:
    """The entries of the output along an axis, its numbers there, and which of them is `index`."""
    line = np.arange(at.out.shape[axis])
    places = grid(*(line if k == axis else np.array([i]) for k, i in enumerate(index)))
    return places, at.out[tuple(places.T)], index[axis]


def surprise(at: ForwardStep, place: int, index: Index) -> Slopes:
    """The loss of a position moves with a logit by p, less 1 at the target.

    With weights of classes or smoothing by p sum(q) - q, where q is what each class counts.
    """
    saved = at.node.saved
    *position, j = index
    n = int(np.ravel_multi_index(position, at.inputs[0].value.shape[:-1])) if position else 0
    p, scale = float(np.exp(saved.log_p[n, j])), float(saved.scale[n])
    spread = np.zeros(1) if saved.spread is None else saved.spread.astype(float)
    whole = float(saved.hit[n]) + spread.sum()
    q = float(saved.hit[n]) * int(saved.targets[n] == j) + float(spread[j % len(spread)])

    def said(o: Index) -> tuple[str, ...]:
        if scale == 0:
            return ("0, as this position is ignored",)
        times, less = "" if whole == 1 else f"*{short(whole)}", f" - {short(q)}" if q else ""
        texts = [f"{x}{times}{less}" for x in (f"p{entry('', index)}", short(p))]
        texts = [f"({t})" if less else t for t in texts]
        return tuple(t if scale == 1 else f"{t} / {number(1 / scale)}" for t in texts)

    places = np.array([position if at.out.ndim else ()], int).reshape(1, at.out.ndim)
    return Slopes(places, np.array([scale * (p * whole - q) if scale else 0.0]), said)
