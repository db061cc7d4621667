"""Doing it again must give the same bits: forward, backward, and any number of threads.

A finite difference cannot see these faults when they come and go: two threads that add to the
same row lose an update only sometimes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scratch_embed import kernels
from scratch_embed.gradcheck.data import moved, to_others
from scratch_embed.gradcheck.numeric import stream, ways
from scratch_embed.gradcheck.walk import same_bits
from scratch_embed.tensor import Tensor, no_grad, tape


def gradients(out: Tensor, cotangent: np.ndarray, tensors: list[Tensor]) -> list[np.ndarray]:
    """The gradient of each tensor by one backward, dense; zeros where none arrived.

    Others that `out` was computed from and that backward would add to, leaves and tensors that
    retain a gradient, get their `.grad` back as it was.
    """
    kept = [t for t in tape(out) if t.node is None or t.retains_grad]
    others = [(t, t.grad) for t in kept if t not in set(tensors)]
    for tensor in tensors:
        tensor.grad = None
    try:
        if out.requires_grad:
            out.backward(cotangent)
    finally:
        for tensor, grad in others:
            tensor.grad = grad
    return [
        np.zeros(t.shape, t.dtype) if t.grad is None else np.array(np.asarray(t.grad))
        for t in tensors
    ]


def run_elsewhere(fn: Callable[..., Tensor], tensors: tuple, checked: list[Tensor]) -> None:
    """Forward and backward once on other numbers, as of an earlier batch: what a backward keeps
    from its first call, a slope or an array, is of those then, and wrong for these."""
    rng = ways(5)
    try:
        with moved(checked, to_others(checked, rng)), np.errstate(all="ignore"):
            out = fn(*tensors)
            gradients(out, rng.standard_normal(out.shape), checked)
    except Exception:  # noqa: BLE001, S110  fn does not take them, and may say so in any way
        pass


def forward_again(fn, tensors, out: Tensor) -> list[str]:
    """Compare a second forward at the same point with `out`: what is different, in words."""
    with no_grad():
        again = fn(*tensors)
    if same_bits(out.data, again.data):
        return []
    gap = np.abs(out.data - again.data).max() if out.shape == again.shape else np.inf
    problem = (
        f"forward is not the same twice: two runs at the same point differ by {gap:.1e}; a "
        "function that draws random numbers must start its Generator afresh at every call, and so "
        "must one that keeps something from call to call"
    )
    return [problem]


def backward_again(out: Tensor, cotangent, tensors: list[Tensor], first) -> list[str]:
    """Compare a second backward over the same tape with the first: what is different, in words."""
    try:
        second = gradients(out, cotangent, tensors)
    except Exception as error:  # noqa: BLE001  a learner's own backward may raise anything
        problem = (
            "backward cannot run a second time over the same tape, where it must add the same "
            f"gradients once more: {type(error).__name__}: {error}"
        )
        return [problem]
    found = []
    for tensor, one, two in zip(tensors, first, second):
        if not same_bits(one, two):
            found.append(
                f"backward is not the same twice: the gradient of {tensor.name or 'an input'} "
                f"changed by {np.abs(one - two).max():.1e} when it ran again over the same tape"
            )
    return found


def reentrant(fn: Callable[..., Tensor], *tensors: Tensor, seed: int = 0) -> list[str]:
    """Everything that is not bit for bit the same when done again; an empty list when all is.

    Forward twice, backward twice, once on one thread and once on two or more, and the inputs
    before and after. Threads are only used by loops over more than about 130,000 numbers, so
    give tensors of that size where they matter.

    >>> from scratch_embed.functional import lookup
    >>> E = Tensor(np.arange(6.0).reshape(3, 2), requires_grad=True, name="E")
    >>> reentrant(lambda E: lookup(E, [1, 1]), E)
    []
    """
    checked = list(dict.fromkeys(t for t in tensors if t.requires_grad))
    inputs, kept = [t.data.copy() for t in tensors], [t.grad for t in tensors]
    threads = kernels.get_num_threads()
    try:
        kernels.set_num_threads(1)
        out = fn(*tensors)
        cotangent = stream(seed).standard_normal(out.shape).astype(out.dtype)
        grads = gradients(out, cotangent, checked)
        found = forward_again(fn, tensors, out) + backward_again(out, cotangent, checked, grads)
        kernels.set_num_threads(max(2, threads))
        many = fn(*tensors)
        if not same_bits(out.data, many.data):
            found.append("forward on many threads differs from forward on one")
        for tensor, one, more in zip(checked, grads, gradients(many, cotangent, checked)):
            if not same_bits(one, more):
                name = tensor.name or "an input"
                found.append(f"the gradient of {name} differs between one thread and many")
    finally:
        kernels.set_num_threads(threads)
        for tensor, grad in zip(tensors, kept):
            tensor.grad = grad
    for position, (tensor, before) in enumerate(zip(tensors, inputs)):
        if not same_bits(tensor.data, before):
            found.append(f"{tensor.name or f'input {position}'} was changed in place")
    return found
