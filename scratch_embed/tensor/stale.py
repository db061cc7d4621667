"""A warning where a gradient is that of a weight as it was before an optimiser's step."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from scratch_embed.watch import any_step_since, owner, stepped_since

if TYPE_CHECKING:
    from scratch_embed.tensor.tape import Node


def warn_of_steps(node: Node, whole: np.ndarray | None) -> None:
    """Warn of a weight that has taken a step since this line of the tape was written, though its
    backward does not need the numbers; also where the operation took a view of the weight.

    whole : the array that holds what it computed, where there still is one. Of what makes a view,
        E.T, nothing is said: it has the numbers of now.
    """
    if not any_step_since(node.line):
        return
    for given in node.inputs:
        weight = given.origin() if getattr(given, "requires_grad", False) else None
        if weight is None or weight.node or not stepped_since(weight.data, node.line):
            continue
        if owner(weight.data) is not whole:
            warnings.warn(
                f"{node.name} took {weight.name or 'a weight'} as it was before an optimiser's "
                "last step, and its gradient is of then: compute anew in every step what is made "
                "of weights, and detach() what is carried on",
                RuntimeWarning,
                stacklevel=4,
            )
