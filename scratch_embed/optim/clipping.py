"""A bound on the length of a gradient."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from scratch_embed.arguments import check_unmasked
from scratch_embed.lengths import lengths, scaled
from scratch_embed.ops.floats import floating
from scratch_embed.optim.groups import leaves, listed
from scratch_embed.optim.options import in_range
from scratch_embed.rows import RowGrad
from scratch_embed.tensor import Tensor

TINY = 1e-150  # a length whose square float64 holds in full


def clip_grad_norm(params: Iterable[Tensor], max_norm: float) -> float:
    """Shorten all gradients together: as one long vector, to rounding, no longer than max_norm.

        n = sqrt(sum of g^2 over every entry of every gradient)        g *= min(1, max_norm / n)

    The direction stays; only the step becomes shorter. Call it between `backward` and `step`.
    A parameter without gradient is passed by, one that comes twice is taken once, and a RowGrad
    counts what its rows add up to. Each `param.grad` is replaced by a shortened copy: one that
    another tensor shares stays as it is.

    Returns n, the length before: print it now and then to see whether the bound is ever reached.
    Raises TypeError and ValueError for a max_norm that is no number >= 0 and for params that are
    none or that an optimiser would not take, and FloatingPointError when n is NaN or infinite: no
    factor would help, and nothing is changed.

    >>> E = Tensor(np.zeros((2, 1)), requires_grad=True)
    >>> E.grad = np.array([[3.0], [4.0]])
    >>> clip_grad_norm([E], 1.0)
    5.0
    >>> E.grad.round(6).tolist()
    [[0.6], [0.8]]
    """
    max_norm = in_range("max_norm", max_norm)
    given = leaves(listed(params), "params")
    if not given:  # an iterator, which an optimiser has used up
        raise ValueError("params is empty: give a list, or optimizer.params")
    params = [param for param in given if param.grad is not None]
    norm = math.sqrt(sum(_squares(param.grad) for param in params))
    if not TINY < norm < math.inf:  # squares may be 0 or infinite where the length is not
        each = np.array([float(lengths(_flat(param.grad))) for param in params])
        norm = float(lengths(each)) if params else 0.0
    if not math.isfinite(norm):
        guilty = next(k for k, n in enumerate(each) if not math.isfinite(n))
        raise FloatingPointError(
            f"the gradient of {params[guilty].name or f'parameter {guilty}'} is not finite, or too "
            "long for its length to be: look where it comes from, and skip this step"
        )
    if norm > max_norm:
        for param in params:
            param.grad = _times(param.grad, max_norm / norm)
    return norm


def _squares(grad: np.ndarray | RowGrad) -> float:
    flat = _flat(grad)
    with np.errstate(over="ignore"):
        return float(flat @ flat)


def _flat(grad: np.ndarray | RowGrad) -> np.ndarray:
    check_unmasked(grad, "a gradient")
    values = grad.values if isinstance(grad, RowGrad) else np.asarray(grad)
    return np.abs(values).astype(np.float64, copy=False).ravel()


def _times(grad: np.ndarray | RowGrad, factor: float) -> np.ndarray | RowGrad:
    if isinstance(grad, RowGrad):
        return RowGrad(grad.rows, _times(grad.values, factor), grad.shape)
    return scaled(floating(grad), factor)  # a factor below 1 is 0 as a whole number
