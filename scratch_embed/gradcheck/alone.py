"""One operation by itself: its forward run again, its derivative, and whether backward is that.

What backward contributed to an input is held against nudging this input alone, with the dout that
arrived at the operation. So one that is wrong is told from those that only pass its mistake on.
"""

from __future__ import annotations

import contextlib
from typing import NamedTuple

import numpy as np

from scratch_embed.gradcheck.beside import AT_MOST, TOO_MANY
from scratch_embed.gradcheck.data import holding
from scratch_embed.gradcheck.kinks import takes_a_side
from scratch_embed.gradcheck.nudged import agrees_along, gradient, may_be, measured
from scratch_embed.gradcheck.numeric import Line, Loss
from scratch_embed.gradcheck.piece import is_of_a_piece
from scratch_embed.gradcheck.place import Place
from scratch_embed.gradcheck.predictions import close
from scratch_embed.gradcheck.surrogates import has_options, stated_gradient
from scratch_embed.gradcheck.walk import Part, of_lookup, plain, same_bits
from scratch_embed.tensor import Tensor

MANY = 512  # entries of one tensor that are nudged without a look along a direction before


def too_many(part: Part) -> bool:
    """Whether nudging each entry of its input would take long: all of it runs for each."""
    size = part.tensor.size
    return size > TOO_MANY and size * (size + part.out.size) > AT_MOST


def right_alone(part: Part) -> np.ndarray | None:
    """What this contribution should be, by this operation alone; None where that cannot be told.

    On kinks and at corners several are right, and the one that it gave may be one of them. Of many
    numbers the one that it gave is taken, if it is the slope along a random direction.
    """
    if part.tensor.size > MANY and is_right_along(part):
        return part.grad
    right = of_lookup(part) if part.tensor.size > MANY else None
    if right is None and not too_many(part) and repeats(part):
        right = _as_far_as_nudges_tell(part)
    if right is not None and has_options(part):
        true, stated, _ = stated_gradient(part)
        right = stated if close(right, true) else right - (true - stated)  # which leaves rounding
    if right is None or close(part.grad, right):
        return right
    # The complex step leaves as much as that out of var.
    same = close(part.grad, right, 1e-6) and is_right_along(part)
    return part.grad if same or takes_a_side(part, right) or _is_of_a_piece(part, right) else right


def is_right_along(part: Part) -> bool:
    """Whether what it gave is the slope along a random direction, as far as one can ask for it."""
    asked = part.tensor.dtype.kind == "f" and not has_options(part) and repeats(part)
    return asked and agrees_along(loss_alone(part), part.grad)


def runs_again(part: Part) -> bool:
    """Whether its forward can be run again alone, for each entry of its input nudged."""
    return part.tensor.dtype.kind == "f" and not too_many(part) and repeats(part)


def derivative(part: Part, like: np.ndarray | None = None) -> np.ndarray | None:
    """The derivative of one operation by itself, or None when its forward cannot be run again."""
    loss = loss_alone(part)
    return gradient_like(loss, *loss.tensors, like) if repeats(part) else None


@np.errstate(all="ignore")  # infinity less infinity, of what is masked
def _as_far_as_nudges_tell(part: Part) -> np.ndarray:
    """The same; where they are too coarse to tell it from what backward made, that."""
    loss = loss_alone(part)
    right, noise = measured(loss, *loss.tensors)
    return np.where(np.abs(part.grad - right) <= 8 * noise, part.grad, right)


def repeats(part: Part) -> bool:
    """Whether its forward, run again alone, gives the same bits."""
    loss = loss_alone(part)
    with contextlib.suppress(Exception):  # it is not the same function at every call
        return same_bits(loss.fn(*loss.tensors).data, part.out)
    return False


def loss_alone(part: Part) -> Loss:
    """What arrives at its output times what it answers, as a function of its input."""
    node = part.node
    inputs = [Tensor(v.data) if isinstance(v, Tensor) else v for v in node.inputs]

    def run(_) -> Tensor:
        return Tensor(node.forward(*map(plain, inputs), **node.options)[0])

    return Loss(run, (inputs[part.place],), part.dout)


class _Alone(NamedTuple):
    """One operation by itself, with what `is_of_a_piece` asks a `Point` for."""

    loss: Loss
    checked: list[Tensor]
    grads: list[np.ndarray]
    noise: float
    original: dict[Tensor, np.ndarray]

    def line(self, tensor: Tensor, index=None, direction=None) -> Line:
        return Line(self.loss, tensor, index, direction)


def _is_of_a_piece(part: Part, right: np.ndarray) -> bool:
    """Whether backward is right a little beside where its input stands."""
    wrong = np.argwhere(np.abs(part.grad - right) > 1e-7 * np.abs(right).max(initial=0))
    if part.tensor.dtype.kind != "f" or not np.isfinite(part.grad).all() or not len(wrong):
        return False
    loss = loss_alone(part)
    with holding(list(loss.tensors)):
        point = _Alone(loss, list(loss.tensors), [part.grad], loss.rounding(), {})
        return is_of_a_piece(point, [Place(0, tuple(at)) for at in wrong])


def gradient_like(loss: Loss, tensor: Tensor, like: np.ndarray | None) -> np.ndarray | None:
    """Each entry nudged; None where along one direction already it is not what is hoped for."""
    return gradient(loss, tensor) if like is None or may_be(loss, tensor, like) else None
