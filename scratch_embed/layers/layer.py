"""Layer: what every layer made of weights and of other layers shares."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scratch_embed.tensor import Tensor


class Layer:
    """Finds its weights and parts among its own attributes, in the order they were set.

    A constructor sets Tensors and layers as attributes, and ends with `name_weights()`, after
    which each weight is called by its path: "token.weight", "norm.gamma".
    """

    training = True

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """(path, weight) for every weight; one that is shared comes under each of its paths."""
        return _walk(self, "")

    def parameters(self) -> list[Tensor]:
        """Every weight once, so that a shared table takes one step and not two."""
        return list({id(tensor): tensor for _, tensor in self.named_parameters()}.values())

    def num_parameters(self) -> int:
        """How many numbers there are to learn."""
        return sum(tensor.size for tensor in self.parameters())

    def name_weights(self) -> None:
        """Call each weight by its path, and a shared one by its first."""
        paths: dict[int, str] = {}
        for path, tensor in self.named_parameters():
            tensor.name = paths.setdefault(id(tensor), path)

    def train(self, mode: bool = True):
        """Switch dropout on, in this layer and all its parts. Returns the layer."""
        self.training = mode
        for part in vars(self).values():
            if isinstance(part, Layer):
                part.train(mode)
        return self

    def eval(self):
        """Switch dropout off. Returns the layer."""
        return self.train(False)


def _walk(owner: object, prefix: str) -> Iterator[tuple[str, Tensor]]:
    for name, part in vars(owner).items():
        if isinstance(part, Tensor):
            yield prefix + name, part
        elif hasattr(part, "parameters"):
            yield from _walk(part, f"{prefix}{name}.")


def weight(array: np.ndarray, dtype: type, name: str) -> Tensor:
    """A Tensor to learn, of float32 or float64."""
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise TypeError(f"dtype is {np.dtype(dtype)}; weights are float32 or float64")
    return Tensor(np.asarray(array, dtype), requires_grad=True, name=name)
