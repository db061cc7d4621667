"""What the properties are tried on: tables, ids and numbers as careless callers make them.

`make test` tries a few examples of each, always the same; `make soak` tries as many as it has time
for, each time others (PROPERTIES=many).
"""

from __future__ import annotations

import os
from contextlib import contextmanager

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

MANY = os.environ.get("PROPERTIES") == "many"

quiet = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("few", max_examples=20, derandomize=True, **quiet)
settings.register_profile("many", max_examples=200, **quiet)
settings.load_profile("many" if MANY else "few")

FLOATS = [np.float32, np.float64]
COMPLEX = [np.complex64, np.complex128]
INTEGERS = [np.int64, np.int32, np.int8, np.uint8, np.uint64]

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(0, 7)
dtypes = st.sampled_from(FLOATS + COMPLEX if MANY else FLOATS)


def numbers(seed: int, shape: tuple[int, ...], dtype=np.float64) -> np.ndarray:
    """Drawn from N(0, 1); complex ones have both parts."""
    rng = np.random.default_rng(seed)
    array = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        array = array + 1j * rng.standard_normal(shape)
    return np.asarray(array, dtype)


@st.composite
def laid_out(draw, array: np.ndarray) -> np.ndarray:
    """The same numbers in other memory: reversed, every second one, turned, or beside others."""
    way = draw(st.sampled_from(["as it is", "backwards", "every second", "turned", "a column"]))
    if way == "backwards" and array.ndim:
        return array[::-1].copy()[::-1]
    if way == "every second" and array.ndim:
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if way == "turned":
        return array.T.copy().T
    if way == "a column":
        wide = np.zeros((*array.shape, 3), array.dtype)
        wide[..., 1] = array
        return wide[..., 1]
    return array


@st.composite
def tables(draw, kinds=dtypes, least_rows: int = 0) -> np.ndarray:
    """(V, D), with zero rows or columns among them, laid out in any way."""
    shape = draw(st.integers(least_rows, 7)), draw(sizes)
    return draw(laid_out(numbers(draw(seeds), shape, draw(kinds))))


@st.composite
def ids_of(draw, num_rows: int, most: int = 40) -> np.ndarray:
    """Ids of a table, many of them repeated: any shape, dtype and layout; none for no rows."""
    shapes = st.lists(st.integers(0, 6), max_size=3).filter(lambda s: np.prod(s) <= most)
    shape = draw(shapes) if num_rows else [0]
    few = min(num_rows, draw(st.sampled_from([1, 3, 127])))
    rng = np.random.default_rng(draw(seeds))
    ids = rng.integers(0, max(few, 1), shape) if num_rows else np.zeros(shape, int)
    return draw(laid_out(np.asarray(ids, draw(st.sampled_from(INTEGERS)))))


@contextmanager
def changed(module, **values):
    """Attributes of a module set for a while, such as sizes from which on it takes another way."""
    before = {name: getattr(module, name) for name in values}
    try:
        for name, value in values.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def same_bits(one, other) -> bool:
    """Whether two arrays have the same shape, dtype and bytes."""
    one, other = np.asarray(one), np.asarray(other)
    same = one.shape == other.shape and one.dtype == other.dtype
    return same and one.tobytes() == other.tobytes()
