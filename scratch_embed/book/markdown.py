"""The Markdown that pages are written in, MyST: CommonMark with $formulas$ and ```{directives}."""

from __future__ import annotations

import re
from collections.abc import Callable

KEEP = re.compile(r"(```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$)", re.DOTALL)  # code and formulas
SPECIAL = re.compile(r"([\\*_<>\[\]$#|{}~^`&])")
# What begins a list, a definition, a rule or a comment, where a line begins.
FIRST = re.compile(r"^(\s*\d*)([-+:.)](?=\s|$)|[-=](?=[-=]*\s*$)|%)", re.MULTILINE)


def fence(kind: str, text: str, *options: str) -> str:
    """A block of code or a directive; longer backticks than any that stand in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return "\n".join([f"{marks}{kind}", *options, *["" for _ in options[:1]], text, marks])


def code(text: str, language: str = "python", look: str = "") -> str:
    """A block of code, coloured; look: the class that it gets on the page."""
    return fence(f"{{code-block}} {language}", text, *([f":class: {look}"] if look else []))


def raw(html: str) -> str:
    """HTML as it stands."""
    return fence("{raw} html", html)


def folded(summary: str, text: str) -> str:
    """Markdown in a fold; the summary is text."""
    head = f"<details><summary>{summary}</summary>"
    return "\n\n".join([raw(head), text, raw("</details>")])


def plain(text: str) -> str:
    """Text whose letters mean nothing to Markdown, but for `code`, which stays code."""
    pieces = re.split(r"(`[^`\n]+`)", text)
    pieces[::2] = [FIRST.sub(r"\1\\\2", SPECIAL.sub(r"\\\1", p)) for p in pieces[::2]]
    return "".join(pieces)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Markdown with its prose changed; code and formulas stay as they are."""
    return "".join(p if n % 2 else change(p) for n, p in enumerate(KEEP.split(text)))


def toctree(pages: list[str], caption: str = "", hidden: bool = True, depth: int = 1) -> str:
    """The pages that follow, in order: what the sidebar, previous and next are made of."""
    options = [f":caption: {caption}"] if caption else []
    return fence(
        "{toctree}", "\n".join(pages), *options, *[":hidden:"] * hidden, f":maxdepth: {depth}"
    )
