"""The picture of a run: share of copy bandwidth, and ratio to each peer."""

from __future__ import annotations

from pathlib import Path

from matplotlib.lines import Line2D
from matplotlib.ticker import ScalarFormatter

from scratch_embed import plot

from .registry import Row
from .shapes import SHAPES

NAMES = [shape.name for shape in SHAPES]
LOOKS = dict(zip(NAMES, zip(plot.CYCLE, plot.MARKERS)))
OTHER = plot.PALETTE["black"], "|"


def draw(rows: list[Row], path: Path) -> Path | None:
    """Write the picture; None when nothing was timed that belongs into it.

    A line for each operation and peer, on it a mark for each row: its colour and form are the
    table's.
    """
    shares = [
        (f"{row.benchmark}, {row.facts.get('ids', 'any')} ids", row.case, row.share().median)
        for row in rows
        if "ours" in row.times and row.share()
    ]
    ratios = [
        (f"{row.benchmark}: {name}", row.case, row.ratio(name).median)
        for row in rows
        for name in row.times
        if is_peer(row, name)
    ]
    if not ratios:
        return None
    lines = max(len({label for label, *_ in some}) for some in (shares, ratios))
    fig, (left, right) = plot.figure(1, 2, size=(15, 2.4 + 0.3 * lines))
    marks(left, shares, "share of what a copy moves (1: as fast as a copy)")
    marks(right, ratios, "time of the other library over ours (above 1 ours is faster)")
    right.set_xscale("log")
    right.xaxis.set_major_formatter(ScalarFormatter())
    left.set_xlim(left=0)
    legend(fig, [case for _, case, _ in shares + ratios])
    return plot.save(fig, path)


def is_peer(row: Row, name: str) -> bool:
    """Whether it was timed in turns with ours, and is neither ours in another way nor the limit."""
    ours = name in ("copy", "bare Python") or name.startswith("ours")
    return not ours and any({name, "ours"} <= ways for ways in row.together)


def table_of(case: str) -> str | None:
    """Which of the tables a row is about."""
    return next((name for name in NAMES if name in case), None)


def marks(ax, points: list[tuple[str, str, float]], xlabel: str) -> None:
    """points: (line, case, value)."""
    labels = list(dict.fromkeys(label for label, *_ in points))
    ax.set_visible(bool(labels))
    for label, case, value in points:
        color, marker = LOOKS.get(table_of(case), OTHER)
        ax.plot(value, labels.index(label), marker, color=color, ms=8, alpha=0.8, mew=1.5)
    ax.axvline(1, color=plot.PALETTE["black"], lw=1, ls="--")
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(max(len(labels), 1) - 0.5, -0.5)
    ax.set_xlabel(xlabel)
    ax.grid(alpha=0.25)


def legend(fig, cases: list[str]) -> None:
    seen = [name for name in NAMES if name in {table_of(case) for case in cases}]
    looks = {name: LOOKS[name] for name in seen} | {"no table of these": OTHER}
    handles = [
        Line2D([], [], color=color, marker=marker, ls="", ms=8, mew=1.5, label=name)
        for name, (color, marker) in looks.items()
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=10)
