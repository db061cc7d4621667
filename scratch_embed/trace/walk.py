"""Walk a tape and note every step: forward as it happened, backward as it happens.

This is a second interpreter of the same tape. `Tensor.backward` reads it for the gradients, this
one for the story: it calls the same backward functions in the same order and adds in the same
order, so its gradients have the same bits. It leaves `.grad` alone.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from scratch_embed.rows import RowGrad
from scratch_embed.tensor import Node, Tensor
from scratch_embed.trace.names import Names, arguments, declared


class Input(NamedTuple):
    """One argument of an operation."""

    parameter: str  # its name in the forward function, e.g. "weight"
    name: str | None  # of the tensor or array, e.g. "E"; None for a number or another option
    value: Any  # an ndarray when it has a name


class ForwardStep(NamedTuple):
    """One line of the tape, as it was written."""

    number: int  # 1, 2, ...
    op: str
    name: str  # of the tensor that came out
    formula: str  # how forward's docstring begins
    inputs: tuple[Input, ...]
    saved: dict[str, Any]  # what was kept for backward, by field; `Same` where nothing was copied
    out: np.ndarray
    node: Node  # the two halves, and the options

    @property
    def expression(self) -> str:
        """The call: "lookup(E, ids)", "softmax(z, axis=0)". Options at their defaults are left
        out."""
        given = [i.name or option(i.value) for i in self.inputs if i.value is not None]
        given += [f"{name}={option(value)}" for name, value in chosen(self.node).items()]
        return f"{self.op}({', '.join(given)})"


class Part(NamedTuple):
    """What one input of an operation is given during backward."""

    parent: str  # the input that collects it
    place: int  # which argument of the operation it is
    value: np.ndarray | RowGrad
    number: int  # this is part 1, 2, ...
    of: int  # of so many that the whole backward brings to this parent
    total: np.ndarray | RowGrad  # the parent's sum so far, this part included


class BackwardStep(NamedTuple):
    """One line of the tape, read backward."""

    number: int
    op: str
    name: str  # of the tensor whose gradient is complete and now passed on
    rule: str  # how backward's docstring begins
    incoming: np.ndarray | RowGrad
    parts: tuple[Part, ...]


def walk_forward(tensors: list[Tensor], names: Names) -> list[ForwardStep]:
    """The lines of the tape in the order they were written. `tensors` is a `tape`."""
    steps = []
    for number, tensor in enumerate((t for t in reversed(tensors) if t.node), start=1):
        arrays = {k: v for k, v in tensor.node.options.items() if isinstance(v, np.ndarray)}
        kept = {option: names.kept(array) for option, array in arrays.items()}
        node = tensor.node._replace(options=tensor.node.options | kept)
        inputs = tuple(
            Input(parameter, names.of(value), names.kept(value))
            for parameter, value in arguments(node)
        )
        saved = {field: names.known(value) for field, value in fields(node).items()}
        steps.append(ForwardStep(number, node.name, names.of(tensor), formula(node.forward),
                                 inputs, saved, names.kept(tensor), node))  # fmt: skip
    return steps


def walk_backward(
    tensors: list[Tensor], start: np.ndarray, names: Names
) -> tuple[list[BackwardStep], dict[str, np.ndarray | RowGrad]]:
    """Every backward step in order, and the gradients of the leaves by name."""
    pending = {tensors[0]: start}
    count: Counter[str] = Counter()
    steps, leaves = [], {}
    for tensor in tensors:
        dout = pending.pop(tensor, None)
        if dout is None:  # no gradient came this way
            continue
        if tensor.node is None:
            leaves[names.of(tensor)] = dout
            continue
        if isinstance(dout, RowGrad):  # only a leaf keeps the rows apart
            dout = dout.to_dense()
        parts = []
        for place, parent, part in tensor.node.gradients(dout):
            pending[parent] = pending[parent] + part if parent in pending else part
            count[name := names.of(parent)] += 1
            parts.append(Part(name, place, part, count[name], 0, pending[parent]))
        rule = formula(tensor.node.backward)
        steps.append(BackwardStep(len(steps) + 1, tensor.node.name, names.of(tensor), rule, dout,
                                  tuple(parts)))  # fmt: skip
    whole = [s._replace(parts=tuple(p._replace(of=count[p.parent]) for p in s.parts))
             for s in steps]  # fmt: skip
    return whole, leaves


def chosen(node: Node) -> dict[str, Any]:
    """The options given by keyword that are not what forward takes without them."""
    usual = {p.name: p.default for p in declared(node.forward) if p.default is not p.empty}
    return {
        name: value
        for name, value in node.options.items()
        if value is not None and not (name in usual and _is(value, usual[name]))
    }


def _is(value: Any, usual: Any) -> bool:
    same = value == usual
    return isinstance(same, (bool, np.bool_)) and bool(same)


def option(value) -> str:
    """A number or another option as it stands in a call; of an array its shape."""
    if isinstance(value, np.ndarray) and value.shape:
        return f"array {value.shape}"
    text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    return text if len(text) <= 24 else f"{text[:20]} ..."


def fields(node: Node) -> dict[str, Any]:
    """What forward saved, by field name where it is a NamedTuple, by position otherwise."""
    saved = node.saved
    if hasattr(saved, "_asdict"):
        return saved._asdict()
    saved = saved if isinstance(saved, tuple) else (saved,)
    return {f"saved[{i}]": value for i, value in enumerate(saved)}


@lru_cache
def formula(function: Callable) -> str:
    """The first paragraph of a docstring: columns kept apart by four spaces, lines by line breaks.

    >>> def f():
    ...     '''y = 2 x                    doubling
    ...
    ...     More about it.'''
    >>> formula(f)
    'y = 2 x    doubling'
    """
    first = inspect.cleandoc(function.__doc__ or "").partition("\n\n")[0]
    if not first:
        return f"({getattr(function, '__name__', 'this function')} has no docstring to quote)"
    return "\n".join(re.sub(r" {4,}", "    ", line.strip()) for line in first.splitlines())
