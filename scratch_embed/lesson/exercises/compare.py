"""An answer against the one it should be: first its form, then its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scratch_embed.look.numbers import told_apart

RTOL = 1e-9  # of the largest number of the answer
ROUNDED = 1e-5  # of a number: as near, what is of low precision is right but for that


class Wrong(Exception):
    """An answer is not right.

    sentence   says how, and detail shows it.
    line       the learner's, where it is known.
    named      whether the sentence tells the mistake itself and not only what came of it.
    result     which of several results is wrong.
    variable   the argument that should have been changed otherwise, or not at all.
    pattern    what the guilty line looks like, a regular expression.
    """

    def __init__(
        self, sentence: str, detail: str = "", line: int | None = None, named: bool = False,
        result: int | None = None, variable: str | None = None, pattern: str | None = None,
    ):  # fmt: skip
        super().__init__(sentence)
        self.sentence, self.detail, self.line, self.named = sentence, detail, line, named
        self.result, self.variable, self.pattern = result, variable, pattern


def fit(got: Any, expected: Any, what: str, result: int | None = None) -> Any:
    """`got` as arrays, in the form of `expected`; raises Wrong when it has another form.

    Where nothing is to be returned anything may be: what counts is the change in place.
    """
    if expected is None:
        return None
    place = {"result": result}
    if got is None:
        sentence = f"{what} is None, which is what a function without a return gives"
        raise Wrong(sentence, pattern=r"\bprint\(", **place)  # shown, and not handed back
    if isinstance(expected, tuple):
        if not isinstance(got, (tuple, list)) or len(got) != len(expected):
            found = str(len(got)) if isinstance(got, (tuple, list)) else f"one {type(got).__name__}"
            sentence = f"{what} must be {len(expected)} results, and is {found}"
            raise Wrong(sentence, named=True, pattern=r"\breturn\b")
        shapes = [np.shape(e) for e in expected]
        if _shapes(got) != shapes and sorted(_shapes(got)) == sorted(shapes):
            sentence = f"{what} has the shapes of its {len(shapes)} results in another order"
            raise Wrong(sentence, named=True, pattern=r"\breturn\b")
        pairs = enumerate(zip(got, expected))
        return tuple(fit(g, e, f"{what}, result {i},", i) for i, (g, e) in pairs)
    if not isinstance(expected, (np.ndarray, np.generic, float)):
        return _plain(got, expected, what)
    if isinstance(got, np.ma.MaskedArray):
        sentence = f"{what} is a masked array, of which what is masked is nothing: give an array"
        raise Wrong(sentence, named=True, **place)
    try:
        array = np.asarray(got)
    except ValueError:
        raise Wrong(f"{what} is a ragged list: its rows differ in length", **place) from None
    except Exception as error:  # noqa: BLE001  a tensor of some library, which says so in any way
        kind, said = type(got).__name__, str(error).partition("\n")[0]
        sentence = f"{what} is a {kind}, which does not become an array ({said})"
        raise Wrong(sentence, named=True, **place) from None
    if array.dtype.kind not in "biuf":
        kind = f"an array of {array.dtype}" if array.ndim else f"of type {type(got).__name__}"
        raise Wrong(f"{what} is {kind} and not an array of real numbers", **place)
    whole = np.asarray(expected).dtype.kind in "iu"
    has_dtype = array.size or isinstance(got, np.ndarray)  # [] has none of its own
    if whole and has_dtype and array.dtype.kind not in "iu":
        more = "" if array.size else ": an empty np.array([]) is of floats"
        sentence = f"{what} holds {array.dtype} and must hold integers{more}"
        raise Wrong(sentence, named=True, **place)
    if array.shape != np.shape(expected):
        sentence = f"{what} has shape {array.shape} and must have shape {np.shape(expected)}"
        raise Wrong(sentence, named=True, **place)
    return array


def _shapes(results: Any) -> list[tuple[int, ...]]:
    """The shapes of several results; none where one of them is ragged."""
    try:
        return [np.shape(result) for result in results]
    except Exception:  # noqa: BLE001  see `fit`
        return []


def _plain(got: Any, expected: Any, what: str) -> Any:
    """Lists of tokens, dicts of counts: only the kind is looked at here."""
    if isinstance(expected, list) and isinstance(got, tuple):
        return list(got)
    if isinstance(expected, int) and isinstance(got, np.integer):
        return int(got)
    if not isinstance(got, type(expected)):
        kinds = type(got).__name__, type(expected).__name__
        raise Wrong(f"{what} is of type {kinds[0]} and must be of type {kinds[1]}", named=True)
    return got


def difference(got: Any, expected: Any, by_row: bool = False) -> str | None:
    """Where two answers of one form differ first, in words; None when they agree.

    Rounding is allowed for beside the largest number of the answer, or, `by_row`, of the row.
    """
    if isinstance(expected, tuple):
        for position, (g, e) in enumerate(zip(got, expected)):
            found = difference(g, e, by_row)
            if found:
                return f"result {position} {found}"
        return None
    if not isinstance(expected, (np.ndarray, np.generic, float)):
        return None if got == expected else f"is {got!r} and should be {expected!r}"
    kind, whole = np.asarray(got).dtype, np.asarray(expected).dtype.kind in "iu"
    unlike = whole & (np.asarray(got) != np.asarray(expected))  # which a float may not tell
    got, expected = np.asarray(got, float), np.asarray(expected, float)
    sizes = np.where(np.isfinite(expected), np.abs(expected), 0)
    axis = -1 if by_row and sizes.ndim else None
    allowed = RTOL * sizes.max(axis=axis, keepdims=True, initial=1e-12)
    with np.errstate(invalid="ignore"):
        off = ~((np.abs(got - expected) <= allowed) | (got == expected))
    off &= ~(np.isnan(got) & np.isnan(expected))
    off |= unlike
    if not off.any():
        return None
    at = tuple(int(i) for i in np.argwhere(off)[0])
    where = f"at [{', '.join(map(str, at))}] " if at else ""
    said, right = told_apart(got[at], expected[at], 6)
    close = abs(got[at] - expected[at]) < ROUNDED * abs(expected[at])
    why = f": it is rounded to {kind}, compute in float64" if close and kind.itemsize < 8 else ""
    return f"{where}is {said} and should be {right}{why}"


def untouched(value: Any, before: Any) -> bool:
    """Whether an argument is still what it was, to the last bit."""
    if isinstance(before, np.ndarray):
        return np.array_equal(value, before, equal_nan=True)
    if isinstance(before, (list, tuple)):
        return len(value) == len(before) and all(map(untouched, value, before))
    return value == before


def shown(name: str, value: Any) -> str:
    """`name = value`, an array laid out below its name and cut to a few lines."""
    if isinstance(value, (list, tuple)) and any(isinstance(part, np.ndarray) for part in value):
        return "\n".join(shown(f"{name}[{k}]", part) for k, part in enumerate(value))
    if not isinstance(value, np.ndarray):
        return f"{name} = {value!r:.300}"
    text = np.array2string(value, precision=4, threshold=40, edgeitems=2, separator=", ")
    lead = " " * (len(name) + 3)
    return f"{name} = " + text.replace("\n", f"\n{lead}")


def told(arguments: Mapping[str, Any]) -> str:
    """The arguments of a call, one below the other."""
    return "\n".join(shown(name, value) for name, value in arguments.items())
