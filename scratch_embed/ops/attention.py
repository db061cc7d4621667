"""Scaled dot-product attention: every token asks, and takes a mixture of what the others hold.

Vaswani et al. 2017, section 3.2.1. Nothing here knows where a token stands: permute the tokens,
and the answers are permuted with them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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
    mask: np.ndarray | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[np.ndarray, AttentionSaved]:
    """out = weights @ v,   weights = softmax(scale q @ k.T)
                                        (..., T, D), (..., S, D), (..., S, E) -> (..., T, E)

    Leading axes broadcast, as in a matrix product. T queries look at S keys.

    mask : booleans that broadcast to (..., T, S), True where a query may look. For keys that are
        padding, (B, S) with True at real tokens, write `real[:, None, :]`.
    causal : query t looks at keys 0 .. t only.
    scale : 1 / sqrt(D) when None: for entries of unit variance, scores of unit variance.

    The weights are in `saved.weights`. A query that may look nowhere has weights 0 and answers 0.

    >>> q = k = v = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> out, saved = attention_forward(q, k, v)         # scores 1/sqrt(2) and 0
    >>> saved.weights.round(4).tolist()
    [[0.6698, 0.3302], [0.3302, 0.6698]]
    """
    q, k, v = floating(q, "q"), floating(k, "k"), floating(v, "v")
    _check(q, k, v)
    scale = q.shape[-1] ** -0.5 if scale is None else float(scale)
    scores = (q @ k.swapaxes(-1, -2)) * scale
    weights = _masked_softmax(scores, _allowed(scores.shape, mask, causal))
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
    dweights = dout @ v.swapaxes(-1, -2)
    dscores = weights * (dweights - (weights * dweights).sum(axis=-1, keepdims=True))
    dscores = dscores * scale
    return dscores @ k, dscores.swapaxes(-1, -2) @ q, dv


def _allowed(shape: tuple[int, ...], mask, causal: bool) -> np.ndarray | None:
    """Where queries may look, (..., T, S); None for everywhere."""
    allowed = None
    if mask is not None:
        allowed = np.asarray(mask)
        if allowed.dtype != bool:
            raise TypeError(
                f"mask is {allowed.dtype}; it must be boolean, True where a query may look: "
                "mask.astype(bool), or ids != padding_idx"
            )
        try:
            np.broadcast_shapes(allowed.shape, shape)
        except ValueError:
            raise ValueError(
                f"mask {allowed.shape} does not fit scores {shape}: it must broadcast to "
                "(..., T, S); for keys that are padding write real[:, None, :]"
            ) from None
    if causal:
        past = np.tri(*shape[-2:], dtype=bool)
        allowed = past if allowed is None else allowed & past
    return allowed


def _masked_softmax(scores: np.ndarray, allowed: np.ndarray | None) -> np.ndarray:
    """softmax over the allowed keys. No infinities, so complex scores pass through."""
    if allowed is None:
        e = np.exp(scores - scores.real.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)
    highest = np.where(allowed, scores.real, -np.inf).max(axis=-1, keepdims=True)
    highest = np.where(np.isneginf(highest), 0, highest).astype(scores.real.dtype)
    e = np.exp(np.where(allowed, scores - highest, 0)) * allowed
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total).astype(scores.dtype)


def _check(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> None:
    shapes = f"q {q.shape}, k {k.shape} and v {v.shape}"
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise ValueError(f"{shapes} do not fit: each needs two axes or more, (..., T, D)")
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2] or not k.shape[-2]:
        raise ValueError(
            f"{shapes} do not fit: q is (..., T, D), k is (..., S, D), v is (..., S, E), with the "
            "same D in q and k, and the same S, at least 1, in k and v"
        )
