"""What a person typed, judged: right, or the slip that leads to it.

    judge("1.4", 1.4)                                    right
    judge("-1.4", 1.4).slip                              the sign
    judge("204.8", 204_800_000).slip                     another unit
    judge("0.6", 1.4, parts=[0.8, 0.6]).slip             one part of a sum
    judge("0.3", 0.58, elsewhere={"z[cat]": 0.3}).slip   the right number of another place

The quiz, the guesses of a lesson and the lines that the stepper asks for are all judged here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scratch_embed.lesson.claims.printed import SCALES, Figure, read_figure
from scratch_embed.lesson.typed import BYTE, DIGITS, MINUS, PER, in_the_unit_asked, is_share, read
from scratch_embed.look.numbers import number

LETTERS = "ABCDEFGHIJ"
CLOSE = 0.01  # of the answer: how far a typed number may be off where nothing else is said
EXACT = 10_000  # a whole number below it is a count, and has no rounding
NOTHING = 1e-15  # what rounding leaves of a sum that is 0
SHOWN = 2e-6  # of a part: it is a product of two numbers, of which six digits are shown
BEYOND = 1e10  # times: one of the two is what rounding leaves of a 0
SIZES = {10.0**3: "a thousand", 10.0**6: "a million", 10.0**9: "a billion", 10.0**12: "10^12"}
BYTES = {2.0**10 / 1e3: "KiB", 2.0**20 / 1e6: "MiB", 2.0**30 / 1e9: "GiB", 2.0**40 / 1e12: "TiB"}
TIMES = re.compile(r"\b[Hh]ow many times\b")


class Judgement(NamedTuple):
    """Whether an answer is right; if not, `slip` names the mistake where it is known."""

    right: bool
    slip: str = ""


def judge(
    typed: str, answer, *, options: Sequence[str] | None = None, tolerance: float | None = None,
    slips: Mapping | None = None, asked: str = "", parts: Sequence = (),
    elsewhere: Mapping | None = None,
) -> Judgement:  # fmt: skip
    """Judge a typed answer.

    typed      a letter or the text of an option; a number, also with commas, a unit or a percent
               sign ("195 MiB", "102,400,000", "98.3 %"); or several numbers ("[0.1, 0.2]").
    answer     the text of the right option, a number, or a vector of numbers (D,).
    tolerance  how far a number may be off; when None, 1 % of the answer, and not at all if
               it is whole and below 10,000, but for bytes; in a vector two places will do.
    slips      {a wrong answer: the mistake that leads to it}; asked before all other slips. A
               number may be a text, which names a range as well: "0.41", "> 1000", "20-40".
    asked      the question's words, for the unit that they name.
    parts      what was to be added up, numbers or vectors like the answer.
    elsewhere  {name: a number or vector that is right in another place}.
    """
    typed = typed.strip()
    if options:
        if _is_option(typed, answer, options):
            return Judgement(True)
        told = (why for wrong, why in (slips or {}).items() if _is_option(typed, wrong, options))
        return Judgement(False, next(told, ""))
    if np.ndim(answer):
        return _vector(typed, np.asarray(answer, float), tolerance, slips, parts, elsewhere)
    figure = read(typed, asked)
    if figure is None:
        return Judgement(False, "A number is asked for, such as 0.25, 1,400, 3e-4 or 12 MB.")
    value, answer = in_the_unit_asked(figure, asked), float(answer)
    count = answer.is_integer() and abs(answer) < EXACT and not BYTE.search(asked)
    if tolerance is None and count:
        tolerance = 0.0
    if is_share(figure, value, asked) and not _near(value, answer, tolerance):
        value /= SCALES["%"]
    if _near(value, answer, tolerance) or abs(value - answer) <= _cancelled(parts):
        in_bytes = BYTE.fullmatch(figure.unit.strip())
        if in_bytes and asked and (TIMES.search(asked) or not BYTE.search(asked)):
            return Judgement(False, "The digits are right, and what is counted is not bytes.")
        too_much = _beyond(value, asked)
        return Judgement(not too_much, too_much)
    for wrong, why in (slips or {}).items():
        if _is_slip(value, wrong):
            return Judgement(False, why)
    known = _other_place(value, parts, elsewhere) or _same_digits(value, answer, figure, asked)
    return Judgement(False, known)


def how_far(typed: str, answer, asked: str = "") -> str:
    """Of a wrong number, or of the first one in a vector, how far it is from the right one.

    "That is 0.3 too low.", "That is about 40 times too large."; "" for what is no number.
    """
    pieces = _pieces(typed) if np.ndim(answer) else [typed]
    answers = np.ravel(answer).tolist()
    figures = [read(piece, asked) for piece in pieces]
    if None in figures or len(figures) != len(answers):
        return ""
    values = [in_the_unit_asked(figure, asked) for figure in figures]
    shares = [is_share(figure, value, asked) for figure, value in zip(figures, values)]
    pairs = [
        (v / SCALES["%"] if share and abs(a) > 1 else v, float(a))
        for v, share, a in zip(values, shares, answers)
    ]
    place, (value, right) = next(
        ((n, pair) for n, pair in enumerate(pairs, 1) if not _near(*pair)), (1, pairs[0])
    )
    which = f"Number {place}" if len(pairs) > 1 else "That"
    off = abs(value - right)
    times = max(value / right, right / value) if value * right > 0 else 1.0
    if 10 <= times < BEYOND:
        size = "large" if off > abs(right) else "small"
        return f"{which} is about {number(float(f'{times:.2g}'))} times too {size}."
    return f"{which} is {number(float(f'{off:.2g}'))} too {'high' if value > right else 'low'}."


def names_an_option(typed: str, options: Sequence[str]) -> bool:
    """Whether what was typed is one of the options, by its letter or its text."""
    return any(_is_option(typed.strip(), option, options) for option in options)


def is_number(typed: str, size: int = 1, asked: str = "") -> bool:
    """Whether what was typed can be read as a number, or as so many."""
    pieces = [typed] if size == 1 else _pieces(typed)
    return len(pieces) == size and all(read(piece, asked) is not None for piece in pieces)


def _is_option(typed: str, option: str, options: Sequence[str]) -> bool:
    return option in options and _option(typed, options) == option


def _option(typed: str, options: Sequence[str]) -> str | None:
    """The option that was typed: its letter, its text, or words that stand in no other one."""
    letter = typed.strip("(). ").upper()
    if letter in (letters := LETTERS[: len(options)]) and len(letter) == 1:
        return options[letters.index(letter)]
    texts, words = [_plain(option) for option in options], _plain(typed)
    for known in (texts, [f"{x.casefold()}) {text}" for x, text in zip(letters, texts)]):
        if words in known:  # also as it is printed, behind its letter
            return options[known.index(words)]
    if not re.search(r"[^\W\d]{2}", words):  # of a number a part is another number
        return None
    whole = re.compile(rf"(?<!\w){re.escape(words)}(?!\w)")
    found = [option for option, text in zip(options, texts) if whole.search(text)]
    return found[0] if len(found) == 1 else None


def _plain(text: str) -> str:
    """The words without quotes, capital letters, and a stop at the end."""
    return " ".join(re.sub(r"[\"'`]", "", text).split()).rstrip(" .,;:!").casefold()


# ---- near ---------------------------------------------------------------------------------------


def _beyond(value: float, asked: str) -> str:
    """Of a number that is near to the answer, and that none can be as is asked for."""
    if "cosine" in asked and abs(value) > 1:
        return "No cosine is above 1."
    most = 1 / SCALES["%"] if PER.search(asked) else 1
    if "what share" in asked and not 0 <= value <= most:  # in others names share a row
        return "A share is between nothing and all."
    return ""


def _near(value: float, answer: float, tolerance: float | None = None) -> bool:
    near = CLOSE * abs(answer) if tolerance is None else tolerance
    return abs(value - answer) <= near + 1e-9 * abs(answer) + NOTHING


def _cancelled(parts: Sequence) -> float:
    """How far a sum of parts is from what one makes of their shown digits, where they cancel."""
    largest = float(np.abs(parts).max()) if len(parts) > 1 else 0.0
    return SHOWN * len(parts) * largest if math.isfinite(largest) else 0.0


def _is_slip(value: float, wrong: float | str) -> bool:
    if isinstance(wrong, str):
        figure = read_figure(wrong)
        return figure.allows(value) or _near(value, figure.value)
    return _near(value, wrong)


# ---- slips ---------------------------------------------------------------------------------------


def _other_place(value, parts: Sequence, elsewhere: Mapping | None) -> str:
    """What a number or vector is that was computed too: a part of the sum, or another's answer."""
    for part in parts if len(parts) > 1 else ():
        if _alike(value, part):
            return f"That is one of the {len(parts)} parts; they are added up."
    if len(parts) > 1 and _alike(value, np.mean(np.asarray(parts, float), axis=0)):
        return "That is the mean of the parts; they are added up, and nothing divides."
    for name, other in (elsewhere or {}).items():
        if _alike(value, other):
            return f"That is {name}: the right number, of another place."
    return ""


