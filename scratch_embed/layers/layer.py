"""Layer: what every layer made of weights and of other layers shares."""

from __future__ import annotations

import random
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from functools import lru_cache
from itertools import chain, cycle, islice, repeat
from types import GeneratorType, MappingProxyType, MemberDescriptorType, SimpleNamespace

import numpy as np

from scratch_embed.arguments import check_dict, check_flag, check_names, data_of, fitted
from scratch_embed.layers.succession import succeed, warn_of_another
from scratch_embed.tensor import Tensor
from scratch_embed.tensor.habits import OF_LAYERS, no_such
from scratch_embed.uninterrupted import uninterrupted
from scratch_embed.watch import wrote

PASSED_BY = (  # containers in which nobody looks for weights
    set, frozenset, deque, KeysView, ValuesView, ItemsView, MappingProxyType, ChainMap, UserDict,
    SimpleNamespace, UserList, np.ndarray,
)  # fmt: skip
LOOKED_INTO = (list, tuple, dict)  # and those in which one does
ONCE = (  # what these make is met in one call only
    GeneratorType, map, filter, zip, enumerate, reversed, chain, cycle, islice, repeat,
    *map(type, (iter([]), reversed([]), iter(()), iter({}), iter({}.values()), iter({}.items()))),
)  # fmt: skip


