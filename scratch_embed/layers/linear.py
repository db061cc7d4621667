"""Linear: a matrix product with a learned matrix, and a bias."""

from __future__ import annotations

import numpy as np

from scratch_embed.arguments import check_count, check_flag, generator
from scratch_embed.functional import project
from scratch_embed.layers.embedding import initial_std
from scratch_embed.layers.layer import Layer, weight
from scratch_embed.tensor import Tensor


class Linear(Layer):
    """out = x @ weight.T + bias                       (..., in_features) -> (..., out_features)

    Parameters
    ----------
    in_features, out_features : the weight is (out_features, in_features), as in PyTorch, and so
        has the shape of a table whose rows are scored against x.
    bias : add one learned number to each output, at first 0.
    dtype, rng : as in `Embedding`.
    init : the std of the weight, named as in `Embedding`; "1/sqrt(d)" is in_features ** -0.5,
        which hands on numbers of the size that come in.

    Raises ValueError for sizes that are not whole numbers of at least 1, an init out of range, and
    when called with an x whose last axis is not in_features; TypeError for another dtype.

    >>> Linear(3, 2, rng=0)(np.ones((5, 3))).shape
    (5, 2)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        dtype: type = np.float32,
        rng: np.random.Generator | int | None = None,
        init: str | float = "1/sqrt(d)",
    ):
        self.in_features = check_count(in_features, "in_features")
        self.out_features = check_count(out_features, "out_features")
        drawn = generator(rng).standard_normal((out_features, in_features))
        self.weight = weight(drawn * initial_std(init, in_features), dtype, "weight")
        biases = np.zeros(out_features)
        self.bias = weight(biases, dtype, "bias") if check_flag(bias, "bias") else None

    def __call__(self, x) -> Tensor:
        width = self.weight.shape[-1]
        shape = getattr(x, "shape", (width,))  # of what is no array, project tells
        if shape[-1:] != (width,):
            raise ValueError(
                f"x is {shape}, and this layer takes (..., {width}): the last axis of x has "
                f"in_features={width} numbers"
            )
        return project(x, self.weight) if self.bias is None else project(x, self.weight, self.bias)

    def __repr__(self) -> str:
        return f"Linear({self.in_features}, {self.out_features}, bias={self.bias is not None})"
