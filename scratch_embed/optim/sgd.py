"""Plain gradient descent, and with momentum."""

from __future__ import annotations

from scratch_embed.kernels import step_loops, step_rows
from scratch_embed.optim.optimizer import Optimizer
from scratch_embed.optim.options import Flag, Number


class SGD(Optimizer):
    """Stochastic gradient descent:   w -= lr g

    Parameters
    ----------
    params : the Tensors to learn, or groups of them: see `Optimizer`.
    lr : the step size, >= 0.
    momentum : m in [0, 1). The step follows v = m v + g instead of g, as in PyTorch; v starts at 0.
    weight_decay : c >= 0. The gradient is g + c w.
    nesterov : with momentum, the step follows g + m v: where v is about to lead, and not where it
        led from.

    Momentum and weight decay move rows that the batch never named, so both refuse a RowGrad.
    Without them a RowGrad changes the named rows and nothing else: all other rows stay the same
    to the last bit. Raises as every `Optimizer` does, and ValueError for nesterov without momentum.

    >>> import numpy as np
    >>> from scratch_embed import Tensor
    >>> w = Tensor([1.0], requires_grad=True)
    >>> optimizer = SGD([w], lr=0.1, momentum=0.5, nesterov=True)
    >>> for g in (1.0, 1.0):                     # v = 1, then 0.5 + 1 = 1.5
    ...     w.grad = np.array([g])
    ...     optimizer.step()                     # w = 1 - 0.1 (1 + 0.5), then - 0.1 (1 + 0.75)
    >>> w.data.round(6).tolist()
    [0.675]
    """

    momentum = Number(below=1.0)
    weight_decay = Number()
    nesterov = Flag()
    complex_too = True

    def __init__(
        self,
        params,
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ):
        super().__init__(
            params, lr=lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov
        )

    def _checked(self, group):
        options = super()._checked(group)
        if options["nesterov"] and not options["momentum"]:
            raise ValueError("nesterov=True looks ahead along a momentum, and momentum is 0")
        return options

    def _keeps(self, shape, options):
        return {"velocity": shape} if options["momentum"] else {}

    def _instead(self, options):
        moves_all = options["momentum"] or options["weight_decay"]
        return "SGD without momentum and weight_decay" if moves_all else None

    def _follow(self, w, g, v=None, *, t, lr, momentum, weight_decay, nesterov):
        if weight_decay:
            g = g + weight_decay * w
        if momentum:
            v *= momentum
            v += g
            g = g + momentum * v if nesterov else v
        w -= lr * g

    def _follow_rows(self, w, values, groups, *, lr, **_):
        step_rows(step_loops.sgd, values, groups, w, w.dtype.type(lr))

    def _same_in_rows(self, options):
        return self._instead(options) is None