def _alike(value, other) -> bool:
    """Near, entry by entry, to half a unit of the fourth digit that a screen would show."""
    value, other = np.asarray(value, float), np.asarray(other, float)
    return value.shape == other.shape and bool(np.allclose(value, other, rtol=5e-3, atol=5e-5))


def _same_digits(value: float, answer: float, figure: Figure, asked: str) -> str:
    """Another sign, another rounding, another unit."""
    if not (value and answer and math.isfinite(value)):
        return ""
    if _near(value, -answer):
        return "The number is right, and its sign is the other one."
    return _rounded(value, answer, figure, asked) or _scaled(abs(value / answer), answer, asked)


def _rounded(value: float, answer: float, figure: Figure, asked: str) -> str:
    if figure.decimals > DIGITS:
        return ""
    if answer == round(answer) == round(value) != value and "nearest" in asked:
        return "That is it before rounding."
    asked_in = figure.value / value  # what one of the question's units is worth
    whole = 10.0**figure.decimals * asked_in / figure.scale  # what is typed counts these
    cut = math.trunc(answer * whole * (1 + 1e-12))
    cut_off = cut and cut == round(value * whole) and value * answer > 0
    half = cut_off and math.isclose(abs(answer * whole - cut), 0.5)  # which rounds away from it
    if not half and math.isfinite(figure.high - figure.low) and figure.allows(answer * asked_in):
        return "It rounds to that. Give a digit more."
    return "Its digits are cut off there. Round them, or give one more." if cut_off else ""


