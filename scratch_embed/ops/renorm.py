"""Renormalise rows of a table in place: what `max_norm` does before a lookup."""

from __future__ import annotations

import numpy as np

from scratch_embed.arguments import is_real
from scratch_embed.kernels.ids import check_ids
from scratch_embed.lengths import lengths, scaled
from scratch_embed.watch import wrote

LEAST_P = 0.1


def renorm_(weight: np.ndarray, ids: np.ndarray, max_norm: float, norm_type: float = 2.0) -> None:
    """Shrink each row named by `ids` whose p-norm exceeds `max_norm` to that norm, in place.

        weight[v] *= max_norm / ||weight[v]||_p        for v in ids with ||weight[v]||_p > max_norm

    weight (V, D) float32 or float64, ids (...) of any integer type. Rounding may leave a shrunk
    row longer by the last place; such a row is shrunk once more, by a hair, until its norm is at
    most max_norm, computed in the dtype of the table and in float64. So a second call changes
    nothing. (PyTorch divides by the norm + 1e-7 instead, and some of its rows stay too long.)

    Rows that are not looked up stay as they are, however long, and those with a NaN or an infinity,
    which no factor brings to any norm. It is an edit of the table and not
    a function that backward knows of, so it stands apart from the lookup that follows it.

    Raises ValueError for a max_norm that is not positive, a norm_type below 0.1 and a read-only
    table with a row to shrink; IndexError or TypeError for bad ids.

    >>> weight = np.array([[3.0, 4.0], [3.0, 4.0]])
    >>> renorm_(weight, [1], max_norm=1.0)
    >>> weight.round(6).tolist()
    [[3.0, 4.0], [0.6, 0.8]]
    """
    check_max_norm(max_norm, norm_type)
    rows, hair = np.unique(check_ids(ids, len(weight))), 0.0
    while True:
        norms, too_long = _norms(weight[rows], max_norm, norm_type)
        rows, norms = rows[too_long], norms[too_long]
        if not rows.size:
            return
        if not weight.flags.writeable:
            raise ValueError(
                f"the table is read-only, and max_norm would shrink row {rows[0]} in place: "
                "pass a copy of the table, or max_norm=None"
            )
        factors = max_norm / norms * (1 - hair)
        weight[rows] = scaled(weight[rows], factors[:, None])
        wrote(weight)
        hair = 2 * hair or float(np.finfo(weight.dtype).eps)


def check_max_norm(max_norm: float | None, norm_type: float) -> None:
    """ValueError unless both are positive; a max_norm of None sets no limit."""
    if max_norm is not None and not (is_real(max_norm) and max_norm > 0):
        raise ValueError(f"max_norm is {max_norm!r}; it must be positive, or None for no limit")
    if not (is_real(norm_type) and norm_type > 0):
        raise ValueError(f"norm_type is {norm_type!r}; the p of a p-norm is positive")
    if norm_type < LEAST_P:
        raise ValueError(
            f"norm_type is {norm_type!r}; at least {LEAST_P} is taken, for D^(1/p) leaves the "
            "range of a float"
        )


def _norms(rows: np.ndarray, max_norm: float, norm_type: float) -> tuple[np.ndarray, np.ndarray]:
    """(norms in float64, which are too long)"""
    wide = rows.astype(np.result_type(rows, np.float64))
    norms = lengths(wide, norm_type)
    too_long = norms > max_norm
    for table in (wide, rows):  # what a reader of the table computes; it may be infinite, wrongly
        with np.errstate(over="ignore"):
            plain = np.linalg.norm(table, ord=norm_type, axis=1)
        too_long |= (plain > max_norm) & np.isfinite(plain)
    return norms, too_long & np.isfinite(norms)
