"""What a lesson uses besides its checks: the run's options, a progress bar, its figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from scratch_embed.lesson.look import terminal
from scratch_embed.lesson.record import current


class _Options:
    """The options of the run: `options.text` (a path or None) and `options.quick` (a bool)."""

    @property
    def text(self) -> Path | None:
        """The file given by --text, to read instead of the standard text."""
        return current().options.text

    @property
    def quick(self) -> bool:
        """Whether --quick asks for smaller experiments."""
        return current().options.quick

    def __repr__(self) -> str:
        return repr(current().options)


options = _Options()


def progress(iterable: Iterable, label: str, total: int | None = None) -> Iterator:
    """The items one by one, with a progress bar on standard error while that is a terminal."""
    from tqdm import tqdm  # here, so that lessons without long work do not pay for it

    return iter(tqdm(iterable, desc=label, total=total, disable=None, leave=False))


def say(text: str) -> None:
    """Print a line of results, indented; where the terminal is narrow, as several."""
    print("\n".join(terminal.wrap(text, terminal.width(), "  ", " " * 4)))


def figures_folder(lesson: Path | None) -> Path:
    """Where the figures of a lesson or lab go: beside `lessons`, else beside the script itself."""
    folder = Path.cwd() if lesson is None else lesson.parent
    if folder.name == "labs":
        folder = folder.parent
    return (folder.parent if folder.name == "lessons" else folder) / "figures"


def save_figure(figure, name: str) -> Path:
    """Save a matplotlib figure as figures/<name>, record it, and return its path.

    A --quick run draws smaller experiments and a --text run other words: they go to figures/quick/
    and figures/text/, beside the full ones.

    name: a plain file name that ends in .png, .svg or .pdf; ValueError for anything else.
    """
    if not re.fullmatch(r"[\w-]+\.(png|svg|pdf)", name):
        raise ValueError(f"name must be like 'table.png' (.png, .svg or .pdf), got {name!r}")
    from scratch_embed import plot  # here, so that lessons without figures do not load matplotlib

    record = current()
    folder = figures_folder(record.path)
    other = "quick" if options.quick else "text" if options.text else ""
    path = folder / other / name
    path.parent.mkdir(parents=True, exist_ok=True)
    plot.save(figure, path)
    record.figures.append((path, record.cell))
    print(f"  figure     {path.relative_to(folder.parent).as_posix()}")
    return path
