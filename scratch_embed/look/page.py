"""What a run shows on a page, a notebook or the web book, in the place of printed text.

A thing is shown as a bundle, {kind: content}, as Jupyter calls it: its text always, and beside that
a picture or a piece of HTML. Whoever makes the page chooses what it can show.
"""

from __future__ import annotations

import base64
import html
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

MOST = 8  # rows, and columns, of a table that is shown


def bundle(text: str, page: str = "", picture: Path | None = None) -> dict[str, str]:
    """A thing as it can be shown: as text, as HTML, as a picture (a PNG file)."""
    shown = {"text/plain": text}
    if page:
        shown["text/html"] = page
    if picture is not None and picture.suffix == ".png":
        shown["image/png"] = base64.b64encode(picture.read_bytes()).decode("ascii")
    return shown


def notebook() -> Callable[[dict[str, str]], None] | None:
    """How the notebook that runs this process shows a bundle; None where no notebook runs."""
    ipython = sys.modules.get("IPython")  # whoever runs a notebook has loaded it
    shell = ipython.get_ipython() if ipython else None
    if getattr(shell, "kernel", None) is None:  # plain Python, or IPython in a terminal
        return None
    return shell.display_pub.publish


def fold(summary: str, inside: str, opened: bool = False) -> str:
    """A fold, to be opened by a click. Both are HTML."""
    return f"<details{' open' * opened}><summary>{summary}</summary>\n{inside}\n</details>"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]], caption: str = "") -> str:
    """A table; the first cell of a row is its name. Everything is text, and is escaped."""
    heads = "".join(f'<th scope="col">{html.escape(head)}</th>' for head in heads)
    lines = [f"<tr>{heads}</tr>"]
    for first, *cells in rows:
        line = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        lines.append(f'<tr><th scope="row">{html.escape(first)}</th>{line}</tr>')
    caption = f"<caption>{html.escape(caption)}</caption>\n" if caption else ""
    return f"<table>\n{caption}" + "\n".join(lines) + "\n</table>"


def array(values: np.ndarray, caption: str, names: Iterable | None = None) -> str:
    """An array with one or two axes as a table, the middle of long axes left out.

    names : what the rows are called, when they are not numbered from 0.
    """
    grid = np.atleast_2d(values)
    names = range(len(grid)) if names is None else list(names)
    rows, columns = (_few(length) for length in grid.shape)
    heads = ["" if values.ndim == 2 else caption, *(_or_dots(j, str) for j in columns)]
    lines = []
    for i in rows:
        cells = [_or_dots(j, lambda j, i=i: _short(grid[i, j])) if i is not None else "..."
                 for j in columns]  # fmt: skip
        lines.append(["" if values.ndim < 2 else _or_dots(i, lambda i: str(names[i])), *cells])
    return table(heads, lines, caption if values.ndim == 2 else "")


def _few(length: int) -> list[int | None]:
    """The places that are shown; None stands for those left out."""
    half = MOST // 2
    if length <= MOST:
        return list(range(length))
    return [*range(half), None, *range(length - half + 1, length)]


def _or_dots(place: int | None, text: Callable[[int], str]) -> str:
    return "..." if place is None else text(place)


def _short(x) -> str:
    return f"{x:.4g}" if isinstance(x, (float, np.floating)) else str(x)
