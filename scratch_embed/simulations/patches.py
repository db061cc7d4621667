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
from scratch_embed.simulations.simulation import Control, Notice, Simulation

SIDE = 224  # pixels
COLOURS = {"red": "vermillion", "green": "green", "blue": "blue"}  # channel -> plot.PALETTE

PIXELS = tuple(range(0, SIDE, 4))  # where a click can be told from its neighbour
COARSE = tuple(range(8, SIDE, 32))  # and where it can on a page that holds every state
SIZES = (4, 8, 16, 32)


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
def _cut_and_projected(patch_size: int) -> tuple[np.ndarray, np.ndarray]:
    """All patches (n, C P P) and their vectors (n, 768): a move only looks them up.

    The largest W has two million numbers: too many to go through at every move.
    """
    flats = unfold_forward(picture(), patch_size)[0]
    layer = PatchEmbed(SIDE, patch_size, 3, 768, rng=0)
    return flats, project_forward(flats, layer.projection.weight.numpy())[0]


def patch_at(patch_size: int = 16, row: int = 24, column: int = 104) -> Patch:
    """The patch that holds a pixel. ValueError for a pixel that the picture lacks."""
    for name, value in {"row": row, "column": column}.items():
        if not 0 <= value < SIDE:
            raise ValueError(f"{name} is {value}; the picture has pixels 0 to {SIDE - 1}")
    flats, vectors = _cut_and_projected(patch_size)
    index = row // patch_size * (SIDE // patch_size) + column // patch_size
    flat = flats[index]
    variance = float(flat.reshape(3, -1).var(axis=1).mean())
    return Patch(index, len(flats), flat, vectors[index], variance)


def _build(figure):
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Rectangle

    for P in SIZES:
        _cut_and_projected(P)
    top, middle, low = figure.subplots(3, 1, height_ratios=[2.3, 1, 0.8])
    shown = top.imshow(np.moveaxis(picture(), 0, -1), extent=(0, SIDE, SIDE, 0))
    shown.set_gid("column@x & row@y")
    grid = {}
    for P in SIZES:  # all four grids; the one of this patch size is shown
        along = np.arange(0, SIDE + 1, P)
        lines = [[(x, 0), (x, SIDE)] for x in along] + [[(0, y), (SIDE, y)] for y in along]
        grid[P] = LineCollection(lines, colors="white", linewidths=0.3 if P < 8 else 0.6)
        top.add_collection(grid[P])
    frames = [Rectangle((0, 0), 1, 1, fill=False, ec=colour, lw=width, clip_on=False)
              for width, colour in ((5, "black"), (2.5, plot.PALETTE["yellow"]))]  # fmt: skip
    for frame in frames:  # seen on any ground
        top.add_patch(frame)
    top.set(xlabel="pixel column", ylabel="pixel row", xticks=range(0, SIDE + 1, 32),
            yticks=range(0, SIDE + 1, 32))  # fmt: skip
    curves = [middle.plot([], [], color=plot.PALETTE[colour], lw=1, label=name)[0]
              for name, colour in COLOURS.items()]  # fmt: skip
    middle.set(xlim=(0, 1), ylim=(0, 1.05), xticks=[], ylabel="value",
               xlabel="place in the patch: all red, all green, all blue")  # fmt: skip
    vector = low.plot(np.zeros(768), color="black", lw=0.7)[0]
    low.set(xlabel="column of the vector", xlim=(0, 767), ylim=(-2.2, 2.2), ylabel="value")
    heads = [ax.set_title("x", loc="left") for ax in (top, middle, low)]
    return grid, frames, curves, vector, heads


def _update(artists, values: dict) -> dict[str, str]:
    grid, frames, curves, vector, heads = artists
    patch, P = patch_at(**values), values["patch_size"]
    for side, lines in grid.items():
        lines.set_visible(side == P)
    top, left = np.array(divmod(patch.index, SIDE // P)) * P
    for frame in frames:
        frame.set_bounds(left, top, P, P)
    for k, curve in enumerate(curves):
        curve.set_data((np.arange(P * P) + k * P * P) / (3 * P * P - 1),
                       patch.flat[k * P * P : (k + 1) * P * P])  # fmt: skip
    vector.set_ydata(patch.projected)
    n, long = patch.count, len(patch.flat)
    heads[0].set_text(f"{n:,} patches of {P} x {P}")
    heads[1].set_text(f"Patch {patch.index} flattened: {long:,} values")
    heads[2].set_text(f"Projected by W (768, {long:,}), untrained: 768 values")
    return {
        "patches": f"{n:,}",
        "pairs that attention compares": f"{n:,} x {n:,} = {n * n:,}",
        "values in a patch": f"3 x {P} x {P} = {long:,}",
        "variance within a colour": f"{patch.variance:.2g}",
    }


SIMULATION = Simulation(
    "Patches: a photograph as a sequence",
    (
        Control("patch_size", SIZES, 16, "Patch size"),
        Control("row", PIXELS, 40, "Pixel row inside the patch", page=COARSE),
        Control("column", PIXELS, 104, "Pixel column inside the patch", page=COARSE),
    ),
    Notice(
        "Click a patch of plain backdrop, then one with an edge in it. Whose curves will be flat?",
        "The backdrop gives three flat curves, an edge gives steps: the variance differs a "
        "thousandfold, while both become 768 numbers. Halve the side of a patch and there are four "
        "times as many, sixteen times the pairs.",
    ),
    _build,
    _update,
    (6.4, 8.6),
)
