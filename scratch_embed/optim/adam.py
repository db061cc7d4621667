"""Adam, with decoupled weight decay, and for the rows of a batch alone."""

from __future__ import annotations

import numpy as np

from scratch_embed.kernels import step_loops
from scratch_embed.optim.optimizer import Optimizer, _kept, _step_rows
from scratch_embed.rows import RowGrad


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
