"""What simulations draw with: artists that are made once and then only take other numbers.

    bars = Bars(ax, ["a", "b"], reach=2.0)      # two bars of height 0
    bars.set([0.5, -1.0])                       # the same two bars, and the numbers on them

Every class makes its artists in `__init__` and none in `set`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scratch_embed import plot

LIGHT, DARK = "#CFE6F5", "#F8D9C4"  # of the rows that are looked at: blue and vermillion, thinned


class Bars:
    """Bars (n,) from one line, upright or lying, each with its number at its end.

    reach: how far the axis goes, (low, high) or the same on both sides. fmt: of the numbers on
    the bars, or None. gids: what a click on each bar sets.
    """

    def __init__(
        self,
        ax,
        names: Sequence[str],
        reach: float | tuple[float, float],
        color: str = "blue",
        *,
        fmt: str | None = "{:z.2f}",
        lying: bool = False,
        width: float = 0.8,
        shift: float = 0.0,
        fontsize: float = 10,
        gids: Sequence[str] | None = None,
        label: str | None = None,
    ):
        self.ax, self.fmt, self.lying = ax, fmt, lying
        low, high = reach if isinstance(reach, tuple) else (-reach, reach)
        self.bounds = low, high
        at = np.arange(len(names)) + shift
        draw = ax.barh if lying else ax.bar
        none = np.full(len(names), max(low, 0.0))
        self.bars = list(draw(at, none, width, color=plot.PALETTE[color], edgecolor="black",
                              linewidth=0.5, label=label))  # fmt: skip
        for bar, gid in zip(self.bars, gids or [], strict=False):
            bar.set_gid(gid)
        self.texts = [ax.text(0, 0, "", fontsize=fontsize, parse_math=False, clip_on=False)
                      for _ in names]  # fmt: skip
        self.at = at
        if lying:
            ax.set_yticks(np.arange(len(names)), names)
            ax.set(xlim=(low, high), ylim=(len(names) - 0.4, -0.6))
            ax.axvline(0, color="black", lw=0.8) if low < 0 else None
        else:
            ax.set_xticks(np.arange(len(names)), names)
            ax.set(ylim=(low, high), xlim=(-0.6, len(names) - 0.4))
            ax.axhline(0, color="black", lw=0.8)

    def set(self, numbers, texts: Sequence[str] | None = None, colors=None) -> None:
        """Give the bars their lengths, and what stands at their ends (by fmt when None)."""
        low, high = self.bounds
        gap = 0.012 * (high - low) * (1 if self.lying else 2)
        far = self.ax.get_xscale() == "log"  # where the same distance is a factor
        for i, (bar, text, number) in enumerate(zip(self.bars, self.texts, numbers, strict=True)):
            number = float(number)
            shown = min(max(number, low), high)
            (bar.set_width if self.lying else bar.set_height)(shown)
            if colors is not None:
                bar.set_facecolor(plot.PALETTE.get(colors[i], colors[i]))
            if texts is None and self.fmt is None:
                continue
            text.set_text(self.fmt.format(number) if texts is None else texts[i])
            end = shown * 1.1 if far else shown + gap if number >= 0 else shown - gap
            text.set_position((end, self.at[i]) if self.lying else (self.at[i], end))
            if self.lying:
                text.set(ha="left" if number >= 0 else "right", va="center_baseline")
            else:
                text.set(ha="center", va="bottom" if number >= 0 else "top")


class Cells:
    """A table (V, D) as coloured cells with its numbers, row 0 on top: purple < 0 < orange.

    limit: the number at which a colour is full. fmt: of the numbers in the cells, None for none.
    gids: what a click on each row sets.
    """

    def __init__(
        self,
        ax,
        shape: tuple[int, int],
        limit: float,
        *,
        rows: Sequence[str] | None = None,
        fmt: str | None = "{:z.2f}",
        fontsize: float = 10,
        gids: Sequence[str] | None = None,
    ):
        from matplotlib.patches import Rectangle

        V, D = shape
        self.fmt = fmt
        edges = np.arange(D + 1) - 0.5, np.arange(V + 1) - 0.5
        self.mesh = ax.pcolormesh(*edges, np.zeros(shape), cmap="PuOr_r", vmin=-limit, vmax=limit,
                                  edgecolor="white", linewidth=0.5)  # fmt: skip
        self.texts = [
            ax.text(d, v, "", ha="center", va="center_baseline", fontsize=fontsize)
            for v in range(V)
            for d in range(D)
            if fmt
        ]
        ax.set(xlim=(-0.5, D - 0.5), ylim=(V - 0.5, -0.5))
        ax.set_xticks(range(D))
        ax.set_yticks(range(V), rows)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        self.frame = Rectangle((-0.5, -0.5), D, 1, fill=False, ec="black", lw=2.2, clip_on=False,
                               zorder=3, visible=False)  # fmt: skip
        ax.add_patch(self.frame)
        for v, gid in enumerate(gids or []):
            ax.add_patch(Rectangle((-0.5, v - 0.5), D, 1, fc="none", ec="none", zorder=4, gid=gid))

    def set(self, array) -> None:
        """Give the cells their numbers; NaN leaves a cell empty."""
        array = np.asarray(array, dtype=float)
        self.mesh.set_array(array)
        if not self.fmt:
            return
        # the ends of the colour scale are dark, so the number turns white there
        light = self.mesh.cmap(self.mesh.norm(array.ravel()))[:, :3] @ (0.299, 0.587, 0.114)
        for text, number, bright in zip(self.texts, array.ravel(), light, strict=True):
            text.set_text("" if np.isnan(number) else self.fmt.format(number))
            text.set_color("black" if bright > 0.5 else "white")

    def frame_row(self, row: int | None) -> None:
        """Put the frame around a row, or take it away."""
        self.frame.set_visible(row is not None)
        if row is not None:
            self.frame.set_y(row - 0.5)


class Words:
    """Words beside their points on a map, none upon another; a thin line leads back to the point.

    Where a crowd leaves no room at all, a word is not shown. gids: what a click on each word sets.
    """

    # where a word may stand, in multiples of its own size away from its point: near ones first
    AROUND = np.array(
        [(x, y) for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))]
        + [(x, y) for r in (2.0, 3.0, 4.0, 5.5, 7.0, 9.0) for y in (r, -r) for x in (0, 1, -1)]
        + [(x, y) for x in (1.8, -1.8, 2.8, -2.8) for y in (0, 1.2, -1.2, 2.4, -2.4, 4, -4)]
    )
    GAP = 6.0  # pixels between a point and its word

    def __init__(self, ax, words: Sequence[str], *, fontsize: float = 10, gids=None):
        from matplotlib.collections import LineCollection

        self.ax = ax
        self.texts = [
            ax.text(0, 0, word, fontsize=fontsize, ha="center", va="center", zorder=5,
                    parse_math=False, gid=gid)
            for word, gid in zip(words, gids or [None] * len(words))
        ]  # fmt: skip
        self.lines = LineCollection([], colors="0.55", linewidths=0.7, zorder=1)
        ax.add_collection(self.lines, autolim=False)
        self.sizes: dict[str, tuple[float, float]] = {}

    def set(self, points, words: Sequence[str] | None = None) -> None:
        """Put the words beside points (n, 2). Fewer words than before: the rest are hidden."""
        points = np.asarray(points, dtype=float)
        n, toward = len(points), self.ax.transData
        for i, text in enumerate(self.texts):
            text.set_visible(i < n)
            if i < n and words is not None:
                text.set_text(words[i])
        at = toward.transform(points)
        sizes = np.array([self._size(text) for text in self.texts[:n]])
        places = self._places(at, sizes)  # (n, k, 4)
        dots = np.column_stack([at - 4, at + 4])
        cost = 3.0 * _meet(places.reshape(-1, 4), dots).sum(axis=1).reshape(places.shape[:2])
        cost += 0.5 * np.arange(len(self.AROUND))
        frame = self.ax.bbox
        low, high = places[..., :2] < (frame.x0, frame.y0), places[..., 2:] > (frame.x1, frame.y1)
        cost += 1000 * (low.any(axis=2) | high.any(axis=2))
        boxes = np.empty((n, 4))
        for i in range(n):
            crowd = cost[i] + 1000 * _meet(places[i], boxes[:i]).sum(axis=1)
            best = int(np.argmin(crowd))
            boxes[i] = places[i, best]
            if crowd[best] >= 1000:
                self.texts[i].set_visible(False)
                boxes[i] = np.nan  # it takes no room
        middle = (boxes[:, :2] + boxes[:, 2:]) / 2
        shown = ~np.isnan(middle[:, 0])
        where = toward.inverted().transform(np.where(shown[:, None], middle, 0.0))
        for text, place in zip(self.texts, where):
            text.set_position(place)
        gap = np.hypot(*np.maximum(np.abs(middle - at) - sizes / 2, 0).T)
        far = shown & (gap > 2 * self.GAP)
        ends = np.clip(at, boxes[:, :2] + 2, boxes[:, 2:] - 2)[far]
        ends = toward.inverted().transform(ends) if far.any() else ends
        self.lines.set_segments(list(np.stack([points[far], ends], axis=1)))

    def _size(self, text) -> tuple[float, float]:
        word = text.get_text()
        if word not in self.sizes:
            # asked of our own canvas: a text that was last drawn as SVG would measure by that
            box = text.get_window_extent(self.ax.figure.canvas.get_renderer())
            self.sizes[word] = box.width + 2, box.height
        return self.sizes[word]

    def _places(self, at: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """(n, k, 4) boxes around the points: left, bottom, right, top, in pixels."""
        away = np.where(self.AROUND[:, ::-1] == 0, 1.0, 0.7) * self.GAP * np.sign(self.AROUND)
        middle = at[:, None] + self.AROUND * sizes[:, None] / 2 + away
        half = sizes[:, None] / 2
        return np.concatenate([middle - half, middle + half], axis=2)


def _meet(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(k, m) which boxes (k, 4) lie on which others (m, 4)."""
    return ((boxes[:, None, 0] < others[:, 2]) & (boxes[:, None, 2] > others[:, 0])
            & (boxes[:, None, 1] < others[:, 3]) & (boxes[:, None, 3] > others[:, 1]))  # fmt: skip
