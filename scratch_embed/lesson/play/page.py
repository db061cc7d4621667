"""A simulation as one file for a browser: every state is in it, and nothing is asked of a network.

    write_page("lookup", "lookup.html")

The states are drawn beforehand. Two states differ in a few of their artists, so what the SVG says
of an artist is a piece that is kept once, and a state is the list of its pieces; all of it is one
block, compressed, that the browser unpacks. A move puts in the pieces that are others.
"""

from __future__ import annotations

import base64
import html
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files
from pathlib import Path

from scratch_embed.files import replacing
from scratch_embed.lesson.play.frames import Frame, frame, kind, pieces, told
from scratch_embed.simulations import Scene, Simulation, load
from scratch_embed.training.progress import Progress


def write_page(name: str, path: str | Path) -> Path:
    """Write the page of a simulation, and say how far it is. OSError where nothing can be written.

    Ctrl-C ends it, and leaves the file that was there before.
    """
    simulation = load(name)
    with replacing(path) as temporary:
        temporary.write_text(page(simulation, _telling), encoding="utf-8")
    return Path(path)


def page(simulation: Simulation, progress: Callable[[list], Iterable] = iter) -> str:
    """The page with all states in it. `progress` wraps them, as tqdm does."""
    scene, kept, shown = Scene(simulation), {}, []
    for values in progress(list(simulation.states())):
        at = frame(scene, **values)
        numbers = [f"{key}\t{value}" for key, value in at.numbers.items()]
        shown.append([[kept.setdefault(piece, len(kept)) for piece in some]
                      for some in (pieces(at.svg), numbers)])  # fmt: skip
    block = json.dumps({"pieces": list(kept), "frames": shown}, separators=(",", ":"))
    packed = base64.b64encode(zlib.compress(block.encode("utf-8"), 9)).decode("ascii")
    return filled(simulation, frame(scene, **simulation.defaults), packed)


def _telling(states: list) -> Iterator[dict]:
    with Progress(0, len(states), "state") as progress:
        for at in progress:
            yield states[at]
    if progress.stopped:
        raise KeyboardInterrupt


def live_page(simulation: Simulation, first: Frame, **values) -> str:
    """The same page for a server that draws each state when it is asked for; values: the first."""
    return filled(simulation, first, packed="", live=True, **values)


def filled(simulation: Simulation, first: Frame, packed: str, live: bool = False, **opens) -> str:
    """The template with a simulation in it, that opens with the defaults or with these values."""
    controls = []
    for control in simulation.controls:
        values = control.values if live else control.on_page
        start = opens.get(control.name, control.default)
        if control.free and start not in values:  # a text that was typed
            values = (start, *values)
        shape, label = kind(control), control.label
        if shape == "text" and not live:  # what was not drawn beforehand cannot be typed
            shape, label = "menu", f"{label.partition(' (')[0]} (any other: python -m lessons play)"
        controls.append({
            "name": control.name, "label": label, "play": control.play, "kind": shape,
            "values": [told(value) for value in values], "start": values.index(start),
        })  # fmt: skip
    spec = {"controls": controls, "live": live, "numbers": list(first.numbers.items())}
    places = {
        "TITLE": html.escape(simulation.title),
        "QUESTION": html.escape(simulation.notice.question),
        "LOOK": html.escape(simulation.notice.look),
        "SVG": first.svg,
        "SPEC": json.dumps(spec).replace("<", "\\u003c"),  # which begins all that ends a script
        "PACKED": packed,
    }
    text = files("scratch_embed.lesson.play").joinpath("page.html").read_text(encoding="utf-8")
    # at once, so that what is put in, such as a typed "{{TITLE}}", stays as it is
    return re.sub(r"{{(\w+)}}", lambda found: places[found[1]], text)
