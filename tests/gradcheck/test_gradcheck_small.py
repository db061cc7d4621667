"""Inputs so small that the loss is rounded as it is at the ends of the step."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed.gradcheck import gradcheck
from scratch_embed.tensor import Tensor, differentiable


def power(n, factor=1.0):
    return differentiable(
        lambda x: (x**n, x), lambda dout, x: factor * n * x ** (n - 1) * dout, name="power"
    )


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("size", [1e-5, 1e-10, 1e-20, 1e-50, 1e-150])
def test_a_power_of_small_numbers_is_right_or_cannot_be_told(n, size):
    for seed in range(5):
        x = Tensor(size * np.random.default_rng(seed).standard_normal((3, 4)), requires_grad=True)
        right = gradcheck(power(n), x, seed=seed)
        assert right.agrees, right
        assert right.told or size ** (n - 1) < 1e-20
        for factor in (-1, 1.5):
            wrong = gradcheck(power(n, factor), x, seed=seed)
            assert not wrong.passed, wrong
