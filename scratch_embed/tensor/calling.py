"""How an operation is called: what may stand for an array, and what it tells of itself.

`forward` is written for arrays. A list becomes one here where nothing else can be meant, and what
would lose its mask or its gradient on the way is told so, by the name of the argument.
"""

from __future__ import annotations

import functools
import inspect
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scratch_embed.arguments import array_of, check_unmasked
from scratch_embed.rows import RowGrad
from scratch_embed.tensor.habits import OPTIONS
from scratch_embed.tensor.tape import Variable
from scratch_embed.watch import clock, has_changed, keep, written_since

HELD = "?bBhHiIlLqQfdFD"  # dtype characters: booleans, integers, and what the kernels take


def is_learned(tensor: Variable) -> bool:
    """Whether a gradient is to go to this input. RuntimeError where `requires_grad = False` would
    cut the way back of what was computed: those before it would get none without a word."""
    if tensor.node is not None and not tensor.requires_grad:
        raise RuntimeError(
            f"this tensor was computed, by {tensor.node.name}, and its requires_grad was set to "
            "False since: freeze the weights it was computed from, or write t.detach() where the "
            "way back is to end"
        )
    return tensor.requires_grad


def check_option(operation: Callable, key: str, value: Any) -> None:
    """TypeError for what must be given by position, what has another name here, and what cannot be
    looked at."""
    whose, known = f"{operation.__name__}: {key}", operation.__signature__.parameters
    if key not in known and OPTIONS.get(key) in known:
        raise TypeError(f"{operation.__name__} takes no {key}: write {OPTIONS[key]}={value!r}")
    if isinstance(value, Variable):
        if key not in known or known[key].kind == known[key].KEYWORD_ONLY:
            raise TypeError(f"{whose} is a Tensor, and no gradient goes there; pass t.numpy()")
        raise TypeError(f"{whose} is a Tensor; pass it by position, where gradients can flow")
    check_unmasked(value, whose)


def checked_reads(reads: Any) -> tuple[tuple[int, ...], ...]:
    """`reads` of `differentiable`, when they are places of as many arguments.

    A place that is none would never be found written to, and a wrong gradient never told.
    """
    form = "give a tuple of places for each positional argument, ((1,), (0,)) for a product"
    listed = isinstance(reads, (tuple, list))
    if not listed or not all(isinstance(places, (tuple, list)) for places in reads):
        raise TypeError(f"reads is {reads!r}; {form}")
    for argument, places in enumerate(reads):
        for place in places:
            if isinstance(place, bool) or place not in range(len(reads)):
                raise ValueError(
                    f"reads[{argument}] holds {place!r}; a place is a whole number from 0 to "
                    f"{len(reads) - 1}, as reads tells of {len(reads)} arguments: {form}"
                )
    return tuple(tuple(places) for places in reads)


def plain(operation: Callable, place: int, value: Any, is_array: bool) -> Any:
    """A positional argument that is neither Tensor nor plain array; a list, or what another library
    has for an array, where one is meant: what is kept for backward is looked at again by `watch`.
    """
    if isinstance(value, np.ndarray):
        check_unmasked(value, _argument(operation, place))
        return np.asarray(value)  # a np.matrix would multiply in a way of its own
    if not (is_array and _is_like_an_array(value)):
        return value
    items = value if isinstance(value, (list, tuple)) else ()
    first = next(iter(operation.__signature__.parameters.values()))
    several = first.kind == first.VAR_POSITIONAL
    if any(isinstance(item, Variable) for item in items):
        way = f"pass them one by one, as {operation.__name__}(a, b)"
        raise TypeError(
            f"{_argument(operation, place)} is a {type(value).__name__} of Tensors, which no "
            f"gradient would reach; {way if several else 'join them first, as concatenate(a, b)'}"
        )
    if several and any(isinstance(item, np.ndarray) for item in items):
        raise TypeError(
            f"{_argument(operation, place)} is a {type(value).__name__} of arrays; pass them one "
            f"by one, as {operation.__name__}(a, b)"
        )
    return np.asarray(value)


def _is_like_an_array(value: Any) -> bool:
    """Whether it holds numbers, as a list, a buffer or a tensor of another library does."""
    if isinstance(value, (np.generic, str, bytes)):
        return False
    return isinstance(value, (Sequence, memoryview, array)) or hasattr(value, "__array__")


