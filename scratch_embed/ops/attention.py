"""Scaled dot-product attention: every token asks, and takes a mixture of what the others hold.

Vaswani et al. 2017, section 3.2.1. Nothing here knows where a token stands: permute the tokens,
and the answers are permuted with them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed.arguments import check_flag, is_real
from scratch_embed.ops.floats import floating


class AttentionSaved(NamedTuple):
    q: np.ndarray  # (..., T, D)
    k: np.ndarray  # (..., S, D)
    v: np.ndarray  # (..., S, E)
    weights: np.ndarray  # (..., T, S) who looks at whom; each row sums to 1
    scale: float


def attention_forward(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    *,
    mask: np.ndarray | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[np.ndarray, AttentionSaved]:
    """out = weights @ v,   weights = softmax(scale q @ k.T + mask)
                                        (..., T, D), (..., S, D), (..., S, E) -> (..., T, E)

    Leading axes broadcast, as in a matrix product. T queries look at S keys.

    mask : booleans that broadcast to (..., T, S), True where a query may look. For keys that are
        padding, (B, S) with True at real tokens, write `real[:, None, :]`. Or floats, which are
        added to the scores: -inf is the same as False, -1 makes a key e times less likely, and
        0 leaves it alone. No gradient flows into them.
    causal : query t looks at keys 0 .. t only.
    scale : 1 / sqrt(D) when None: for entries of unit variance, scores of unit variance.

    The weights are in `saved.weights`. A query that may look nowhere has weights 0 and answers 0.

    Raises ValueError for shapes that do not fit, a scale that is no finite number, and a mask of
    NaN or +inf; TypeError for a mask that is neither boolean nor floating, as one of integers, and
    for a causal that is not True or False.

    >>> q = k = v = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> out, saved = attention_forward(q, k, v)         # scores 1/sqrt(2) and 0
    >>> saved.weights.round(4).tolist()
    [[0.6698, 0.3302], [0.3302, 0.6698]]
    >>> near = np.array([[0.0, -1.0], [-1.0, 0.0]])     # prefer what stands close by
    >>> attention_forward(q, k, v, mask=near)[1].weights.round(4).tolist()
    [[0.8465, 0.1535], [0.1535, 0.8465]]
    """
    check_flag(causal, "causal")
    q, k, v = floating(q, "q"), floating(k, "k"), floating(v, "v")
    _check(q, k, v)
    if scale is None:
        scale = q.shape[-1] ** -0.5
    if not (is_real(scale) and -np.inf < scale < np.inf):
        raise ValueError(f"scale is {scale!r}; it must be a finite number, or None")
    scale = float(scale)
    scores = q @ k.swapaxes(-1, -2)
    scores *= scale  # in place, here and below: these T S numbers are the largest array
    scores, allowed = _masked(scores, mask, causal)
    weights = _softmax_of_allowed(scores, allowed)
    return weights @ v, AttentionSaved(q, k, v, weights, scale)


def attention_backward(
    dout: np.ndarray, saved: AttentionSaved
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """dv = weights.T @ dout,   dweights = dout @ v.T
    dscores = weights (dweights - sum of weights dweights over the keys)        as in softmax
    dq = scale dscores @ k,   dk = scale dscores.T @ q

    Where a query may not look its weight is 0, and so is what comes back.
    """
    q, k, v, weights, scale = saved
    dv = weights.swapaxes(-1, -2) @ dout
    dscores = dout @ v.swapaxes(-1, -2)  # dweights, so far
    dscores -= (weights * dscores).sum(axis=-1, keepdims=True)
    dscores *= weights
    dscores *= scale
    return dscores @ k, dscores.swapaxes(-1, -2) @ q, dv


def _masked(scores: np.ndarray, mask, causal: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Scores with what a mask of floats adds, and where queries may look; None for everywhere."""
    allowed = None
    if mask is not None:
        mask = _check_mask(mask, scores.shape)
        allowed = mask
        if mask.dtype != bool:
            allowed = ~np.isneginf(mask)
            scores = scores + _added(mask, allowed, scores.real.dtype)
        shape = np.broadcast_shapes(allowed.shape, scores.shape)
        if shape != scores.shape:  # one sequence, seen by the masks of several
            scores = np.broadcast_to(scores, shape).copy()
    if causal:
        past = np.tri(*scores.shape[-2:], dtype=bool)
        allowed = past if allowed is None else allowed & past
    return scores, allowed


def _softmax_of_allowed(scores: np.ndarray, allowed: np.ndarray | None) -> np.ndarray:
    """softmax over the allowed keys, in the memory of the scores.

    No infinities, so complex scores pass through.
    """
    if allowed is None:
        scores -= scores.real.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return scores
    highest = np.where(allowed, scores.real, -np.inf).max(axis=-1, keepdims=True)
    highest = np.where(np.isneginf(highest), 0, highest).astype(scores.real.dtype)
    scores -= highest
    np.copyto(scores, 0, where=~allowed)  # e^ of what may not be looked at could overflow
    np.exp(scores, out=scores)
    scores *= allowed
    total = scores.sum(axis=-1, keepdims=True)
    scores /= np.where(total == 0, 1, total).astype(scores.dtype)
    return scores


def _check(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> None:
    shapes = f"q {q.shape}, k {k.shape} and v {v.shape}"
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise ValueError(f"{shapes} do not fit: each needs two axes or more, (..., T, D)")
    if (
        q.shape[-1] != k.shape[-1]
        or k.shape[-2] != v.shape[-2]
        or not k.shape[-2]
        or not q.shape[-1]
    ):
        raise ValueError(
            f"{shapes} do not fit: q is (..., T, D), k is (..., S, D), v is (..., S, E), with the "
            "same D, at least 1, in q and k, and the same S, at least 1, in k and v"
        )


def _added(mask: np.ndarray, allowed: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """What a mask of floats adds to scores of this dtype, 0 where nobody may look. Where that does
    not hold it, as float32 the least of the float64, by how much less it is than the row's largest:
    shares go by differences."""
    added, most = np.where(allowed, mask, 0), float(np.finfo(dtype).max)
    if np.abs(added).max(initial=0) > most:
        with np.errstate(over="ignore", invalid="ignore"):
            largest = np.where(allowed, mask, -np.inf).max(axis=-1, keepdims=True)
            added = np.where(allowed, mask - largest, 0).clip(-most, most)
    return added.astype(dtype)


def _check_mask(mask, shape: tuple[int, ...]) -> np.ndarray:
    mask = np.asarray(mask)
    if mask.dtype.kind not in "bf":
        raise TypeError(
            f"mask is {mask.dtype}; it must be boolean, True where a query may look: "
            "mask.astype(bool), or ids != padding_idx; or floats, to be added to the scores"
        )
    try:
        fits = np.broadcast_shapes(mask.shape, shape)[-2:] == shape[-2:]
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"mask {mask.shape} does not fit scores {shape}: it must broadcast to "
            "(..., T, S); for keys that are padding write real[:, None, :]"
        )
    if mask.dtype.kind == "f" and not (mask < np.inf).all():
        at = tuple(np.argwhere(~(mask < np.inf))[0].tolist())
        raise ValueError(
            f"mask[{', '.join(map(str, at))}] = {mask[at]}; what is added to a score is finite, "
            "or -inf where a query may not look"
        )
    return mask
