"""Projection and cross-entropy in one, a few positions at a time: the logits are never all there.

The logits of N positions against V rows are by far the largest array of a language model: at
N = 2,048 and V = 50,257 they take 412 MB in float32, and softmax, loss and backward hold them two
or three times over. Yet each position needs only its own row of them, once. So a chunk of
positions is scored, its loss added up, its error turned into gradients at once, and its memory
used again for the next chunk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed.arguments import check_count
from scratch_embed.kernels import sum_over
from scratch_embed.ops.cross_entropy import check_targets
from scratch_embed.ops.floats import floating

CHUNK = 256  # positions; matrix products gain little beyond
TILE = 1 << 21  # entries of the product that is added to dweight: 8 MB of float32


class TiedCrossEntropySaved(NamedTuple):
    h: np.ndarray  # (..., D)
    weight: np.ndarray  # (V, D)
    targets: np.ndarray  # (N,) int64
    scale: np.ndarray  # (N,) what each position's loss is multiplied by; 0 where ignored
    chunk: int
    grads: list[tuple]  # (dh, dweight) for dout = 1, until a backward takes them


def tied_cross_entropy_forward(
    h: np.ndarray,
    weight: np.ndarray,
    targets: np.ndarray,
    ignore_index: int | None = None,
    reduction: str = "mean",
    chunk: int | None = None,
) -> tuple[np.ndarray, TiedCrossEntropySaved]:
    """loss = mean (or sum) over positions of -ln softmax(h @ weight.T)[target]
                                                        (..., D), (V, D), (...) -> ()

    Equals `cross_entropy(project(h, weight), targets, ...)`, and so do both gradients; class
    weights, label smoothing and the single losses are left to those two. The gradients are
    found right here, while the probabilities of a chunk are at hand, because finding those again
    would cost a third matrix product more; so a forward alone costs as much as both.

    chunk : positions at a time. None takes 256, or an eighth of all when that is less. Smaller
        chunks take less memory, chunk by V numbers, and more time.

    Raises what `project` and `cross_entropy` raise, and ValueError for a chunk below 1.

    >>> weight = np.array([[0.1, 0.9, 0.3], [0.8, -0.2, 0.4]])
    >>> loss, _ = tied_cross_entropy_forward(np.array([[0.6, 0.1, 0.3]]), weight, np.array([1]))
    >>> round(float(loss), 3)                   # logits 0.24 and 0.58: -ln(1 / (1 + e^-0.34))
    0.538
    """
    h, weight = floating(h, "h"), floating(weight, "weight")
    if weight.ndim != 2 or h.shape[-1:] != weight.shape[1:]:
        raise ValueError(
            f"h {h.shape} and weight {weight.shape} do not fit: h is (..., D) and weight is "
            "(V, D) with the same D"
        )
    if reduction == "none":
        raise ValueError(
            "reduction is 'none', but the losses of a chunk are added up at once: it must be "
            "'mean' or 'sum'. For each loss write cross_entropy(project(h, weight), targets, "
            "reduction='none')"
        )
    real = np.finfo(np.result_type(h, weight)).dtype
    shape = (*h.shape[:-1], len(weight))
    targets, scale = check_targets(targets, shape, real, ignore_index, reduction)
    chunk = min(CHUNK, -(-len(targets) // 8)) if chunk is None else check_count(chunk, "chunk")
    chunk = min(chunk, len(targets)) or 1
    saved = TiedCrossEntropySaved(h, weight, targets, scale, chunk, [])
    loss, *grads = _in_chunks(saved)
    saved.grads.append(tuple(grads))
    return loss, saved


def tied_cross_entropy_backward(
    dout: np.ndarray, saved: TiedCrossEntropySaved
) -> tuple[np.ndarray, np.ndarray]:
    """dh[n] = sum_v e[n, v] weight[v],   dweight[v] = sum_n e[n, v] h[n]
                                                        () -> (..., D), (V, D)

    with the error e[n, v] = dout scale[n] (p[n, v] - [v = target n]). The first backward takes
    the arrays that forward filled, without a copy; another one computes them anew.
    """
    try:
        dh, dweight = saved.grads.pop()
    except IndexError:
        _, dh, dweight = _in_chunks(saved)
    if dout != 1:
        dh *= dout
        dweight *= dout
    return dh, dweight


def _in_chunks(saved: TiedCrossEntropySaved) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The loss, and both its gradients."""
    weight, (num_rows, dim) = saved.weight, saved.weight.shape
    h = saved.h.reshape(len(saved.targets), dim)
    dtype = np.result_type(h, weight)
    dh, dweight = np.zeros(h.shape, dtype), np.zeros(weight.shape, dtype)
    height = max(TILE // max(dim, 1), 1)
    logits = np.empty((saved.chunk, num_rows), dtype)
    product = np.empty((min(height, num_rows), dim), dtype)
    losses, kept = [], np.flatnonzero(saved.scale)
    for start in range(0, len(kept), saved.chunk):
        rows = kept[start : start + saved.chunk]
        hidden, error = h[rows], logits[: len(rows)]
        np.matmul(hidden, weight.T, out=error)
        losses.append(_to_error(error, saved.targets[rows], saved.scale[rows]))
        dhidden = np.zeros_like(hidden, dtype)
        for v in range(0, num_rows, height):
            tile = error[:, v : v + height]
            dhidden += tile @ weight[v : v + height]
            part = product[: tile.shape[1]]
            dweight[v : v + height] += np.matmul(tile.T, hidden, out=part)
        dh[rows] = dhidden
    return sum_over(np.array(losses, dtype)), dh.reshape(saved.h.shape), dweight


def _to_error(logits: np.ndarray, targets: np.ndarray, scale: np.ndarray):
    """Turn logits into scale (p - [target]), in place, and return the sum of scale * loss."""
    each = np.arange(len(targets))
    logits -= logits.real.max(axis=1, keepdims=True)  # e^z cannot overflow, p stays the same
    true = logits[each, targets]
    np.exp(logits, out=logits)
    total = logits.sum(axis=1)
    logits *= (scale / total)[:, None]
    logits[each, targets] -= scale
    return (scale * (np.log(total) - true)).sum()
