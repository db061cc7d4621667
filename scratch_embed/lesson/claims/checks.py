"""The calls by which a lesson answers claims: check, erratum, reference and verdict.

Each prints one aligned line and records its answer. A value that is compared to print is computed
in the lesson, never a literal.
"""

from __future__ import annotations

import math

import numpy as np

from scratch_embed.lesson.claims import printed as notation
from scratch_embed.lesson.look.terminal import paint, visible, width, wrap
from scratch_embed.lesson.record import Answer, Record, current

MARKS = {"check": "agrees", "demonstration": "holds", "erratum": "corrected",
         "reference": "reference", "quiz": "quiz"}  # fmt: skip
INDENT = " " * 13


def check(id: str, value, *, printed: str | None = None, shown: dict | None = None) -> None:
    """Compare a computed value with the printed figure, or state a condition and what decided it.

    check("000-ch4-logits-cat", logits[1], printed="0.58")             numbers against the page
    check("000-ch1-fixed-memory", sizes[0] == sizes[1], shown={...})   a condition with its numbers

    value: numbers, texts or True/False, compared with `printed` in any notation that
    `scratch_embed.lesson.claims.printed` lists; or, with `shown`, a single True/False.
    shown: {label: number or text}, printed beside the condition.
    Raises ValueError for an id that claims.csv does not list or a printed text that cannot be read,
    TypeError for a call that gives neither `printed` nor `shown`.
    """
    if shown is not None:
        _answer(id, "demonstration", _condition(value, shown), shown, printed)
    else:
        _answer(id, "check", _agrees(value, printed), value, printed)


def erratum(
    id: str, value, *, because: str, printed: str | None = None, shown: dict | None = None
) -> None:
    """The page is wrong: the computed value, the printed figure it contradicts, and the reason.

    erratum("000-ch1-table-llama3-params", V * d, printed="525.4 M", because="V d is ...")
    erratum("000-ch1-tying-llama", not tied, shown={...}, because="...")     true: page wrong

    The value must disagree with the print (or the condition be true); otherwise the correction
    itself is a disagreement and the run fails. Raises as `check` does, and ValueError when the
    number of values differs from the number of printed figures, where contradicting proves nothing.
    """
    if not because.strip():
        raise ValueError("because must give the reason why the printed statement is wrong")
    if shown is not None:
        _answer(id, "erratum", not _condition(value, shown), shown, printed, because)
        return
    agrees = _agrees(value, printed)
    values, figures = notation.flatten(value), notation.parts(printed)
    if len(values) != len(figures) and not isinstance(value, str):
        raise ValueError(
            f"erratum {id!r} has {len(values)} values for {len(figures)} printed figures "
            f"({printed!r}); give as many values as were printed"
        )
    if any(isinstance(x, float) and math.isnan(x) for x in values):  # contradicts any figure
        raise ValueError(f"erratum {id!r} computed NaN, which corrects nothing")
    _answer(id, "erratum", agrees, value, printed, because)


def reference(
    id: str, value, *, source: str, printed: str | None = None, shown: dict | None = None
) -> None:
    """A fact from outside that no calculation yields (a configuration, a date), with its source.

    reference("000-ch2-bert-shapes", sizes, printed="30,522; 512; 2", source="...")

    Compared to print like `check`. Raises as `check` does, and ValueError for an empty source.
    """
    if not source.strip():
        raise ValueError("source must say where the fact can be looked up")
    agrees = _condition(value, shown) if shown is not None else _agrees(value, printed)
    _answer(id, "reference", agrees, value if shown is None else shown, printed, None, source)


def _condition(value, shown: dict) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(
            f"with shown= the value is a condition, True or False; got a {type(value).__name__}. "
            "Reduce it (np.array_equal, np.all, a comparison), or compare it with printed=."
        )
    if not isinstance(shown, dict) or not shown:
        raise ValueError("shown must name the numbers that decided: {'label': number, ...}")
    return bool(value)


def _agrees(value, printed: str | None) -> bool:
    if printed is None:
        raise TypeError(
            'give printed="..." (the figure as the page prints it) '
            "or shown={...} (the numbers that decided a condition)"
        )
    return notation.agrees(value, printed)


def _answer(id, kind, agrees, computed, printed, reason=None, source=None) -> None:
    plain = computed if isinstance(computed, (dict, str)) else _scalars(computed)
    answer = current().add(
        id, kind, agrees=agrees, computed=plain, printed=printed, reason=reason, source=source
    )
    print(line(answer))


def _scalars(value):
    """Numbers only, so that an array the lesson changes later is not changed in the record."""
    items = notation.flatten(value)
    return items[0] if len(items) == 1 else items


def line(answer: Answer) -> str:
    """The answer as one aligned line, or a few where the terminal is narrow."""
    mark = MARKS[answer.kind] if answer.holds else "DISAGREES"
    style = ("red" if not answer.holds else "yellow" if answer.kind == "erratum" else "green",)
    head = f"  {paint(f'{mark:<10}', *style)} {answer.id}"
    lines = _computed(answer)
    if answer.kind == "erratum" and not answer.holds:
        lines.append("this run does not contradict the page, so the correction is itself wrong")
    if answer.reason:
        lines.append(("because " if answer.kind == "erratum" else "") + answer.reason)
    if answer.kind == "reference":
        lines.append(f"source: {answer.source}")
    padded = head + " " * max(0, 48 - visible(head))
    if visible(padded) + 1 + visible(lines[0]) <= width():
        head, lines = f"{padded} {lines[0]}", lines[1:]
    return "\n".join([head, *(part for text in lines for part in wrap(text, width(), INDENT))])


def _computed(answer: Answer) -> list[str]:
    """What was computed and what the page prints: one line, or a line each where long."""
    if isinstance(answer.computed, dict):
        texts = [
            f"{label} = {notation.describe(x, most=8)}" for label, x in answer.computed.items()
        ]
    else:
        try:
            texts = [notation.describe(answer.computed, answer.printed)]
        except ValueError:  # a quiz whose print is the letter of an option
            texts = [notation.describe(answer.computed)]
    if answer.printed is not None:
        texts.append(f'printed "{answer.printed}"')
    together = ", ".join(texts)
    return [together] if len(INDENT + together) <= width() else texts


def verdict() -> None:
    """Print how much agrees, and what does not. A row or check that disagrees fails the run."""
    record = current()
    print("\n" + summary(record))
    for answer in record.answers:
        if not answer.holds:
            print(line(answer))
    record.closed = True


def summary(record: Record) -> str:
    """One sentence: how many answers and rows agree, and the verdict."""
    wrong = [answer for answer in record.answers if not answer.holds]
    errata = sum(answer.kind == "erratum" for answer in record.answers)
    parts = []
    if record.answers:
        parts.append(f"{len(record.answers) - len(wrong)} of {len(record.answers)} answers hold")
    if errata:
        parts.append(f"{errata} of them correct{'s' if errata == 1 else ''} the page")
    if record.rows:
        parts.append(
            f"{sum(row.holds for row in record.rows)} of {len(record.rows)} comparisons hold"
        )
    if record.failures:
        parts.append("stopped by an error" if record.ask is None else "an error left standing")
    parts = parts or ["nothing to check"]
    text = ", ".join(parts) + ("." if record.passed else f": {paint('FAILED', 'red')}")
    return "\n".join(wrap(text, width()))
