"""Walk a tape and note every step: forward as it happened, backward as it happens.

This is a second interpreter of the same tape. `Tensor.backward` reads it for the gradients, this
one for the story: it calls the same backward functions in the same order and adds in the same
order, so its gradients have the same bits. It leaves `.grad` alone.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from scratch_embed.rows import RowGrad
from scratch_embed.tensor import Node, Tensor


class Same(NamedTuple):
    """A saved array that is no new array: forward kept a reference to the one of this name."""

    name: str
    value: np.ndarray


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

    @property
    def expression(self) -> str:
        """The call: "lookup(E, ids)". Options left at None are left out."""
        given = [i for i in self.inputs if i.value is not None]
        return f"{self.op}({', '.join(i.name or option(i.value) for i in given)})"


class Part(NamedTuple):
    """What one input of an operation is given during backward."""

    parent: str  # the input that collects it
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
        node = tensor.node
        inputs = tuple(
            Input(parameter, names.of(value), names.kept(value))
            for parameter, value in arguments(node)
        )
        saved = {field: names.known(value) for field, value in fields(node).items()}
        steps.append(ForwardStep(number, node.name, names.of(tensor), formula(node.forward),
                                 inputs, saved, names.kept(tensor)))  # fmt: skip
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
        parts = []
        for parent, part in tensor.node.gradients(dout):
            pending[parent] = pending[parent] + part if parent in pending else part
            count[name := names.of(parent)] += 1
            parts.append(Part(name, part, count[name], 0, pending[parent]))
        rule = formula(tensor.node.backward)
        steps.append(BackwardStep(len(steps) + 1, tensor.node.name, names.of(tensor), rule, dout,
                                  tuple(parts)))  # fmt: skip
    whole = [s._replace(parts=tuple(p._replace(of=count[p.parent]) for p in s.parts))
             for s in steps]  # fmt: skip
    return whole, leaves


class Names:
    """A readable, unique name for every tensor and array of a tape, and a copy of its numbers.

    A copy, because tables are changed in place: after the optimiser's step a trace must still tell
    the numbers that were multiplied. A name is the first there is of: the one that the caller
    gives, the tensor's own, "loss" for the scalar at the end, "leaf_1" for a leaf, "lookup_1" for
    what an operation made, "E.T" for a transpose, the parameter it was passed as for an array.
    """

    def __init__(self, tensors: list[Tensor], given: dict[str, Tensor]):
        self._names: dict[int, str] = {}
        self._taken: set[str] = set()
        self._copies: dict[int, np.ndarray] = {}
        self._alive: list[Any] = []  # an id() means nothing once its object is gone
        self._counts: Counter[str] = Counter()
        made = [t for t in reversed(tensors) if t.node]
        for name, tensor in given.items():
            self._name(tensor, name)
        for tensor in [*(value for t in made for value in t.node.inputs), *made, tensors[0]]:
            if isinstance(tensor, Tensor) and tensor.name:
                self._name(tensor, tensor.name)
        self._name(tensors[0], "loss" if tensors[0].ndim == 0 else "out")
        for tensor in made:
            for parameter, value in arguments(tensor.node):
                self._name_input(value, parameter)
            self._name_result(tensor)

    def of(self, value) -> str | None:
        """The name of a Tensor or an array of the tape; None for a number or an option."""
        return self._names.get(id(value))

    def kept(self, value):
        """The numbers of a Tensor or array as they are now, for keeps; anything else as it is."""
        array = value.data if isinstance(value, Tensor) else value
        if not isinstance(array, (np.ndarray, list)):
            return array
        if id(array) not in self._copies:
            copy = np.array(array)
            copy.setflags(write=False)
            self._copies[id(array)] = copy
            self._alive.append(array)
        return self._copies[id(array)]

    def known(self, value):
        """`Same` for an array that already has a name, else its numbers."""
        known = isinstance(value, np.ndarray) and id(value) in self._names
        return Same(self._names[id(value)], self.kept(value)) if known else self.kept(value)

    def _name_input(self, value, parameter: str) -> None:
        if isinstance(value, Tensor) and value.requires_grad:
            self._name(value, "leaf", numbered=True)  # anything made has its name by now
        elif isinstance(value, (Tensor, list)) or isinstance(value, np.ndarray) and value.ndim:
            self._name(value, parameter)

    def _name_result(self, tensor: Tensor) -> None:
        node = tensor.node
        if node.name == "transpose" and node.inputs[1:] in ((), (None,)):
            self._name(tensor, f"{self.of(node.inputs[0])}.T")
        else:
            self._name(tensor, node.name, numbered=True)

    def _name(self, value, wanted: str, numbered: bool = False) -> None:
        """Name the value, once: `wanted`, with a number behind it if asked for or if taken."""
        if id(value) in self._names:
            return
        name = wanted
        while numbered or name in self._taken:
            self._counts[wanted] += 1
            count = self._counts[wanted] + (not numbered)  # E, E_2, ... but leaf_1, leaf_2, ...
            name = f"{wanted}_{count}"
            numbered = numbered and name in self._taken
        self._taken.add(name)
        self._names[id(value)] = name
        if isinstance(value, Tensor):
            self._names.setdefault(id(value.data), name)
        self._alive.append(value)


def arguments(node: Node) -> list[tuple[str, Any]]:
    """Each positional argument with the name of its parameter."""
    return list(zip(parameters(node.forward, len(node.inputs)), node.inputs))


def option(value) -> str:
    """A number or another option as it stands in a call."""
    text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    return text if len(text) <= 24 else f"{text[:20]} ..."


@lru_cache
def parameters(function: Callable, count: int) -> tuple[str, ...]:
    """The names of the first `count` positional parameters; *arrays gives arrays[0], arrays[1]."""
    try:
        declared: Iterable = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a compiled function need not say
        declared = ()
    names = []
    for parameter in declared:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{i}]" for i in range(count - len(names))]
        elif parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            names.append(parameter.name)
    names += [f"input {i + 1}" for i in range(len(names), count)]
    return tuple(names[:count])


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
