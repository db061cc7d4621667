"""State arrays: they may come from outside, such as from a file or from arrays on disk."""

from __future__ import annotations

import numpy as np


def check_state(name: str, array, shape: tuple[int, ...], dtype: np.dtype) -> None:
    """TypeError or ValueError for what cannot be the state array of that name."""
    fits = isinstance(array, np.ndarray) and array.dtype.kind == dtype.kind
    if not fits or array.dtype.char not in "fdFD" or not array.dtype.isnative:
        kind = getattr(array, "dtype", type(array).__name__)
        raise TypeError(f"state[{name!r}] is of {kind}; it must be an array of {dtype}")
    if array.shape != shape:
        raise ValueError(
            f"state[{name!r}] has shape {array.shape}; it must be that of what it keeps account "
            f"of, {shape}"
        )
    if not array.flags.writeable:
        raise ValueError(f"state[{name!r}] is read-only; pass an array that can change")


def native(dtype: np.dtype) -> np.dtype:
    """The dtype with its bytes in the order of this machine."""
    return dtype.newbyteorder("=")
