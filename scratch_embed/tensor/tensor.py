"""Tensor, and how a hand-written pair of functions becomes an operation on Tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from scratch_embed.arguments import check_flag, check_name
from scratch_embed.ops import arithmetic, matmul, reduce, shape
from scratch_embed.ops.floats import check_learnable
from scratch_embed.tensor.calling import (
    HELD,
    as_numbers,
    check_option,
    checked_reads,
    describe,
    in_place,
    is_learned,
    plain,
    run_own,
)
from scratch_embed.tensor.copying import check_pickled
from scratch_embed.tensor.reading import Readable, bare, on_numbers
from scratch_embed.tensor.recording import recording
from scratch_embed.tensor.tape import Node, tape
from scratch_embed.watch import clock, keep_all


class Tensor(Readable):
    """A NumPy array that remembers where it came from.

    Parameters
    ----------
    data : array_like of booleans, integers, float32, float64 or complex numbers. As in NumPy Python
        floats become float64, and whole numbers wrap round: of uint8, 10 - 50 is 216. An array is
        not copied: what is written into it, `.data`, is no operation, and has no gradient.
    requires_grad : whether backward should leave this tensor's gradient in `.grad`.
    name : shown in tables and errors.

    `.grad` is None until a backward reaches the tensor; then an ndarray, or a `RowGrad` from a
    sparse lookup. Another backward adds to it: set `.grad = None` to begin again.

    Of complex numbers the gradient is the plain derivative, d out / d self, which is what a
    complex step measures. PyTorch answers with its conjugate, the direction to descend along.

    Raises TypeError for data that are not such numbers, that have a mask (`np.ma`), or that are
    whole numbers and should have a gradient; for a requires_grad or a name of another type.

    >>> a = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> (a * a).sum().backward()
    >>> a.grad.tolist()                          # d(a^2)/da = 2a
    [2.0, 4.0, 6.0]
    """

    __slots__ = ()

    def __init__(self, data, requires_grad: bool = False, name: str | None = None):
        if type(data) is not np.ndarray or data.dtype.char not in HELD:
            data = as_numbers(data, "data")
        if requires_grad is not False:
            requires_grad = check_flag(requires_grad, "requires_grad")
        if requires_grad:
            check_learnable(data.dtype)
        self.data = data
        self.requires_grad = requires_grad
        self.retains_grad = False
        self.name = name if name is None else check_name(name)
        self.grad = None
        self.node = None
        self.computed = False

    def detach(self) -> Tensor:
        """The same array in a Tensor that requires no gradient: here the way back ends."""
        detached = Tensor(self.data, name=self.name)
        detached.computed = self.computed
        return detached

    def __iter__(self) -> Iterator[Tensor]:
        if not self.ndim:
            raise TypeError("a tensor of shape () holds one number and has no rows to go through")
        return (self[i] for i in range(len(self)))

    def __array_ufunc__(self, ufunc, method: str, *inputs, **kwargs):
        """`array + tensor` and `np.add(array, tensor)` are `add`, and go on the tape."""
        ours = UFUNCS.get(ufunc)
        if ours and method == "__call__" and not kwargs:
            return ours(*inputs)
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        return on_numbers(getattr(ufunc, method), name, inputs, kwargs)

    def __reduce_ex__(self, protocol):
        """What pickle asks for. RecursionError for a long tape."""
        check_pickled([*reversed(tape(self))])
        return super().__reduce_ex__(protocol)

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

    def __rpow__(self, number: float):
        raise TypeError("number ** t has no backward here: write functional.exp(t * log(number))")

    def __neg__(self):
        return neg(self)

    def __abs__(self):
        raise TypeError("abs has no backward here: write relu(t) + relu(-t) of functional")

    __iadd__ = in_place("+", __add__)
    __isub__ = in_place("-", __sub__)
    __imul__ = in_place("*", __mul__)
    __itruediv__ = in_place("/", __truediv__)
    __imatmul__ = in_place("@", __matmul__)
    __ipow__ = in_place("**", __pow__)

    def __getitem__(self, index):
        return getitem(self, bare(index) if isinstance(index, tuple) else index)

    def __setitem__(self, index, value):
        """TypeError: what is computed is not written to, for backward may need its numbers."""
        raise TypeError(
            "t[index] = x would change numbers that backward may need: write t.data[index] = x for "
            "other numbers in a weight, between backward and the next forward; for a new tensor, "
            "t * mask, t + array or functional.concatenate"
        )

    def sum(self, axis=None, keepdims: bool = False, **others) -> Tensor:
        return sum_(self, axis=axis, keepdims=keepdims, **others)

    def mean(self, axis=None, keepdims: bool = False, **others) -> Tensor:
        return mean(self, axis=axis, keepdims=keepdims, **others)

    def reshape(self, *new_shape) -> Tensor:
        return reshape(self, new_shape[0] if len(new_shape) == 1 else new_shape)

    def transpose(self, *axes) -> Tensor:
        together = len(axes) == 1 and isinstance(axes[0], tuple | list | None)  # as NumPy
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
    reads: tuple[tuple[int, ...], ...] | None = None,
) -> Callable[..., Tensor]:
    """Turn a hand-written pair into a function on Tensors.

    Parameters
    ----------
    forward : (*arrays, **options) -> (out, saved). It only borrows the arrays, as backward does
        dout: RuntimeError where one of them has been written to (as `watch` notices it).
    backward : (dout, saved) -> the gradient of each leading positional argument, in order; a
        single array when there is one; None for an argument that has none. It only borrows dout,
        and does not write again to what it has handed back.
    name : for tables and errors; the name of `forward` without "_forward" by default.
    broadcasts : the operation stretches its inputs to a common shape as NumPy does, so the
        gradients are summed back to the shape of each input.
    selective : backward also takes `needs`, a bool for each positional argument, and may answer
        None where it is False: a picture wants no gradient, and a product is saved.
    reads : for each positional argument, the places of those whose numbers its gradient reads:
        ((1,), (0,)) for a product. An argument that none reads may be written to after forward.
        By default each gradient reads every array that was saved.

    Raises TypeError or ValueError for `reads` that are not places of that many arguments, and
    TypeError for a name that is no text.

    Gradients flow through positional arguments only. The first of them, and all of an operation
    that broadcasts, may also be lists. Whole numbers that forward answers with, such as an argmax,
    may be somebody's ids; backward raises TypeError where a gradient would flow into them.

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
    own = getattr(forward, "__name__", type(forward).__name__).removesuffix("_forward")
    name = check_name(name) or own
    if reads is not None:
        reads = checked_reads(reads)
    # `trace` remembers what it has read of each half; a dataclass that can be called has no hash
    forward, backward = (half if half.__hash__ else half.__call__ for half in (forward, backward))
    operation = _recorded(name, forward, backward, broadcasts, selective, reads)
    operation.forward, operation.backward = forward, backward
    describe(operation, forward, name)
    return operation


