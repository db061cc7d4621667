"""Lookup: gather rows forward, scatter-add their gradients backward."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed import kernels
from scratch_embed.arguments import check_flag, is_whole
from scratch_embed.kernels.ids import to_int64
from scratch_embed.rows import RowGrad


class LookupSaved(NamedTuple):
    ids: np.ndarray  # (...,) int64, checked
    num_rows: int  # V
    padding_idx: int | None  # this row is given no gradient
    scale_grad_by_freq: bool  # divide a row's gradient by its count in this batch
    sparse: bool  # answer with a RowGrad instead of a dense (V, D) array


def lookup_forward(
    weight: np.ndarray,
    ids: np.ndarray,
    padding_idx: int | None = None,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> tuple[np.ndarray, LookupSaved]:
    """out[n] = weight[ids[n]]                 gather        (V, D), (...) -> (..., D)

    The three options change only what backward answers, never the rows that come out.

    padding_idx : this row is given no gradient; it may be written from the end, as -1.
    scale_grad_by_freq : divide a row's gradient by the number of times its id stands in the batch.
    sparse : backward answers with a RowGrad instead of a dense (V, D) array.

    Raises IndexError for an id outside 0..V-1; TypeError for ids that are not integers, a table
    that is not of floats, a padding_idx that is not a whole number; ValueError for a table that is
    not 2-D or a padding_idx that it does not have.

    >>> weight = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    >>> out, saved = lookup_forward(weight, np.array([1, 1, 2]))
    >>> out.tolist()
    [[0.3, 0.4], [0.3, 0.4], [0.5, 0.6]]
    """
    # The caller, or another thread of theirs, may fill the same buffer anew, even while we read.
    given = ids.copy() if isinstance(ids, np.ndarray) else ids
    out = kernels.gather(weight, given)  # looks at the range of the ids
    ids = to_int64(given, len(weight)) if given is not ids else to_int64(ids, len(weight)).copy()
    padding_idx = padding_row(padding_idx, len(weight))
    check_flag(scale_grad_by_freq, "scale_grad_by_freq")
    check_flag(sparse, "sparse")
    return out, LookupSaved(ids, len(weight), padding_idx, scale_grad_by_freq, sparse)


def padding_row(padding_idx: int | None, num_rows: int) -> int | None:
    """The row that `padding_idx` names; it may be written from the end, as -1.

    Raises TypeError for anything but a whole number or None, ValueError for a row out of range.
    """
    if padding_idx is None:
        return None
    if not is_whole(padding_idx):
        raise TypeError(f"padding_idx is {padding_idx!r}; it must be a whole number, or None")
    if not -num_rows <= padding_idx < num_rows:
        raise ValueError(
            f"padding_idx is {padding_idx}; a table of {num_rows} rows allows "
            f"{-num_rows}..{num_rows - 1}"
        )
    return int(padding_idx) % num_rows


def lookup_backward(dout: np.ndarray, saved: LookupSaved) -> np.ndarray | RowGrad:
    """dweight[v] = sum of dout[n] over n with ids[n] = v
                                               scatter-add   (..., D) -> (V, D) or RowGrad

    A row that was looked up twice collects two gradients; a row never looked up gets exactly 0.

    Two options make the answer differ from the derivative on purpose, as in PyTorch:
    `padding_idx` leaves its row at 0, and `scale_grad_by_freq` divides row v by the number of
    times v stands in the batch.

    >>> _, saved = lookup_forward(np.zeros((3, 2)), np.array([1, 1, 2]))
    >>> lookup_backward(np.array([[1.0, 2.0], [10.0, 20.0], [5.0, 5.0]]), saved).tolist()
    [[0.0, 0.0], [11.0, 22.0], [5.0, 5.0]]
    """
    ids = saved.ids.reshape(-1)
    dout = dout.reshape(len(ids), dout.shape[-1])
    if saved.padding_idx is not None:
        kept = ids != saved.padding_idx
        ids, dout = ids[kept], dout[kept]
    if saved.scale_grad_by_freq:
        _, use, counts = np.unique(ids, return_inverse=True, return_counts=True)
        dout = dout / counts[use].astype(dout.dtype)[:, None]

    shape = (saved.num_rows, dout.shape[-1])
    if saved.sparse:
        return RowGrad.of_batch(ids, dout, shape)
    dweight = np.zeros(shape, dout.dtype)
    kernels.scatter_add(dweight, ids, dout)
    return dweight
