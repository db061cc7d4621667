"""What a wrong gradient looks like, and the mistake that makes it look so.

A hypothesis predicts the wrong gradient from the right one. Forgetting to add repeated ids leaves
the last contribution in each row; a wrong sign leaves minus the gradient; a transposed product
leaves the transpose. Each hypothesis is an entry of `HYPOTHESES`: a name, the test that makes the
prediction, and a sentence. The first that predicts the contribution number by number names the
cause (see `naming`), so the special ones stand before the general ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from scratch_embed.gradcheck import as_if, kinks, layouts, means, paths, pattern
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
    # {half}: its backward, {op}: the operation, {to}: the input, {detail}: what the test answered
    sentence: str


NOT_LINEAR = (
    "{half} is not linear in dout: {detail}. A backward multiplies dout by what forward saved, "
    "and neither squares it nor clips it nor leaves out what is small"
)

HYPOTHESES = [
    Hypothesis(
        "state outside",
        p.outside,
        "{half} answers otherwise once {op} has run again: it reads what forward left elsewhere "
        "than in saved, in a global or an attribute, and every use writes it anew",
    ),
    Hypothesis("not a number", p.not_finite, "{half} hands {to} {detail}"),
    Hypothesis("dout not linear", p.nothing_of_this, NOT_LINEAR),
    Hypothesis(
        "missing path",
        p.nothing,
        "{half} sends nothing back to {to}; the gradient of a tensor is the sum over all its uses",
    ),
    Hypothesis(
        "dout ignored",
        p.ignores_dout,
        "{half} does not multiply by dout what it hands {to}: twice the arriving gradient gives "
        "the same answer",
    ),
    Hypothesis(
        "memory order",
        layouts.memory_order,
        "{half} answers otherwise where dout lies {detail} in memory, as it may after a "
        "transpose: read it by its indices, not as it lies, as ravel('K') and as_strided do",
    ),
    Hypothesis(
        "dout cut off",
        p.dout_cut_off,
        "{half} drops what arrives below 0, as guided backpropagation does for pictures; the "
        "derivative hands on the negative part of dout as well",
    ),
    Hypothesis(
        "overwritten",
        r.overwritten,
        "{repeats} are overwritten instead of added: {half} keeps only the {detail}; {adding}",
    ),
    Hypothesis(
        "overwritten",
        r.overwritten_within,
        "repeated ids are overwritten instead of added within each {detail}, as in a loop of "
        "grad[ids] += dout over one {detail} at a time in {half}; {adding}",
    ),
    Hypothesis(
        "overwritten",
        r.overwritten_copies,
        "{op} copies entries of {to}, and {half} keeps only the {detail} of their copies; {adding}",
    ),
    Hypothesis(
        "reversed scatter",
        r.reversed_ids,
        "{half} scatters in reversed order: {those} run one way and the rows of dout the other",
    ),
    Hypothesis(
        "swapped axes",
        r.swapped_axes,
        "{half} reads the ids column by column and dout row by row: batch and time are exchanged",
    ),
    Hypothesis("shifted ids", r.shifted, "{half} is off by one: {detail}"),
    Hypothesis("missed position", r.missed, "{half} leaves out {detail} of the batch"),
    Hypothesis(
        "averaged repeats",
        r.averaged,
        "{half} divides each row by its number of uses; only scale_grad_by_freq=True asks for that",
    ),
    Hypothesis(
        "option ignored",
        r.option_ignored,
        "{half} answers with the plain derivative and does not honour {detail}",
    ),
    Hypothesis(
        "row dropped",
        r.row_dropped,
        "{half} gives row {detail} of {to} nothing, as if it were a padding_idx",
    ),
    Hypothesis("row dropped", r.row_missing, "{half} gives row {detail} of {to} nothing"),
    Hypothesis(
        "wrong sign",
        p.wrong_sign,
        "{half} has the wrong sign: every entry for {to} is minus what it should be",
    ),
    Hypothesis(
        "missing mean factor",
        means.missing_mean,
        "{half} sends {detail} times too much, as one that does not divide by {detail}: the "
        "gradient of a mean over n is 1/n of that of a sum",
    ),
    Hypothesis("wrong axis", p.summed_wrongly, "{half} sums the gradient of {to} along {detail}"),
    Hypothesis("wrong axis", p.wrong_axis, "{half} cuts the gradient of {to} along {detail}"),
    Hypothesis(
        "broadcast not summed",
        p.not_summed,
        "{op} stretched {to} over several places, and {half} hands back {detail}, not their sum",
    ),
    Hypothesis(
        "constant factor",
        p.constant_factor,
        "{half} is off by a constant factor: each entry for {to} is {detail} times what it should "
        "be",
    ),
    Hypothesis(
        "exchanged gradients",
        p.exchanged,
        "{half} hands {to} the gradient of another input: they come in the wrong order, or one "
        "of them twice",
    ),
    Hypothesis(
        "transposed",
        p.transposed,
        "{half} hands {to} a transposed gradient; for out = x @ W they are dx = dout @ W.T and "
        "dW = x.T @ dout",
    ),
    Hypothesis(
        "transposed",
        p.column_by_column,
        "{half} fills what it hands {to} column by column, as reshape(..., order=\"F\") does, and "
        "forward reads it row by row",
    ),
    Hypothesis(
        "transposed",
        p.forward_again,
        "{half} sends dout through forward once more; what is due is the transpose, which for a "
        "move or a rotation is the way back",
    ),
    Hypothesis(
        "dout out of order",
        as_if.dout_in_another_order,
        "{half} reads dout in another order than forward wrote its output: {detail}",
    ),
    Hypothesis(
        "another input",
        as_if.another_input,
        "{half} is right for another input than forward had: {detail}",
    ),
    Hypothesis(
        "wrong axis",
        as_if.another_axis,
        "{half} works along another axis than forward: it is right where {detail}",
    ),
    Hypothesis("misplaced", p.misplaced, "{half} hands {to} the right numbers in the wrong places"),
    Hypothesis(
        "no shift by the target",
        d.no_target,
        "{half} does not take 1 away at the target: the error is p - 1 there, and p elsewhere",
    ),
    Hypothesis(
        "softmax diagonal",
        d.diagonal_softmax,
        "{half} treats each score alone, but raising one lowers every other probability: "
        "dz = {detail}",
    ),
    Hypothesis(
        "stale gradient",
        d.not_from_zero,
        "{half} adds the gradient of {to} to {detail} everywhere: start from np.zeros, not from "
        "np.ones, np.empty or what a call before left there",
    ),
    Hypothesis(
        "beyond a kink",
        kinks.beyond,
        "{half} hands entries of {to} that are on a kink something else than lies between the "
        "slopes on its two sides",
    ),
    Hypothesis(
        "leak",
        d.leaks,
        "{half} hands gradient to entries of {to} that get none: unused, masked, ignored or cut "
        "off",
    ),
    Hypothesis(
        "dout passed on",
        d.passed_on,
        "{half} hands dout on as it came{detail}: its own derivative is missing",
    ),
    Hypothesis(
        "statistics held constant",
        d.statistics_constant,
        "{half} holds constant what is taken over a row, a sum, mean, variance or norm, though it "
        "moves with {to}",
    ),
    Hypothesis(
        "statistics wrong",
        d.statistics_wrong,
        "{half} sends something else than it should through what is taken over a row, a sum, mean, "
        "variance or norm: it may be left out, taken twice, have another sign, axis or power, or "
        "be a sum for a mean",
    ),
    Hypothesis(
        "missing path",
        paths.one_reading,
        "{op} reads {to} by more than one batch of ids, and {half} adds up what one of them is "
        "owed: {detail}",
    ),
    Hypothesis(
        "missing path",
        r.one_way_unpaid,
        "{op} uses {to} in more than one way, and for one of them {half} sends nothing back: "
        "only the rows that its ids name get anything",
    ),
    Hypothesis(
        "missing path",
        r.one_way_wrong,
        "{op} uses {to} in more than one way, and what {half} sends back to the rows that its ids "
        "read is wrong, or not added to the rest: every row is right but those that they name",
    ),
    Hypothesis("residual", paths.beside_itself, "{half} {detail}"),
    Hypothesis(
        "missing path",
        paths.stops_at_each_step,
        "{half} stops at each {detail}",
    ),
    Hypothesis(
        "sample dropped",
        p.one_sample,
        "{half} answers for {detail}; {to} is used by all of them",
    ),
    Hypothesis(
        "dout not linear",
        p.not_linear,
        NOT_LINEAR,
    ),
    Hypothesis(
        "wrong weights",
        paths.weighed,
        "{half} weighs the samples wrongly, as a mean over another count does, or one that is "
        "written over another: {detail}",
    ),
    Hypothesis(
        "wrong weights",
        pattern.shares,
        "{half} sends each row the right numbers with wrong weights: {detail}",
    ),
    Hypothesis(
        "overwritten",
        r.overwritten_beside,
        "of {to} just the rows that ids name more than once are wrong: does {half} add up what "
        "they are owed? grad[ids] += dout overwrites, a mean divides; np.add.at or scatter_add "
        "sums them all",
    ),
    Hypothesis(
        "entries left out",
        pattern.entries_left_out,
        "{half} gives nothing to {detail}; the other entries of {to} are right",
    ),
    Hypothesis(
        "wrong slope",
        pattern.wrong_slope,
        "{op} works entry by entry, and {half} has another slope for {to}: {detail}",
    ),
    Hypothesis(
        "coupling ignored",
        pattern.coupling_ignored,
        "{half} treats each entry of {to} alone, though in forward one moves several, as through "
        "a sum, a mean, a maximum or a norm; all that come back are summed",
    ),
    Hypothesis(
        "samples mixed",
        pattern.coupling_added,
        "{half} sends what arrives at some samples to others, on which they do not depend, as a "
        "sum over the batch does, or a mask that is forgotten",
    ),
    Hypothesis(
        "coupling wrong",
        pattern.coupling_weighed,
        "{half} is wrong in what one entry of dout sends to other entries of {to}, as through a "
        "sum, a mean, a norm or a turn: in one place it comes times {detail}",
    ),
    Hypothesis(
        "local derivative",
        d.anything,
        "{half} is wrong for {to}; no known pattern fits it",
    ),
]

def half(op: str) -> str:
    """The half of an operation that a wrong gradient comes from, in words.

    >>> half("lookup"), half("lookup_backward")
    ('backward of lookup', 'lookup_backward')
    """
    return op if op.endswith("backward") else f"backward of {op}"
