"""What an id is: a whole number that names a row of a table, 0 .. V-1.

This is the one place that says so. Everything that takes ids sends them through `check_ids` first,
because the compiled loops do not look: an id that is out of range would read or overwrite memory
that belongs to something else, and a negative one would quietly mean a row counted from the end.
"""

from __future__ import annotations

import numpy as np

from scratch_embed.arguments import check_unmasked, is_whole, ragged

INT64 = np.dtype(np.int64)
WAY_OUT = (
    "Pad the shorter rows with a padding id, or look each row up on its own; bags may be told by "
    "their offsets."
)


def check_ids(ids, num_rows: int, name: str = "ids") -> np.ndarray:
    """The ids as a C-contiguous int64 array of the same shape, each one in 0 .. num_rows - 1.

    ids: any shape, 0-d included, and any integer dtype; arrays, Tensors, (nested) lists and
    single ints. Nothing is copied when they are a C-contiguous int64 array already. An empty
    list is an int64 array of size 0. `name` is what error messages call the argument.

    >>> check_ids([[2, 0], [1, 2]], num_rows=3)
    array([[2, 0],
           [1, 2]])

    Raises TypeError for booleans, floats, text, objects and masked arrays, ValueError for a ragged
    list, and IndexError for an id outside 0 .. num_rows - 1.
    """
    checked = to_int64(ids, num_rows, name)
    # Read as unsigned, a negative id is a huge one: a single maximum looks at both ends.
    if checked.size and _maximum(checked.view(np.uint64)) >= num_rows:
        raise _range_error(integers(ids, num_rows, name), num_rows, name)
    return checked


def check_sequence(ids, num_rows: int, name: str = "ids") -> np.ndarray:
    """`check_ids` of one text: (N,), of a single id (1,).

    Raises ValueError for several texts, as the rows of a batch: the last word of one would be a
    neighbour of the first of the next.
    """
    checked = check_ids(ids, num_rows, name)
    if checked.ndim > 1:
        raise ValueError(
            f"{name} have shape {checked.shape}, and one text is (N,): give rows one at a time, or "
            f"{name}.reshape(-1) where it is one text after all"
        )
    return checked.reshape(-1)


def to_int64(ids, num_rows: int, name: str = "ids") -> np.ndarray:
    """The half of `check_ids` that looks at the type and not at the range.

    For the one caller whose compiled loop looks at the range itself.
    """
    if type(ids) is np.ndarray and ids.dtype is INT64 and ids.flags.c_contiguous:
        return ids
    return np.asarray(integers(ids, num_rows, name), dtype=np.int64, order="C")


def count_ids(ids, num_rows: int = 0, weights=None) -> np.ndarray:
    """How often each row is named                     (...) -> (V,), longer if an id is larger

    With weights, in the shape of ids, every id counts as much as its weight, in float64.

    What NumPy counts, repeats or cuts by must be as wide as a pointer, and int64 is too wide where
    that has 32 bits, as in a browser. So `np.bincount` is called here only.

    >>> count_ids([[2, 0], [2, 2]], num_rows=4).tolist()
    [1, 0, 3, 0]
    """
    flat = np.asarray(ids).reshape(-1).astype(np.intp, copy=False)
    return np.bincount(flat, None if weights is None else np.ravel(weights), num_rows)


def _maximum(array: np.ndarray) -> int:
    """Of a few numbers Python finds it sooner."""
    return max(array.reshape(-1).tolist()) if array.size < 64 else np.maximum.reduce(array, None)


def integers(ids, num_rows: int, name: str) -> np.ndarray:
    """ids as an array of any dtype of integers, or the error that says what they are instead."""
    if type(ids) is np.ndarray and ids.dtype.kind in "iu":  # by far the most frequent case
        return ids
    check_unmasked(ids, name)
    try:
        given = np.asarray(ids)
    except ValueError:
        raise ragged(ids, name, WAY_OUT) from None
    if isinstance(ids, (list, tuple)) and not given.size:
        return given.astype(np.int64)
    if isinstance(ids, (list, tuple)) or given.dtype == object:
        exact = np.asarray(ids, dtype=object)  # before NumPy turned [True, 2] into [1, 2]
        kinds = set(map(type, exact.reshape(-1).tolist()))
        whole = all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds)
        if whole and given.dtype.kind not in "iu":  # too large for 64 bits, objects, or uint64 too
            if ((exact < 0) | (exact >= num_rows)).any():
                raise _range_error(exact, num_rows, name)
            if given.dtype.kind == "f":
                return exact.astype(np.int64)
        other = kinds & {bool, np.bool_} or given.dtype.kind not in "iuf"
        if other or _one_is_a_float(given, exact):
            raise _type_error(exact, num_rows, name)
    if given.dtype.kind not in "iu":
        raise _type_error(given, num_rows, name)
    return given


