"""Checks of arguments that many functions share."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def check_unmasked(value: Any, name: str) -> None:
    """TypeError for a masked array: nothing here looks at a mask."""
    if type(value) is np.ndarray or not isinstance(value, np.ndarray):  # so numpy.ma stays unloaded
        return
    if isinstance(value, np.ma.MaskedArray):
        it = name.rpartition(" ")[2]  # of "lookup: ids"
        raise TypeError(
            f"{name} is a masked array, and its mask would be ignored: give the masked places a "
            f"value of their own, {it}.filled(value), or leave them out, {it}.compressed()"
        )


def data_of(value: Any, name: str) -> np.ndarray:
    """A Tensor's `.data`; TypeError where that is no array, as after `w.data = w - step`, or is a
    masked one."""
    if not isinstance(value, (np.ndarray, np.generic)):  # a number of NumPy's has no axes
        raise TypeError(
            f"{name}.data is a {type(value).__name__}, and has to be an array: of a Tensor t write "
            f"{name}.data = t.numpy()"
        )
    check_unmasked(value, f"{name}.data")
    return value


def array_of(values: Any, name: str) -> np.ndarray:
    """`values` as an array.

    Raises ValueError, with the rows, for a nested list that is no rectangle; TypeError for a mask.
    """
    check_unmasked(values, name)
    try:
        return np.asarray(values)
    except ValueError:
        if not isinstance(values, (list, tuple)):
            raise
        raise ragged(values, name) from None


def ragged(values: Any, name: str, way_out: str = "Pad the shorter ones.") -> ValueError:
    """The error for a nested list whose rows differ in length."""
    lengths = [len(row) if hasattr(row, "__len__") else 1 for row in values]
    odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    where = "" if odd is None else f" ({name}[0] holds {lengths[0]}, {name}[{odd}] {lengths[odd]})"
    return ValueError(f"{name} is ragged: its rows differ in length{where}. {way_out}")


def check_count(value: int, name: str, least: int = 1) -> int:
    """`value` as an int when it is a whole number of at least `least`; ValueError otherwise."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {least}")
    return int(value)


def check_floats(dtype: type | str | np.dtype) -> np.dtype:
    """The dtype of vectors; TypeError for one that holds no floats."""
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        raise TypeError(f"dtype is {dtype}; vectors are floats, such as np.float32")
    return dtype


def check_flag(value: bool, name: str) -> bool:
    """`value` as a bool; TypeError for anything but True and False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value!r}; it must be True or False")
    return bool(value)


def check_name(name: str | None) -> str | None:
    """`name` as it is; TypeError for anything but text and None, as a table would only find out."""
    if not isinstance(name, (str, type(None))):
        raise TypeError(f"name is {name!r}; it must be text, such as {str(name)!r}, or None")
    return name


def is_real(value) -> bool:
    """Whether `value` is one real number, of Python or NumPy; True and False are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_whole(value) -> bool:
    """Whether `value` is one whole number, of Python or NumPy; True and False are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    """`rng` itself if it is a Generator, else a new one: of a seed, or for None of fresh chance.

    Raises ValueError for a seed below 0; TypeError for what is no seed, and for True and False,
    which are seeds to NumPy.
    """
    try:
        if isinstance(rng, (bool, np.bool_)):
            raise TypeError
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as wrong:
        raise type(wrong)(
            f"rng is {rng!r}; it must be a numpy.random.Generator, or a seed for one: a whole "
            "number of at least 0"
        ) from None


def check_dict(given: Any, whose: str) -> None:
    """TypeError for a state that is no dict."""
    if not isinstance(given, Mapping):
        raise TypeError(f"the state for {whose} is a {type(given).__name__}; it must be a dict")


def check_names(given: Mapping[str, Any], wanted: Iterable[str], whose: str) -> None:
    """KeyError for what is missing from a state, and for what nobody asks for; TypeError for what
    is no dict."""
    check_dict(given, whose)
    missing = sorted(set(wanted) - set(given))
    extra = sorted(key if isinstance(key, str) else repr(key) for key in set(given) - set(wanted))
    if missing or extra:
        parts = [f"lacks {_some(missing)}"] if missing else []
        parts += [f"holds {_some(extra)}, which {whose} has not"] if extra else []
        raise KeyError(f"the state for {whose} " + ", and ".join(parts))


def fitted(array, like: np.ndarray, name: str) -> np.ndarray:
    """The array, of the dtype of `like`, when it can be copied into one like it.

    Raises ValueError for another shape and for a number too large for the dtype, TypeError for
    another kind of number.
    """
    array = array_of(array, name)
    if array.shape != like.shape:
        raise ValueError(f"{name} has shape {array.shape} in the state; here it is {like.shape}")
    if not np.can_cast(array.dtype, like.dtype, "same_kind"):
        raise TypeError(f"{name} is {array.dtype} in the state; here it is {like.dtype}")
    with np.errstate(over="ignore"):
        rounded = array.astype(like.dtype, copy=False)
    lost = np.isfinite(array) & ~np.isfinite(rounded)
    if lost.any():
        at = tuple(map(int, np.argwhere(lost)[0]))
        raise ValueError(f"{name}{list(at)} is {array[at]} in the state, too much for {like.dtype}")
    return rounded


def check_rng_state(state: Mapping[str, Any], rng: np.random.Generator) -> None:
    """ValueError for a state that is not of a generator of this kind, or that none was ever in.

    NumPy looks at most of it, and not at the place where drawing goes on: it would draw from beyond
    the numbers that it keeps there.
    """
    here, there = type(rng.bit_generator).__name__, dict(state).get("bit_generator")
    if here != there:
        raise ValueError(f"the state is of a generator {there}, and here is a {here}")
    type(rng.bit_generator)(0).state = state  # raises where something else is wrong with it
    numbers = state["state"]
    even = "inc" in numbers and not numbers["inc"] % 2  # of PCG64, whose increment is odd
    if even or "pos" in numbers and not np.any(numbers["key"]):
        raise ValueError(f"no {here} was ever in such a state: it would draw one number for ever")
    for holder, place, last in ((numbers, "pos", 624), (state, "buffer_pos", 4)):
        if place in holder:  # of MT19937 and of Philox
            at = check_count(holder[place], f"{place} of the generator", 0)
            if at > last:
                raise ValueError(f"{place} of the generator is {at:,}; it must be in 0..{last}")


def _some(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
