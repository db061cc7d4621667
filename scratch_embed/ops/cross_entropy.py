"""Softmax cross-entropy: how surprised the logits are by the true ids."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed.arguments import is_real, is_whole
from scratch_embed.kernels.ids import check_ids, integers
from scratch_embed.ops.floats import floating
from scratch_embed.ops.softmax import log_softmax_forward

REDUCTIONS = ("mean", "sum", "none")
FAR = 1e15  # times as much counts a class that is not among the targets as all that are


class CrossEntropySaved(NamedTuple):
    log_p: np.ndarray  # (N, V) log-probabilities
    targets: np.ndarray  # (N,) int64; 0 stands in where a target is ignored
    scale: np.ndarray  # (N,) what each position's loss is multiplied by; 0 where ignored
    hit: np.ndarray  # (N,) what the target itself counts, (1 - s) weight[target]
    spread: np.ndarray | None  # (V,) what each class counts besides, s / V weight; None for s = 0
    shape: tuple[int, ...]  # of the logits


def cross_entropy_forward(
    logits: np.ndarray,
    targets: np.ndarray,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
    weight: np.ndarray | None = None,
    label_smoothing: float = 0.0,
) -> tuple[np.ndarray, CrossEntropySaved]:
    """loss = mean (or sum) over positions of -ln softmax(z)[target]     (..., V), (...) -> ()

    With weights w of the V classes and a label smoothing s, a position whose target is t costs

        loss[n] = - sum over v of q[v] ln softmax(z)[v],    q[v] = w[v] ((1 - s) [v = t] + s / V)

    and the mean divides by the sum of w[t] over the positions, as in PyTorch; with w = 1 that is
    their number. Positions whose target is `ignore_index` count neither in the sum nor in the
    mean. That skips their loss; it is another thing than a `padding_idx`, which holds one row of
    a table still.

    reduction : "mean", "sum", or "none" for the (...) losses themselves, 0 where ignored.
    weight : (V,) numbers, none negative: what each class counts. None: each counts 1.
    label_smoothing : s in 0..1, the share of the truth that is spread over all V classes.

    Raises ValueError for an unknown reduction, a shape that does not fit, a weight or smoothing
    out of range, or when a mean has nothing to divide by; IndexError for a target outside 0..V-1;
    TypeError for targets and an ignore_index that are not integers.

    >>> loss, _ = cross_entropy_forward(np.array([[0.21, 0.47, 0.73]]), np.array([1]))
    >>> round(float(loss), 3)                    # -ln 0.326
    1.121
    >>> logits = np.array([[0.0, np.log(3)]])    # probabilities 1/4 and 3/4
    >>> loss, _ = cross_entropy_forward(logits, np.array([1]), label_smoothing=0.2)
    >>> round(float(loss), 4)                    # q = 0.1 and 0.9: 0.1 ln 4 + 0.9 ln 4/3
    0.3975
    """
    logits = floating(logits, "logits")
    real = np.finfo(logits.dtype).dtype  # also when the logits are complex
    if weight is not None:
        weight = _check_weight(weight, logits.shape)
        if reduction == "mean":  # only their ratios count, and these may be far from 1
            weight = np.ldexp(weight, -np.frexp(weight.max(initial=0))[1])
    targets, scale = check_targets(
        targets, logits.shape, np.float64, ignore_index, reduction, weight
    )
    if scale.max(initial=0) > FAR:  # float32 may not hold it, nor what it is multiplied with
        weight, scale = weight * scale.max(), scale > 0
    scale = scale.astype(real)
    log_p, _ = log_softmax_forward(logits.reshape(len(targets), logits.shape[-1]))
    hit, spread = _truth(targets, weight, label_smoothing, logits.shape[-1], real)

    log_p_target = log_p[np.arange(len(targets)), targets]
    # What weighs 0 counts for nothing, and not for 0 * -inf; but NaN, a run that diverged, is told.
    counted = hit * np.where((hit != 0) | np.isnan(log_p_target), log_p_target, 0)
    if spread is not None:
        counted = counted + np.where((spread != 0) | np.isnan(log_p), log_p, 0) @ spread
    losses = -scale * np.where(scale, counted, 0)
    loss = losses.reshape(logits.shape[:-1]) if reduction == "none" else losses.sum()
    return loss, CrossEntropySaved(log_p, targets, scale, hit, spread, logits.shape)


def cross_entropy_backward(dout: np.ndarray, saved: CrossEntropySaved) -> np.ndarray:
    """dz_j = dout scale (p_j sum_v q[v] - q[j])          () or (...) -> (..., V)

    without weights and smoothing    dz_j = dout scale (p_j - [j = target])

    The entries of each row sum to zero: what the target's logit gains, the others give.
    """
    log_p, targets, scale, hit, spread, shape = saved
    share = np.reshape(dout, -1) * scale
    total = hit if spread is None else hit + spread.sum()
    dlogits = np.exp(log_p)
    dlogits *= (share * total)[:, None]
    dlogits[np.arange(len(targets)), targets] -= share * hit
    if spread is not None:
        dlogits -= share[:, None] * spread
    dlogits[scale == 0] = 0  # also where the logits of an ignored position are NaN
    return dlogits.reshape(shape)


def check_targets(
    targets: np.ndarray,
    shape: tuple[int, ...],
    dtype: np.dtype,
    ignore_index: int | None,
    reduction: str,
    weight: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(targets, scale) of logits of this shape, both (N,), as `CrossEntropySaved` says.

    dtype is that of scale, float32 or float64. Raises what `cross_entropy_forward` raises.
    """
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction is {reduction!r}; it must be 'mean', 'sum' or 'none'")
    if ignore_index is not None and not is_whole(ignore_index):
        raise TypeError(f"ignore_index is {ignore_index!r}; it must be a whole number, or None")
    try:
        targets = integers(targets, shape[-1] if shape else 0, "targets")
    except TypeError:
        if not shape or np.shape(targets) != shape:
            raise
        raise TypeError(
            f"targets {shape} are as many as the logits; each row of logits has one target, the "
            "number of its class: of one-hot rows that is targets.argmax(axis=-1)"
        ) from None
    if not shape or targets.shape != shape[:-1]:
        raise ValueError(
            f"targets {targets.shape} do not fit logits {shape}: "
            f"there must be one target for each row of logits, so {shape[:-1]}"
        )
    kept = np.ones(targets.shape, bool) if ignore_index is None else targets != ignore_index
    targets = np.where(kept, targets, targets.dtype.type(0))  # of its own dtype, so it is checked
    if (targets < 0).any():
        at = np.argwhere(targets < 0)[0].tolist()
        given = targets[tuple(at)]
        only = f"of others only ignore_index={ignore_index} is left out"
        way_out = f"if it marks what is not to be learned, say ignore_index={given}"
        raise IndexError(
            f"targets{at or ''} = {given} is negative: targets must be in 0..{shape[-1] - 1}, the "
            f"classes; {way_out if ignore_index is None else only}"
        )
    if (targets >= shape[-1]).any():
        at = np.argwhere(targets >= shape[-1])[0].tolist()
        raise IndexError(
            f"targets{at or ''} = {targets[tuple(at)]} is too large: targets must be in "
            f"0..{shape[-1] - 1}, the {shape[-1]} classes, which are counted from 0"
        )
    targets = check_ids(targets, shape[-1], "targets").reshape(-1)
    kept = kept.reshape(-1)
    if reduction != "mean":
        return targets, kept.astype(dtype)
    total = (kept if weight is None else weight[targets[kept]]).sum()
    if not total:
        why = "have classes that weigh 0" if kept.any() else "are ignored"
        told = f"all {kept.size} {why}" if kept.size else "the batch is empty"
        raise ValueError(
            f"the mean over no targets is not defined: {told}; "
            "leave such a batch out, or use reduction='sum'"
        )
    return targets, (kept / total).astype(dtype)


def _truth(targets, weight, smoothing: float, num_classes: int, dtype):
    """(hit, spread) as `CrossEntropySaved` says."""
    if not is_real(smoothing) or not 0 <= smoothing <= 1:
        raise ValueError(f"label_smoothing is {smoothing!r}; the share spread out lies in 0..1")
    of_class = np.ones(num_classes) if weight is None else weight
    hit = ((1 - smoothing) * of_class[targets]).astype(dtype)
    spread = (smoothing / num_classes * of_class).astype(dtype) if smoothing else None
    return hit, spread


def _check_weight(weight, shape: tuple[int, ...]) -> np.ndarray:
    weight = floating(weight, "weight")
    if weight.shape != shape[-1:]:
        raise ValueError(
            f"weight {weight.shape} does not fit logits {shape}: it holds one number for each "
            f"class, {shape[-1:]}"
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        at = int(np.argmax(bad))
        raise ValueError(
            f"weight[{at}] = {weight[at]}; what a class counts is finite and not negative"
        )
    return weight.astype(np.float64)  # their sum, or the ratio of two, may be too far for less
