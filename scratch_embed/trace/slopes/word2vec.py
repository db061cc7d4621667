"""Local derivatives of skip-gram and CBOW with negative sampling, through their scores.

    dcenter[n,d] = e[n] context[n,d] + sum over k of f[n,k] negatives[n,k,d]

with the errors e[n] = s(score of the true pair) - 1 and f[n,k] = s(score of a drawn one): each
opens into its score. CBOW's sgns starts from the mean h of a window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed.digits import short
from scratch_embed.ops.elementwise import sigmoid_forward
from scratch_embed.trace.slopes.slope import Index, Middle, Slopes, dot, entry, factor
from scratch_embed.trace.walk import ForwardStep
from scratch_embed.working import Line

SURE = 5.0  # a score from which on s(z) - 1 would show fewer digits than there are


class Named(NamedTuple):
    """An array of the loss, and what it is called."""

    name: str
    value: np.ndarray


class Roles(NamedTuple):
    """Who is compared with whom, whether in skip-gram or in CBOW."""

    center: Named  # (N, D)
    true: Named  # (N, D)
    drawn: Named  # (N, K, D)

    def other(self, o: Index) -> tuple[str, Index]:
        """The vector that a score (n, j) is taken with: the true one for j = 0."""
        n, j = o
        return (self.true, (n,)) if j == 0 else (self.drawn, (n, j - 1))


def skip_gram(at: ForwardStep, place: int, index: Index) -> Slopes:
    """sgns of center, context and negatives."""
    return _pairs(Roles(*(Named(i.name, i.value) for i in at.inputs[:3])), at, place, index)


def window(at: ForwardStep, place: int, index: Index) -> Slopes:
    """cbow of contexts, center and negatives."""
    mean = Named("h", at.node.saved.sgns.center)
    roles = Roles(mean, *(Named(i.name, i.value) for i in at.inputs[1:3]))
    if place:
        return _pairs(roles, at, place, index)
    n, word, column = index
    share = float(at.node.saved.share[n, word])
    whole = _pairs(roles, at, 0, (n, column))  # what reaches the mean

    def told(dout: np.ndarray, o: Index) -> Line:
        errors = whole.middle.gradient(dout)
        parts = [whole.middle.told(dout, tuple(p)) for p in whole.places]
        names = [(part.name, whole.said(tuple(p))[0]) for part, p in zip(parts, whole.places)]
        value = float(errors @ whole.values)
        stages = dict.fromkeys([*dot(names, errors, whole.values), short(value)])
        return Line(entry("dh", o), tuple(stages), value, parts=tuple(parts[:5]))

    middle = Middle(
        lambda o: entry("h", o),
        lambda dout: np.array([whole.middle.gradient(dout) @ whole.values]),
        told,
    )
    places = np.array([[n, column]] if share else np.zeros((0, 2)), int)
    return Slopes(places, np.full(len(places), share),
                  lambda o: (f"1/{round(1 / share)}",), middle=middle)  # fmt: skip


def _pairs(roles: Roles, at: ForwardStep, place: int, index: Index) -> Slopes:
    """place: 0 for the centre, 1 for the true word, 2 for the drawn ones."""
    n, column = index[0], index[-1]
    count = roles.drawn.value.shape[1]
    which = {0: range(count + 1), 1: (0,), 2: (index[1] + 1,)}[place]
    places = np.array([(n, j) for j in which], int)
    values = [roles.center.value[n, column]] if place else [
        held.value[(*row, column)] for held, row in map(roles.other, places)]  # fmt: skip

    def said(o: Index) -> tuple[str, ...]:
        held, row = roles.other(o) if place == 0 else (roles.center, (n,))
        return (entry(held.name, (*row, column)),)

    return Slopes(places, np.array(values, float), said, middle=_scores(roles, at, places))


def _scores(roles: Roles, at: ForwardStep, places: np.ndarray) -> Middle:
    """The scores (n, j) of a pair; their gradients are the errors e and f."""

    def score(o: Index) -> float:
        held, row = roles.other(o)
        return float(np.dot(roles.center.value[o[0]].astype(float), held.value[row]))

    def error(o: Index) -> float:
        sign = -1.0 if o[1] == 0 else 1.0  # s(z) - 1 is -s(-z), which keeps all digits
        return sign * float(sigmoid_forward(np.array(sign * score(o)))[0])

    def name(o: Index) -> str:
        n, j = o
        return entry("positive_score", (n,)) if j == 0 else entry("negative_scores", (n, j - 1))

    def told(dout: np.ndarray, o: Index) -> Line:
        n, j = o
        held, row = roles.other(o)
        z, share, value = score(o), error(o) + (j == 0), error(o) * float(dout)
        less = "" if j else " - 1"
        ends = [f"{text}{less}" for text in (f"s({name(o)})", f"s({short(z)})", short(share))]
        if j == 0 and z > SURE:
            ends = [ends[0], f"-s({short(-z)})"]
        if dout != 1:
            ends = [f"({text})" if less else text for text in ends]
            fronts = (f"d{at.name}", factor(dout), factor(dout))
            ends = [f"{front}*{text}" for front, text in zip(fronts, ends)]
        stages = (*ends, short(value))
        a, b = roles.center.value[n].astype(float), held.value[row].astype(float)
        pairs = [
            (entry(roles.center.name, (n, d)), entry(held.name, (*row, d))) for d in range(len(a))
        ]
        under = Line(name(o), tuple(dict.fromkeys([*dot(pairs, a, b), short(z)])), z)
        called = entry("e", (n,)) if j == 0 else entry("f", (n, j - 1))
        return Line(called, tuple(dict.fromkeys(stages)), value, parts=(under,))

    errors = [tuple(map(int, o)) for o in places]
    return Middle(name, lambda dout: np.array([error(o) for o in errors]) * float(dout), told)
