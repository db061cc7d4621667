"""Pictures that answer when a control is moved. `simulation.py` says what one is.

    python -m lessons play              list them
    python -m lessons play lookup       open one in the browser

Each file beside this one is a simulation and has it under the name SIMULATION; `artists.py` holds
what several of them draw with.
"""

from __future__ import annotations

from importlib import import_module

from scratch_embed.simulations.simulation import Control, Notice, Scene, Simulation

__all__ = ["NAMES", "Control", "Notice", "Scene", "Simulation", "load"]

NAMES = (
    "lookup",
    "there_and_back",
    "table_size",
    "addition",
    "patches",
    "tied",
    "scale",
    "space",
    "tokenizer",
    "arena",
    "step_curve",
    "softmax_gradient",
    "tape",
    "norm_attention",
    "spectrum",
    "analogy",
    "touched",
    "collisions",
    "break_it",
)  # in the order of the lessons


def load(name: str) -> Simulation:
    """The simulation of that name. ValueError for one that is not there."""
    if name not in NAMES:
        raise ValueError(f"there is no simulation {name!r}; there are {', '.join(NAMES)}")
    return import_module(f"scratch_embed.simulations.{name}").SIMULATION
