"""Words beside the points of a picture, moved so that none lies on another."""

from __future__ import annotations

from scratch_embed.look.fonts import boxes_for_letters

STRIP = 14  # points at the bottom that are left free to say how many words have no room


def stack(ax, words) -> None:
    """From the top word to the lowest: move each down until it lies on no point and no word.

    ax : the axes, with all that will be drawn in them.
    words : annotations, of which each has an arrow to its point.

    One that would have to leave the axes is hidden; how many were is told in a corner.
    """
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    with boxes_for_letters():
        ax.figure.draw_without_rendering()  # now the layout is made, and each word has its place
    points_per_pixel = 72 / ax.figure.dpi
    points = ax.transData.transform([word.xy for word in words])
    taken = [Bbox([point - 3 / points_per_pixel, point + 3 / points_per_pixel]) for point in points]
    floor, hidden = ax.get_window_extent().y0 + STRIP / points_per_pixel, 0
    for word in sorted(words, key=lambda word: -Text.get_window_extent(word).y0):
        box = home = Text.get_window_extent(word)  # of the word itself, without its line
        for other in sorted(taken, key=lambda one: -one.y1):  # so what was passed lies above
            if box.overlaps(other):
                box = box.translated(0, other.y0 - box.y1 - 1)
        if box.y0 < min(floor, home.y0):
            word.set_visible(False)
            hidden += 1
            continue
        right, up = word.xyann
        word.xyann = (right, up + (box.y0 - home.y0) * points_per_pixel)
        word.arrow_patch.set_visible(box.y0 != home.y0)
        taken.append(box)
    if hidden:
        told = f"{hidden} of {len(words)} words have no room"
        look = {"fontsize": 9, "color": "0.35", "transform": ax.transAxes}
        ax.text(0.99, 0.01, told, ha="right", va="bottom", **look)