class Layer:
    """Finds its weights and parts among its own attributes, in the order they were set.

    A constructor sets Tensors and layers as attributes, or lists, tuples and dicts of them, and
    ends with `name_weights()`, after which each weight is called by its path: "token.weight",
    "blocks.0.norm.gamma". A weight or part that stands in several places is found once, in the
    first; a Tensor that was itself computed is no weight. What stands there without a gradient, a
    running mean for example, is not learned, but saved: begin with None what is not. Only layers
    are looked into, so make a class of your own that has weights a Layer too.

    >>> class Sum(Layer):
    ...     def __init__(self):
    ...         self.terms = [weight(np.zeros(2), np.float32, "w"), weight([1.0], np.float64, "b")]
    ...         self.first = self.terms[0]
    >>> [(path, w.shape) for path, w in Sum().named_parameters()]
    [('terms.0', (2,)), ('terms.1', (1,))]
    """

    training = True
    _named: Mapping[str, bool] | None = None  # of each place of a weight: whether it learned there

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute. TypeError for what takes a weight's place and is none, so that it would
        neither be learned nor saved; AttributeError for requires_grad, which weights have. Warns of
        a new Tensor in a learned weight's place."""
        if name == "requires_grad":
            raise AttributeError(
                f"a layer has no requires_grad; its weights have: for w in layer.parameters(): "
                f"w.requires_grad = {value}"
            )
        before = vars(self).get(name)
        if _is_weight(before) and value is not None:
            succeed(name, before.requires_grad, value)
            warn_of_another(name, before, value)
        if isinstance(before, (list, tuple, dict)) and isinstance(value, (np.ndarray, Tensor)):
            self._check_left(name, value)
        super().__setattr__(name, value)

    def __getattr__(self, name: str):
        if name in OF_LAYERS:
            said = no_such(name, type(self).__name__, OF_LAYERS)
            raise AttributeError(said, name=name, obj=self)
        return super().__getattribute__(name)  # which raises what was wrong, in a property too

    def _check_left(self, name: str, value: object) -> None:
        """TypeError for one array in the place of a list of weights or layers."""
        if any(path.startswith(f"{name}.") for path in self._named or ()):
            raise TypeError(
                f"{name} holds weights or layers, and a {type(value).__name__} in its place would "
                f"be none of them: put such into a list again, or write layer.{name}[0].data[...] "
                "= array for other numbers"
            )

    def __call__(self, *inputs):
        """What the layer computes: each kind of layer writes its own. TypeError for one without."""
        raise TypeError(
            f"{type(self).__name__} does not say what it computes: write def __call__(self, x), "
            "which is called forward in PyTorch"
        )

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """(path, weight) for every weight, each once.

        TypeError for an array, or a computed Tensor, that has taken a weight's place in a list or
        dict since `name_weights`. Any other Tensor there is a weight: a frozen one, if it does not
        require a gradient.
        """
        for path, part, learned in _walk(self):
            if _is_weight(part):
                part.computed = False  # and stays one when it is frozen
                yield path, part
            elif learned is not None and isinstance(part, Tensor | np.ndarray):
                succeed(path, learned, part)
                yield path, part

    def parameters(self) -> list[Tensor]:
        """Every weight once, so that a shared table takes one step and not two."""
        return [tensor for _, tensor in self.named_parameters()]

    def num_parameters(self) -> int:
        """How many numbers all weights hold, those of frozen tables too."""
        return sum(tensor.size for tensor in self.parameters())

    def generators(self) -> list[np.random.Generator]:
        """Every generator that a part of this layer draws from, as Dropout does, each once.

        Raises TypeError for one of another kind: its place would not be saved with the others.
        """
        found = []
        for path, part, _ in _walk(self):
            if isinstance(part, _foreign()):
                raise TypeError(
                    f"{path} is a {type(part).__name__}, whose place no checkpoint keeps: draw "
                    "from np.random.default_rng(seed)"
                )
            found += [part] * isinstance(part, np.random.Generator)
        return found

    def name_weights(self) -> None:
        """Call each weight by its path. Raises ValueError for two of the same path."""
        self._named = {}
        weights = self._by_path()
        for path, tensor in weights.items():
            tensor.name = path
        places = self._places().items()  # two states may begin as one, and part
        self._named = {path: learns for path, learns in places if path in weights or not learns}

    def state_dict(self) -> dict[str, np.ndarray]:
        """{path: a copy of the weight}, for `load_state_dict` and `checkpoint.save`."""
        return {path: data_of(tensor.data, path).copy() for path, tensor in self._by_path().items()}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Put the weights of `state` into this layer's own arrays: all, or after an error none.

        Whoever holds one of the weights, an optimiser for example, goes on with the new numbers.
        Raises KeyError for a weight that `state` lacks and for one that this layer has not;
        ValueError for another shape and a read-only array, TypeError for another kind of number.
        float64 is rounded for a float32 layer.
        """
        load = self.loading(state)
        with uninterrupted():
            load()

    def loading(self, state: Mapping[str, np.ndarray]) -> Callable[[], None]:
        """The first half of `load_state_dict`, which raises, and as an answer the second half.

        So several can be looked at before any of them changes.
        """
        check_dict(state, type(self).__name__)
        mine = self._by_path()
        for path in self._places():
            if path in state and path not in mine:
                raise KeyError(
                    f"{path} had numbers of its own when it was saved, and is here the same Tensor "
                    "as another: begin it with a Tensor of its own"
                )
        check_names(state, mine, type(self).__name__)
        fitting = []
        for path, w in mine.items():
            if not w.data.flags.writeable:
                raise ValueError(f"{path} is read-only and cannot be loaded into; give it a copy")
            array = fitted(state[path], w.data, path)
            if any(np.may_share_memory(array, other.data) for other in mine.values()):
                array = array.copy()  # a weight of this layer, which may change before it is read
            fitting.append((w.data, array))

        def load() -> None:
            for into, array in fitting:
                into[...] = array
                wrote(into)

        return load

    def _places(self) -> dict[str, bool]:
        """{path: whether it learns} for every weight, at each place where it stands."""
        places = _walk(self, everywhere=True)
        return {path: part.requires_grad for path, part, _ in places if _is_weight(part)}

    def _by_path(self) -> dict[str, Tensor]:
        """{path: weight}; ValueError for a path of two weights, of which one would be lost."""
        weights = {}
        for path, tensor in self.named_parameters():
            if path in weights:
                raise ValueError(
                    f"two weights are called {path}: a dict holds the keys 1 and '1', or one with "
                    "a dot in it; give them keys that differ as text"
                )
            weights[path] = tensor
        return weights

    def train(self, mode: bool = True):
        """Switch dropout on, in this layer and all its parts. Returns the layer."""
        check_flag(mode, "mode")
        for _, part, _ in _walk(self):
            if isinstance(part, Layer):
                part.training = mode
        return self

    def eval(self):
        """Switch dropout off. Returns the layer."""
        return self.train(False)


def _is_weight(thing: object) -> bool:
    """Whether it is a Tensor that learns, or one that does not and was not computed either."""
    if not isinstance(thing, Tensor) or thing.node is not None:
        return False
    return thing.requires_grad or not thing.computed


def _walk(root: Layer, everywhere: bool = False) -> Iterator[tuple[str, object, bool | None]]:
    """(path, thing, learned) for everything below a layer that may matter, itself first, each once;
    or a Tensor at every place where it stands.

    learned : of a place where a weight stood when the innermost layer that names its weights did
        so, whether it learned; else None.

    Because each comes once a part that holds its owner makes no circle; and nothing here is
    recursive, so parts may be nested to any depth.
    """
    seen, stack = set(), [("", root, {}, "")]  # and what was named where, and the path from there
    while stack:
        path, thing, named, name = stack.pop()
        if id(thing) in seen and not (everywhere and isinstance(thing, Tensor)):
            continue
        seen.add(id(thing))
        yield path, thing, named.get(name)
        if isinstance(thing, Layer) and thing._named is not None:
            named, name = thing._named, ""
        inside = [
            (f"{path}.{key}".lstrip("."), inner, named, f"{name}.{key}".lstrip("."))
            for key, inner in _inside(thing)
        ]
        stack += reversed(inside)  # the first is taken off first


def _inside(thing: object) -> Iterator[tuple[object, object]]:
    """(name, value) for what a layer, list, tuple or dict holds that is or may hold a weight or a
    generator; arrays too, which may stand where a weight stood."""
    looked_at = (Tensor, Layer, dict, list, tuple, np.ndarray, np.random.Generator, *_foreign())
    # written here because naming np.random is what loads it
    if isinstance(thing, Layer):
        named = [*vars(thing).items(), *_on_the_class(thing)]
    elif isinstance(thing, dict):
        named = thing.items()
    else:
        named = enumerate(thing) if isinstance(thing, (list, tuple)) else ()
    for name, inner in named:
        if isinstance(inner, looked_at):
            yield name, inner
        if isinstance(inner, ONCE):
            raise TypeError(
                f"{name} is a {type(inner).__name__}: what it makes is met once, and neither "
                "learned nor saved; make a list of it"
            )
        if _is_part(name):
            raise TypeError(
                f"a {type(name).__name__} is a key of a dict, where it would neither be learned "
                "nor saved; make it a value"
            )
        if isinstance(inner, PASSED_BY) and _hides(inner):
            raise TypeError(
                f"{name} is a {type(inner).__name__} of layers, weights or generators, which would "
                "neither be learned nor saved; put them in a list, tuple or dict"
            )


def _on_the_class(layer: Layer) -> Iterator[tuple[str, object]]:
    """(name, value) of parts that are not in vars(layer): those of its class, which all of that
    kind share, and those in slots."""
    for name in _names_on(type(layer)):
        value = getattr(layer, name, None)
        if value is not None and name not in vars(layer):
            yield name, value


@lru_cache(maxsize=256)
def _names_on(kind: type) -> tuple[str, ...]:
    held = [item for base in kind.__mro__ for item in vars(base).items()]
    return tuple(name for name, x in held if _is_part(x) or isinstance(x, MemberDescriptorType))


def _foreign() -> tuple[type, ...]:
    """Kinds of generators whose place is not saved."""
    return np.random.RandomState, np.random.BitGenerator, random.Random


def _is_part(thing: object) -> bool:
    return isinstance(thing, Tensor | Layer | np.random.Generator)


def _hides(container: object) -> bool:
    """Whether a weight, a layer or a generator is in a container, however deep."""
    seen, stack = set(), [container]
    while stack:
        thing = stack.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        for item in _contents(thing):
            if _is_part(item):
                return True
            if isinstance(item, (*PASSED_BY, *LOOKED_INTO)):
                stack.append(item)
    return False


def _contents(container: object) -> Iterable:
    if isinstance(container, np.ndarray):
        return container.flat if container.dtype == object else ()
    if isinstance(container, SimpleNamespace):
        return vars(container).values()
    if isinstance(container, Mapping):
        return chain(container.keys(), container.values())
    return container


def weight(array: np.ndarray, dtype: type, name: str) -> Tensor:
    """A Tensor to learn, of float32 or float64. Raises TypeError for another dtype."""
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise TypeError(f"dtype is {np.dtype(dtype)}; weights are float32 or float64")
    return Tensor(np.asarray(array, dtype), requires_grad=True, name=name)
