"""Softmax and its logarithm over the last axis.

The largest logit is subtracted first, which changes nothing in exact arithmetic and keeps e^z
from overflowing. Its real part is taken so that the complex step can pass through.
"""

from __future__ import annotations

import numpy as np

from scratch_embed.ops.floats import floating


def _shifted(logits: np.ndarray) -> np.ndarray:
    logits = floating(logits, "logits")
    return logits - logits.real.max(axis=-1, keepdims=True)


def softmax_forward(logits: np.ndarray):
    """p_j = e^z_j / sum_k e^z_k                       (..., V) -> (..., V)

    >>> p, _ = softmax_forward(np.array([0.21, 0.47, 0.73]))
    >>> p.round(3).tolist()
    [0.251, 0.326, 0.423]
    """
    e = np.exp(_shifted(logits))
    p = e / e.sum(axis=-1, keepdims=True)
    return p, (p,)


def softmax_backward(dout: np.ndarray, saved) -> np.ndarray:
    """dz_j = p_j (dout_j - sum_k p_k dout_k)"""
    (p,) = saved
    return p * (dout - (p * dout).sum(axis=-1, keepdims=True))


def log_softmax_forward(logits: np.ndarray):
    """ln p_j = z_j - ln sum_k e^z_k                   (..., V) -> (..., V)"""
    shifted = _shifted(logits)
    out = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return out, (out,)


def log_softmax_backward(dout: np.ndarray, saved) -> np.ndarray:
    """dz_j = dout_j - p_j sum_k dout_k"""
    (out,) = saved
    return dout - np.exp(out) * dout.sum(axis=-1, keepdims=True)
