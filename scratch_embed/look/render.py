"""Markdown prose for the terminal: headings, emphasis, lists, tables, quotes, code and mathematics.

Understands what lessons use, line by line, and prints everything else as it stands.
"""

from __future__ import annotations

import re

from scratch_embed.look.terminal import coloured, paint, table, width, wrap
from scratch_embed.look.tex import to_unicode

ITEM = re.compile(r"^(?P<indent>\s*)(?P<bullet>[-*+]|\d+[.)])\s+(?P<text>.*)$")
INLINE = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|\$(?P<math>[^$\s](?:[^$]*[^$\s])?)\$(?!\d)"
    r"|!\[(?P<alt>[^\]]*)\]\([^)\s]*\)"
    r"|\[(?P<link>[^\]]+)\]\((?P<url>[^)\s]+)\)"
    r"|\*\*(?P<bold>\S(?:.*?\S)?)\*\*"
    r"|(?<![\w*])\*(?P<italic>[^\s*](?:[^*]*[^\s*])?)\*(?![\w*])"
    r"|(?<!\w)_(?P<under>[^\s_](?:[^_]*[^\s_])?)_(?!\w)"
    r"|\\(?P<escaped>[\\`*_$#|{}\[\]()+.!-])"
)


def markdown(text: str, columns: int | None = None, colour: bool | None = None) -> str:
    """The text laid out for `columns` (by default the terminal's), in colour where allowed."""
    columns = width() if columns is None else columns
    colour = coloured() if colour is None else colour
    blocks, lines = [], text.splitlines()
    while lines:
        if not lines[0].strip():
            lines.pop(0)
            continue
        for starts, block in BLOCKS:
            if starts(lines[0], lines):
                blocks.append(block(lines, columns, colour))
                break
    return "\n\n".join(block for block in blocks if block)


def inline(text: str, colour: bool) -> str:
    """Emphasis, code, links and mathematics inside a line. Short code and formulas do not break."""

    def replace(match: re.Match) -> str:
        kind, inside = match.lastgroup, match[match.lastgroup]
        if kind == "code":
            return paint(_together(inside), "cyan", on=colour)
        if kind == "math":
            return _together(to_unicode(inside))
        if kind == "url":
            return f"{inline(match['link'], colour)} ({inside})"
        if kind == "alt":
            return f"[figure: {inside}]"
        if kind == "escaped":
            return inside
        style = "bold" if kind == "bold" else "italic"
        words = inline(inside, colour).split(" ")  # styled word by word, so that lines may break
        return " ".join(paint(word, style, on=colour) for word in words)

    return INLINE.sub(replace, text)


def _together(text: str) -> str:
    return text.replace(" ", "\u00a0") if len(text) <= 24 else text


# The blocks. Each takes its lines off the front of the list and returns them laid out.


def _heading(lines: list[str], columns: int, colour: bool) -> str:
    marks, _, title = lines.pop(0).strip().partition(" ")
    title = inline(title.rstrip("# "), False).replace("\u00a0", " ")
    laid = wrap(title, columns)
    rule = {1: "=", 2: "-"}.get(len(marks))
    under = [rule * max(len(line) for line in laid)] if rule else []
    return "\n".join(paint(line, "bold", "blue", on=colour) for line in laid + under)


def _fence(lines: list[str], columns: int, colour: bool) -> str:
    mark = lines.pop(0).strip()[:3]
    code = []
    while lines and not lines[0].strip().startswith(mark):
        code.append(lines.pop(0))
    if lines:
        lines.pop(0)
    return "\n".join(paint("    " + line, "cyan", on=colour).rstrip() for line in code)


def _display(lines: list[str], columns: int, colour: bool) -> str:
    formula = lines.pop(0).strip()[2:]
    while lines and "$$" not in formula:
        formula += "\n" + lines.pop(0)
    formula, _, after = formula.partition("$$")
    if after.strip():
        lines.insert(0, after.strip())
    rows = [to_unicode(row) for row in formula.split("\\\\")]
    return "\n".join(line for row in rows if row for line in wrap(row, columns, "    ", " " * 8))


def _quote(lines: list[str], columns: int, colour: bool) -> str:
    inside = []
    while lines and lines[0].lstrip().startswith(">"):
        inside.append(re.sub(r"^\s*>\s?", "", lines.pop(0)))
    laid = markdown("\n".join(inside), columns - 4, colour)
    return "\n".join(f"  | {line}".rstrip() for line in laid.splitlines())


def _list(lines: list[str], columns: int, colour: bool) -> str:
    out = []
    while lines and (match := ITEM.match(lines[0])):
        lines.pop(0)
        text = [match["text"]]
        while lines and lines[0].strip() and lines[0][0] == " " and not ITEM.match(lines[0]):
            text.append(lines.pop(0).strip())
        lead = " " * (2 + len(match["indent"])) + match["bullet"] + " "
        out += wrap(inline(" ".join(text), colour), columns, lead)
    return "\n".join(out)


def _table(lines: list[str], columns: int, colour: bool) -> str:
    rows = []
    while lines and lines[0].lstrip().startswith("|"):
        row = lines.pop(0).strip().removeprefix("|")
        cells = re.split(r"(?<!\\)\|", re.sub(r"(?<!\\)\|$", "", row))
        rows.append([inline(cell.strip(), colour) for cell in cells])
    header, rule, *body = rows
    right = [k for k, cell in enumerate(rule) if cell.endswith(":") and not cell.startswith(":")]
    body = [(row + [""] * len(header))[: len(header)] for row in body]
    return table(header, body, columns, right)


def _ruler(lines: list[str], columns: int, colour: bool) -> str:
    lines.pop(0)
    return "-" * min(columns, 40)


def _paragraph(lines: list[str], columns: int, colour: bool) -> str:
    text = [lines.pop(0).strip()]
    while lines and lines[0].strip() and not _interrupts(lines[0], lines):
        text.append(lines.pop(0).strip())
    return "\n".join(wrap(inline(" ".join(text), colour), columns))


def _interrupts(line: str, lines: list[str]) -> bool:
    """Whether a line begins a block within a paragraph: "1986." does not, as a list begins at 1."""
    number = re.match(r"\s*(\d+)[.)]\s", line)
    later = number is not None and number[1] != "1"
    return not later and any(starts(line, lines) for starts, _ in BLOCKS[:-1])


def _starts_table(line: str, lines: list[str]) -> bool:
    follows = len(lines) > 1 and re.fullmatch(r"\s*\|?[\s:|-]*-[\s:|-]*\|?\s*", lines[1])
    return line.lstrip().startswith("|") and bool(follows)


BLOCKS = [
    (lambda line, lines: re.match(r"\s*(```|~~~)", line), _fence),
    (lambda line, lines: re.match(r"\s*#{1,6} ", line), _heading),
    (lambda line, lines: line.lstrip().startswith("$$"), _display),
    (lambda line, lines: line.lstrip().startswith(">"), _quote),
    (_starts_table, _table),
    (lambda line, lines: re.fullmatch(r"\s*([-*_]\s*){3,}", line), _ruler),
    (lambda line, lines: ITEM.match(line), _list),
    (lambda line, lines: True, _paragraph),
]
