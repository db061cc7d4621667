"""Adam, with decoupled weight decay, and for the rows of a batch alone."""

from __future__ import annotations

import numpy as np

from scratch_embed.kernels import step_loops, step_rows
from scratch_embed.optim.optimizer import Optimizer
from scratch_embed.optim.options import Number, Pair


class Adam(Optimizer):
    """Kingma & Ba 2015, for step t = 1, 2, ...

        m = b1 m + (1 - b1) g            w -= lr m' / (sqrt(v') + eps)
        v = b2 v + (1 - b2) g^2          m' = m / (1 - b1^t),   v' = v / (1 - b2^t)

    Parameters
    ----------
    params : the Tensors to learn, or groups of them: see `Optimizer`.
    lr : the step size, >= 0.
    betas : (b1, b2), each in [0, 1): how much of the means of g and g^2 is kept from step to step.
    eps : what a number whose gradients are tiny is divided by at least, >= 0.
    weight_decay : c >= 0, adds c w to the gradient; see AdamW for the other way.

    A row whose gradient is zero today still moves, for m remembers yesterday: that is why Adam
    refuses a RowGrad and wants a dense gradient. Raises as every `Optimizer` does.

    >>> from scratch_embed import Tensor
    >>> w = Tensor([1.0, 1.0], requires_grad=True)
    >>> w.grad = np.array([0.5, -300.0])
    >>> Adam([w], lr=0.1).step()                 # m' = g and v' = g^2: each moves by lr
    >>> w.data.round(6).tolist()
    [0.9, 1.1]
    """

    betas = Pair(below=1.0)
    eps = Number()
    weight_decay = Number()
    counts = True

    def __init__(
        self,
        params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def _keeps(self, shape, options):
        return {"m": shape, "v": shape}

    def _instead(self, options):
        return "LazyAdam"

    def _follow(self, w, g, m, v, *, t, lr, betas, eps, weight_decay):
        if weight_decay:
            g = g + weight_decay * w
        w -= adam_step(g, m, v, t, lr, betas, eps)

    def _follow_rows(self, w, values, groups, m, v, *, t, lr, betas, eps, weight_decay=0.0):
        b1, b2 = betas
        number = w.dtype.type
        keep = number(b1), number(b2)
        add = number(1 - b1), number(1 - b2)
        correct = number(1 - b1**t), number(1 - b2**t)
        numbers = number(lr), number(eps), keep, add, correct
        step_rows(step_loops.adam, values, groups, w, m, v, *numbers)

    def _same_in_rows(self, options):
        return not options["weight_decay"]  # which is a part of g


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019):   w -= lr c w   and the step.

    Parameters and errors are those of `Adam`, but `weight_decay` c stands beside the gradient and
    not in it, and is 0.01 by default. It touches every row at every step, looked up or not.

    >>> from scratch_embed import Tensor
    >>> w = Tensor([1.0], requires_grad=True)
    >>> w.grad = np.array([5.0])
    >>> AdamW([w], lr=0.1, weight_decay=1.0).step()          # 1 - 0.1 1 - 0.1
    >>> w.data.round(6).tolist()
    [0.8]
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay: float = 0.01):
        super().__init__(params, lr, betas, eps, weight_decay)

    def _follow(self, w, g, m, v, *, t, lr, betas, eps, weight_decay):
        step = adam_step(g, m, v, t, lr, betas, eps)
        w *= 1 - lr * weight_decay
        w -= step

    def _follow_rows(self, w, values, groups, m, v, *, lr, weight_decay, **options):
        w *= 1 - lr * weight_decay
        super()._follow_rows(w, values, groups, m, v, lr=lr, **options)

    def _same_in_rows(self, options):
        return True


class LazyAdam(Adam):
    """Adam that updates m, v and w of the rows in a RowGrad only.

    It is another algorithm than Adam: a row that is not in the batch does not coast on its old m,
    and its m and v do not fade. The bias correction counts all steps. A dense gradient is taken
    to name every row, and then the step is Adam's, bit for bit.

    torch.optim.SparseAdam moves the same rows, but puts eps elsewhere. It takes
    lr sqrt(1 - b2^t) / (1 - b1^t) times m / (sqrt(v) + eps), so that its eps weighs as much as
    eps / sqrt(1 - b2^t) does here: 32 times as much at the first step, the same in the end. We
    follow the paper, and so does torch's own Adam. For g = 1e-6 the first step is 0.990 lr here
    and 0.760 lr there; where gradients are far above eps the two agree.

    Parameters and errors are those of `Adam`, without `weight_decay`, and a RowGrad is welcome.

    >>> from scratch_embed import RowGrad, Tensor
    >>> E = Tensor(np.ones((3, 1)), requires_grad=True)
    >>> E.grad = RowGrad([1], np.array([[1e-6]]), (3, 1))
    >>> LazyAdam([E], lr=1.0).step()             # 1 - 1e-6 / (1e-6 + 1e-8)
    >>> E.data.round(4).tolist()
    [[1.0], [0.0099], [1.0]]
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        Optimizer.__init__(self, params, lr=lr, betas=betas, eps=eps)

    def _instead(self, options):
        return None

    def _follow(self, w, g, m, v, *, t, lr, betas, eps):
        w -= adam_step(g, m, v, t, lr, betas, eps)

    def _same_in_rows(self, options):
        return True


def adam_step(g, m, v, t: int, lr: float, betas: tuple[float, float], eps: float) -> np.ndarray:
    """Update the means m and v in place, and return lr m' / (sqrt(v') + eps)."""
    b1, b2 = betas
    m *= b1
    m += (1 - b1) * g
    v *= b2
    v += (1 - b2) * g * g
    root = np.sqrt(v / (1 - b2**t))
    root += eps
    return lr * (m / (1 - b1**t)) / root
