"""What tensors hold while they are checked: copies in float64, moved, and which numbers count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from scratch_embed.tensor import Tensor

LARGE = 1e3  # of a number: of a larger one it is asked whether L depends on it
HUGE = 1e300  # a number that masks, as infinity does: a step along it may lead to infinity


@contextmanager
def holding(tensors: list[Tensor], dtype: type = np.float64) -> Iterator[None]:
    """Let each tensor hold a copy of its data in `dtype`, and give back the original after.

    The caller's arrays are never written to, so they come out unchanged to the last bit, and a
    float32 table is checked in float64 through the same code.
    """
    before = [(tensor.data, tensor.grad) for tensor in tensors]
    try:
        for tensor in tensors:
            tensor.data = tensor.data.astype(dtype)
            tensor.grad = None
        yield
    finally:
        for tensor, (data, grad) in zip(tensors, before):
            tensor.data, tensor.grad = data, grad


def others(numbers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers of the same sign, nearer to 0 but for the smallest: so the largest stay finite."""
    share = rng.uniform(0.6, 0.9, numbers.shape)
    further = np.where(numbers < 0, -1, 1) * rng.uniform(0.05, 0.15, numbers.shape)
    return np.asarray(share * numbers + further, numbers.dtype)


@np.errstate(invalid="ignore")  # infinity less infinity
def to_others(tensors: list[Tensor], rng: np.random.Generator) -> list[np.ndarray]:
    """The ways that lead each tensor to other numbers, for `moved`."""
    return [others(tensor.data, rng) - tensor.data for tensor in tensors]


@contextmanager
def moved(tensors: list[Tensor], ways: list[np.ndarray]) -> Iterator[None]:
    """Let each tensor stand elsewhere by a way of its shape, and put it back after."""
    start = [tensor.data.copy() for tensor in tensors]
    try:
        for tensor, way in zip(tensors, ways):
            tensor.data[...] += way
        yield
    finally:
        for tensor, data in zip(tensors, start):
            tensor.data[...] = data


def reach(loss: Callable[[], float], tensor: Tensor) -> float:
    """The largest number of a tensor that L depends on. Of what masks, as -1e12 or an infinity
    among scores, it does not: up to a thousandth less of it changes nothing. Each by another share,
    for a variance stays the same where all numbers move together."""
    sizes = np.abs(tensor.data)
    shares = np.random.default_rng(0).uniform(5e-4, 1e-3, tensor.shape)
    sizes = np.where(sizes < HUGE, sizes, 0)
    largest = float(sizes.max(initial=0))
    while largest > LARGE:
        masking = sizes > largest / LARGE
        with moved([tensor], [np.where(masking, tensor.data * -shares, 0)]):
            there = loss()
        if there != loss():
            break
        sizes = np.where(masking, 0, sizes)
        largest = float(sizes.max(initial=0))
    return largest


def check_tensors(tensors: tuple) -> None:
    """TypeError or ValueError for what cannot be nudged: no Tensor, one that was computed, or a
    complex one."""
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            if callable(tensor):
                raise TypeError(f"argument {position} is a function: fn comes first, as (fn, x)")
            kind = f"{type(tensor).__module__}.{type(tensor).__name__}".removeprefix("builtins.")
            raise TypeError(
                f"argument {position} is a {kind}; gradcheck nudges Tensors: wrap it, "
                "Tensor(array, requires_grad=True), or close over it in fn"
            )
        if tensor.node is not None:
            raise ValueError(
                f"argument {position} was computed (by {tensor.node.name}), so backward leaves no "
                "gradient in it; give the tensors it was computed from, or wrap its array anew"
            )
        if tensor.dtype.kind == "c":
            raise TypeError(f"argument {position} is {tensor.dtype}; gradcheck is for real numbers")
