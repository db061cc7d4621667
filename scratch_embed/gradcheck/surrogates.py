"""Gradients that differ from the derivative on purpose, each checked against its stated formula.

    padding_idx          the row's gradient from lookups is 0
    scale_grad_by_freq   a row's gradient is divided by its count in the batch
    max_norm             the table is edited in place before the lookup; the gradient is that of
                         the lookup in the edited table, and the edit itself is not differentiated

The first two leave something out of the derivative that the tape lets us compute: what was
measured, minus what is left out, must be what backward says. For max_norm the derivative is
measured at the edited table, from the side on which the edit does nothing.
"""

from __future__ import annotations

import numpy as np

from scratch_embed.gradcheck.walk import Part, Walk, padding_of, walk
from scratch_embed.kernels.ids import count_ids
from scratch_embed.ops.bag import BagSaved
from scratch_embed.ops.lookup import LookupSaved
from scratch_embed.tensor import Tensor


def left_out(walked: Walk, out: Tensor, cotangent: np.ndarray, tensors: list[Tensor]):
    """What options of lookups leave out of the gradient of each tensor.

    Returns [(derivative minus stated gradient, {row: option that changed it}), ...]. Where a table
    was computed, what its lookup leaves out is missing from all that it was computed from.
    """
    found = [_of_its_lookups(walked.parts, tensor) for tensor in tensors]
    above = [part for part in walked.parts if part.tensor.node is not None and has_options(part)]
    if not above:
        return found
    option = next(iter(stated_gradient(above[0])[2].values()), "")
    true = walk(out, cotangent, derivative).grads
    for k, tensor in enumerate(tensors):
        missing = true.get(tensor, 0.0) - walked.grads.get(tensor, np.zeros(tensor.shape))
        rows = np.flatnonzero(missing.reshape(len(missing), -1).any(axis=1)) if missing.ndim else ()
        found[k] = missing, {int(row): option for row in rows} | found[k][1]
    return found


def derivative(part: Part) -> np.ndarray:
    """What an operation would hand back without its options."""
    return stated_gradient(part)[0] if has_options(part) else part.grad


def _of_its_lookups(parts: list[Part], tensor: Tensor) -> tuple[np.ndarray, dict[int, str]]:
    """The same, of the lookups of the tensor itself."""
    missing, why = np.zeros(tensor.shape), {}
    for part in parts:
        if part.tensor is tensor and has_options(part):
            true, stated, rows = stated_gradient(part)
            missing += true - stated
            why.update(rows)
    return missing, why


def has_options(part: Part) -> bool:
    """Whether this is the table of a lookup, or of bags, whose options change its gradient."""
    saved = part.node.saved
    if part.place != 0 or not isinstance(saved, (LookupSaved, BagSaved)):
        return False
    if isinstance(saved, BagSaved):  # there padding counts for nothing forward either
        return saved.scale_grad_by_freq
    if part.dout.size != saved.ids.size * part.tensor.shape[-1]:
        return False
    return saved.scale_grad_by_freq or padding_of(saved) is not None


def leaves_out(part: Part) -> bool:
    """Whether its options change what some row gets; the same where nothing arrives at that row,
    for a little beside a kink something may."""
    return has_options(part) and bool(stated_gradient(part)[2])


def sent_by_id(part: Part) -> tuple[np.ndarray, np.ndarray]:
    """(ids (N,), values (N, D)): what a lookup, or a bag that adds, sends back to each id."""
    saved = part.node.saved
    ids = saved.ids.reshape(-1)
    if isinstance(saved, LookupSaved):
        return ids, part.dout.reshape(len(ids), -1)
    factors = 1.0 if saved.factors is None else saved.factors[:, None]
    return ids, part.dout[saved.bags] * factors  # a bag hands its dout to every id in it


def stated_gradient(part: Part) -> tuple[np.ndarray, np.ndarray, dict[int, str]]:
    """The derivative of a lookup, the gradient its options state, and the rows where they differ.

    Written with np.add.at and not with the package's own scatter, so that it is a second opinion.
    """
    saved = part.node.saved
    ids, values = sent_by_id(part)
    true = np.zeros(part.tensor.shape)
    np.add.at(true, ids, values)
    stated, rows = true.copy(), {}
    if saved.scale_grad_by_freq:
        counts = count_ids(ids, len(true))
        stated /= np.maximum(counts, 1)[:, None]
        rows.update({int(v): "scale_grad_by_freq" for v in np.flatnonzero(counts > 1)})
    empty = padding_of(saved)
    if empty is not None and empty in ids:
        stated[empty] = 0
        rows[int(empty)] = "padding_idx"
    return true, stated, rows


def is_max_norm(before: np.ndarray, after: np.ndarray, once_more: np.ndarray) -> bool:
    """Whether an edit in place is a renormalisation: some rows shrunk, and nothing left to do.

    Every changed row must be a multiple below 1 of what it was, and a second run must change
    nothing more. An edit like `weight *= 0.5` by mistake is not of this kind.
    """
    if before.ndim != 2 or not np.allclose(after, once_more, rtol=1e-12, atol=0):
        return False
    changed = np.flatnonzero((before != after).any(axis=1))
    share = (before[changed] * after[changed]).sum(axis=1) / (before[changed] ** 2).sum(axis=1)
    shrunk = np.allclose(after[changed], share[:, None] * before[changed], rtol=1e-9, atol=1e-300)
    return bool(shrunk and (0 < share).all() and (share < 1).all())


def inward(value: float) -> int:
    """The direction in which an entry gets smaller, so that no row grows past max_norm."""
    return -1 if value > 0 else 1 if value < 0 else 0
