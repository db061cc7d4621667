"""Operations as a learner writes them."""

from __future__ import annotations

from scratch_embed.tensor import differentiable


def own(name: str, f, slope):
    """f of each number, and its slope."""
    return differentiable(lambda x: (f(x), x), lambda dout, x: dout * slope(x), name=name)
