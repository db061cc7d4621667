"""Put a wrong backward behind a right forward, and ask gradcheck whether it sees it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scratch_embed import Tensor, differentiable
from scratch_embed.gradcheck import gradcheck


def leaf(*shape: int, seed: int = 0) -> Tensor:
    """Random numbers that ask for a gradient."""
    return Tensor(np.random.default_rng(seed).standard_normal(shape), requires_grad=True)


def caught(forward: Callable, wrong_backward: Callable, *inputs, **options) -> bool:
    """Does gradcheck see that `wrong_backward` is not the derivative of `forward`?

    Inputs that are Tensors are nudged; the others are handed on as they are.
    """
    operation = differentiable(forward, wrong_backward)

    def run(*nudged: Tensor) -> Tensor:
        fresh = iter(nudged)
        given = [next(fresh) if isinstance(x, Tensor) else x for x in inputs]
        return operation(*given, **options)

    return not gradcheck(run, *(x for x in inputs if isinstance(x, Tensor))).passed
