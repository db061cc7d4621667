"""What may take a weight's place in a layer."""

from __future__ import annotations

import warnings

from scratch_embed.tensor import Tensor


def succeed(path: str, learned: bool, value: object) -> None:
    """Let a value take a weight's place: a Tensor without a way back, which learns if that did.

    Raises TypeError for all else. A mean that goes along with the batches is computed anew each
    time, and saved as ever.
    """
    what = "a Tensor" if isinstance(value, Tensor) else f"a {type(value).__name__}"
    if isinstance(value, Tensor):
        if value.node is None and (value.requires_grad or not learned):
            value.computed = False
            return
        what += " with a way back" * (value.node is not None)
    if not learned:
        raise TypeError(
            f"{path} is saved with the layer, and {what} in its place would not be: write "
            f"layer.{path}.data[...] = array for other numbers, layer.{path} = x.detach() for "
            "what was computed, and begin with None what is not to be saved"
        )
    raise TypeError(
        f"{path} is a weight, and {what} in its place would be no weight: write "
        f"layer.{path}.data[...] = array for other numbers, layer.{path}.requires_grad = "
        f"False to freeze it, layer.{path} = Tensor(array, requires_grad=True) for "
        "another, which neither a head that is tied to the old one nor an optimiser that has "
        f"it goes on with, and layer.{path} = None before one that is frozen"
    )


def warn_of_another(path: str, before: Tensor, value: object) -> None:
    """Of a new Tensor in a learned weight's place: whoever has the old one goes on with it.

    One with a name is the weight of another layer, as of a head that is tied by hand.
    """
    another = isinstance(value, Tensor) and value is not before and value.name is None
    if another and before.requires_grad:
        warnings.warn(
            f"{path} is another Tensor from now on: a layer that shares the old one, and an "
            f"optimiser made before, go on with the old one. Write layer.{path}.data[...] = array "
            "for other numbers in the same weight",
            stacklevel=3,
        )
