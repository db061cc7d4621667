"""One number as a person types it, and in which unit a question asks for it.

    read("98.3 %").value                                             0.983
    in_the_unit_asked(read("131 million"), "How many million?")      131.0

A figure that a page prints is read by `claims.printed`; ranges and bounds, which a page may print,
are no answer.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

from scratch_embed.lesson.claims.printed import SCALES, Figure, names_one_number, read_figure

DIGITS = 17  # a float has no more
POWER = re.compile(r"(?P<base>\d+(\.\d+)?)\s*(\^|\*\*)\s*(?P<power>[+-]?\d{1,3})")
TEN_TO = re.compile(
    r"^((?P<times>[+-]?[\d.]+)\s*[*x×·]\s*)?10\s*(\^|\*\*)\s*(?P<power>[+-]?\d{1,3})(?!\d)"
)
MINUS = r"[-\u2013\u2014\u2212]"  # also a dash, or one that was typeset
SIGN = re.compile(rf"(^|[\^*e] ?){MINUS} ?(?=[\d.])")  # a space may stand behind it
SMALL = re.compile(r"(?<=[\d ])[kmgt]i?b$")  # units of bytes
SPACED = re.compile(r"[+-]?\d{1,3}( \d{3})+(\.\d+)?")
BYTE = re.compile(r"\b([KkMGT]B|[KMGT]iB|bytes?)\b")
HOW_MANY = re.compile(r"\b(?:[Hh]ow many|in) (thousand|million|billion)s?\b")
SHARE = re.compile(r"\bshare\b")
PERCENT = r"per ?cent|%"
PER = re.compile(PERCENT)
SAID = {"%": PERCENT, "percent": PERCENT, "per cent": PERCENT, "M": "million", "B": "billion",
        "million": "million", "billion": "billion", "K": "thousand", "k": "thousand",
        "thousand": "thousand"}  # fmt: skip


def read(typed: str, asked: str = "") -> Figure | None:
    """One number; a range and a bound, which a page may print, are no answer. 1/4 is one, and so
    are 2^10, 3 * 10^-4, 1 000, and a number with a word of the question: 3 rows."""
    typed = _plain(typed.strip().removeprefix("=").rstrip(".").strip())
    try:
        if names_one_number(typed):
            return read_figure(typed)
        if "/" in typed:
            above, below = map(read_figure, typed.split("/"))
            if below.unit and not above.unit:  # 1/4 MB is a fourth of one
                number = above.value / (below.value / below.scale) * below.scale
                return replace(_exact(typed, number), scale=below.scale, unit=below.unit)
            return _exact(typed, above.value / below.value)
        if power := POWER.fullmatch(typed):
            return _exact(typed, float(power["base"]) ** int(power["power"]))
    except (ValueError, ArithmeticError):
        return None
    number, _, word = typed.rpartition(" ")
    known = re.search(rf"\b{re.escape(word)}s?\b", asked)
    return read(number) if number and word.isalpha() and known else None


def _plain(typed: str) -> str:
    """As a program writes it: 3e-4 for 3 * 10^-4, 1000 for 1 000, 1/2 for a sign of its own, -1 for
    - 1, and MB for mb."""
    if len(typed) == 1:
        return unicodedata.normalize("NFKC", typed).replace("\u2044", "/")
    typed = SMALL.sub(lambda found: found[0].upper().replace("I", "i"), SIGN.sub(r"\1-", typed))
    if SPACED.fullmatch(typed):
        return typed.replace(" ", "")
    return TEN_TO.sub(lambda found: f"{found['times'] or '1'}e{found['power']}", typed, count=1)


def _exact(typed: str, value: float) -> Figure:
    """What is computed, and not cut off after some digits."""
    return Figure(typed, value, value, value, decimals=DIGITS + 1)


def in_the_unit_asked(figure: Figure, asked: str) -> float:
    """The typed number as the answer counts: "131 million" to "How many million?" is 131."""
    unit, bytes_asked = figure.unit.strip(), BYTE.search(asked)
    if BYTE.fullmatch(unit) and bytes_asked:
        return figure.value / SCALES[bytes_asked[0]]
    if unit in SAID and re.search(SAID[unit], asked):
        return figure.value / SCALES[unit]
    counted = HOW_MANY.search(asked)
    if counted and unit in SAID and SAID[unit] != PERCENT:  # 0.13 billion to "How many million?"
        return figure.value / SCALES[counted[1]]
    if unit in SAID and SAID[unit] == PERCENT and "of 100 " in asked:
        return 100 * figure.value
    if unit == "B" and bytes_asked:  # which is a billion elsewhere
        return figure.value / SCALES["B"] / SCALES[bytes_asked[0]]
    return figure.value


def is_share(figure: Figure, value: float, asked: str) -> bool:
    """Whether 0.57 may stand for 57 percent; a plain 1 is one percent."""
    both = SHARE.search(asked) and PER.search(asked)
    written_so = abs(value) < 1 or abs(value) == 1 and figure.decimals > 0
    return bool(both and not figure.unit and written_so)
