"""Adagrad: a step size for every number, and for every row."""

from __future__ import annotations

import numpy as np

from scratch_embed.kernels import step_loops, step_rows
from scratch_embed.optim.optimizer import Optimizer
from scratch_embed.optim.options import Number


class Adagrad(Optimizer):
    """Duchi, Hazan & Singer 2011:   s += g^2,   w -= lr g / (sqrt(s) + eps)

    Parameters
    ----------
    params : the Tensors to learn, or groups of them: see `Optimizer`.
    lr : the step size, >= 0.
    eps : keeps a number whose gradients were all tiny from dividing by 0, >= 0.

    A row without gradient neither moves nor changes its s, so following a RowGrad row by row is
    the same algorithm, and not an approximation of it. Raises as every `Optimizer` does.

    >>> from scratch_embed import Tensor
    >>> w = Tensor([1.0], requires_grad=True)
    >>> optimizer = Adagrad([w], lr=0.1)
    >>> for g in (3.0, 4.0):                     # s = 9, then 25: steps of 0.1 3/3 and 0.1 4/5
    ...     w.grad = np.array([g])
    ...     optimizer.step()
    >>> w.data.round(6).tolist()
    [0.82]
    """

    eps = Number()

    def __init__(self, params, lr: float = 0.01, eps: float = 1e-10):
        super().__init__(params, lr=lr, eps=eps)

    def _keeps(self, shape, options):
        return {"sum": shape}

    def _follow(self, w, g, s, *, t, lr, eps):
        s += g * g
        w -= lr * g / (np.sqrt(s) + eps)

    def _follow_rows(self, w, values, groups, s, *, t, lr, eps):
        number = w.dtype.type
        step_rows(step_loops.adagrad, values, groups, w, s, number(lr), number(eps))

    def _same_in_rows(self, options):
        return True


class RowAdagrad(Adagrad):
    """Adagrad with one number a row:   s += mean of g^2 over the row,   w -= lr g / (sqrt(s) + eps)

    It keeps V numbers where Adagrad keeps V D. FBGEMM trains the tables of recommenders with it,
    as "exact row-wise Adagrad". It is another algorithm: all columns of a row share a step size.

    Parameters and errors are those of `Adagrad`, and a parameter that is no table (V, D) raises
    ValueError.

    >>> from scratch_embed import Tensor
    >>> w = Tensor([[1.0, 1.0]], requires_grad=True)
    >>> optimizer = RowAdagrad([w], lr=0.1)
    >>> w.grad = np.array([[1.0, 7.0]])          # s = (1 + 49) / 2 = 25
    >>> optimizer.step()                         # 0.1 1/5 and 0.1 7/5
    >>> w.data.round(6).tolist()
    [[0.98, 0.86]]
    """

    def _keeps(self, shape, options):
        if len(shape) != 2:
            raise ValueError(f"RowAdagrad moves tables (V, D); a parameter has shape {shape}")
        return {"sum": shape[:1]}

    def _follow(self, w, g, s, *, t, lr, eps):
        s += (g * g).mean(axis=1)
        w -= (lr / (np.sqrt(s) + eps))[:, None] * g

    def _follow_rows(self, w, values, groups, s, *, t, lr, eps):
        number = w.dtype.type
        step_rows(step_loops.row_adagrad, values, groups, w, s, number(lr), number(eps))

    def _same_in_rows(self, options):
        return False  # a mean is summed in another order
