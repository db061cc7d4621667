"""Checkpoints: what a training needs to go on, in one file.

    checkpoint.save("run.npz", model=model.state_dict(), optimizer=optimizer.state_dict(),
                    step=700, rng=rng.bit_generator.state)
    saved = checkpoint.load("run.npz")
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    rng.bit_generator.state = saved["rng"]

The file is NumPy's .npz. Each array lies in it under its path, "model/token.weight", for whoever
opens it with np.load; everything else is one line of JSON. Nothing is pickled, so nothing in a
file can run; and a file is written whole or not at all.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Mapping

import numpy as np

from scratch_embed.arguments import check_unmasked
from scratch_embed.files import BAD_NPZ, from_json, open_regular, read_array, replacing

PLAIN = "plain"  # the entry that holds what is no array
ZIP = b"PK\x03\x04"  # how a .npz file begins
ARRAY = "array at"  # stands in its JSON where an array was
TAKEN = {PLAIN, "file", "allow_pickle"}  # np.savez has arguments of these names
LONGEST = 10_000  # letters of a name; a zip file has room for 65,535 bytes


def save(path: str | os.PathLike, **parts) -> None:
    """Write the parts to `path`: arrays, numbers, strings, None, and lists and dicts of them.

    Raises TypeError for anything else, with its path, and ValueError for a dict whose keys are no
    strings or that is {"array at": ...} alone, or that holds itself; OSError as writing does. The
    file that was there stays until the new one is complete.
    """
    arrays: dict[str, np.ndarray] = {}
    try:
        plain = json.dumps(_without_arrays(parts, "", arrays))
    except RecursionError:
        raise ValueError(
            "the parts hold one another in a circle, or hundreds deep; a checkpoint holds trees"
        ) from None
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **{PLAIN: np.array(plain)}, **arrays)


def load(path: str | os.PathLike) -> dict:
    """The parts of a checkpoint, as they were given to `save` (tuples come back as lists).

    Raises FileNotFoundError, OSError for what is no regular file, and ValueError for a file that
    is cut off, damaged, or was written by something else.
    """
    with open_regular(path) as file:
        if file.read(len(ZIP)) != ZIP:  # NumPy would take it for a pickle, and say how to run it
            raise ValueError(
                f"{path} is no checkpoint, or only a part of one: it does not begin as a .npz file "
                "does. Take an earlier one, or begin anew."
            )
        file.seek(0)
        try:
            with zipfile.ZipFile(file) as entries:
                names = entries.namelist()
                if any(e.compress_type != zipfile.ZIP_STORED for e in entries.infolist()):
                    raise ValueError("it is packed, and may hold more than there is room for")
                arrays = {name.removesuffix(".npy"): read_array(entries, name) for name in names}
            for array in arrays.values():
                if array.dtype.kind == "U":
                    array.tolist()  # raises an error where a number is no letter
            parts = _with_arrays(from_json(str(arrays.pop(PLAIN))), arrays)
            if not isinstance(parts, dict):
                raise TypeError(f"it holds a {type(parts).__name__} and no parts with names")
            return parts
        except BAD_NPZ as error:
            raise ValueError(
                f"{path} is no checkpoint, or only a part of one ({type(error).__name__}: "
                f"{error}). Take an earlier one, or begin anew."
            ) from None


def _without_arrays(value, where: str, arrays: dict[str, np.ndarray]):
    """The value in types that JSON has; its arrays are put into `arrays` under their paths."""
    if isinstance(value, np.ndarray):
        check_unmasked(value, where)
        if value.dtype.hasobject:
            raise TypeError(f"{where} is an array of {value.dtype}; objects are not written")
        name = _entry_name(where, arrays)
        arrays[name] = value
        return {ARRAY: name}
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ValueError(f"{where} is a dict whose keys are not all strings")
        if list(value) == [ARRAY]:
            raise ValueError(f"{where} is a dict of {ARRAY!r} alone, which marks an array")
        return {k: _without_arrays(v, f"{where}/{k}".lstrip("/"), arrays) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_arrays(v, f"{where}/{k}", arrays) for k, v in enumerate(value)]
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":  # a time is no number
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    way = next((name for name in ("state_dict", "numpy") if hasattr(value, name)), None)
    raise TypeError(
        f"{where} is of type {type(value).__name__}; a checkpoint holds arrays, numbers, strings, "
        f"None, and lists and dicts of them{way and f': give its {way}()' or ''}"
    )


def _entry_name(where: str, arrays: Mapping) -> str:
    """The path of an array as a name that a zip file and np.load give back, and no other has.

    (np.load takes a ".npy" off the end.)

    >>> _entry_name("model/a b:c", {})
    'model/a_b_c'
    """
    name = re.sub(r"[^\w./-]", "_", where[:LONGEST])
    while not name or name in arrays or name in TAKEN or name.endswith(".npy"):
        name += "_"
    return name


def _with_arrays(value, arrays: dict[str, np.ndarray]):
    if isinstance(value, dict):
        if list(value) == [ARRAY]:
            return arrays[value[ARRAY]]
        return {key: _with_arrays(inner, arrays) for key, inner in value.items()}
    return [_with_arrays(inner, arrays) for inner in value] if isinstance(value, list) else value
