"""What a lesson uses besides its checks: the run's options, a progress bar, its figures."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from scratch_embed.files import sentence
from scratch_embed.lesson.record import Options, current
from scratch_embed.look import terminal


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


LONG, RICH = 50_000, 2_000  # words, and different ones, that the labs can measure with


def lab_text(*modules: str) -> str:
    """The text that a lab reads: that of --text, else documentation of Python or of modules.

    Ends the lab with a sentence where --text is too short or too poor a text for it.
    """
    from scratch_embed.text import corpus

    path = options.text
    if path is None:
        return corpus.python_text(modules) if modules else corpus.python_text()
    text = corpus.read_text(path)
    words = corpus.words(text)
    many, different = len(words), len(set(words))
    if many < LONG or different < RICH:
        raise SystemExit(
            f"{path} has {many:,} words, {different:,} different ones; a lab needs {LONG:,}, and "
            f"{RICH:,} different"
        )
    return text


PACKAGE = Path(__file__).parents[1]


def course_folder() -> Path:
    """Where the lessons lie: in the installed package, or in a checkout beside it."""
    installed = PACKAGE / "course"
    return installed if installed.is_dir() else PACKAGE.with_name("lessons")


def is_lab(path: Path) -> bool:
    """Whether the script is a lab; else it is a lesson."""
    return path.parent.name == "labs"


def home(lesson: Path | None) -> Path:
    """Where a run leaves its pictures and results: the folder above `lessons` and lessons/labs.

    The present folder for a lesson of the installed package; elsewhere a script's own.
    """
    if lesson is None or lesson.is_relative_to(PACKAGE):
        return Path.cwd()
    folder = lesson.parent
    folder = folder.parent if is_lab(lesson) else folder
    return folder.parent if folder.name == "lessons" else folder


def shown_path(path: Path) -> str:
    """The path from where the learner stands, or whole when that is shorter."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # Windows: another drive
        return str(path)
    return min(relative, str(path), key=len)


def figures_folder(options: Options) -> Path:
    """Where in that folder figures go: build/figures, and of a --quick or --text run one below.

    They draw smaller experiments, or other words. figures/ itself, which is kept, is drawn by
    `python -m lessons figures` alone, in full.
    """
    other = "quick" if options.quick else "text" if options.text else ""
    return Path("figures") if options.figures and not other else Path("build", "figures", other)


def save_figure(figure, name: str) -> Path:
    """Save a matplotlib figure as build/figures/<name>, record it, and return its path.

    name: a plain file name that ends in .png, .svg or .pdf; ValueError for anything else. A figure
    that cannot be written does not end the lesson: a sentence on standard error says why.
    """
    if not re.fullmatch(r"[\w-]+\.(png|svg|pdf)", name):
        raise ValueError(f"name must be like 'table.png' (.png, .svg or .pdf), got {name!r}")
    from scratch_embed import plot  # here, so that lessons without figures do not load matplotlib

    record = current()
    path = home(record.path) / figures_folder(record.options) / name
    try:
        plot.save(figure, path)
    except OSError as error:
        record.unsaved.append((path, record.cell))
        print(f"The figure {name} is not saved. {sentence(error)}", file=sys.stderr)
        return path
    record.figures.append((path, record.cell))
    shown = Path(shown_path(path)).as_posix()
    record.put(f"  figure     {shown}", picture=path, words=_words(figure))
    return path


def _words(figure) -> str:
    """What a figure shows, from its titles; where it has none, from its axes."""
    titles = [axes.get_title() for axes in figure.axes]
    labels = [f"{axes.get_ylabel()} against {axes.get_xlabel()}" for axes in figure.axes]
    told = [title or label for title, label in zip(titles, labels) if title or len(label) > 9]
    return "Figure: " + "; ".join(" ".join(text.split()) for text in told)
