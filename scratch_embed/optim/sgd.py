"""Plain gradient descent, and with momentum."""

from __future__ import annotations

from scratch_embed.kernels import step_loops
from scratch_embed.optim.optimizer import Optimizer, _kept, _step_rows
from scratch_embed.rows import RowGrad


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
