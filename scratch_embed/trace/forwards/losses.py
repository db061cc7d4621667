"""Softmax, and the losses: cross-entropy, tied or not, and those of word2vec."""

from __future__ import annotations

import numpy as np

from scratch_embed.digits import short
from scratch_embed.ops import softmax
from scratch_embed.trace.slopes.slope import Index, entry, factor, some
from scratch_embed.trace.walk import ForwardStep

LEAST = -30.0  # of ln p, for p to be written as a number


def shares(at: ForwardStep, index: Index) -> list[str]:
    """Softmax and its logarithm: e^z over the sum of all of them along its axis."""
    axis = at.node.saved.axis % len(index)
    scores = at.inputs[0]
    line = scores.value[tuple(slice(None) if k == axis else i for k, i in enumerate(index))]
    shown, rest = some(line)
    told = [*(f"e^{factor(z)}" for z in shown), *rest]
    all_of = entry(scores.name, index).removesuffix("]").rpartition(",")[0]
    name = f"{all_of},:]" if all_of else f"{scores.name}[:]"
    sums = f"e^{entry(scores.name, index)} / sum of e^{name}" if axis == len(index) - 1 else ""
    ratio = f"e^{factor(scores.value[index])} / ({' + '.join(told)})"
    if at.node.forward is softmax.log_softmax_forward:
        sums, ratio = (f"ln({text})" if text else "" for text in (sums, ratio))
    return [text for text in (sums, ratio) if text]


def surprised(at: ForwardStep, index: Index) -> list[str]:
    """Cross-entropy: -ln p of the targets, which smoothing spreads over every class."""
    saved = at.node.saved
    shape = at.inputs[0].value.shape[:-1]
    kept = np.flatnonzero(saved.scale)
    if at.out.ndim:
        kept = np.intersect1d(kept, [np.ravel_multi_index(index, shape)])
    if not len(kept):  # none that counts: the value alone is told
        return []
    shown, rest = some(kept)
    names, numbers = [], []
    for n in shown:
        o = (*np.unravel_index(n, shape), saved.targets[n]) if shape else (saved.targets[n],)
        if saved.spread is None:
            counts = "" if saved.hit[n] == 1 else f"{short(saved.hit[n])}*"
            names.append(f"{counts}ln {entry('p', o)}")
            numbers.append(f"{counts}ln {_power(saved.log_p[n, saved.targets[n]])}")
        else:  # every class counts
            log_p = saved.log_p[n]
            counted = saved.hit[n] * log_p[saved.targets[n]] + log_p @ saved.spread
            names.append(f"sum of q*ln {entry('p', (*o[:-1], ':'))}")
            numbers.append(factor(counted))
    share = "" if saved.scale[kept[0]] == 1 else f" / {short(1 / saved.scale[kept[0]])}"
    told = (" + ".join([*texts, *rest]) for texts in (names, numbers))
    return [f"-({text}){share}" for text in told]


def _power(log_p: float) -> str:
    """e^log_p; of one that is too small to be read, as a power of e.

    >>> _power(-0.6931), _power(-237.68)
    ('0.5', 'e^-237.7')
    """
    return short(np.exp(float(log_p))) if log_p > LEAST else f"e^{short(log_p)}"


def surprised_when_tied(at: ForwardStep, index: Index) -> list[str]:
    """The tied cross-entropy: the probabilities of the targets, found again for those shown."""
    h, weight, saved = at.inputs[0].value, at.inputs[1].value.astype(float), at.node.saved
    kept = np.flatnonzero(saved.scale)
    if not len(kept):
        return []
    shown, rest = some(kept)
    z = h.reshape(len(saved.scale), h.shape[-1])[shown].astype(float) @ weight.T
    z -= z.max(axis=1, keepdims=True)
    log_p = z[np.arange(len(shown)), saved.targets[shown]] - np.log(np.exp(z).sum(axis=1))
    positions = [np.unravel_index(n, h.shape[:-1]) if h.ndim > 1 else () for n in shown]
    names = [f"ln {entry('p', (*where, saved.targets[n]))}" for n, where in zip(shown, positions)]
    share = "" if saved.scale[kept[0]] == 1 else f" / {short(1 / saved.scale[kept[0]])}"
    numbers = [f"ln {_power(x)}" for x in log_p]
    return [f"-({' + '.join([*texts, *rest])}){share}" for texts in (names, numbers)]


def compared(at: ForwardStep, index: Index) -> list[str]:
    """sgns and cbow: a sum over examples, of which each asks K + 1 questions."""
    saved = at.node.saved
    saved = getattr(saved, "sgns", saved)
    true, drawn = saved.positive_score, saved.negative_scores
    names, numbers = [], []
    questions, rest = some(range(true.size + drawn.size))
    for n, k in (divmod(q, 1 + drawn.shape[1]) for q in questions):
        if k == 0:  # first the pair that was met, then those that were drawn
            name, z = entry("positive_score", (n,)), true[n]
        else:
            name, z = f"-{entry('negative_scores', (n, k - 1))}", -drawn[n, k - 1]
        names.append(f"ln s({name})")
        numbers.append(f"ln s({short(z)})")
    return [f"-({' + '.join([*texts, *rest])})" for texts in (names, numbers)]
