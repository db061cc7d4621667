"""Tensors to check, of random numbers or of those that are named."""

from __future__ import annotations

import numpy as np

from scratch_embed import Tensor
from tests.gradcheck import planted


def leaf(*shape: int, seed: int = 0, name: str = "x") -> Tensor:
    return planted.leaf(np.random.default_rng(seed), *shape, name=name)


def of(*numbers: float) -> Tensor:
    return Tensor(list(numbers), requires_grad=True, name="x")
