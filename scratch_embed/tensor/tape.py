"""The tape: what was computed from what, and how to read it in reverse.

Running an operation writes one line on the tape, a `Node`: which operation, from which inputs,
and what it saved. Backward reads the lines in reverse. An operation can only use what already
exists, so the order in which lines were written is an order in which each line stands after
everything it needs; reversed, each tensor's gradient is complete before it is passed on. That
is the whole of the "topological sort".
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from scratch_embed.ops import reduce
from scratch_embed.rows import RowGrad

line_numbers = itertools.count()


class _Recording(threading.local):
    on = True  # each Python thread switches its own


recording = _Recording()


class Node(NamedTuple):
    """One line of the tape."""

    line: int  # counts up, so it orders the tape
    name: str  # of the operation
    inputs: tuple[Any, ...]  # positional arguments as given: Tensors, arrays, numbers
    options: dict[str, Any]  # keyword arguments
    saved: Any  # what forward kept for backward
    forward: Callable  # the two halves, as written in ops/
    backward: Callable
    broadcasts: bool  # whether an input may have been stretched to the output's shape
    selective: bool  # whether backward is told which inputs want a gradient

    def gradients(self, dout: np.ndarray) -> Iterator[tuple[Variable, np.ndarray | RowGrad]]:
        """Run backward once: each input that wants a gradient, with its contribution."""
        learns = [isinstance(t, Variable) and t.requires_grad for t in self.inputs]
        needs = {"needs": learns} if self.selective else {}
        grads = self.backward(dout, self.saved, **needs)
        grads = grads if isinstance(grads, (tuple, list)) else (grads,)
        if any(learns[len(grads) :]) or len(grads) > len(self.inputs):
            raise ValueError(
                f"backward of {self.name} returned {len(grads)} gradients for "
                f"{len(self.inputs)} inputs; return one for each leading array argument, "
                "None for one that has none"
            )
        for position, (tensor, grad) in enumerate(zip(self.inputs, grads)):
            if isinstance(tensor, Variable) and tensor.requires_grad and grad is not None:
                yield tensor, self._fit(grad, tensor, position)

    def _fit(self, grad, tensor: Variable, position: int) -> np.ndarray | RowGrad:
        """Undo broadcasting, and hold the gradient to the shape and dtype of its tensor."""
        if not isinstance(grad, RowGrad):
            grad = np.asarray(grad)
            if self.broadcasts:
                grad = reduce.unbroadcast(grad, tensor.shape)
        if grad.shape != tensor.shape:
            raise ValueError(
                f"backward of {self.name} returned a gradient of shape {grad.shape} for input "
                f"{position}, whose shape is {tensor.shape}; they must be equal"
            )
        return grad.astype(tensor.dtype, copy=False)


class Variable:
    """What the tape knows of a Tensor: its numbers, their gradient, and the line that wrote them.

    Everything that NumPy would do with the numbers is in `tensor.py`.
    """

    __slots__ = ("data", "grad", "requires_grad", "name", "node", "__weakref__")

    data: np.ndarray
    grad: np.ndarray | RowGrad | None
    requires_grad: bool
    name: str | None
    node: Node | None  # None for a leaf, which no operation made

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)
    ndim = property(lambda self: self.data.ndim)
    size = property(lambda self: self.data.size)

    def backward(self, grad: np.ndarray | None = None) -> None:
        """Add d(sum(self * grad)) / d(leaf) to `.grad` of every leaf that requires it.

        `grad` defaults to 1 for a scalar and must be given, in this tensor's shape, otherwise. It
        is copied, for the gradient of a sparse lookup is summed from it later; an array that
        nobody can write to any more (`grad.setflags(write=False)`) is not.
        The tape is kept: a second backward adds the same gradients once more.
        """
        pending = {self: self._seed(grad)}
        for tensor in tape(self):
            dout = pending.pop(tensor, None)
            if dout is None:  # no gradient came this way
                continue
            if tensor.node is None:
                tensor._accumulate(dout)
                continue
            if isinstance(dout, RowGrad):  # only a leaf keeps the rows apart
                dout = dout.to_dense()
            taken = [dout]
            for parent, part in tensor.node.gradients(dout):
                if parent in pending:
                    part = pending[parent] + part
                elif parent.node is None and _may_alias(part, taken):
                    part = part.copy()  # two leaves must never share one `.grad`
                taken.append(part)
                pending[parent] = part

    def _seed(self, grad) -> np.ndarray:
        if not self.requires_grad:
            raise RuntimeError(
                "backward() from a tensor that requires no gradient: none of what it was "
                "computed from has requires_grad=True, or it was computed under no_grad()"
            )
        if grad is None:
            if self.size != 1:
                raise ValueError(
                    f"backward() of a tensor of shape {self.shape} needs a gradient of that "
                    "shape; only a scalar has 1 as its natural start, e.g. use .sum().backward()"
                )
            return np.ones(self.shape, self.dtype)
        frozen = isinstance(grad, np.ndarray) and grad.base is None and not grad.flags.writeable
        take = np.asarray if frozen and self.node else np.array  # a leaf keeps what it is given
        grad = take(grad, dtype=self.dtype)
        if grad.shape != self.shape:
            raise ValueError(f"gradient of shape {grad.shape} for a tensor of shape {self.shape}")
        return grad

    def _accumulate(self, grad: np.ndarray | RowGrad) -> None:
        self.grad = grad if self.grad is None else self.grad + grad


def tape(root: Variable) -> list[Variable]:
    """Every tensor that requires a gradient and that `root` was computed from, last line first.

    Leaves, which no line wrote, come at the end. No recursion: a chain of any length works.
    """
    seen, stack = {root}, [root]
    while stack:
        node = stack.pop().node
        for parent in node.inputs if node else ():
            if isinstance(parent, Variable) and parent.requires_grad and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(seen, key=lambda t: t.node.line if t.node else -1, reverse=True)


@contextmanager
def no_grad() -> Iterator[None]:
    """Write nothing on the tape inside this block, in this Python thread."""
    before, recording.on = recording.on, False
    try:
        yield
    finally:
        recording.on = before


def _may_alias(part, taken: list) -> bool:
    dense = (array for array in taken if isinstance(array, np.ndarray))
    return isinstance(part, np.ndarray) and any(np.may_share_memory(part, a) for a in dense)