def _scaled(ratio: float, answer: float, asked: str) -> str:
    digits = f"{abs(answer):.5e}".partition("e")[0].replace(".", "").rstrip("0")
    if len(digits) < 2 or not ratio:  # 4,000 beside 4 may be anything; 1e-320 beside 4,096 is 0
        return ""
    large, times = ("large", ratio) if ratio > 1 else ("small", 1 / ratio)
    if BYTE.search(asked):
        for size, unit in BYTES.items():
            if math.isclose(times, size, rel_tol=2e-3):
                plain = unit.replace("i", "")
                return f"{unit} count in powers of 1,024, {plain} in powers of 1,000."
        if math.isclose(times, 8, rel_tol=CLOSE):
            return "A byte has 8 bits."
    for size, name in SIZES.items():
        if math.isclose(times, size, rel_tol=CLOSE):
            return f"The digits are right. In this unit it is {name} times too {large}."
    if math.isclose(times, 100, rel_tol=CLOSE):
        return f"The digits are right, and it is 100 times too {large}: per cent, or a share of 1?"
    if math.isclose(times, 10, rel_tol=CLOSE):
        return "The digits are right, and the point has slipped by one place."
    return ""


# ---- vectors -------------------------------------------------------------------------------------


def _pieces(typed: str) -> list[str]:
    """The numbers of a vector, as they were typed."""
    typed = re.sub(rf"((?:^|[,;])\s*{MINUS})\s+", r"\1", typed.strip("[]() "))  # - 1
    return [piece for piece in re.split(r"[\s,;]+", typed) if piece]


def _vector(typed, answer, tolerance, slips, parts, elsewhere) -> Judgement:
    pieces = _pieces(typed)
    figures = [read(piece) for piece in pieces]
    if None in figures or len(figures) != answer.size:
        many = "one number" if len(pieces) == 1 else f"{len(pieces)} numbers"
        found = f"you gave {many}" if pieces and None not in figures else "that is something else"
        asked = "1 number is" if answer.size == 1 else f"{answer.size} numbers are"
        return Judgement(False, f"{asked} asked for, and {found}.")
    values = np.array([figure.value for figure in figures])
    largest = np.abs(answer).max()
    near = max(CLOSE * largest if tolerance is None else tolerance, _cancelled(parts))
    # two places behind the point will do, or two digits of the largest where it is small
    place = min(0.01, 10.0 ** (math.floor(math.log10(largest or 1)) - 1))

    def right(figure: Figure, due: float) -> bool:
        unit = 10.0**-figure.decimals if figure.value else place  # it may be rounded to
        rounded = tolerance is None and unit <= place and abs(figure.value - due) < unit / 2
        share = max(CLOSE * abs(due), 1e-9 * largest, _cancelled(parts))
        return rounded or _near(figure.value, due, share if tolerance is None else near)

    off = [n for n, pair in enumerate(zip(figures, answer.flat)) if not right(*pair)]
    if not off:
        return Judgement(True)
    for wrong, why in (slips or {}).items():
        if _alike(values, wrong):
            return Judgement(False, why)
    if known := _other_place(values, parts, elsewhere):
        return Judgement(False, known)
    if np.allclose(values, -answer.ravel(), atol=near):
        return Judgement(False, "The numbers are right, and every sign is the other one.")
    moved = np.abs(values - answer.ravel()).max() > near
    if moved and np.allclose(np.sort(values), np.sort(answer.ravel()), atol=near):
        return Judgement(False, "The right numbers, in another order.")
    if len(off) < answer.size:
        places = "number " if len(off) == 1 else "numbers "
        places += ", ".join(str(n + 1) for n in off)
        first = _same_digits(values[off[0]], float(answer.flat[off[0]]), figures[off[0]], "")
        return Judgement(False, f"All but {places} of {answer.size} are right. {first}".strip())
    return Judgement(False)
