"""The few figure helpers that the lessons share. No pyplot: no window, no global state.

    fig, ax = figure(title="Six words")
    heatmap(ax, table, rows=words, highlight=[1, 2])
    save(fig, "figures/six_words.png")

Matplotlib is imported when the first figure is made, so importing this module costs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from scratch_embed.arguments import array_of
from scratch_embed.files import check_ending, replacing
from scratch_embed.look.fonts import boxes_for_letters
from scratch_embed.look.labels import stack
from scratch_embed.uninterrupted import uninterrupted

# Eight colours that colour-blind eyes tell apart: Okabe and Ito, "Color universal design", 2008.
PALETTE = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky blue": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "purple": "#CC79A7",
}
# The order in which series take their colours: strong on white first, yellow last.
CYCLE = [
    PALETTE[name]
    for name in ("blue", "vermillion", "green", "purple", "orange", "sky blue", "black", "yellow")
]
MARKERS = "os^DvPX*"  # a second cue beside the colour
LINES = ["-", "--", "-.", ":"]

READABLE = 400  # cells of a heatmap with numbers in them
PLAIN = {"parse_math": False}  # a word may be "$$"
STYLE = {
    "font.family": "DejaVu Sans",  # comes with Matplotlib, so every machine draws the same letters
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.labelsize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.titlesize": 14,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "svg.hashsalt": "scratch_embed",  # otherwise the ids inside an SVG are random
}


def figure(
    rows: int = 1, cols: int = 1, size: tuple[float, float] | None = None, title: str | None = None
):
    """A new figure of rows x cols axes: (figure, axes). One axes comes alone, several as an array.

    size is (width, height) in inches, by default 6.4 x 4.0 for each axes.
    """
    with uninterrupted():  # Matplotlib, interrupted while it is imported, stays broken
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    with rc_context(STYLE):
        fig = Figure(figsize=size or (6.4 * cols, 4.0 * rows), dpi=120, layout="constrained")
        FigureCanvasAgg(fig)
        axes = fig.subplots(rows, cols)
        if title:
            fig.suptitle(title, **PLAIN)
    return fig, axes


ENDINGS = {  # and what would make two files of one figure differ
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def save(fig, path: str | os.PathLike) -> Path:
    """Write fig to path (.png, .svg or .pdf) and return the path.

    The file appears whole or not at all, and the same figure gives the same bytes: neither the date
    nor the version of Matplotlib is written into it.

    Raises ValueError for another ending, and OSError when nothing can be written there.
    """
    from matplotlib import rc_context

    path, kind = Path(path), check_ending(path, ENDINGS)
    with replacing(path) as temporary, rc_context(STYLE), boxes_for_letters():
        fig.savefig(temporary, format=kind[1:], metadata=ENDINGS[kind])
    return path


def heatmap(
    ax,
    array,
    rows: Sequence[str] | None = None,
    cols: Sequence[str] | None = None,
    *,
    values: bool | None = None,
    digits: int = 2,
    highlight: Sequence[int] = (),
    limit: float | None = None,
    bar: bool = True,
    label: str = "",
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
) -> None:
    """Draw array (V, D) as coloured cells, row 0 on top, with its numbers written in the cells
    (values=None: of as many as can be read).

    Colours run from purple (negative) over white (zero) to orange (positive), symmetric about zero,
    and are full at +-limit (the largest number when None): arrays side by side want the same limit.
    rows and cols name the ticks; highlight frames whole rows and points at them; label names the
    colour bar, which bar=False leaves out.
    """
    array = _matrix(array)
    for name, names, count in (("rows", rows, len(array)), ("cols", cols, array.shape[1])):
        _same_length(name, names, count)
    if limit is None:
        limit = float(np.abs(array[np.isfinite(array)]).max(initial=0.0)) or 1.0
    if not 0 < limit < np.inf:
        raise ValueError(f"limit is {limit!r}; it must be a finite number above 0, or None")
    image = ax.imshow(array, cmap="PuOr_r", vmin=-limit, vmax=limit, aspect="auto")
    _cell_ticks(ax, array.shape, rows, cols)
    if array.size <= READABLE if values is None else values:
        for (v, d), number in np.ndenumerate(array):
            # The ends of the colour scale are dark, so the number turns white there.
            dark = np.dot(image.cmap(image.norm(number))[:3], (0.299, 0.587, 0.114)) < 0.5
            look = {"ha": "center", "va": "center", "color": "white" if dark else "black"}
            ax.text(d, v, f"{number:z.{digits}f}", fontsize=10, **look)
    _frame_rows(ax, highlight, array.shape)
    if bar:
        ax.figure.colorbar(image, ax=ax, shrink=0.9).ax.set_ylabel(label)
    _finish(ax, xlabel, ylabel, title, legend=False)


def flow(ax, row: int, other, to: int, colour: str = "blue") -> None:
    """An arrow from the right end of a row of one heatmap to the left end of a row of another."""
    from matplotlib.patches import ConnectionPatch

    arrow = ConnectionPatch(
        (1.0, row),
        (-0.16, to),  # room for the name of the row
        coordsA=ax.get_yaxis_transform(),
        coordsB=other.get_yaxis_transform(),
        arrowstyle="-|>",
        mutation_scale=16,
        lw=2,
        shrinkA=4,
        shrinkB=0,
        color=PALETTE[colour],
    )
    ax.figure.add_artist(arrow)


def bars(
    ax,
    labels: Sequence[str],
    values: Mapping[str, Sequence[float]] | Sequence[float],
    *,
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
    log: bool = False,
    fmt: str | None = None,
) -> None:
    """Upright bars: one value for each label, or several named series side by side.

    fmt, such as "{:.2f}", writes each value on its bar. log=True makes the upright axis
    logarithmic.
    """
    series = values if isinstance(values, Mapping) else {"": values}
    width = 0.8 / max(len(series), 1)
    where = np.arange(len(labels))
    for i, (name, numbers) in enumerate(series.items()):
        _same_length(name or "values", numbers, len(labels))
        left = where + (i - (len(series) - 1) / 2) * width
        drawn = ax.bar(
            left, numbers, width, color=CYCLE[i % len(CYCLE)], label=_named(name), edgecolor="white"
        )
        if fmt:
            ax.bar_label(drawn, labels=[fmt.format(n) for n in numbers], fontsize=9, padding=2)
    ax.set_xticks(where, labels, **PLAIN)
    if log:
        ax.set_yscale("log")
    ax.margins(y=0.12 if fmt else 0.05)
    _finish(ax, xlabel, ylabel, title, legend=len(series) > 1, beside=True)


def scatter_labels(
    ax,
    points,
    labels: Sequence[str],
    groups: Sequence[str] | None = None,
    *,
    xlabel: str = "first axis",
    ylabel: str = "second axis",
    title: str = "",
) -> None:
    """Points (V, 2) with a word beside each. Points of one group share a colour and a marker.

    Words that would lie on one another, or on a point, are stacked, and a thin line leads back to
    the point. Those for which there is no room left are counted in a corner.
    """
    points = _matrix(points, "points")
    if points.shape[1] != 2:
        raise ValueError(f"points must have shape (V, 2), but their shape is {points.shape}.")
    for row in np.flatnonzero(~np.isfinite(points).all(axis=1)):
        raise ValueError(f"points[{row}] is {points[row].tolist()}, which is no place")
    _same_length("labels", labels, len(points))
    _same_length("groups", groups, len(points))
    kinds = list(groups) if groups is not None else [""] * len(points)
    for i, kind in enumerate(dict.fromkeys(kinds)):
        chosen = points[[k == kind for k in kinds]]
        if not len(chosen):
            raise ValueError(f"groups[{kinds.index(kind)}] is {kind}, which equals nothing.")
        look = {"color": CYCLE[i % len(CYCLE)], "marker": _turned(MARKERS, i), "s": 45}
        edge = {"edgecolor": "black", "linewidth": 0.5}
        ax.scatter(*chosen.T, **look, **edge, label=_named(kind), zorder=2)
    line = {"arrowstyle": "-", "lw": 0.5, "color": "0.5", "relpos": (0, 0.5), "shrinkA": 1}
    words = [
        ax.annotate(label, point, xytext=(6, 4), textcoords="offset points", fontsize=10, zorder=3,
                    arrowprops=line, **PLAIN)
        for point, label in zip(points, labels, strict=True)
    ]  # fmt: skip
    ax.margins(0.12)
    _finish(ax, xlabel, ylabel, title, legend=groups is not None, beside=True)
    stack(ax, words)


def lines(
    ax,
    x,
    series: Mapping[str, Sequence[float]] | Sequence[float],
    *,
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
    logx: bool = False,
    logy: bool = False,
    marker: str | None = None,
) -> None:
    """One curve, or several named ones, over common x. A curve differs in colour and in dash."""
    series = series if isinstance(series, Mapping) else {"": series}
    for i, (name, y) in enumerate(series.items()):
        _same_length(name or "series", y, len(x))
        if np.ndim(y) != 1:
            raise ValueError(f"{name or 'series'} of shape {np.shape(y)}; for several, give a dict")
        look = {"color": CYCLE[i % len(CYCLE)], "ls": _turned(LINES, i), "marker": marker}
        ax.plot(x, y, **look, lw=1.8, ms=4, label=_named(name))
    if logx:
        ax.set_xscale("log")
    if logy:
        ax.set_yscale("log")
    ax.grid(True, which="major", alpha=0.25, lw=0.6)
    _finish(ax, xlabel, ylabel, title, legend=any(series))


def _finish(ax, xlabel, ylabel, title, legend, beside=False) -> None:
    """Labels, title and, if asked for, a legend: inside where it fits best, or beside the axes."""
    ax.set_xlabel(xlabel, **PLAIN)
    ax.set_ylabel(ylabel, **PLAIN)
    ax.set_title(title, **PLAIN)
    if legend:
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if beside else {"loc": "best"}
        for text in ax.legend(fontsize=10, frameon=not beside, **place).get_texts():
            text.set_parse_math(False)


def _named(name) -> str | None:
    """What a legend shows. Matplotlib leaves out whose name begins with _, but for a hair space."""
    return f"\u200a{name}" if str(name).startswith("_") else str(name) or None


def _frame_rows(ax, rows, shape) -> None:
    """A frame around each row and a pointer at its right end. Thin rows get a thin frame."""
    from matplotlib.patches import Rectangle

    height = ax.get_window_extent().height / ax.figure.dpi * 72 / shape[0]  # of a row, in points
    for v in rows:
        if not 0 <= v < shape[0]:
            raise IndexError(f"highlight holds {v}, outside 0..{shape[0] - 1}.")
        look = {"fill": False, "ec": PALETTE["black"], "lw": min(2.0, height / 6)}
        ax.add_patch(Rectangle((-0.5, v - 0.5), shape[1], 1, **look, clip_on=False, zorder=3))
        arrow = {"arrowstyle": "-|>", "color": PALETTE["vermillion"], "lw": 1.5}
        arrow |= {"shrinkA": 0, "shrinkB": 1}
        end = (shape[1] - 0.5, v)
        ax.annotate("", end, (14, 0), textcoords="offset points", arrowprops=arrow)


def _cell_ticks(ax, shape, rows, cols) -> None:
    """Name every cell when names are given, or when there are few enough to number."""
    if rows is not None or shape[0] <= 20:
        ax.set_yticks(range(shape[0]), range(shape[0]) if rows is None else rows, **PLAIN)
    if cols is not None or shape[1] <= 20:
        ax.set_xticks(range(shape[1]), range(shape[1]) if cols is None else cols, **PLAIN)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def _matrix(array, name: str = "array") -> np.ndarray:
    array = array_of(array, name)
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind == "c":
        its = f"its shape is {array.shape}, its dtype {array.dtype}"
        raise ValueError(f"{name} must be a table with cells of real numbers, but {its}.")
    return array.astype(np.float64)


def _turned(cues, i):
    """The second cue beside the i-th colour: with colours used up, another than the first time."""
    return cues[(i + i // len(CYCLE)) % len(cues)]


def _same_length(name, given, count) -> None:
    if given is not None and len(given) != count:
        raise ValueError(f"{name} has {len(given)} entries for {count} places.")
