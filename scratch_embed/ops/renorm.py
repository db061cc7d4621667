"""Renormalise rows of a table in place: what `max_norm` does before a lookup."""

from __future__ import annotations

import numpy as np

from scratch_embed.kernels.ids import check_ids


def renorm_(weight: np.ndarray, ids: np.ndarray, max_norm: float, norm_type: float = 2.0) -> None:
    """Shrink each row named by `ids` whose p-norm exceeds `max_norm` to that norm, in place.

        weight[v] *= max_norm / ||weight[v]||_p        for v in ids with ||weight[v]||_p > max_norm

    Rows that are not looked up stay as they are, however long. It is an edit of the table and not
    a function that backward knows of, so it stands apart from the lookup that follows it.

    >>> weight = np.array([[3.0, 4.0], [3.0, 4.0]])
    >>> renorm_(weight, [1], max_norm=1.0)
    >>> weight.round(6).tolist()
    [[3.0, 4.0], [0.6, 0.8]]
    """
    rows = np.unique(check_ids(ids, len(weight)))
    norms = np.linalg.norm(weight[rows], ord=norm_type, axis=1)
    long = norms > max_norm
    if long.any() and not weight.flags.writeable:
        raise ValueError(
            f"the table is read-only, and max_norm would shrink row {rows[long][0]} in place: "
            "pass a copy of the table, or max_norm=None"
        )
    weight[rows[long]] *= (max_norm / norms[long])[:, None].astype(weight.dtype)