def _recorded(name: str, forward: Callable, backward: Callable, broadcasts: bool, *how) -> Callable:
    """The pair as one function, which writes a line on the tape where a gradient is asked for."""
    ours = str(getattr(forward, "__module__", "")).startswith("scratch_embed.")  # these write not

    def operation(*args, **options) -> Tensor:
        for key, value in options.items():
            check_option(operation, key, value)
        arrays, learns = [], False
        for value in args:
            if isinstance(value, Tensor):
                learns = is_learned(value) or learns
                value = value.data
            elif type(value) is not np.ndarray:
                value = plain(operation, len(arrays), value, broadcasts or not arrays)
            arrays.append(value)
        if ours:
            out, saved = forward(*arrays, **options)
        else:
            out, saved = run_own(name, forward, arrays, options)
        result = Tensor(out)
        result.computed = True
        if learns and recording.on:
            if recording.lean:
                args = tuple(a.stand_in() if isinstance(a, Tensor) else a for a in args)
            if list in map(type, args):  # which the caller may use again
                args = tuple(list(a) if type(a) is list else a for a in args)
            result.requires_grad = True
            result.node = Node(
                next(clock), name, args, options, saved, keep_all(saved),
                forward, backward, broadcasts, *how,
            )  # fmt: skip
        return result

    return operation


add = differentiable(arithmetic.add_forward, arithmetic.add_backward, broadcasts=True)
sub = differentiable(arithmetic.sub_forward, arithmetic.sub_backward, broadcasts=True)
mul = differentiable(
    arithmetic.mul_forward, arithmetic.mul_backward, broadcasts=True, reads=((1,), (0,))
)
div = differentiable(
    arithmetic.div_forward, arithmetic.div_backward, broadcasts=True, reads=((1,), (0, 1))
)
neg = differentiable(arithmetic.neg_forward, arithmetic.neg_backward)
power = differentiable(arithmetic.power_forward, arithmetic.power_backward)
matmul_ = differentiable(
    matmul.matmul_forward, matmul.matmul_backward, broadcasts=True, reads=((1,), (0,))
)
sum_ = differentiable(reduce.sum_forward, reduce.sum_backward)
mean = differentiable(reduce.mean_forward, reduce.mean_backward)
reshape = differentiable(shape.reshape_forward, shape.reshape_backward)
transpose = differentiable(shape.transpose_forward, shape.transpose_backward)
getitem = differentiable(shape.getitem_forward, shape.getitem_backward)

# What the ufuncs of NumPy mean when one of their inputs is a Tensor.
UFUNCS = {
    np.add: add,
    np.subtract: sub,
    np.multiply: mul,
    np.divide: div,
    np.negative: neg,
    np.power: power,
    np.matmul: matmul_,
}