def _one_is_a_float(given: np.ndarray, exact: np.ndarray) -> bool:
    """Whether whole numbers stand beside floats without a fraction, as in [1, 2.0]."""
    if given.dtype.kind != "f" or not any(map(is_whole, exact.flat)):
        return False
    return bool(np.isfinite(given).all() and (given % 1 == 0).all())


def _range_error(given: np.ndarray, num_rows: int, name: str) -> IndexError:
    """The first id that names no row."""
    index = _first((given < 0) | (given >= num_rows))
    value, at = int(given[index]), _at(name, index)
    if num_rows == 0:
        return IndexError(f"{at} = {value}, but the table has no rows, so no id can be looked up.")
    allowed = f"ids must be in 0..{num_rows - 1} (the table has {num_rows} rows)"
    if value < 0:
        return IndexError(
            f"{at} = {value} is negative: {allowed}. Negative ids would wrap round in NumPy and "
            "read a row counted from the end; give a padding token a row of its own."
        )
    return IndexError(
        f"{at} = {value} is too large: {allowed}. Give the table more rows, or map the ids that it "
        "does not know to one that it has."
    )


def _type_error(given: np.ndarray, num_rows: int, name: str) -> TypeError:
    """The first thing in `given` that is not an integer, and how to get integers from it."""
    wanted = f"ids must be integers in 0..{num_rows - 1}, because an id names a row"
    if not given.size:
        return TypeError(
            f"{name} is empty, but of dtype {given.dtype}: {wanted}. "
            "Write np.array([], dtype=np.int64)."
        )
    if given.dtype.kind == "f":
        return _float_error(given, name, wanted)
    objects = given.astype(object)
    whole = [is_whole(x) for x in objects.flat]
    index = _first(~np.array(whole).reshape(given.shape))
    value, at = objects[index], _at(name, index)
    if all(whole):
        return TypeError(
            f"{at} = {value} is a whole number stored as {given.dtype}: {wanted}. "
            f"Write {name}.astype(np.int64)."
        )
    if isinstance(value, (bool, np.bool_)):
        return TypeError(
            f"{at} = {value} is a boolean: {wanted}. "
            "For the positions where a mask is true write np.flatnonzero(mask)."
        )
    if isinstance(value, (float, np.floating)):
        return TypeError(f"{at} = {value} is a float: {wanted}. Write {value:.0f}.")
    return TypeError(
        f"{at} = {value!r} is of type {type(value).__name__}: {wanted}. "
        "Turn tokens into ids with a vocabulary first."
    )


def _float_error(given: np.ndarray, name: str, wanted: str) -> TypeError:
    """The first float that no cast could save, or the first one when all are whole numbers."""
    finite = np.isfinite(given)
    broken = ~finite | (np.where(finite, given, 0) % 1 != 0)
    index = _first(broken)
    value, at = given[index], _at(name, index)
    if np.isnan(value):
        what = "is not a number"
    elif np.isinf(value):
        what = "is infinite"
    elif broken.any():
        what = "has a fractional part"
    else:
        return TypeError(
            f"{at} = {value} is a whole number stored as {given.dtype}: {wanted}. Floats cannot "
            f"hold every large id: keep them as integers, or write {name}.astype(np.int64)."
        )
    return TypeError(
        f"{at} = {value} {what} (dtype {given.dtype}): {wanted}. "
        "Something was computed with the ids; keep them apart from the numbers."
    )


def _first(where: np.ndarray) -> tuple[int, ...]:
    """The index of the first True, or of the first element when there is none."""
    return tuple(int(i) for i in np.unravel_index(np.argmax(where), where.shape))


def _at(name: str, index: tuple[int, ...]) -> str:
    """'ids[1, 3]', and plain 'ids' for a single id."""
    return f"{name}[{', '.join(map(str, index))}]" if index else name
