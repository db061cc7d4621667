"""Optimisers: how a gradient becomes a step.

Each takes the tensors to learn, and reads their `.grad`. A `RowGrad` is welcome where the rule
can be followed for the named rows alone without changing its meaning; where it cannot, the
optimiser says so and names the one that can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from scratch_embed import kernels
from scratch_embed.kernels import step_loops
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


class SGD(Optimizer):
    """Stochastic gradient descent:   w -= lr g

    With `momentum` m the step follows v = m v + g instead of g, as in PyTorch; with
    `weight_decay` c the gradient is g + c w. Both move rows that the batch never named, so both
    refuse a RowGrad. Without them a RowGrad changes the named rows and nothing else: all other
    rows stay the same to the last bit.
    """

    def __init__(self, params, lr: float, momentum: float = 0.0, weight_decay: float = 0.0):
        super().__init__(params, lr, weight_decay)
        if not 0 <= momentum < 1:
            raise ValueError(f"momentum is {momentum!r}; it must lie in [0, 1)")
        self.momentum = momentum

    def _update(self, data, grad, state):
        if self.momentum or self.weight_decay:
            self._dense_only(grad, "SGD without momentum and weight_decay")
        if isinstance(grad, RowGrad):
            _step_rows(step_loops.sgd, grad, data, data.dtype.type(self.lr))
            return
        if self.weight_decay:
            grad = grad + self.weight_decay * data
        if self.momentum:
            velocity = _kept(state, "velocity", data)
            velocity *= self.momentum
            velocity += grad
            grad = velocity
        data -= data.dtype.type(self.lr) * grad


class Adagrad(Optimizer):
    """Duchi, Hazan & Singer 2011:   s += g^2,   w -= lr g / (sqrt(s) + eps)

    A row without gradient neither moves nor changes its s, so following a RowGrad row by row is
    the same algorithm, and not an approximation of it.
    """

    def __init__(self, params, lr: float = 0.01, eps: float = 1e-10):
        super().__init__(params, lr)
        self.eps = eps

    def _update(self, data, grad, state):
        total, number = _kept(state, "sum", data), data.dtype.type
        if isinstance(grad, RowGrad):
            numbers = number(self.lr), number(self.eps)
            _step_rows(step_loops.adagrad, grad, data, total, *numbers)
            return
        total += grad * grad
        data -= self.lr * grad / (np.sqrt(total) + self.eps)


class RowAdagrad(Adagrad):
    """Adagrad with one number a row:   s += mean of g^2 over the row,   w -= lr g / (sqrt(s) + eps)

    It keeps V numbers where Adagrad keeps V D. FBGEMM trains the tables of recommenders with it,
    as "exact row-wise Adagrad". It is another algorithm: all columns of a row share a step size.
    """

    def _update(self, data, grad, state):
        if data.ndim != 2:
            raise ValueError(f"RowAdagrad moves tables (V, D); a parameter has shape {data.shape}")
        total, number = _kept(state, "sum", data[:, 0]), data.dtype.type
        if isinstance(grad, RowGrad):
            numbers = number(self.lr), number(self.eps)
            _step_rows(step_loops.row_adagrad, grad, data, total, *numbers)
            return
        total += (grad * grad).mean(axis=1)
        data -= (self.lr / (np.sqrt(total) + self.eps))[:, None] * grad


class Adam(Optimizer):
    """Kingma & Ba 2015, for step t = 1, 2, ...

        m = b1 m + (1 - b1) g            w -= lr m' / (sqrt(v') + eps)
        v = b2 v + (1 - b2) g^2          m' = m / (1 - b1^t),   v' = v / (1 - b2^t)

    A row whose gradient is zero today still moves, for m remembers yesterday: that is why Adam
    wants a dense gradient. `weight_decay` c adds c w to the gradient; see AdamW for the other way.
    """

    def __init__(
        self,
        params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        super().__init__(params, lr, weight_decay)
        for position, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(f"betas[{position}] is {beta!r}; it must lie in [0, 1)")
        self.betas = betas
        self.eps = eps

    def _update(self, data, grad, state):
        self._dense_only(grad, "LazyAdam")
        if self.weight_decay:
            grad = grad + self.weight_decay * data
        self._move(data, grad, state)

    def _move(self, data, grad, state):
        """Follow the rule for all rows, or for those that a RowGrad names."""
        b1, b2 = self.betas
        m, v = _kept(state, "m", data), _kept(state, "v", data)
        t = state["t"] = state.get("t", 0) + 1
        if isinstance(grad, RowGrad):
            single = (self.lr, self.eps, b1, b2, 1 - b1, 1 - b2, 1 - b1**t, 1 - b2**t)
            lr, eps, *pairs = map(data.dtype.type, single)
            pairs = tuple(pairs[:2]), tuple(pairs[2:4]), tuple(pairs[4:])
            _step_rows(step_loops.adam, grad, data, m, v, lr, eps, *pairs)
            return
        m[...] = b1 * m + (1 - b1) * grad
        v[...] = b2 * v + (1 - b2) * grad * grad
        m_hat, v_hat = m / (1 - b1**t), v / (1 - b2**t)
        data -= self.lr * m_hat / (np.sqrt(v_hat) + self.eps)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019):   w -= lr c w   and the step.

    The decay touches every row at every step, looked up or not.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay: float = 0.01):
        super().__init__(params, lr, betas, eps, weight_decay)

    def _update(self, data, grad, state):
        self._dense_only(grad, "LazyAdam")
        data *= data.dtype.type(1 - self.lr * self.weight_decay)
        self._move(data, grad, state)


class LazyAdam(Adam):
    """Adam that updates m, v and w of the rows in a RowGrad only, as torch.optim.SparseAdam does.

    It is another algorithm than Adam: a row that is not in the batch does not coast on its old m,
    and its m and v do not fade. The bias correction counts all steps. A dense gradient is taken
    to name every row.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(params, lr, betas, eps)

    def _update(self, data, grad, state):
        self._move(data, grad, state)
