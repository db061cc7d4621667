"""Whether backward reads dout by its indices: the same numbers may lie otherwise in memory."""

from __future__ import annotations

import numpy as np

from scratch_embed.gradcheck.noise import rounding
from scratch_embed.gradcheck.numeric import stream
from scratch_embed.gradcheck.predictions import Case, close
from scratch_embed.gradcheck.walk import answers


def memory_order(case: Case) -> str | None:
    """Another answer, or none, for the same dout where it lies otherwise in memory.

    For a random dout: one whose numbers are equal, as behind a sum, shows nothing.
    """
    size = float(np.abs(case.dout).max(initial=0)) or 1.0
    dout, doubt = size * stream(0).standard_normal(case.dout.shape), rounding(case.part)
    with np.errstate(all="ignore"):
        first = answers(case.part, dout.copy())
        if not all(np.isfinite(one).all() for one in first):
            return None
        for words, laid in LAYOUTS.items():
            try:
                other = answers(case.part, laid(dout))
            except Exception as error:  # noqa: BLE001  a learner's own backward may raise anything
                return f"{words} ({type(error).__name__}: {error})"
            for one, two in zip(first, other):  # sums in another order end in other digits
                if not (close(one, two) or np.abs(one - two).max(initial=0) <= doubt):
                    return words
    return None


def _spread(dout: np.ndarray) -> np.ndarray:
    """The same numbers with something else between them, which only who reads memory will see."""
    wide = np.full((*dout.shape[::-1], 2), np.nan)
    apart = wide[..., 0].T
    apart[...] = dout
    return apart


LAYOUTS = {
    "column by column": lambda dout: dout.copy(order="F"),
    "with gaps between its numbers": _spread,
}
