"""Dropout: forget a random part of the numbers while training (Srivastava et al. 2014)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed.arguments import generator, is_real
from scratch_embed.ops.floats import floating


class DropoutSaved(NamedTuple):
    kept: np.ndarray  # the shape of x, bool: which numbers were let through
    p: float  # the chance of each to be dropped


def dropout_forward(
    x: np.ndarray, p: float, rng: np.random.Generator | int | None = None
) -> tuple[np.ndarray, DropoutSaved]:
    """out = x kept / (1 - p)   with kept 1 or 0, each 1 with probability 1 - p    (...) -> (...)

    What is kept is scaled up ("inverted" dropout), so that the mean stays what it is without
    dropout and nothing needs scaling later. `rng` is a Generator, which moves on with every call,
    or a seed, which drops the same places every time; the places do not depend on the dtype of x.
    Integers become floats; NaN and infinities, times 0, are NaN, so dropping does not hide them.

    Raises ValueError for a p outside 0..1, TypeError where rng is missing or no seed,
    and for an x that holds no numbers.

    >>> out, saved = dropout_forward(np.ones(8), 0.5, rng=0)
    >>> out.tolist()
    [2.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 2.0]
    """
    check_probability(p)
    rng = _given(rng)
    x = floating(x)
    saved = DropoutSaved(rng.random(x.shape) >= p, p)
    return _let_through(x, saved), saved


def dropout_backward(dout: np.ndarray, saved: DropoutSaved) -> np.ndarray:
    """dx = dout kept / (1 - p): the same mask and the same scale"""
    return _let_through(floating(dout, "dout"), saved)


def check_probability(p: float) -> None:
    """ValueError unless p is a number in 0..1."""
    if not is_real(p) or not 0 <= p <= 1:
        raise ValueError(f"p is {p!r}; the chance to drop a number lies in 0..1")


def _given(rng: np.random.Generator | int) -> np.random.Generator:
    """The generator to draw from.

    Raises TypeError for None, which would drop other places every time, and for True and False,
    which elsewhere say in this place whether to drop.
    """
    if rng is None or isinstance(rng, (bool, np.bool_)):
        raise TypeError(
            f"rng is {rng!r}; give a numpy.random.Generator, or a seed for one. (Where nothing "
            "shall be dropped, as in evaluation, leave dropout out.)"
        )
    return generator(rng)


def _let_through(x: np.ndarray, saved: DropoutSaved) -> np.ndarray:
    scale = 1 / (1 - saved.p) if saved.p < 1 else 0.0  # with p = 1 nothing is kept
    return x * (saved.kept * x.dtype.type(scale))
