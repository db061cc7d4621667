"""Whole numbers become floats where an answer need not be whole.

Operations that add, multiply or move numbers keep integers, as NumPy does. Those that divide,
scale, take a root or an exponential send their input through `floating` first: an array made in
the dtype of an integer input would cut every answer down to a whole number, without a word.
"""

from __future__ import annotations

import numpy as np

from scratch_embed.arguments import array_of


def floating(array, name: str = "x") -> np.ndarray:
    """`array` as an array of floating point: integers and booleans become float64.

    Lists become arrays too, and float16 becomes float32: a sum of 70,000 ones is infinite in
    float16. What else is floating already, complex included, is handed back as it is. `name` is
    what the error calls the argument. Raises TypeError for anything but numbers.

    >>> floating([1, 2]).tolist()
    [1.0, 2.0]
    """
    array = array_of(array, name)
    if array.dtype == np.float16:
        return array.astype(np.float32)
    if array.dtype.kind in "fc":
        return array
    if array.dtype.kind in "biu":
        return array.astype(np.float64)
    raise TypeError(f"{name} is not an array of numbers: NumPy made it {array.dtype}")


def check_learnable(dtype: np.dtype, op: str | None = None) -> None:
    """TypeError for a tensor of whole numbers, or what `op` answered in such: its gradient would be
    cut down to them as well."""
    if dtype.kind not in "fc":
        if op is not None:
            raise TypeError(
                f"{op} answered in {dtype}, through which no gradient goes back: let its forward "
                "answer in floating point, or end the way back there with .detach()"
            )
        raise TypeError(
            f"a tensor of {dtype} cannot require a gradient: "
            "derivatives need floating point, e.g. data.astype(np.float64)"
        )
