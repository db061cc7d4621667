"""How long a move of a simulation takes, and how large its page is."""

from __future__ import annotations

from time import process_time

import numpy as np

from scratch_embed.lesson.play.frames import frame
from scratch_embed.lesson.play.page import page
from scratch_embed.simulations import NAMES, Scene, load

from .registry import Bench, benchmark

MOVES = 60


@benchmark("simulations", "a move sets its data within 20 ms of the processor; a page within 3 MB")
def simulations(bench: Bench) -> None:
    for name in bench.some(NAMES):
        simulation = load(name)
        row = bench.row(name, states=simulation.num_states)
        scene, rng = Scene(simulation), bench.rng()
        states = [{c.name: c.on_page[rng.integers(len(c.on_page))] for c in simulation.controls}
                  for _ in range(MOVES)]  # fmt: skip
        for values in states:  # what is computed once and kept is no part of a move
            scene.move(**values)
        taken = [seconds(scene.move, **values) for values in states]
        row.note("a move, ms", round(1e3 * float(np.median(taken)), 1))
        row.bar("ms of the slowest of 60 moves", 1e3 * max(taken), at_most=20)
        row.note("an SVG of it, ms", round(1e3 * seconds(frame, scene), 1))
        if not bench.quick:
            row.bar("MB of its page", len(page(simulation).encode("utf-8")) / 1e6, at_most=3)


def seconds(work, *arguments, **values) -> float:
    """Of the processor, for one call."""
    began = process_time()
    work(*arguments, **values)
    return process_time() - began
