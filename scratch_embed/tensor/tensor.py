"""Tensor, and how a hand-written pair of functions becomes an operation on Tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from scratch_embed.ops import arithmetic, matmul, reduce, shape
from scratch_embed.rows import RowGrad
from scratch_embed.tensor.tape import Node, Variable, line_numbers, recording


class Tensor(Variable):
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

    __slots__ = ()
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
        self.grad = None
        self.node = None

    # ---- reading -------------------------------------------------------------------------------

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
        if recording.on and any(isinstance(a, Tensor) and a.requires_grad for a in args):
            result.requires_grad = True
            pair = forward, backward
            line = next(line_numbers)
            result.node = Node(line, name, args, options, saved, *pair, broadcasts, selective)
        return result

    operation.forward, operation.backward = forward, backward
    operation.__name__ = operation.__qualname__ = name
    return operation


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
