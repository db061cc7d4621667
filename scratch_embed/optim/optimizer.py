"""Optimizer: what all optimisers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from scratch_embed import kernels
from scratch_embed.rows import RowGrad
from scratch_embed.tensor import Tensor


class Optimizer:
    """Keeps the parameters and, for each, a dict of state arrays."""

    def __init__(self, params: Iterable[Tensor], lr: float, weight_decay: float = 0.0):
        if isinstance(params, Tensor):
            raise TypeError("params is one Tensor; put it in a list: [tensor]")
        params = list(params)
        if not params:
            raise ValueError("params is empty: there is nothing to learn")
        for position, param in enumerate(params):
            if not isinstance(param, Tensor):
                raise TypeError(f"params[{position}] is a {type(param).__name__}, not a Tensor")
            if param.node is not None:
                raise ValueError(
                    f"params[{position}] was computed (by {param.node.name}) and collects no "
                    "gradient; pass the tensors that it was computed from"
                )
        self.params = list({id(p): p for p in params}.values())  # a tied table takes one step
        if not (np.isfinite(lr) and lr >= 0):
            raise ValueError(f"lr is {lr!r}; a step size is finite and not negative")
        if not (np.isfinite(weight_decay) and weight_decay >= 0):
            raise ValueError(f"weight_decay is {weight_decay!r}; it must be finite and >= 0")
        self.lr = lr
        self.weight_decay = weight_decay
        self.state = [{} for _ in self.params]

    def zero_grad(self) -> None:
        """Forget all gradients. Backward only ever adds, so forgetting is your decision."""
        for param in self.params:
            param.grad = None

    def step(self) -> None:
        """Move every parameter that has a gradient, in place."""
        for param, state in zip(self.params, self.state):
            if param.requires_grad and param.grad is not None:
                if param.grad.shape != param.shape:
                    raise ValueError(
                        f"gradient of shape {param.grad.shape} for a tensor of shape {param.shape}"
                    )
                self._update(param.data, param.grad, state)

    def _update(self, data: np.ndarray, grad: np.ndarray | RowGrad, state: dict) -> None:
        raise TypeError(f"{type(self).__name__} has no rule of its own; use SGD, Adam, ...")

    def _dense_only(self, grad, instead: str) -> None:
        if isinstance(grad, RowGrad):
            raise TypeError(
                f"{type(self).__name__} moves every row at every step, also rows that this "
                f"RowGrad does not name; use {instead}, or grad.to_dense() to pay for all rows"
            )


def _kept(state: dict, name: str, data: np.ndarray) -> np.ndarray:
    """The state array of this name; zeros like data the first time."""
    if name not in state:
        state[name] = np.zeros_like(data)
    if state[name].shape != data.shape:
        raise ValueError(
            f"state[{name!r}] has shape {state[name].shape}; it must be that of what it keeps "
            f"account of, {data.shape}"
        )
    return state[name]


def _step_rows(rule: Callable, grad: RowGrad, data: np.ndarray, *state_and_numbers) -> None:
    """Run one of `step_loops` for the rows of grad: gradient and step in one go."""
    kernels.step_rows(rule, *grad.grouped(), data, *state_and_numbers)
