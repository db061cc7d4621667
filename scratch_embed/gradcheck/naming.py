"""Which of the hypotheses names the cause of a wrong gradient, and with which words."""

from __future__ import annotations

import numpy as np

from scratch_embed.gradcheck import by_row, layouts, paths, pattern, predictions
from scratch_embed.gradcheck.causes import HYPOTHESES, Cause, Hypothesis, half

# Those that ask the operation for other answers themselves.
LINEAR = {predictions.not_linear, layouts.memory_order}
ASKED = LINEAR | {
    predictions.outside,
    predictions.not_finite,
    predictions.nothing_of_this,
    predictions.ignores_dout,
    predictions.dout_cut_off,
}

# Those that answer with numbers of these very inputs.
MEASURED = {
    predictions.constant_factor,
    paths.weighed,
    pattern.shares,
    pattern.entries_left_out,
    pattern.wrong_slope,
    pattern.coupling_weighed,
}

# What may be wrong where a gradient is right.
OF_THIS_DOUT_ONLY = [h for h in HYPOTHESES if h.test in LINEAR]


@np.errstate(all="ignore")  # a hypothesis may multiply with what masks, as -1e308
def name_cause(
    case: predictions.Case, to: str, among: list[Hypothesis] = HYPOTHESES
) -> Cause | None:
    """The first hypothesis that predicts the wrong gradient; of all of them, the last one does.

    One that a random dout and other inputs refute is left for the next that they bear out, and what
    it says is taken from there: behind a sum every row arrives alike, so that the first use of a
    row is the last and a mean of all; of ones every slope is a constant factor.
    """
    holding = ((h, detail) for h in among if (detail := h.test(case)) is not None)
    found = next(holding, None)
    if found is None:
        return None
    hypothesis, detail = found
    known = hypothesis.test in ASKED or hypothesis is among[-1]
    elsewhere = None if known else case.elsewhere()
    if elsewhere is not None:
        there = hypothesis.test(elsewhere)
        while there is None:  # the last hypothesis holds everywhere
            hypothesis, detail = next(holding)
            there = hypothesis.test(elsewhere)
        detail = detail if hypothesis.test in MEASURED else there
    op = case.part.node.name
    words = {"op": op.removesuffix("_backward"), "half": half(op), "to": to}
    words |= by_row.BY_IDS if by_row.reads_ids(case) else by_row.BY_PLACE
    return Cause(hypothesis.name, op, hypothesis.sentence.format(**words, detail=detail))
