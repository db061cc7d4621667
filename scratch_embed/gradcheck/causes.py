"""What a wrong gradient looks like, and the mistake that makes it look so.

A hypothesis predicts the wrong gradient from the right one. Forgetting to add repeated ids leaves
the last contribution in each row; a wrong sign leaves minus the gradient; a transposed product
leaves the transpose. Each hypothesis is an entry of `HYPOTHESES`: a name, the test that makes the
prediction, and a sentence. The first that predicts the contribution number by number names the
cause, so the special ones stand before the general ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from scratch_embed.gradcheck import by_row as r
from scratch_embed.gradcheck import derivatives as d
from scratch_embed.gradcheck import predictions as p


class Cause(NamedTuple):
    name: str  # short and fixed, for programs: "overwritten"
    op: str  # the operation at fault, "" when it is none in particular
    sentence: str  # for people


class Hypothesis(NamedTuple):
    name: str
    test: Callable[[p.Case], str | None]
    sentence: str  # {op}: the operation, {to}: its input, {detail}: what the test answered


HYPOTHESES = [
    Hypothesis("not a number", p.not_finite, "{op} hands {to} {detail}"),
    Hypothesis(
        "missing path",
        p.nothing,
        "{op} sends nothing back to {to}; the gradient of a tensor is the sum over all its uses",
    ),
    Hypothesis(
        "dout ignored",
        p.ignores_dout,
        "{op} does not multiply by dout: twice the arriving gradient gives the same answer",
    ),
    Hypothesis(
        "dout cut off",
        p.dout_cut_off,
        "{op} drops what arrives below 0, as guided backpropagation does for pictures; the "
        "derivative hands on the negative part of dout as well",
    ),
    Hypothesis(
        "overwritten",
        r.overwritten,
        "repeated ids are overwritten instead of added: {op} keeps only the {detail} use of a row, "
        "as grad[ids] = dout and grad[ids] += dout both do; np.add.at or scatter_add sums them all",
    ),
    Hypothesis(
        "reversed scatter",
        r.reversed_ids,
        "{op} scatters in reversed order: the ids run one way and the rows of dout the other",
    ),
    Hypothesis(
        "swapped axes",
        r.swapped_axes,
        "{op} reads the ids column by column and dout row by row: batch and time are exchanged",
    ),
    Hypothesis("shifted ids", r.shifted, "{op} is off by one: {detail}"),
    Hypothesis("missed position", r.missed, "{op} leaves out position {detail} of the batch"),
    Hypothesis(
        "averaged repeats",
        r.averaged,
        "{op} divides each row by its number of uses; only scale_grad_by_freq=True asks for that",
    ),
    Hypothesis(
        "option ignored",
        r.option_ignored,
        "{op} answers with the plain derivative and does not honour {detail}",
    ),
    Hypothesis(
        "row dropped",
        r.row_dropped,
        "{op} gives row {detail} of {to} nothing, as if it were a padding_idx",
    ),
    Hypothesis("row dropped", r.row_missing, "{op} gives row {detail} of {to} nothing"),
    Hypothesis(
        "wrong sign",
        p.wrong_sign,
        "{op} has the wrong sign: every entry for {to} is minus what it should be",
    ),
    Hypothesis(
        "missing mean factor",
        p.missing_mean,
        "{op} does not divide by {detail}: the gradient of a mean over n is 1/n of that of a sum",
    ),
    Hypothesis("wrong axis", p.wrong_axis, "{op} cuts the gradient of {to} along {detail}"),
    Hypothesis(
        "broadcast not summed",
        p.not_summed,
        "{op} stretched {to} over several places and hands back {detail}, not their sum",
    ),
    Hypothesis(
        "constant factor",
        p.constant_factor,
        "{op} is off by a constant factor: each entry for {to} is {detail} times what it should be",
    ),
    Hypothesis(
        "exchanged gradients",
        p.exchanged,
        "{op} returns its gradients in the wrong order: {to} gets that of another input",
    ),
    Hypothesis(
        "transposed",
        p.transposed,
        "{op} hands {to} a transposed gradient; for out = x @ W they are dx = dout @ W.T and "
        "dW = x.T @ dout",
    ),
    Hypothesis(
        "transposed",
        p.forward_again,
        "{op} sends dout through its forward once more; what is due is the transpose, which for a "
        "move or a rotation is the way back",
    ),
    Hypothesis("misplaced", p.misplaced, "{op} hands {to} the right numbers in the wrong places"),
    Hypothesis(
        "no shift by the target",
        d.no_target,
        "{op} forgets the target: the error is p - 1 there, and p elsewhere",
    ),
    Hypothesis(
        "softmax diagonal",
        d.diagonal_softmax,
        "{op} treats each score alone, but raising one lowers every other probability: "
        "dz = p (dout - sum of p dout)",
    ),
    Hypothesis(
        "stale gradient",
        d.not_from_zero,
        "{op} adds the gradient of {to} to {detail} everywhere: start from np.zeros, not from "
        "np.ones, np.empty or what a call before left there",
    ),
    Hypothesis(
        "leak",
        d.leaks,
        "{op} hands gradient to entries of {to} that get none: unused, masked, ignored or cut off",
    ),
    Hypothesis(
        "dout passed on",
        d.passed_on,
        "{op} hands dout on as it came: its own derivative is missing",
    ),
    Hypothesis(
        "statistics held constant",
        d.statistics_constant,
        "{op} holds the mean and variance of a row constant, though they move with {to}",
    ),
    Hypothesis(
        "statistics wrong",
        d.statistics_wrong,
        "{op} sends something else than it should through the mean or the variance of a row: left "
        "out, taken twice, a sum for a mean, or another power of the deviation",
    ),
    Hypothesis(
        "overwritten",
        r.overwritten_beside,
        "repeated ids are overwritten instead of added: of {to} just the rows that {op} reads more "
        "than once are wrong, as after grad[ids] += dout; np.add.at or scatter_add sums them all",
    ),
    Hypothesis(
        "missing path",
        r.one_way_unpaid,
        "{op} uses {to} in more than one way, and one of them sends nothing back: {detail}",
    ),
    Hypothesis(
        "local derivative",
        d.anything,
        "the derivative inside {op} is wrong for {to}; no known pattern fits it",
    ),
]


def name_cause(case: p.Case, to: str) -> Cause:
    """The first hypothesis that predicts the wrong gradient."""
    op = case.part.node.name
    for hypothesis in HYPOTHESES:
        detail = hypothesis.test(case)
        if detail is not None:
            sentence = hypothesis.sentence.format(op=op, to=to, detail=detail)
            return Cause(hypothesis.name, op, sentence)
    raise AssertionError("the last hypothesis fits everything")
