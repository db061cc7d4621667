"""The patch visualizer: a picture cut into squares, one of them flattened and projected.

    flat = the C P P values of the square, channel first,      y = flat W^T,      W (768, C P P)

W is the untrained projection of a fresh ViT-Base. The variance is taken within each colour and
then averaged, because all values together would also count how far red is from blue.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from scratch_embed import images, plot
from scratch_embed.layers import PatchEmbed
from scratch_embed.ops.patches import unfold_forward
from scratch_embed.ops.project import project_forward
from scratch_embed.simulations.controls import Control, check_values, defaults

SIDE = 224  # pixels
COLOURS = {"red": "vermillion", "green": "green", "blue": "blue"}  # channel -> plot.PALETTE

CONTROLS = [
    Control("patch_size", (4, 8, 16, 32), 16, "Patch size"),
    Control("row", tuple(range(SIDE)), 24, "Pixel row inside the patch"),
    Control("column", tuple(range(SIDE)), 104, "Pixel column inside the patch"),
]


class Patch(NamedTuple):
    """One patch of the picture."""

    index: int  # its place in the sequence, row by row
    count: int  # how many patches there are
    flat: np.ndarray  # (C P P,)
    projected: np.ndarray  # (768,)
    variance: float  # within a colour, mean over the three


@lru_cache(maxsize=1)
def picture() -> np.ndarray:
    """The photograph at half its size, (3, 224, 224) in 0..1, read-only."""
    cut = images.shrink(images.photograph(), 2)[:, 8 : 8 + SIDE, 32 : 32 + SIDE]
    cut.flags.writeable = False  # the cache hands the same array to everybody
    return cut


@lru_cache(maxsize=4)
def _projection(patch_size: int) -> PatchEmbed:
    return PatchEmbed(SIDE, patch_size, 3, 768, rng=0)


def patch_at(patch_size: int = 16, row: int = 24, column: int = 104) -> Patch:
    """The patch that holds a pixel. ValueError for a pixel or a size that CONTROLS lack."""
    check_values(CONTROLS, {"patch_size": patch_size, "row": row, "column": column})
    flats = unfold_forward(picture(), patch_size)[0]
    index = row // patch_size * (SIDE // patch_size) + column // patch_size
    flat = flats[index]
    weight = _projection(patch_size).projection.weight.numpy()
    projected = project_forward(flat, weight)[0]
    return Patch(index, len(flats), flat, projected, float(flat.reshape(3, -1).var(axis=1).mean()))


def draw(figure, **values) -> None:
    """Draw the visualizer into a Matplotlib figure, whatever was in it before.

    values: of CONTROLS, by name; the rest take their defaults. Left the picture with its grid and
    the patch that holds the pixel framed; right the numbers of that patch, and its vector.
    """
    from matplotlib import rc_context

    check_values(CONTROLS, values)
    v = {**defaults(CONTROLS), **values}
    patch, P = patch_at(**v), v["patch_size"]
    figure.clear()
    with rc_context(plot.STYLE):
        axes = figure.subplot_mosaic([["picture", "flat"], ["picture", "vector"]],
                                     width_ratios=[1, 1.25])  # fmt: skip
        _grid(axes["picture"], patch, P)
        _flat(axes["flat"], patch, P)
        y = patch.projected
        axes["vector"].plot(y, color="black", lw=0.7)
        axes["vector"].set(xlabel="column", ylabel="value", xlim=(0, len(y) - 1),
                           title=f"Projected by W ({len(y)}, {len(patch.flat):,}), untrained: "
                                 f"{len(y)} numbers")  # fmt: skip


def _grid(ax, patch: Patch, P: int) -> None:
    from matplotlib.patches import Rectangle

    ax.imshow(np.moveaxis(picture(), 0, -1), extent=(0, SIDE, SIDE, 0))
    lines = np.arange(0, SIDE + 1, P)
    for along in (ax.hlines, ax.vlines):
        along(lines, 0, SIDE, color="white", lw=0.25 if P < 8 else 0.6)
    top, left = np.array(divmod(patch.index, SIDE // P)) * P
    for width, colour in ((5, "black"), (2.5, plot.PALETTE["yellow"])):  # seen on any ground
        ax.add_patch(Rectangle((left, top), P, P, fill=False, ec=colour, lw=width, clip_on=False))
    n = patch.count
    ax.set_title(f"{n:,} patches of {P} x {P}; {n:,}² = {n * n:,}")
    ax.set(xlabel="pixel column", ylabel="pixel row", xticks=range(0, SIDE + 1, 32),
           yticks=range(0, SIDE + 1, 32))  # fmt: skip


def _flat(ax, patch: Patch, P: int) -> None:
    for channel, (name, colour) in enumerate(COLOURS.items()):
        places = np.arange(channel * P * P, (channel + 1) * P * P)
        ax.plot(places, patch.flat[places], color=plot.PALETTE[colour], lw=0.9, label=name)
    ax.set(xlabel="place in the flattened patch", ylabel="value", ylim=(0, 1.25),
           xlim=(0, len(patch.flat) - 1),
           title=f"Patch {patch.index}: {len(patch.flat):,} values, "
                 f"variance {patch.variance:.2g}")  # fmt: skip
    ax.legend(ncols=3, fontsize=9, loc="upper right")
