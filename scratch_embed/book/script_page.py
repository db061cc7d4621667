"""A lesson or lab that ran, as a page of the book."""

from __future__ import annotations

import ast
import base64
import html
import re
from collections.abc import Callable
from pathlib import Path

from scratch_embed.book.markdown import code, fence, folded, outside_code, raw
from scratch_embed.book.pieces import Piece
from scratch_embed.book.running import Ran
from scratch_embed.lesson.tools import is_lab
from scratch_embed.look.page import fold

LESSONS = re.compile(r"\b([Ll]essons? )(\d+(?:(?:, | and | or | to )\d+)*)\b")
FOLDS = {"imports": "imports", "helper": "how it is drawn"}


class Links:
    """Where the pages of the course are, seen from the page `here`."""

    def __init__(self, lessons: dict[int, Path], exercises: dict[str, str], here: str):
        self.up = "../" * here.count("/")
        self.lessons = {n: f"{self.up}lessons/{path.stem}.md" for n, path in lessons.items()}
        self.exercises = {name: f"{self.up}exercises/{name}.md" for name in exercises}

    def prose(self, text: str) -> str:
        """Prose in which lessons and exercises are linked where they are named."""
        text = outside_code(text, lambda prose: LESSONS.sub(self._lessons, prose))
        names = "|".join(map(re.escape, self.exercises))
        whole = rf"`(?:python -m lessons exercise )?({names})`"
        return re.sub(whole, lambda m: f"[{m[0]}]({self.exercises[m[1]]})", text)

    def lesson(self, number: int, text: str) -> str:
        """A link to a lesson; its text alone where there is no such lesson."""
        return f"[{text}]({self.lessons[number]})" if number in self.lessons else text

    def _lessons(self, match: re.Match) -> str:
        if match[2].isdecimal():
            return self.lesson(int(match[2]), match[0])
        return match[1] + re.sub(r"\d+", lambda n: self.lesson(int(n[0]), n[0]), match[2])


def page(ran: Ran, links: Links, keep: Callable[[str, bytes], str], plays: dict[str, str]) -> str:
    """The page as Markdown.

    keep : takes a name and the bytes of a picture, and returns where the page finds it.
    plays : {simulation: its title}.
    """
    parts, pictures = [], 0
    for piece, shown in zip(ran.pieces, ran.shown):
        if piece.role == "play":
            named = [ast.literal_eval(node.value.args[0]) for node in piece.nodes]
            parts += [simulation(name, plays[name], links.up) for name in named]
            continue
        parts += _source(piece, links)
        for bundle in shown:
            if "image/png" in bundle:
                pictures += 1
                data = base64.b64decode(bundle["image/png"])
                place = keep(f"{ran.path.stem}_{pictures}.png", data)
                parts.append(fence(f"{{image}} {place}", f":alt: {bundle['text/plain']}"))
            else:
                parts.append(_shown(bundle))
        parts += _traces(piece, ran, links.up)
    first = 1 if ran.pieces[0].kind == "markdown" else 0
    parts.insert(first, _downloads(ran.path, links.up))
    return "\n\n".join(part for part in parts if part) + "\n"


def _source(piece: Piece, links: Links) -> list[str]:
    if piece.kind == "markdown":
        return [links.prose(piece.text)]
    if piece.role == "quiz":
        return []  # the question and the answer are shown; the call adds nothing
    block = code(piece.text)
    return [folded(FOLDS[piece.role], block) if piece.role in FOLDS else block]


def simulation(name: str, title: str, up: str) -> str:
    """A simulation in a frame of its own, and how it is opened elsewhere."""
    place, title = f"{up}simulations/{name}.html", html.escape(title)
    frame = f'<iframe class="play" src="{place}" title="{title}" loading="lazy"></iframe>'
    alone = f'<p><a href="{place}">Open it alone</a>, or <code>python -m lessons play {name}</code>'
    return raw(f'<div class="simulation">\n{frame}\n{alone}</p>\n</div>')


def _traces(piece: Piece, ran: Ran, up: str) -> list[str]:
    """A fold for each backward that the piece calls, to walk through."""
    lines = range(piece.line, piece.line + len(piece.text.splitlines()))
    folds = []
    for line in (line for line, walk in ran.traces.items() if walk and int(line) in lines):
        place = f"{up}traces/{ran.path.stem}_{line}.html"
        title = f"The backward of line {line}, forward and back"
        frame = f'<iframe class="walk" src="{place}" title="{title}" loading="lazy"></iframe>'
        folds.append(raw(fold("Walk through this backward, entry by entry", frame)))
    return folds


def _shown(bundle: dict[str, str]) -> str:
    if "text/html" in bundle:
        return raw(bundle["text/html"])
    text = bundle.get("stream", bundle.get("text/plain", ""))
    return code(text.rstrip("\n"), "text", "output")


def _downloads(path: Path, up: str) -> str:
    place = f"{up}downloads/{'labs/' * is_lab(path)}{path.stem}"
    return f"{{download}}`script <{place}.py>` · {{download}}`notebook <{place}.ipynb>`"
