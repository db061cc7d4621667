"""Printed figures: from the text on a page to the numbers it allows.

A figure printed as "0.58" claims that the number lies between 0.575 and 0.585: half a unit of its
last printed digit to either side, both ends included. The rule is the same in every notation:

    printed                      reads as                                     allows
    -------------------------    ------------------------------------------   ----------------------
    0.58                         one number                                   0.575 .. 0.585
    9073   50,257                whole numbers, commas in groups of three     9072.5 .. 9073.5
    0                            a bare zero: none at all                     0 exactly
    1.5e-3                       a power of ten                               0.00145 .. 0.00155
    14x   14 x   14×   14 times  a factor                                     13.5 .. 14.5
    16 :1                        a ratio to one: the single number 16         15.5 .. 16.5
    1.0 : 16.0                   two numbers                                  0.95 .. 1.05; 15.95 ..
    150K  131.1M  175B  2T       thousand, million, billion, trillion         131.05e6 .. 131.15e6
    22.6 billion   5 million     the same in words                            22.55e9 .. 22.65e9
    250 MB  1 GB  200 KB         bytes, by powers of 1000; value in bytes     249.5e6 .. 250.5e6
    1,001 MiB  1 GiB  4 KiB      bytes, by powers of 1024; value in bytes     1000.5 * 2**20 ..
    98.3 %                       a share; the value is a fraction             0.9825 .. 0.9835
    ~500 MB   ~4x   ≈40          about: zeros at the end are not digits       450e6 .. 550e6
    12+   100K+                  at least                                     12 ..
    <1B   >7B   <=8   >=8        below, above                                 .. below 1e9
    32K-128K   768-4096          a range: one number that lies in it          31.5e3 .. 128.5e3
    0.72; -0.41; 0.15            several, in order                            each by its digits
    [0.34, -0.52]   (3, 3)       several, parted by a comma and a space       each by its digits
    True  Yes  No  cat           text: compared with text or with True/False  the same, in any case

The values of an array are taken in order (row by row) and there must be as many as were printed.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass

import numpy as np

from scratch_embed.look.numbers import number

SCALES = {
    "": 1.0, "x": 1.0, "×": 1.0, "times": 1.0, "%": 0.01, "percent": 0.01, "per cent": 0.01,
    "byte": 1.0, "bytes": 1.0, "K": 1e3, "k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12, "thousand": 1e3,
    "million": 1e6, "billion": 1e9, "trillion": 1e12,
    "KB": 1e3, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
    "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40,
}  # fmt: skip
UNITS = "|".join(sorted(map(re.escape, SCALES), key=len, reverse=True))
NUMBER = re.compile(
    r"(?P<about>[~≈]\s*)?(?P<bound>[<>]=?|[≤≥])?\s*"
    r"(?P<digits>[+-]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)?(?:\.\d+)?)(?:[eE](?P<power>[+-]?\d+))?"
    rf"(?P<space>\s*)(?P<unit>{UNITS})(?P<plus>\s*\+)?(?P<ratio>\s*:\s*1)?"
)
RANGE = re.compile(r"(?P<low>.*[\w%])\s*(?:-|–|\bto\b)\s*(?P<high>[\d.].*)")
TRUE, FALSE = {"true", "yes"}, {"false", "no"}


@dataclass(frozen=True)
class Figure:
    """One printed number: `text` as printed, the `value` it names and the interval it allows."""

    text: str
    value: float
    low: float
    high: float
    scale: float = 1.0  # what one printed unit is worth: 1e6 for M, 0.01 for %
    decimals: int = 0
    unit: str = ""

    def allows(self, number: float) -> bool:
        """Whether the number rounds to what was printed (NaN never does)."""
        return bool(self.low <= number <= self.high)

    def like(self, number: float) -> str:
        """The number written the way this figure is: 525336576 beside "525.4 M" is "525.3 M"."""
        return f"{number / self.scale:,.{self.decimals}f}{self.unit}"


def read_figure(text: str) -> Figure:
    """One printed number. Raises ValueError, saying what to do, when the text is not one."""
    cleaned = _cleaned(text)
    match = NUMBER.fullmatch(cleaned)
    if match is None or not match["digits"].strip("+-"):
        return _read_range(text, cleaned)
    digits = match["digits"].replace(",", "")
    decimals = len(digits.partition(".")[2])
    power = int(match["power"] or 0)
    scale = SCALES[match["unit"]] * float(f"1e{power}")
    value = float(digits) * scale
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large for a floating point number")
    zeros = 0
    if match["about"] and "." not in digits and digits.strip("+-0"):
        zeros = len(digits) - len(digits.rstrip("0"))
    half = 0.5 * 10.0 ** (zeros - decimals) * scale
    slack = 1e-9 * half + 4 * sys.float_info.epsilon * abs(value)  # for 0.575 not being a float
    low, high = value - half - slack, value + half + slack
    if cleaned == "0":  # "no gradient" is not "a gradient below one half"
        low = high = 0.0
    if match["plus"]:
        low, high = value - slack, math.inf
    if match["bound"]:
        low, high = _bounds(match["bound"], value, slack)
    if power:  # 1.5e-3: shown plainly, with as many digits as were printed
        decimals, scale = max(0, decimals - power), SCALES[match["unit"]]
    unit = match["space"] + match["unit"] if match["unit"] else ""
    return Figure(text.strip(), value, low, high, scale, decimals, unit)


def names_one_number(text: str) -> bool:
    """Whether a printed number is neither a range nor a bound."""
    match = NUMBER.fullmatch(_cleaned(text))
    return bool(match) and not (match["bound"] or match["plus"])


def _cleaned(text: str) -> str:
    return text.strip().replace("\u2212", "-").replace("\u00a0", " ")


def _bounds(sign: str, value: float, slack: float) -> tuple[float, float]:
    if sign in ("<", ">"):  # strictly: the printed number itself is outside
        below, above = math.nextafter(value, -math.inf), math.nextafter(value, math.inf)
        return (-math.inf, below) if sign == "<" else (above, math.inf)
    return (-math.inf, value + slack) if sign in ("<=", "≤") else (value - slack, math.inf)


def _read_range(text: str, cleaned: str) -> Figure:
    match = RANGE.fullmatch(cleaned)
    if match is not None and NUMBER.fullmatch(match["low"]) and NUMBER.fullmatch(match["high"]):
        low, high = read_figure(match["low"]), read_figure(match["high"])
        if low.scale == 1.0 and not low.unit and high.unit:  # "3-5 MB": the unit counts for both
            low = read_figure(match["low"] + high.unit)
        if low.value < high.value:
            middle = (low.value + high.value) / 2
            return Figure(text.strip(), middle, low.low, high.high, high.scale,
                          max(low.decimals, high.decimals), high.unit)  # fmt: skip
    raise ValueError(
        f'printed="{text}" is not a number this can read (0.58, 50,257, 131.1M, 98.3 %, 250 MB, '
        "[0.34, -0.52] and the like). Leave printed out, and let the claim compute True or False."
    )


def parts(text: str) -> list[str]:
    """The printed text cut into its figures: by ";", by brackets, by ", " and by " : ".

    >>> parts("(30522, 768); [1, 2]; 1,001 MB; 1.0 : 16.0; 16 :1")
    ['30522', '768', '1', '2', '1,001 MB', '1.0', '16.0', '16 :1']
    """
    found = []
    for group in text.split(";"):
        group = group.strip()
        if len(group) > 1 and group[0] + group[-1] in ("[]", "()", "{}"):
            group = group[1:-1].strip()
        for piece in re.split(r",\s+", group):
            if NUMBER.fullmatch(piece) is None and re.fullmatch(r"[-+\d.,]+", piece):
                found += [number for number in piece.split(",") if number]  # (3,3)
            elif re.fullmatch(r"[-+\d.,\s]+:[-+\d.,\s]+", piece) and not NUMBER.fullmatch(piece):
                found += [side.strip() for side in piece.split(":")]  # 1.0 : 16.0
            elif piece:
                found.append(piece.strip())
    return found


def read(text: str) -> list[Figure]:
    """Every number of a printed text, in order. Raises ValueError for what is not a number."""
    return [read_figure(part) for part in parts(text)]


def flatten(value) -> list:
    """The value as a flat list of Python bools, ints, floats and strings, row by row.

    Takes numbers, strings, (nested) lists and tuples, arrays, and anything NumPy can turn into an
    array. Raises TypeError for the rest (None, dicts, complex numbers).
    """
    if isinstance(value, (str, bool, int, float)):
        return [value]
    if isinstance(value, (list, tuple, range)):
        return [item for element in value for item in flatten(element)]
    if hasattr(value, "to_dense"):
        value = value.to_dense()
    array = np.asarray(value)
    if array.dtype.kind not in "biufU":
        raise TypeError(
            f"a value to compare is a number, a text, or an array of them; this is a "
            f"{type(value).__name__} (dtype {array.dtype})"
        )
    return array.ravel().tolist()


def _plain(text: str) -> str:
    return " ".join(text.strip().strip("'\"[]() ").split()).casefold()


def _item_agrees(item, part: str) -> bool:
    if isinstance(item, str):
        return _plain(item) == _plain(part)
    if isinstance(item, bool):
        word = _plain(part)
        if word not in TRUE | FALSE:
            raise ValueError(
                f'the value is {item}, but printed="{part}" is neither True, False, Yes nor No. '
                "Compare the number itself, or leave printed out."
            )
        return item == (word in TRUE)
    return read_figure(part).allows(item)


def agrees(value, printed: str) -> bool:
    """Whether the computed value is what the page prints (the rule is this module's docstring).

    value: number, text, True/False, or an array, list or tuple of them. printed: the page's text.
    Returns False when there are more or fewer values than printed figures. Raises ValueError for a
    printed text that cannot be read against such a value.

    >>> agrees(0.5799, "0.58"), agrees(0.5701, "0.58"), agrees(525_336_576, "525.4M")
    (True, False, False)
    """
    items = flatten(value)
    if len(items) == 1 and isinstance(items[0], str):
        return _plain(items[0]) == _plain(printed)
    texts = parts(printed)
    verdicts = [
        _item_agrees(item, text) for item, text in zip(items, texts)
    ]  # all read, none skipped
    return len(items) == len(texts) and all(verdicts)


def describe(value, printed: str | None = None, most: int = 12) -> str:
    """The computed value as text, each number also in the unit of the figure printed beside it.

    >>> describe(525_336_576, "525.4 M"), describe([0.251, -0.674])
    ('525.3 M (525,336,576)', '[0.251, -0.674]')
    """
    items = flatten(value)
    figures: list[Figure | None] = [None] * len(items)
    if printed is not None and len(parts(printed)) == len(items):
        figures = [
            None if isinstance(item, (str, bool)) else read_figure(part)
            for item, part in zip(items, parts(printed))
        ]
    texts = []
    for item, figure in list(zip(items, figures))[:most]:
        plain = number(item)
        if figure is not None and figure.scale != 1.0 and math.isfinite(item):
            plain = f"{figure.like(item)} ({plain})"
        texts.append(plain)
    if len(items) > most:
        texts.append(f"... {len(items)} values")
    return texts[0] if len(items) == 1 else f"[{', '.join(texts)}]"
