"""The graph of a trace as a matplotlib Figure: a picture for each step."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from scratch_embed import plot
from scratch_embed.trace import graph
from scratch_embed.trace.choice import Choice, checked
from scratch_embed.trace.layout import place

if TYPE_CHECKING:
    from scratch_embed.trace import Trace

MOST_BOXES = 60
LETTERS = 8.0  # points, of the monospaced text in a box
WORDS = 9.0  # of the formula, and of an entry worked out
WIDE, HIGH = LETTERS * 0.602 / 72, LETTERS * 1.25 / 72  # inches of a letter, and of a line
PAD = 0.09  # inches between a box and its text
MARGIN, TOP, BOTTOM = 0.25, 0.95, 0.55  # inches around the drawing

# Fill, border, line style, line width: a state shows in its line as well as in its colour.
LOOKS = {
    graph.DONE: ("#DCEEF9", plot.PALETTE["blue"], "-", 1.2),
    graph.CURRENT: ("#FCE3CF", plot.PALETTE["vermillion"], "-", 2.6),
    graph.COLLECTING: ("#FBF6C9", plot.PALETTE["orange"], "-.", 1.6),
    graph.WAITING: ("#FFFFFF", "#8A8A8A", "--", 1.0),
    graph.CONSTANT: ("#EFEFEF", "#8A8A8A", "-", 0.8),
}
FORWARD = (graph.DONE, graph.CURRENT, graph.WAITING)
LEGEND = {
    graph.DONE: "computed",
    graph.CURRENT: "this step",
    graph.WAITING: "not yet computed",
    graph.COLLECTING: "collecting, or complete and next",
    graph.CONSTANT: "gets no gradient",
}


def draw(trace: Trace, step: int, choice: Choice | None = None):
    """The graph after `step`. Raises ValueError for more boxes than a page can hold."""
    choice = None if choice is None else checked(trace, step, choice)
    last = graph.boxes(trace, len(trace))
    if len(last) > MOST_BOXES:
        raise ValueError(
            f"this graph has {len(last):,} boxes and a readable figure holds {MOST_BOXES}; trace a "
            "smaller part of it, or use str(trace), trace.text(step) or trace.dot()"
        )
    now = graph.boxes(trace, step, choice)
    sizes = {}
    for ends, box in zip(last, now):  # room for the last step, so that boxes stay where they are
        letters = max(map(len, [ends.name, *ends.text, *box.text, "gradient not yet computed"]))
        rows = 1 + max(len(ends.text), len(box.text))
        sizes[box.name] = (letters * WIDE + 2 * PAD, rows * HIGH + 2 * PAD)
    edges = graph.edges(trace, step)
    spot = place(sizes, [(edge.parent, edge.child) for edge in edges])

    head, formula = graph.title(trace, step)
    above = [*formula.splitlines(), *graph.worked(trace, step, choice)]
    wide = max(spot.width, 7.5, WORDS * 0.602 / 72 * max(map(len, above), default=0)) + 2 * MARGIN
    high = spot.height + BOTTOM + TOP + WORDS * 1.25 / 72 * (len(above) if choice else 0)
    fig, ax = plot.figure(size=(wide, high))
    fig.set_layout_engine("none")
    ax.set_position([0, 0, 1, 1])
    left = (wide - spot.width) / 2
    ax.set(xlim=(-left, wide - left), ylim=(-BOTTOM, high - BOTTOM))
    ax.set_axis_off()
    for edge in edges:
        _edge(ax, edge, spot.route[edge.parent, edge.child])
    for box in now:
        _box(ax, box, spot.centre[box.name], sizes[box.name])
    _words(ax, head, above, -left + MARGIN, high - BOTTOM, step <= len(trace.forward))
    return fig


def _box(ax, box: graph.Box, centre: tuple[float, float], size: tuple[float, float]) -> None:
    from matplotlib.patches import FancyBboxPatch

    (x, y), (wide, high) = centre, size
    fill, border, style, line = LOOKS[box.state]
    corner = (x - wide / 2, y - high / 2)
    ax.add_patch(FancyBboxPatch(corner, wide, high, "round,pad=0,rounding_size=0.07", fc=fill,
                                ec=border, ls=style, lw=line, zorder=2, gid=box.state))  # fmt: skip
    look = {"family": "DejaVu Sans Mono", "size": LETTERS, "va": "top", "parse_math": False}
    left, top = x - wide / 2 + PAD, y + high / 2 - PAD
    ax.text(left, top, box.name, weight="bold", zorder=3, **look)
    for row, text in enumerate(box.text, start=1):
        grey = "#555555" if text.startswith(("=", "shape")) else "black"
        ax.text(left, top - row * HIGH, text, color=grey, zorder=3, **look)


def _edge(ax, edge: graph.Edge, way: list[tuple[float, float]]) -> None:
    """A curve from box to box. Once a gradient has come back along it, it points to the left."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    points, codes = [way[0]], [Path.MOVETO]
    for k, ((x0, y0), (x1, y1)) in enumerate(pairwise(way)):
        if k % 2:  # through a layer
            points, codes = [*points, (x1, y1)], [*codes, Path.LINETO]
            continue
        middle = (x0 + x1) / 2
        points += [(middle, y0), (middle, y1), (x1, y1)]
        codes += [Path.CURVE4] * 3
    _, colour, style, line = LOOKS[edge.state]
    head = "<|-" if edge.backward else "-|>"
    arrow = FancyArrowPatch(path=Path(points, codes), arrowstyle=head, shrinkA=0, shrinkB=0)
    arrow.set(mutation_scale=11, color=colour, fill=False, zorder=1)
    arrow.set(linestyle=style, linewidth=line)
    ax.add_patch(arrow)
    told = [f"{edge.count} times"] if edge.count > 1 else []
    told += [edge.note] if edge.note else []
    if told:
        (x0, y0), (x1, y1) = way[0], way[1]
        ax.text((x0 + x1) / 2, (y0 + y1) / 2, "\n".join(told), size=LETTERS, ha="center",
                va="center", color=colour, zorder=4,
                bbox={"fc": "white", "ec": "none", "pad": 1.0, "alpha": 0.9})  # fmt: skip


def _words(ax, head: str, lines: list[str], left: float, top: float, forward: bool) -> None:
    """The title, the formula, the entry worked out, and what the colours mean."""
    from matplotlib.patches import Patch

    ax.text(left, top - 0.15, head, size=12, weight="bold", va="top", parse_math=False)
    ax.text(left, top - 0.42, "\n".join(lines), size=WORDS, va="top", family="DejaVu Sans Mono",
            color="#333333", parse_math=False)  # fmt: skip
    states = FORWARD if forward else tuple(LOOKS)
    marks = [Patch(fc=LOOKS[s][0], ec=LOOKS[s][1], ls=LOOKS[s][2], lw=LOOKS[s][3],
                   label=LEGEND[s]) for s in states]  # fmt: skip
    ax.legend(handles=marks, loc="lower left", ncols=5, fontsize=9, frameon=False,
              borderaxespad=0.6, handlelength=1.6)  # fmt: skip
