"""Adagrad: a step size for every number, and for every row."""

from __future__ import annotations

import numpy as np

from scratch_embed.kernels import step_loops
from scratch_embed.optim.optimizer import Optimizer, _kept, _step_rows
from scratch_embed.rows import RowGrad


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
