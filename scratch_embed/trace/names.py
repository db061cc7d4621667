"""What to call the tensors and arrays of a tape: by the names that the learner used."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from scratch_embed.look.terminal import harmless
from scratch_embed.ops.shape import transpose_forward
from scratch_embed.tensor import Node, Tensor

HELD = (Tensor, np.ndarray, list)  # what on a tape can have a name of its own
DEEP = 4  # how far into objects a name is looked for: self.model.layers[0].weight
ROLES = {"logits", "q", "k", "v", "center", "context", "contexts", "negatives"}


class Same(NamedTuple):
    """A saved array that is no new array: forward kept a reference to the one of this name."""

    name: str
    value: np.ndarray


class Names:
    """A readable, unique name for every tensor and array of a tape, and a copy of its numbers.

    A copy, because tables are changed in place: after the optimiser's step a trace must still tell
    the numbers that were multiplied. A name is the first there is of: the one that the caller
    gives, the tensor's own, the variable that holds it or its array (`scope`, see `variables`),
    "loss" for the scalar at the end, "leaf_1" for a leaf, "E.T" for a transpose, the parameter it
    was passed as for an array. What an operation made and nobody named goes by the part that it
    plays next ("logits", "q"), if that name is free, else by the operation: "lookup_1".
    """

    def __init__(self, tensors: list[Tensor], given: dict[str, Tensor], scope: dict[int, str]):
        self._names: dict[int, str] = {}
        self._owners: dict[int, str] = {}  # of the array of a tensor: the name of the tensor
        self._taken: set[str] = set()
        self._copies: dict[int, np.ndarray] = {}
        self._alive: list[Any] = []  # an id() means nothing once its object is gone
        self._counts: Counter[str] = Counter()
        made = [t for t in reversed(tensors) if t.node]
        for name, tensor in given.items():
            self._name(tensor, name)
        on_tape = [*(value for t in made for value in t.node.inputs), *made, tensors[0]]
        for tensor in on_tape:
            known = scope.get(id(tensor), "").rpartition(".")[2]
            if isinstance(tensor, Tensor) and tensor.name and tensor.name != known:
                self._name(tensor, tensor.name)  # a layer's weight is told from other weights below
        for value in on_tape:
            if isinstance(value, HELD) and (name := _variable(value, scope)):
                self._name(value, name)
        self._name(tensors[0], "loss" if tensors[0].ndim == 0 else "out")
        roles = {id(value): parameter for t in made for parameter, value in arguments(t.node)
                 if parameter in ROLES.difference(scope.values())}  # fmt: skip
        for tensor in made:
            for parameter, value in arguments(tensor.node):
                self._name_input(value, parameter)
            self._name_result(tensor, roles.get(id(tensor)))

    def of(self, value) -> str | None:
        """The name of a Tensor or an array of the tape; None for a number or an option."""
        return self._names.get(id(value)) or self._owners.get(id(value))

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
        """`Same` for an array that already has a name, else its numbers; anything else as it is."""
        if not isinstance(value, np.ndarray):
            return value
        name = self.of(value)
        return Same(name, self.kept(value)) if name else self.kept(value)

    def _name_input(self, value, parameter: str) -> None:
        if isinstance(value, Tensor) and value.requires_grad:
            self._name(value, "leaf", numbered=True)  # anything made has its name by now
        elif isinstance(value, (Tensor, list)) or isinstance(value, np.ndarray) and value.ndim:
            self._name(value, parameter)

    def _name_result(self, tensor: Tensor, role: str | None) -> None:
        node = tensor.node
        axes = *node.inputs[1:], *node.options.values()
        if node.forward is transpose_forward and all(given is None for given in axes):
            self._name(tensor, f"{self.of(node.inputs[0])}.T")
        elif role:
            self._name(tensor, role)
        else:
            self._name(tensor, node.name, numbered=True)

    def _name(self, value, wanted: str, numbered: bool = False) -> None:
        """Name the value, once: `wanted`, with a number behind it if asked for or if taken."""
        if id(value) in self._names:
            return
        name = wanted = harmless(wanted)
        while numbered or name in self._taken:
            self._counts[wanted] += 1
            count = self._counts[wanted] + (not numbered)  # E, E_2, ... but leaf_1, leaf_2, ...
            name = f"{wanted}_{count}"
            numbered = numbered and name in self._taken
        self._taken.add(name)
        self._names[id(value)] = name
        if isinstance(value, Tensor):
            self._owners.setdefault(id(value.data), name)
        self._alive.append(value)


def _variable(value: Tensor | np.ndarray | list, scope: dict[int, str]) -> str | None:
    """The variable that holds it; sooner the one that holds its numbers than a place in a list."""
    held = scope.get(id(value))
    if isinstance(value, Tensor) and (held is None or "[" in held):
        numbers = scope.get(id(value.data))
        return numbers if numbers and "[" not in numbers else held
    return held


def variables(*scopes: dict[str, Any]) -> dict[int, str]:
    """{id: name} of the tensors, arrays and lists that variables hold, or attributes of objects.

    The first scope that knows an object names it. An attribute goes by its own name, W of model.W;
    where several share it, by its owner's too: embed.weight, head.weight.

    >>> E = np.eye(2)
    >>> variables({"E": E, "_": E})[id(E)]
    'E'
    """
    found: dict[int, tuple[str, ...]] = {}
    seen: set[int] = set()  # objects that hold each other are looked into once
    for scope in scopes:
        level = [((name,), value) for name, value in scope.items() if not name.startswith("_")]
        for _ in range(DEEP):
            for path, value in level:
                if isinstance(value, HELD):
                    found.setdefault(id(value), path)
            new = {id(value): (path, value) for path, value in reversed(level)}
            level = [inner for key, (path, value) in reversed(new.items()) if key not in seen
                     for inner in _inside(path, value)]  # fmt: skip
            seen |= new.keys()
    owners = Counter(path[-1] for path in found.values())
    return {key: path[-1] if owners[path[-1]] == 1 else ".".join(path[-2:])
            for key, path in found.items()}  # fmt: skip


def _inside(path: tuple[str, ...], value: Any) -> list[tuple[tuple[str, ...], Any]]:
    """What an object holds: its attributes, or the entries of a dict or a short sequence."""
    if isinstance(value, (type, ModuleType, np.ndarray)):
        return []
    if isinstance(value, dict):
        held = [(str(key), item) for key, item in value.items() if isinstance(key, str)]
    elif hasattr(value, "_fields") and isinstance(value, tuple):  # a NamedTuple
        held = list(zip(value._fields, value))
    elif isinstance(value, (list, tuple)) and len(value) <= 100:
        return [((*path[:-1], f"{path[-1]}[{k}]"), item) for k, item in enumerate(value)]
    elif hasattr(value, "__dict__"):
        held = list(vars(value).items())
    else:
        return []
    return [((*path, name), item) for name, item in held if not name.startswith("_")]


def arguments(node: Node) -> list[tuple[str, Any]]:
    """Each positional argument with the name of its parameter."""
    return list(zip(parameters(node.forward, len(node.inputs)), node.inputs))


@lru_cache
def parameters(function: Callable, count: int) -> tuple[str, ...]:
    """The names of the first `count` positional parameters; *arrays gives arrays[0], arrays[1]."""
    names = []
    for parameter in declared(function):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{i}]" for i in range(count - len(names))]
        elif parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            names.append(parameter.name)
    names += [f"input {i + 1}" for i in range(len(names), count)]
    return tuple(names[:count])


@lru_cache
def declared(function: Callable) -> tuple[inspect.Parameter, ...]:
    """The parameters of a function; none of a compiled one, which need not say."""
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return ()
