"""Judging a claim: one of five verdicts, and a counter-case for whatever could come out otherwise.

    reproduced   computed here, to the printed digits
    measured     a lab's spread bears it out, or bounds it
    corrected    computed here, and the print is wrong: what is right, and why
    given        a definition, or a fact from outside with its source: nothing here to test
    open         not decidable here, and why

A claims file computes each value from a function and its inputs, and brings other inputs, the
`counter`, for which the verdict would be the other one:

    reproduced("000-ch0-ratio", lambda E: far(E) / near(E), E, counter=E_with_the_rows_swapped)

Where the counter does not turn the verdict round, the claim was not tested, and that is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from scratch_embed.lesson.claims import printed as notation
from scratch_embed.lesson.claims.ledger import Claim

WORDS = ("reproduced", "measured", "corrected", "given", "open")


@dataclass(frozen=True)
class Verdict:
    """How one claim was judged."""

    claim: Claim
    word: str  # one of WORDS
    computed: str = ""  # what this run computed, as text
    told: str = ""  # why a print is wrong, the source of a fact, why a claim is open
    lab: str = ""  # the lab that measured it

    def as_json(self) -> dict:
        """The row of the ledger."""
        return {
            "id": self.claim.id,
            "source": self.claim.source,
            "section": self.claim.section,
            "statement": self.claim.statement,
            "printed": self.claim.printed or None,
            "verdict": self.word,
            "computed": self.computed or None,
            "told": self.told or None,
            "lab": self.lab or None,
        }


class NotTested(AssertionError):
    """A verdict that this run does not bear out, or that its counter-case does not turn round."""


class Page:
    """The verdicts of one claims file, and the calls that it ran."""

    def __init__(self, claims: dict[str, Claim]):
        self.claims, self.verdicts, self.calls = claims, [], []

    def add(self, id: str, word: str, computed: str = "", told: str = "", lab: str = "") -> None:
        """Keep a verdict. ValueError for an id that is unknown or was judged before."""
        if id not in self.claims:
            raise ValueError(f"id {id!r} is not in claims.csv")
        if id in (verdict.claim.id for verdict in self.verdicts):
            raise ValueError(f"id {id!r} was judged before on this page")
        self.verdicts.append(Verdict(self.claims[id], word, computed, told, lab))


_pages: list[Page] = []


@contextmanager
def judging(page: Page):
    """Let the verdicts inside the block go to this page."""
    _pages.append(page)
    try:
        yield page
    finally:
        _pages.pop()


def page() -> Page:
    """The page that is being judged."""
    if not _pages:
        raise RuntimeError("verdicts belong on a page: run `python -m lessons claims`")
    return _pages[-1]


def reproduced(id: str, compute: Callable, *inputs, counter, printed: str | None = None) -> None:
    """The print is right: compute(*inputs) agrees with it, and compute(*counter) does not.

    compute : returns numbers or a text, held against the print, or True for a statement that holds.
    inputs, counter : what it is computed from. A counter that is a tuple holds several inputs;
        anything else stands for one, so wrap an input that is a tuple itself: counter=((1, 2),).
    printed : the part of the print that is meant, where the print holds several figures.

    Raises NotTested when the value disagrees, or when the counter agrees as well.
    """
    value = compute(*inputs)
    _must(id, _agrees(id, value, printed), f"{_came(value)}, which is not what is printed")
    _must_turn(id, not _agrees(id, compute(*_tuple(counter)), printed))
    page().add(id, "reproduced", _text(value))


def corrected(
    id: str, compute: Callable, *inputs, counter, because: str, printed: str | None = None
) -> None:
    """The print is wrong: compute(*inputs) disagrees with it, and compute(*counter) would agree.

    because : what is right, and why, in a sentence. Raises NotTested where the print is right, or
    where no input makes it so, for then the calculation is not the one that the print is about.
    """
    value = compute(*inputs)
    _must(id, not _agrees(id, value, printed), f"{_came(value)}, as printed")
    _must_turn(id, _agrees(id, compute(*_tuple(counter)), printed))
    page().add(id, "corrected", _text(value), _sentence(because, "because"))


def measured(
    id: str, holds: Callable, result, *, counter, because: str, lab: str = "", bears_out=True
) -> None:
    """A lab decides: holds(result) is True, and False for the counter, another result.

    because : what the lab found, with its numbers. bears_out=False: the lab contradicts the claim
    (then holds(result) must be False, and True for the counter).
    """
    _must(id, bool(holds(result)) is bears_out, "the lab's result says otherwise")
    _must_turn(id, bool(holds(counter)) is not bears_out)
    page().add(id, "measured", "", _sentence(because, "because"), lab)


def given(id: str, source: str) -> None:
    """A definition, or a fact from outside: `source` says which, and where it can be looked up."""
    page().add(id, "given", told=_sentence(source, "source"))


def undecided(id: str, why: str) -> None:
    """Nothing here can decide it, and why: the verdict "open"."""
    page().add(id, "open", told=_sentence(why, "why"))


def _agrees(id: str, value, printed: str | None) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    claim = page().claims.get(id)
    text = printed or (claim.printed if claim else "")
    if not text:
        raise ValueError(f"{id} has no printed figure: compute a statement, True or False")
    if printed and claim and printed not in claim.printed:
        raise ValueError(f"printed={printed!r} is no part of {claim.printed!r}, the print of {id}")
    return notation.agrees(value, text)


def _must(id: str, good: bool, otherwise: str) -> None:
    if not good:
        raise NotTested(f"{id}: {otherwise}")


def _must_turn(id: str, turned: bool) -> None:
    _must(id, turned, "the counter-case does not turn the verdict round, so nothing was tested")


def _tuple(counter) -> tuple:
    return counter if isinstance(counter, tuple) else (counter,)


def _text(value) -> str:
    return "" if isinstance(value, (bool, np.bool_)) else notation.describe(value)


def _came(value) -> str:
    return f"computed {_text(value)}" if _text(value) else f"the statement came out {value}"


def _sentence(text: str, name: str) -> str:
    if not text.strip():
        raise ValueError(f"{name} must be a sentence")
    return text
