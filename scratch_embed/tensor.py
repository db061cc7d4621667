"""Tensor and the tape: the only place that knows about graphs.

Running an operation writes one line on the tape, a `Node`: which operation, from which inputs,
and what it saved. Backward reads the lines in reverse. An operation can only use what already
exists, so the order in which lines were written is an order in which each line stands after
everything it needs; reversed, each tensor's gradient is complete before it is passed on. That
is the whole of the "topological sort".
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from scratch_embed.ops import arithmetic, matmul, reduce, shape
from scratch_embed.rows import RowGrad

_line_numbers = itertools.count()


class _Recording(threading.local):
    on = True  # each Python thread switches its own


_recording = _Recording()


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

    def gradients(self, dout: np.ndarray) -> Iterator[tuple[Tensor, np.ndarray | RowGrad]]:
        """Run backward once: each input that wants a gradient, with its contribution."""
        learns = [isinstance(t, Tensor) and t.requires_grad for t in self.inputs]
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
            if isinstance(tensor, Tensor) and tensor.requires_grad and grad is not None:
                yield tensor, self._fit(grad, tensor, position)

    def _fit(self, grad, tensor: Tensor, position: int) -> np.ndarray | RowGrad:
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


class Tensor:
    """A NumPy array that remembers where it came from.

    Parameters
    ----------
    data : array_like. Python floats become float64, as in NumPy; an array is not copied.
    requires_grad : whether backward should leave this tensor's gradient in `.grad`.
    name : shown in tables and errors.

    `.grad` is None until a backward reaches the tensor; then an ndarray, or a `RowGrad` from a
    sparse lookup. Another backward adds to it: set `.grad = None` to begin again.

    >>> a = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> (a * a).sum().backward()
    >>> a.grad.tolist()                          # d(a^2)/da = 2a
    [2.0, 4.0, 6.0]
    """

    __slots__ = ("data", "grad", "requires_grad", "name", "node", "__weakref__")
    __array_ufunc__ = None  # so that `array + tensor` asks Tensor, not NumPy

    def __init__(self, data, requires_grad: bool = False, name: str | None = None):
        if isinstance(data, (Tensor, RowGrad)):
            raise TypeError(f"data is a {type(data).__name__}; pass its array instead")
        self.data = np.asarray(data)
        if self.data.dtype.kind not in "biufc":
            raise TypeError(f"data is not an array of numbers: NumPy made it {self.data.dtype}")
        if requires_grad and self.data.dtype.kind not in "fc":
            raise TypeError(
                f"a tensor of {self.data.dtype} cannot require a gradient: "
                "derivatives need floating point, e.g. data.astype(np.float64)"
            )
        self.requires_grad = requires_grad
        self.name = name
        self.grad: np.ndarray | RowGrad | None = None
        self.node: Node | None = None

    # ---- reading -------------------------------------------------------------------------------

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)
    ndim = property(lambda self: self.data.ndim)
    size = property(lambda self: self.data.size)

    def numpy(self) -> np.ndarray:
        return self.data

    def item(self) -> float:
        return self.data.item()

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.array(self.data, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        numbers = np.array2string(self.data, separator=", ", prefix="Tensor(", threshold=200)
        notes = [f"name={self.name!r}"] if self.name else []
        if self.node is not None:
            notes.append(f"from={self.node.name}")
        elif self.requires_grad:
            notes.append("requires_grad=True")
        return f"Tensor({', '.join([numbers, *notes])})"

    # ---- backward ------------------------------------------------------------------------------

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

    # ---- operators: each a hand-written pair from ops/ -------------------------------------------

    def __add__(self, other):
        return add(self, other)

    def __radd__(self, other):
        return add(other, self)

    def __sub__(self, other):
        return sub(self, other)

    def __rsub__(self, other):
        return sub(other, self)

    def __mul__(self, other):
        return mul(self, other)

    def __rmul__(self, other):
        return mul(other, self)

    def __truediv__(self, other):
        return div(self, other)

    def __rtruediv__(self, other):
        return div(other, self)

    def __matmul__(self, other):
        return matmul_(self, other)

    def __rmatmul__(self, other):
        return matmul_(other, self)

    def __pow__(self, exponent: float):
        return power(self, exponent)

    def __neg__(self):
        return neg(self)

    def __getitem__(self, index):
        return getitem(self, index)

    def sum(self, axis=None, keepdims: bool = False) -> Tensor:
        return sum_(self, axis=axis, keepdims=keepdims)

    def mean(self, axis=None, keepdims: bool = False) -> Tensor:
        return mean(self, axis=axis, keepdims=keepdims)

    def reshape(self, *new_shape) -> Tensor:
        return reshape(self, new_shape[0] if len(new_shape) == 1 else new_shape)

    def transpose(self, *axes) -> Tensor:
        together = len(axes) == 1 and isinstance(axes[0], (tuple, list))  # as NumPy allows
        return transpose(self, axes[0] if together else axes or None)

    @property
    def T(self) -> Tensor:
        return transpose(self, None)


def tape(root: Tensor) -> list[Tensor]:
    """Every tensor that requires a gradient and that `root` was computed from, last line first.

    Leaves, which no line wrote, come at the end. No recursion: a chain of any length works.
    """
    seen, stack = {root}, [root]
    while stack:
        node = stack.pop().node
        for parent in node.inputs if node else ():
            if isinstance(parent, Tensor) and parent.requires_grad and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(seen, key=lambda t: t.node.line if t.node else -1, reverse=True)


def differentiable(
    forward: Callable,
    backward: Callable,
    name: str | None = None,
    broadcasts: bool = False,
    selective: bool = False,
) -> Callable[..., Tensor]:
    """Turn a hand-written pair into a function on Tensors.

    Parameters
    ----------
    forward : (*arrays, **options) -> (out, saved)
    backward : (dout, saved) -> the gradient of each leading positional argument, in order; a
        single array when there is one; None for an argument that has none.
    name : for tables and errors; the name of `forward` without "_forward" by default.
    broadcasts : the operation stretches its inputs to a common shape as NumPy does, so the
        gradients are summed back to the shape of each input.
    selective : backward also takes `needs`, a bool for each positional argument, and may answer
        None where it is False: a picture wants no gradient, and a product is saved.

    Gradients flow through positional arguments only.

    >>> def cube_forward(x):
    ...     return x**3, (x,)
    >>> def cube_backward(dout, saved):
    ...     return dout * 3 * saved[0] ** 2
    >>> cube = differentiable(cube_forward, cube_backward)
    >>> x = Tensor([2.0], requires_grad=True)
    >>> cube(x).sum().backward()
    >>> x.grad.tolist()
    [12.0]
    """
    name = name or forward.__name__.removesuffix("_forward")

    @functools.wraps(forward)
    def operation(*args, **options) -> Tensor:
        for key, value in options.items():
            if isinstance(value, Tensor):
                raise TypeError(f"{name}: pass {key} by position, where gradients can flow")
        arrays = [a.data if isinstance(a, Tensor) else a for a in args]
        out, saved = forward(*arrays, **options)
        result = Tensor(out)
        if _recording.on and any(isinstance(a, Tensor) and a.requires_grad for a in args):
            result.requires_grad = True
            pair = forward, backward
            line = next(_line_numbers)
            result.node = Node(line, name, args, options, saved, *pair, broadcasts, selective)
        return result

    operation.forward, operation.backward = forward, backward
    operation.__name__ = operation.__qualname__ = name
    return operation


@contextmanager
def no_grad() -> Iterator[None]:
    """Write nothing on the tape inside this block, in this Python thread."""
    before, _recording.on = _recording.on, False
    try:
        yield
    finally:
        _recording.on = before


def _may_alias(part, taken: list) -> bool:
    dense = (array for array in taken if isinstance(array, np.ndarray))
    return isinstance(part, np.ndarray) and any(np.may_share_memory(part, a) for a in dense)


add = differentiable(arithmetic.add_forward, arithmetic.add_backward, broadcasts=True)
sub = differentiable(arithmetic.sub_forward, arithmetic.sub_backward, broadcasts=True)
mul = differentiable(arithmetic.mul_forward, arithmetic.mul_backward, broadcasts=True)
div = differentiable(arithmetic.div_forward, arithmetic.div_backward, broadcasts=True)
neg = differentiable(arithmetic.neg_forward, arithmetic.neg_backward)
power = differentiable(arithmetic.power_forward, arithmetic.power_backward)
matmul_ = differentiable(matmul.matmul_forward, matmul.matmul_backward, broadcasts=True)
sum_ = differentiable(reduce.sum_forward, reduce.sum_backward)
mean = differentiable(reduce.mean_forward, reduce.mean_backward)
reshape = differentiable(shape.reshape_forward, shape.reshape_backward)
transpose = differentiable(shape.transpose_forward, shape.transpose_backward)
getitem = differentiable(shape.getitem_forward, shape.getitem_backward)
