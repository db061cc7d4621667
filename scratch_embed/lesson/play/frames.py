"""A state of a simulation as text: the SVG of its figure, and the numbers beside it."""

from __future__ import annotations

import re
from io import StringIO
from typing import NamedTuple

from scratch_embed.simulations.simulation import STYLE, Control, Scene

# Words stay words: half the size, they can be selected, and a browser reads them aloud.
SVG_STYLE = STYLE | {"svg.fonttype": "none", "svg.hashsalt": "scratch_embed"}
PROLOGUE = re.compile(r"^.*?(?=<svg )", re.DOTALL)
METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
SETTING = re.compile(r' id="([^"]*[=@][^"]*)"')  # a gid such as word=cat
OTHER_ID = re.compile(r' id="(?:figure|axes|patch|text|line2d|xtick|ytick|matplotlib)[^"]*"')
INSIDE_A_PATH = re.compile(r"\n(?=[MLCQz\"])|(?<=[\d ])\n(?=z)")


class Frame(NamedTuple):
    """What a front end shows of one state."""

    svg: str
    numbers: dict[str, str]


def frame(scene: Scene, **values) -> Frame:
    """Move a scene, and draw it as an SVG.

    What a click sets (the gid of an artist) stands in the attribute data-set.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    numbers = scene.move(**values)
    canvas, dpi, out = scene.figure.canvas, scene.figure.dpi, StringIO()
    with rc_context(SVG_STYLE):
        FigureCanvasSVG(scene.figure).print_svg(out, metadata={"Date": None})
    scene.figure.set_canvas(canvas)
    scene.figure.set_dpi(dpi)  # an SVG counts in points, a move in pixels
    svg = METADATA.sub("", PROLOGUE.sub("", out.getvalue(), count=1), count=1)
    svg = SETTING.sub(r' data-set="\1"', svg)
    svg = INSIDE_A_PATH.sub(" ", OTHER_ID.sub("", svg))  # a line for each path
    return Frame(svg, numbers)


def kind(control: Control) -> str:
    """How a person moves a control: "text", "switch", "slider" or "menu"."""
    if control.free:
        return "text"
    if all(isinstance(value, bool) for value in control.values):
        return "switch"
    return "menu" if any(isinstance(value, str) for value in control.values) else "slider"


def told(value) -> str:
    """A value as a person reads it and types it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def pieces(svg: str) -> list[str]:
    """An SVG of ours cut so that each artist of an axes is a piece; joined by newlines it is whole.

    Matplotlib indents by depth: the svg, its figure, an axes, and with three spaces an artist.
    """
    found = []
    for line in svg.split("\n"):
        depth = len(line) - len(line.lstrip(" "))
        if found and (depth > 3 or not line.lstrip().startswith("<") or line.startswith("   </")):
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found
