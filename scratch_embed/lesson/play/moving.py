"""A simulation that plays by itself, as one moving picture: a GIF for a page without scripts."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from scratch_embed.files import check_ending, replacing
from scratch_embed.simulations import Scene
from scratch_embed.simulations.simulation import Control, Simulation

SECONDS = 1.2  # for each value of the control that plays; three times as long for the last


def player(simulation: Simulation) -> Control:
    """The first control that plays. ValueError for a simulation that has none."""
    control = next((one for one in simulation.controls if one.play), None)
    if control is None:
        raise ValueError("nothing plays by itself here; --png writes one state")
    return control


def write_gif(scene: Scene, path: str | Path) -> Path:
    """Play the first control that plays, from its first value to its last, again and again.

    Raises ValueError for another ending than .gif and for a simulation that has no Play, OSError
    where nothing can be written.
    """
    path = Path(path)
    check_ending(path, [".gif"], "a moving picture")
    control = player(scene.simulation)
    from matplotlib.animation import PillowWriter

    writer = PillowWriter(fps=1 / SECONDS)
    with replacing(path) as temporary, TemporaryDirectory() as folder:
        made = Path(folder, "made.gif")  # the ending tells the writer what to write
        with writer.saving(scene.figure, made, dpi=scene.figure.dpi):
            for value in (*control.on_page, *control.on_page[-1:] * 2):
                scene.move(**{control.name: value})
                writer.grab_frame()
        temporary.write_bytes(made.read_bytes())
    return path
