"""Questions. Asked when a person steps through the lesson; otherwise shown with their answer."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from scratch_embed.lesson.claims import printed as notation
from scratch_embed.lesson.claims.checks import line
from scratch_embed.lesson.claims.ledger import OWN
from scratch_embed.lesson.look.terminal import width, wrap
from scratch_embed.lesson.record import Answer, current

LETTERS = "ABCDEFGHIJ"


def quiz(
    id: str,
    question: str,
    answer,
    *,
    options: list[str] | None = None,
    because: str = "",
    tolerance: float | None = None,
    printed: str | None = None,
) -> None:
    """Ask a question whose answer this run computed.

    id: the claim that it answers; or "own-..." for a question of the lesson's own, which is asked
    and shown, but answers no claim: neither the record nor the ledger holds it.
    answer: a number; or, with `options`, the text of the right option, chosen by a computation.
    options: the choices, labelled A, B, C, ... in this order.
    because: the reason, given after the answer.
    tolerance: how far a typed number may be off, in the answer's unit (1 % of the answer by
    default).
    printed: what the page gives as the answer, a number or the letter of an option; must agree.
    Raises ValueError when the answer is not among the options or an own question quotes a print,
    TypeError when the answer is not one number.
    """
    if id.startswith(OWN) and printed is not None:
        raise ValueError(f"id {id!r}: a question of the lesson's own has no printed answer")
    answer = _checked(answer, options)
    letter = LETTERS[options.index(answer)] if options else None
    shown = f"{letter}) {answer}" if options else notation.number(answer)
    lines = wrap(question, width(), "  ? ")
    for label, option in zip(LETTERS, options or []):
        lines += wrap(option, width(), f"    {label}) ")
    print("\n".join(lines))
    record = current()
    typed = _asked(record.ask, options)
    if typed:
        right = is_right(typed, answer, options, tolerance)
        print("    Right." if right else f"    No: {shown}")
    agrees = printed is None or notation.agrees(letter if options else answer, printed)
    told = {"agrees": agrees, "computed": shown if options else answer,
            "printed": printed, "reason": because or None}  # fmt: skip
    own = id.startswith(OWN)
    print(line(Answer(id, "quiz", **told) if own else record.add(id, "quiz", **told)))


def _asked(ask: Callable | None, options: list[str] | None) -> str:
    """What a person types; "" when nobody is asked, or one who would rather see the answer."""
    if ask is None:
        return ""
    typed = ask("    your answer (Enter to see it): ")
    while typed.strip() and options and not _names_an_option(typed, options):
        typed = ask(f"    a letter from A to {LETTERS[len(options) - 1]}, please: ")
    return typed.strip()


def _names_an_option(typed: str, options: list[str]) -> bool:
    typed = typed.strip().strip("().").casefold()
    return typed in LETTERS[: len(options)].casefold() or typed in map(str.casefold, options)


def _checked(answer, options: list[str] | None):
    """The answer as one Python scalar that fits the options."""
    if options is not None:
        if not 2 <= len(options) <= len(LETTERS) or len(set(options)) != len(options):
            raise ValueError(
                f"options must be 2 to {len(LETTERS)} different texts; got {options!r}"
            )
        if answer not in options:
            raise ValueError(f"the answer {answer!r} is not among the options {options!r}")
        return answer
    if isinstance(answer, str) or np.ndim(answer) != 0:
        raise TypeError(f"without options the answer is one number; got {answer!r}")
    value = notation.flatten(answer)[0]
    if not math.isfinite(value):
        raise ValueError(f"the answer must be a finite number; got {value}")
    return value


def is_right(typed: str, answer, options: list[str] | None = None, tolerance=None) -> bool:
    """Whether a typed answer is right: the option's letter or text, or a number near enough.

    Numbers may be typed in any printed notation: "195 MiB", "102,400,000", "98.3 %".
    """
    typed = typed.strip()
    if options:
        letter = LETTERS[options.index(answer)]
        return typed.strip("().").upper() == letter or typed.casefold() == answer.casefold()
    if isinstance(answer, bool):
        return typed.casefold() in (notation.TRUE if answer else notation.FALSE)
    try:
        value = notation.read_figure(typed).value
    except ValueError:
        return False
    near = abs(answer) * 0.01 if tolerance is None else tolerance
    return abs(value - answer) <= near * (1 + 1e-9)
