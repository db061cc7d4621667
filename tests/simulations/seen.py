"""What a person sees of a figure: its texts and where they stand, and everything that may move."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
from matplotlib.text import Text


@contextmanager
def _noting():
    """The texts that are drawn inside the block, in a list."""
    drawn, draw = [], Text.draw

    def noted(self, renderer, *args, **kwargs):
        if self.get_visible() and self.get_text().strip():
            drawn.append(self)
        return draw(self, renderer, *args, **kwargs)

    Text.draw = noted
    try:
        yield drawn
    finally:
        Text.draw = draw


def _numbers(array) -> list:
    """What is not drawn is NaN, and that is not equal to itself."""
    return np.where(np.isnan(found := np.asarray(array, float)), -np.inf, found).tolist()


class Sight:
    """Looks at one figure again and again; a text that has not changed is not measured anew."""

    def __init__(self, figure):
        with _noting() as drawn:
            figure.draw_without_rendering()
        ticks = {
            id(label)
            for ax in figure.axes
            for axis in (ax.xaxis, ax.yaxis)
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            for label in (tick.label1, tick.label2)
        }
        self.figure, self.known = figure, {}
        self.still = [text for text in drawn if id(text) in ticks]
        self.moving = [text for text in figure.findobj(Text) if id(text) not in ticks]

    def texts(self) -> list[tuple[str, np.ndarray]]:
        """(text, [left, bottom, right, top] in pixels) of all that can be read."""
        found = []
        for text in [*self.still, *self.moving]:
            if text.get_visible() and text.get_text().strip():
                key = (id(text), text.get_text(), text.get_position(), text.get_ha(), text.get_va())
                if key not in self.known:
                    self.known[key] = Text.get_window_extent(text).extents
                found.append((text.get_text(), self.known[key]))
        return found

    def troubles(self) -> list[str]:
        """Texts that lie on each other, or leave the figure."""
        names, boxes = zip(*self.texts(), strict=True)
        boxes, frame = np.array(boxes), self.figure.bbox
        low = np.maximum(boxes[:, None, :2], boxes[None, :, :2])
        high = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
        on = (high - low > (1.0, 1.5)).all(axis=2)  # pixels that are only air
        found = [f"{names[i]!r} on {names[j]!r}" for i, j in zip(*np.nonzero(np.triu(on, 1)))]
        out = (boxes[:, :2] < -1).any(axis=1) | (boxes[:, 2:] > frame.size + 1).any(axis=1)
        return found + [f"{names[i]!r} leaves the figure" for i in np.nonzero(out)[0]]

    def picture(self) -> list:
        """All that a move may change, as plain values."""
        found = [(text, *box.round(3)) for text, box in self.texts()]
        for ax in self.figure.axes:
            found += [line.get_xydata().tolist() for line in ax.lines if line.get_visible()]
            found += [(p.get_transform().transform(p.get_path().vertices).tolist(),
                       p.get_facecolor()) for p in ax.patches if p.get_visible()]  # fmt: skip
            for some in ax.collections:
                array = some.get_array()
                found.append((np.ma.getdata(some.get_offsets()).tolist(), some.get_visible(),
                              some.get_facecolor().tolist(),
                              [path.vertices.tolist() for path in some.get_paths()],
                              None if array is None else _numbers(array)))  # fmt: skip
        return found
