"""What the terminal can do: its width, its colours, and text laid out to fit.

Everything the engine prints goes through here, so plain text stays plain: colour appears only when
the output is a terminal and the environment variable NO_COLOR is not set (https://no-color.org).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata

NARROWEST, WIDEST = 20, 100  # columns; longer lines are tiring to read
CODES = {"bold": "1", "dim": "2", "italic": "3", "red": "31", "green": "32", "yellow": "33",
         "blue": "34", "magenta": "35", "cyan": "36"}  # fmt: skip
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def width(widest: int = WIDEST) -> int:
    """Columns to write in: the terminal's (or COLUMNS), 20 to `widest`; 80 when unknown."""
    return max(NARROWEST, min(widest, shutil.get_terminal_size((80, 24)).columns))


def coloured(stream=None) -> bool:
    """Whether colour codes may be written to the stream (standard output when none is given)."""
    stream = sys.stdout if stream is None else stream
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    if os.name == "nt" and not {"WT_SESSION", "ANSICON", "TERM"} & set(os.environ):
        return False  # the old Windows console prints the codes instead of obeying them
    return bool(getattr(stream, "isatty", lambda: False)())


def paint(text: str, *styles: str, on: bool | None = None) -> str:
    """The text in the named styles ("bold", "green", ...) where colour is allowed."""
    if not text or not (coloured() if on is None else on):
        return text
    return f"\x1b[{';'.join(CODES[style] for style in styles)}m{text}\x1b[0m"


def harmless(text: str) -> str:
    """A text that somebody else wrote: U+FFFD for each character that a terminal obeys, and for
    half a pair of surrogates, which no file takes. Line feeds and tabs stay.
    """
    kinds = ("Cc", "Cs")
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in kinds else "\ufffd" for c in text
    )


def visible(text: str) -> int:
    """Columns the text takes: colour codes and combining accents take none, wide characters two."""
    plain = ESCAPE.sub("", text)
    if plain.isascii():
        return len(plain)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in plain
    )


def wrap(text: str, columns: int, first: str = "", rest: str | None = None) -> list[str]:
    """Lines of at most `columns`, the first led by `first`, the others by `rest` (or spaces).

    A no-break space (U+00A0) holds two words together and is printed as a space. A single word
    that is wider than a line keeps its own line unbroken.
    """
    rest = " " * visible(first) if rest is None else rest
    lines, line, empty = [], first, True
    for word in text.split(" "):
        if not word:
            continue
        if not empty and visible(line) + 1 + visible(word) > columns:
            lines.append(line)
            line, empty = rest, True
        line += word if empty else " " + word
        empty = False
    lines.append(line)
    return [line.replace("\u00a0", " ").rstrip() for line in lines]


def fit(text: str, columns: int) -> str:
    """The text, or as much of it as fits, with dots for what does not."""
    if visible(text) <= columns:
        return text
    return text[: _fitting(text, columns - 4)].rstrip() + " ..."


def _fitting(text: str, columns: int) -> int:
    """How many of its first characters stand in so many columns."""
    ends = range(min(len(text), columns), 0, -1)
    return next((end for end in ends if visible(text[:end]) <= columns), 0)


def chop(text: str, columns: int) -> list[str]:
    """`wrap` for a table cell: words wider than the column are cut, so that no line is wider."""
    lines = []
    for line in wrap(text, columns):
        while visible(line) > columns and not ESCAPE.search(line):
            end = max(1, _fitting(line, columns))
            lines.append(line[:end])
            line = line[end:]
        lines.append(line)
    return lines


def table(header: list[str], rows: list[list[str]], columns: int | None = None, right=()) -> str:
    """A table in plain text that fits `columns`: wide columns give way first and wrap inside.

    `right` lists the positions of the columns to align on their right edge (numbers).

    >>> print(table(["model", "rows"], [["GPT-2", "50,257"], ["BERT", "30,522"]], right=[1]))
    model    rows
    -----  ------
    GPT-2  50,257
    BERT   30,522
    """
    columns = width() if columns is None else columns
    everything = [header, *rows]
    widths = [max(visible(row[k]) for row in everything) for k in range(len(header))]
    words = [
        max(visible(word) for row in everything for word in row[k].split(" "))
        for k in range(len(header))
    ]
    while sum(widths) + 2 * (len(widths) - 1) > columns and max(widths) > 4:
        wraps = [size if size > word else 0 for size, word in zip(widths, words)]
        cut = wraps if any(size > 4 for size in wraps) else widths  # no word, while there is a way
        widths[cut.index(max(cut))] -= 1

    def lay(row: list[str]) -> list[str]:
        cells = [chop(cell, size) for cell, size in zip(row, widths)]
        height = max(len(cell) for cell in cells)
        cells = [cell + [""] * (height - len(cell)) for cell in cells]
        return ["  ".join(
            " " * (size - visible(text)) + text if k in right else text + " " * (size -
            visible(text)) for k, (text, size) in enumerate(zip(line, widths))
        ).rstrip() for line in zip(*cells)]  # fmt: skip

    lines = lay(header) + ["  ".join("-" * size for size in widths)]
    for row in rows:
        lines += lay(row)
    return "\n".join(lines)
