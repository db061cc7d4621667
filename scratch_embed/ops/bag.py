"""Embedding bag: look up the rows of a bag of ids, and pool them into one vector.

    sum     gather by id, then scatter-add by bag         backward: gather by bag, scatter-add by id
    mean    the same, each row divided by the size of its bag
    max     column by column, the largest number; backward pays the row that won, the first in a tie

Every id of a bag sends its own gradient back: an id that stands twice in a bag is paid twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed import kernels
from scratch_embed.arguments import array_of, check_flag
from scratch_embed.kernels.ids import check_ids, count_ids
from scratch_embed.ops.lookup import LookupSaved, lookup_backward, padding_row
from scratch_embed.rows import RowGrad

MODES = ("sum", "mean", "max")


class BagSaved(NamedTuple):
    ids: np.ndarray  # (N,) int64, without padding
    bags: np.ndarray  # (N,) int64, the bag that each id is in
    num_rows: int  # V
    factors: np.ndarray | None  # (N,) what each row was multiplied by; None where it was 1
    winners: np.ndarray | None  # (B, D) for max: which of the N won; -1 in an empty bag
    rows: np.ndarray | None  # (N, D) for the gradient of per_sample_weights, if there are any
    kept: np.ndarray  # bool, the shape of ids as given: False at padding
    sparse: bool  # answer with a RowGrad instead of a dense (V, D) array
    scale_grad_by_freq: bool = False  # divide a row's gradient by its count in this batch


def embedding_bag_forward(
    weight: np.ndarray,
    ids: np.ndarray,
    per_sample_weights: np.ndarray | None = None,
    /,
    *,
    offsets: np.ndarray | None = None,
    mode: str = "mean",
    padding_idx: int | None = None,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> tuple[np.ndarray, BagSaved]:
    """out[b] = sum (mean, max) of weight[id] over the ids of bag b          (V, D) -> (B, D)

    ids : (B, L), a bag in each row; or (N,) with `offsets`.
    offsets : (B + 1,), bag b is ids[offsets[b] : offsets[b + 1]], so the first is 0 and the last N
        (in PyTorch include_last_offset=True).
    per_sample_weights : numbers in the shape of ids, for "sum": each row is multiplied by its own.
    padding_idx : ids that name this row are left out: of the sum, of the count and of the maximum.
    scale_grad_by_freq : divide the gradient of a row by the number of times its id stands in the
        batch, in all bags together. It then differs from the derivative on purpose, as PyTorch
        documents it (its CPU code of version 2.13 divides by the counts of other ids). Not for
        "max", where a row that won nothing would count as well.
    sparse : the gradient of the table is a RowGrad.

    A bag without ids, or with padding only, gives a row of zeros, and no gradient.

    Raises ValueError for another mode, for offsets that do not fit, and for weights or
    scale_grad_by_freq where they have no meaning; IndexError or TypeError for bad ids, TypeError
    for offsets that are not integers or a table that is not of floats.

    >>> weight = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    >>> out, _ = embedding_bag_forward(weight, np.array([0, 2, 2]), offsets=np.array([0, 2, 2, 3]))
    >>> out.tolist()
    [[2.0, 20.0], [0.0, 0.0], [3.0, 30.0]]
    """
    check_mode(mode, scale_grad_by_freq)
    if per_sample_weights is not None and mode != "sum":
        raise ValueError(f"per_sample_weights have no meaning for mode={mode!r}; use mode='sum'")
    weight = np.asarray(weight)
    if weight.ndim != 2:
        raise ValueError(f"weight has shape {weight.shape}; a table has two axes, (V, D)")
    ids = check_ids(ids, len(weight))
    padding_idx = padding_row(padding_idx, len(weight))
    bags, num_bags = _bags(ids, offsets)
    kept = np.ones(ids.shape, bool) if padding_idx is None else ids != padding_idx
    flat, bags = ids[kept], bags[kept.reshape(-1)]
    rows = kernels.gather(weight, flat)
    factors = winners = None
    if mode == "mean":
        factors = (1 / count_ids(bags)[bags]).astype(rows.real.dtype)
    elif per_sample_weights is not None:
        factors = _checked(per_sample_weights, ids.shape)[kept]
    if mode == "max":
        out, winners = _maximum(rows, bags, num_bags)
    else:
        out = _sum(rows if factors is None else rows * factors[:, None], bags, num_bags)
    rows = rows if per_sample_weights is not None else None
    options = check_flag(sparse, "sparse"), scale_grad_by_freq
    return out, BagSaved(flat, bags, len(weight), factors, winners, rows, kept, *options)


def embedding_bag_backward(
    dout: np.ndarray, saved: BagSaved
) -> np.ndarray | RowGrad | tuple[np.ndarray | RowGrad, None, np.ndarray]:
    """sum     dweight[v] = sum of dout[bag of n] factor[n] over n with ids[n] = v
    max     dweight[v, d] = sum of dout[b, d] over the bags b whose maximum of column d is row v's
    dper_sample_weights[n] = dout[bag of n] . weight[ids[n]], and 0 at padding

                                                             (B, D) -> (V, D) or RowGrad
    >>> weight = np.array([[1.0, 9.0], [2.0, 5.0]])
    >>> _, saved = embedding_bag_forward(weight, np.array([[0, 1, 1]]), mode="max")
    >>> embedding_bag_backward(np.array([[10.0, 7.0]]), saved).tolist()
    [[0.0, 7.0], [10.0, 0.0]]
    """
    if saved.winners is not None:
        drows = np.zeros((len(saved.ids), dout.shape[1]), dout.dtype)
        bag, column = np.nonzero(saved.winners >= 0)
        drows[saved.winners[bag, column], column] = dout[bag, column]
    else:
        drows = kernels.gather(dout, saved.bags)
        if saved.factors is not None:
            drows *= saved.factors[:, None]
    options = None, saved.scale_grad_by_freq, saved.sparse  # padding has been left out already
    dweight = lookup_backward(drows, LookupSaved(saved.ids, saved.num_rows, *options))
    if saved.rows is None:
        return dweight
    dweights = np.zeros(saved.kept.shape, dout.dtype)
    dweights[saved.kept] = (kernels.gather(dout, saved.bags) * saved.rows).sum(axis=1)
    return dweight, None, dweights


def check_mode(mode: str, scale_grad_by_freq: bool) -> None:
    """ValueError unless the mode is known, and knows what to do with the counts of ids; TypeError
    for a scale_grad_by_freq that is neither True nor False."""
    check_flag(scale_grad_by_freq, "scale_grad_by_freq")
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}; it must be 'sum', 'mean' or 'max'")
    if scale_grad_by_freq and mode == "max":
        raise ValueError("scale_grad_by_freq has no meaning for mode='max'; leave it out")


def _bags(ids: np.ndarray, offsets) -> tuple[np.ndarray, int]:
    """The bag of each id, in the order of the ids, and how many bags there are."""
    if ids.ndim == 2:
        if offsets is not None:
            raise ValueError(
                f"ids {ids.shape} have a bag in each row, so offsets have no meaning: leave them "
                "out, or give ids of one axis"
            )
        return np.repeat(np.arange(len(ids)), ids.shape[1]), len(ids)
    if ids.ndim != 1:
        raise ValueError(f"ids have shape {ids.shape}; they must be (B, L), or (N,) with offsets")
    if offsets is None:
        raise ValueError(
            "ids of one axis need offsets that say where each bag begins and the last one ends; "
            f"for a single bag write offsets=[0, {len(ids)}]"
        )
    if isinstance(offsets, (list, tuple)) and any(isinstance(x, (bool, np.bool_)) for x in offsets):
        offsets = np.array(offsets, object)  # NumPy would make [False, 3] the numbers 0 and 3
    offsets = array_of(offsets, "offsets")
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or not offsets.size:
        raise TypeError(
            f"offsets are {offsets.dtype} of shape {offsets.shape}; they must be integers, one "
            "more than there are bags"
        )
    offsets = offsets.astype(np.intp)  # np.repeat wants no other
    for position, expected in ((0, 0), (len(offsets) - 1, len(ids))):
        if offsets[position] != expected:
            raise ValueError(
                f"offsets[{position}] is {offsets[position]}; the first must be 0 and the last "
                f"{len(ids)}, the number of ids: one more offset than bags (in PyTorch "
                "include_last_offset=True)"
            )
    sizes = np.diff(offsets)
    if (sizes < 0).any():
        at = int(np.argmax(sizes < 0))
        raise ValueError(
            f"offsets[{at + 1}] = {offsets[at + 1]} is less than offsets[{at}] = {offsets[at]}; "
            "offsets never fall (equal ones make an empty bag)"
        )
    return np.repeat(np.arange(len(sizes)), sizes), len(sizes)


def _sum(rows: np.ndarray, bags: np.ndarray, num_bags: int) -> np.ndarray:
    out = np.zeros((num_bags, rows.shape[1]), rows.dtype)
    kernels.scatter_add(out, bags, rows)
    return out


def _maximum(rows: np.ndarray, bags: np.ndarray, num_bags: int) -> tuple[np.ndarray, np.ndarray]:
    """(out, winners): the largest number of each bag and column, 0 for none, and where it stood."""
    winners = _winners(rows.real, bags, num_bags)
    out = np.zeros(winners.shape, rows.dtype)
    bag, column = np.nonzero(winners >= 0)
    out[bag, column] = rows[winners[bag, column], column]
    return out, winners


def _winners(rows: np.ndarray, bags: np.ndarray, num_bags: int) -> np.ndarray:
    """For each bag and column the first position of the largest number, or of the first NaN."""
    winners = np.full((num_bags, rows.shape[1]), -1)
    if not len(bags):
        return winners
    starts = np.flatnonzero(np.diff(bags, prepend=-1))  # bags come one after another
    highest = np.zeros((num_bags, rows.shape[1]), rows.dtype)
    highest[bags[starts]] = np.maximum.reduceat(rows, starts, axis=0)
    wins = (rows == highest[bags]) | np.isnan(rows)
    position = np.where(wins, np.arange(len(bags))[:, None], len(bags))
    winners[bags[starts]] = np.minimum.reduceat(position, starts, axis=0)
    return winners


def _checked(per_sample_weights, shape: tuple[int, ...]) -> np.ndarray:
    weights = array_of(per_sample_weights, "per_sample_weights")
    if weights.shape != shape or weights.dtype.char not in "efdFD":
        raise ValueError(
            f"per_sample_weights are {weights.dtype} of shape {weights.shape}; they must be "
            f"floats, of at most 64 bits, in the shape of ids, {shape}"
        )
    return weights
