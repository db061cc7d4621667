"""The tables that are measured, and how their ids are drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Shape(NamedTuple):
    name: str
    V: int
    D: int
    N: int

    def table_bytes(self, itemsize: int = 4) -> int:
        return self.V * self.D * itemsize


SHAPES = [  # the first two are quickly measured
    Shape("cached", 100_000, 64, 65_536),
    Shape("small", 1_000, 64, 512),
    Shape("GPT-2", 50_257, 768, 8_192),
    Shape("wide", 32_000, 4_096, 2_048),
    Shape("recommender", 1_000_000, 64, 65_536),
    Shape("tiny", 6, 3, 3),
]
BY_NAME = {shape.name: shape for shape in SHAPES}
PATTERNS = ["uniform", "Zipf", "all equal"]
EXPONENT = 1.2  # of the Zipf law; words of a text come near 1


def ids_like(pattern: str, V: int, N: int, rng: np.random.Generator) -> np.ndarray:
    """N ids in 0 .. V - 1: "uniform", "Zipf" (row r is drawn in proportion to 1 / (r + 1)^1.2,
    rows in random order), or "all equal"."""
    if pattern == "uniform":
        return rng.integers(0, V, N)
    if pattern == "all equal":
        return np.full(N, V // 2)
    if pattern != "Zipf":
        raise ValueError(f"pattern is {pattern!r}; it must be one of {PATTERNS}")
    weights = np.cumsum((1.0 + np.arange(V)) ** -EXPONENT)
    ranks = np.searchsorted(weights, rng.random(N) * weights[-1])
    return rng.permutation(V)[np.minimum(ranks, V - 1)]


def normal(shape, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(shape, np.float32)
