"""What one reads off a Tensor without writing on the tape: numbers, comparisons, NumPy's answers.

NumPy would take the numbers out of a Tensor without a word, and whatever it computes from them has
no way back. So where the answer would be floats, and a gradient was asked for, it is told to write
one of the operations here, or to ask for the numbers aloud, `t.numpy()`. Answers that have no
derivative anyway are given: comparisons, shapes, positions.
"""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from scratch_embed.arguments import data_of
from scratch_embed.look import page
from scratch_embed.tensor.habits import no_such
from scratch_embed.tensor.tape import Variable

# NumPy's functions whose counterpart here is not found under the same name in functional
OURS = {
    "concatenate": "functional.concatenate(a, b)",
    "dot": "a @ b",
    "exp": "functional.exp(t)",
    "log": "functional.log(t)",
    "mean": "t.mean()",
    "reshape": "t.reshape(...)",
    "sqrt": "functional.sqrt(t)",
    "square": "t**2",
    "sum": "t.sum()",
    "swapaxes": "t.transpose(...)",
    "take": "functional.lookup(t, ids)",
    "tanh": "functional.tanh(t)",
    "transpose": "t.transpose(...)",
}
WRITING = {np.copyto, np.place, np.put, np.put_along_axis, np.putmask}  # into their first argument
FRESH = {np.empty_like, np.full_like, np.ones_like, np.zeros_like}  # they take the shape alone


class Readable(Variable):
    """The reading half of a Tensor. A comparison gives a plain array of booleans."""

    __slots__ = ()
    __hash__ = object.__hash__  # a Tensor is found in a dict as itself, whatever its numbers

    def numpy(self) -> np.ndarray:
        """The array itself, not a copy. What is computed from it is not on the tape.

        TypeError where `.data` is none any more, as after `t.data = [1.0, 2.0]`.
        """
        return data_of(self.data, self.name or "tensor")

    def item(self) -> float:
        """The only number, as Python's; ValueError when there are more."""
        return self.numpy().item()

    def __float__(self) -> float:
        """The only number. `math.exp(t)` and `array[i] = t` ask for it too, where a gradient would
        end: so a RuntimeWarning comes if one is asked for, as of PyTorch; `item()` gives none."""
        number = float(self.item())
        if self.requires_grad:
            told = (
                "float() takes the number out of a tensor that requires a gradient, as math.exp(t) "
                "and array[i] = t do, and what is computed from it has no way back: write t.item() "
                "for the number alone, else an operation of scratch_embed.functional"
            )
            warnings.warn(told, RuntimeWarning, stacklevel=2)
        return number

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                f"whether a tensor of shape {self.shape} is true is not clear: write "
                "t.numpy().any() or t.numpy().all()"
            )
        return bool(self.item())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    def __len__(self) -> int:
        return len(self.numpy())

    def __repr__(self) -> str:
        numbers = np.array2string(self.numpy(), separator=", ", prefix="Tensor(", threshold=200)
        notes = [f"name={self.name!r}"] if self.name else []
        if self.node is not None:
            notes.append(f"from={self.node.name}")
        elif self.requires_grad:
            notes.append("requires_grad=True")
        return f"Tensor({', '.join([numbers, *notes])})"

    def _repr_html_(self) -> str:
        """What Jupyter shows: a table, as far as a Tensor has rows and columns."""
        if not 1 <= self.ndim <= 2 or self.size == 0:
            return f"<pre>{html.escape(repr(self))}</pre>"
        notes = [f"from {self.node.name}"] if self.node else ["requires_grad"] * self.requires_grad
        about = [f"Tensor {self.name or ''}".rstrip(), str(self.shape), str(self.dtype), *notes]
        return page.array(self.data, ", ".join(about))

    def __getattr__(self, name: str):
        """AttributeError, with what to write in its place. Of a name that is there, as shape, an
        attribute of data is missing: something else than an array was put in its place."""
        if name != "data" and hasattr(type(self), name):
            data_of(self.data, self.name or "tensor")
        raise AttributeError(no_such(name), name=name, obj=self)

    # ---- comparisons: no derivative, so no Tensor ------------------------------------------------

    def __eq__(self, other):
        return self.numpy() == bare(other)

    def __ne__(self, other):
        return self.numpy() != bare(other)

    def __lt__(self, other):
        return self.numpy() < bare(other)

    def __le__(self, other):
        return self.numpy() <= bare(other)

    def __gt__(self, other):
        return self.numpy() > bare(other)

    def __ge__(self, other):
        return self.numpy() >= bare(other)

    def __contains__(self, value) -> bool:
        return bare(value) in self.numpy()

    # ---- NumPy -----------------------------------------------------------------------------------

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        if self.requires_grad:
            raise TypeError(
                "NumPy would make an array of a tensor that requires a gradient, and what is "
                "computed from it would have no way back: write t.numpy() for the numbers alone"
            )
        return np.array(self.data, dtype=dtype, copy=copy)

    def __array_function__(self, function, types, args, kwargs):
        name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
        return on_numbers(function, name, args, kwargs)


def bare(value: Any) -> Any:
    """The array of a Tensor, also inside of lists and tuples; anything else as it is."""
    if isinstance(value, Variable):
        return value.data
    if isinstance(value, (list, tuple)):
        items = [bare(item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    return value


def on_numbers(function: Callable, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    """What NumPy's function answers for the bare arrays; TypeError for floats that lost their way.

    >>> from scratch_embed import Tensor
    >>> np.argmax(Tensor([1.0, 3.0, 2.0], requires_grad=True))
    np.int64(1)
    """
    learns = _learns(args) or _learns(tuple(kwargs.values()))
    writes = kwargs.get("out") is not None or function in WRITING or name.endswith(".at")
    if not (learns and writes):  # else NumPy would have written already
        answer = function(*bare(args), **{key: bare(value) for key, value in kwargs.items()})
        if not (learns and _has_floats(answer)) or function in FRESH:
            return answer
    write = OURS.get(name, "an operation of scratch_embed.functional")
    raise TypeError(
        f"np.{name} knows nothing of the tape, so its answer would have no way back to a tensor "
        f"that requires a gradient: write {write}, or t.numpy() for the numbers alone"
    )


def _learns(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_learns, value))
    return isinstance(value, Variable) and value.requires_grad


def _has_floats(answer: Any) -> bool:
    if isinstance(answer, (list, tuple)):
        return any(map(_has_floats, answer))
    if isinstance(answer, (np.ndarray, np.generic)):
        return answer.dtype.kind in "fcO"
    return isinstance(answer, (float, complex))