def _argument(operation: Callable, place: int) -> str:
    """What errors call an argument: "lookup: weight"."""
    parameters = operation.__signature__.parameters.values()
    names = [p.name for p in parameters if p.kind != p.KEYWORD_ONLY]
    return f"{operation.__name__}: {names[min(place, len(names) - 1)]}"


def run_own(
    name: str, forward: Callable, arrays: list, options: dict[str, Any]
) -> tuple[np.ndarray, Any]:
    """(out, saved) of somebody's own forward.

    Raises RuntimeError where it wrote to what it was given: the weights of others would change
    without a word, and what other lines of the tape have kept. TypeError for another answer.
    """
    before, time = [keep(array) for array in arrays], next(clock)
    made = forward(*arrays, **options)
    for place, kept in enumerate(before):
        if has_changed(kept) and not written_since(kept[0], time):
            raise RuntimeError(
                f"forward of {name} wrote to its argument {place}, an array of shape "
                f"{kept[0].shape} that others hold as well: work on a copy, x = x.copy(); where "
                "the write is meant, say so by scratch_embed.watch.wrote(x)"
            )
    wanted = "it must return (out, saved), with () for saved where backward needs nothing"
    if not isinstance(made, (tuple, list)):
        raise TypeError(f"forward of {name} returned a {type(made).__name__}; {wanted}")
    if len(made) != 2:
        raise TypeError(f"forward of {name} returned {len(made)} things; {wanted}")
    out, saved = made
    return as_numbers(out, f"out of forward of {name}"), saved


def as_numbers(values: Any, name: str) -> np.ndarray:
    """An array of numbers that a Tensor holds; TypeError for anything else."""
    if isinstance(values, (Variable, RowGrad)):
        raise TypeError(f"{name} is a {type(values).__name__}; pass its array instead")
    if type(values) is not np.ndarray:
        values = array_of(values, name)
    if values.dtype.char in HELD:
        return values
    if values.dtype.kind in "fc":
        raise TypeError(
            f"{name} is {values.dtype}; a Tensor holds float32, float64, complex64 or complex128: "
            f"write {name.partition(' ')[0]}.astype(np.float32)"
        )
    raise TypeError(f"{name} is not an array of numbers: NumPy made it {values.dtype}")


def in_place(sign: str, operate: Callable) -> Callable:
    """`x -= y` of what was computed, which is `x = x - y`. TypeError of a weight, one that learns
    or has a name: it would stay as it is, and only its name here would be that of a new tensor."""

    def assigned(tensor: Variable, other: Any):
        if tensor.node is None and (tensor.requires_grad or tensor.name):
            raise TypeError(
                f"`w {sign}= x` gives the name w to a new tensor and does not change "
                f"{tensor.name or 'this weight'}: write `w.data {sign}= x` with an array x, or, "
                f"for a new tensor, `w = w {sign} x`"
            )
        return operate(tensor, other)

    return assigned


def describe(operation: Callable, forward: Callable, name: str) -> None:
    """Give the operation its name, the docstring of `forward`, and a signature with Tensors.

    >>> from scratch_embed.functional import lookup
    >>> signature = inspect.signature(lookup)
    >>> signature.parameters["weight"].annotation, signature.return_annotation
    ('Tensor | np.ndarray', 'Tensor')
    """
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):  # a compiled function need not say
        parameters = [inspect.Parameter("arrays", inspect.Parameter.VAR_POSITIONAL)]
    annotations = {}
    for place, parameter in enumerate(parameters):
        said = parameter.annotation
        if said is parameter.empty:
            continue
        if isinstance(said, str) and parameter.kind != parameter.KEYWORD_ONLY:
            said = said.replace("np.ndarray", "Tensor | np.ndarray")
        parameters[place] = parameter.replace(annotation=said)
        annotations[parameter.name] = said
    functools.update_wrapper(operation, forward)  # whose source is what an editor shows
    operation.__name__ = operation.__qualname__ = name
    operation.__annotations__ = {**annotations, "return": "Tensor"}
    operation.__signature__ = inspect.Signature(parameters, return_annotation="Tensor")
