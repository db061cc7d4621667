"""RMSProp: Adagrad that forgets."""

from __future__ import annotations

import numpy as np

from scratch_embed.optim.optimizer import Optimizer
from scratch_embed.optim.options import Number


class RMSProp(Optimizer):
    """Tieleman & Hinton 2012 (lecture 6.5), eps outside the root as in PyTorch:

        s = a s + (1 - a) g^2            w -= lr g / (sqrt(s) + eps)

    With momentum m the step follows b = m b + g / (sqrt(s) + eps) instead.

    Parameters
    ----------
    params : the Tensors to learn, or groups of them: see `Optimizer`.
    lr : the step size, >= 0.
    alpha : a in [0, 1): how much of the mean of g^2 is kept from step to step.
    eps : what a number whose gradients are tiny is divided by at least, >= 0.
    momentum : m in [0, 1); b starts at 0.

    s starts at 0 and nothing corrects for it, so the first step is 1 / sqrt(1 - a) times lr: 10
    times for a = 0.99. The mean of a row fades also while nobody looks it up, so RMSProp refuses a
    RowGrad; Adagrad, which never forgets, takes one. Raises as every `Optimizer` does.

    >>> from scratch_embed import Tensor
    >>> w = Tensor([1.0], requires_grad=True)
    >>> optimizer = RMSProp([w], lr=0.1, alpha=0.75)
    >>> for g in (2.0, 1.0):                     # s = 1, then 0.75 + 0.25 = 1
    ...     w.grad = np.array([g])
    ...     optimizer.step()                     # w = 1 - 0.1 2/1, then - 0.1 1/1
    >>> w.data.round(6).tolist()
    [0.7]
    """

    alpha = Number(below=1.0)
    eps = Number()
    momentum = Number(below=1.0)

    def __init__(
        self,
        params,
        lr: float = 0.01,
        alpha: float = 0.99,
        eps: float = 1e-8,
        momentum: float = 0.0,
    ):
        super().__init__(params, lr=lr, alpha=alpha, eps=eps, momentum=momentum)

    def _keeps(self, shape, options):
        return {"mean": shape} | ({"velocity": shape} if options["momentum"] else {})

    def _instead(self, options):
        return "Adagrad"

    def _follow(self, w, g, s, v=None, *, t, lr, alpha, eps, momentum):
        s *= alpha
        s += (1 - alpha) * g * g
        step = g / (np.sqrt(s) + eps)
        if momentum:
            v *= momentum
            v += step
            step = v
        w -= lr * step
