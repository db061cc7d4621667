"""Softmax cross-entropy: how surprised the logits are by the true ids."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed.kernels.ids import check_ids
from scratch_embed.ops.floats import floating
from scratch_embed.ops.softmax import log_softmax_forward


class CrossEntropySaved(NamedTuple):
    log_p: np.ndarray  # (N, V) log-probabilities
    targets: np.ndarray  # (N,) int64; 0 stands in where a target is ignored
    scale: np.ndarray  # (N,) what each position's loss is multiplied by; 0 where ignored
    shape: tuple[int, ...]  # of the logits


def cross_entropy_forward(
    logits: np.ndarray,
    targets: np.ndarray,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> tuple[np.ndarray, CrossEntropySaved]:
    """loss = mean (or sum) over positions of -ln softmax(z)[target]     (..., V), (...) -> ()

    Positions whose target is `ignore_index` count neither in the sum nor in the mean. That skips
    their loss; it is another thing than a `padding_idx`, which holds one row of a table still.

    Raises ValueError for an unknown reduction, a shape that does not fit, or when a mean has
    every target ignored; IndexError for a target outside 0..V-1.

    >>> loss, _ = cross_entropy_forward(np.array([[0.21, 0.47, 0.73]]), np.array([1]))
    >>> round(float(loss), 3)                    # -ln 0.326
    1.121
    """
    logits = floating(logits, "logits")
    targets, scale = check_targets(targets, logits.shape, logits.dtype, ignore_index, reduction)
    log_p, _ = log_softmax_forward(logits.reshape(len(targets), logits.shape[-1]))
    log_p_target = np.where(scale, log_p[np.arange(len(targets)), targets], 0)  # not 0 * -inf
    loss = -(scale * log_p_target).sum()
    return loss, CrossEntropySaved(log_p, targets, scale, logits.shape)


def check_targets(
    targets: np.ndarray,
    shape: tuple[int, ...],
    dtype: np.dtype,
    ignore_index: int | None,
    reduction: str,
) -> tuple[np.ndarray, np.ndarray]:
    """(targets, scale) of logits of this shape and dtype, both (N,), as `CrossEntropySaved` says.

    Raises what `cross_entropy_forward` raises.
    """
    if reduction not in ("mean", "sum"):
        raise ValueError(f"reduction is {reduction!r}; it must be 'mean' or 'sum'")
    targets = np.asarray(targets)
    if targets.shape != shape[:-1]:
        raise ValueError(
            f"targets {targets.shape} do not fit logits {shape}: "
            f"there must be one target for each row of logits, so {shape[:-1]}"
        )
    kept = np.ones(targets.shape, bool) if ignore_index is None else targets != ignore_index
    targets = np.where(kept, targets, targets.dtype.type(0))  # of its own dtype, so it is checked
    targets = check_ids(targets, shape[-1], "targets").reshape(-1)
    kept = kept.reshape(-1)
    if reduction == "mean" and not kept.any():
        raise ValueError(
            f"the mean over no targets is not defined: all {kept.size} are ignored; "
            "leave such a batch out, or use reduction='sum'"
        )
    scale = kept / kept.sum() if reduction == "mean" else kept.astype(float)
    return targets, scale.astype(np.finfo(dtype).dtype)  # real also when the logits are complex


def cross_entropy_backward(dout: np.ndarray, saved: CrossEntropySaved) -> np.ndarray:
    """dz_j = dout scale (p_j - [j = target])                            () -> (..., V)

    The entries of each row sum to zero: what the target's logit gains, the others give.
    """
    dlogits = np.exp(saved.log_p)
    dlogits[np.arange(len(saved.targets)), saved.targets] -= 1
    dlogits *= (dout * saved.scale)[:, None]
    return dlogits.reshape(saved.shape)
