"""The target of the capstone: right pieces reach it from every start, broken ones from none."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from scratch_embed.lesson.exercises.exercise import find
from scratch_embed.lesson.exercises.judge import run_script

SCRIPT = find(Path(__file__).parents[3] / "lessons" / "exercises")["tied_model"].path
STARTS = [100, 103, 106]  # the means of three starts each; the check itself begins at 0
BROKEN = {
    "repeats lost": {"lookup": "set"},
    "no lookup": {"lookup": "none"},
    "no scores": {"scores": 0},
    "no target": {"one": 0},
}


@cache
def texts():
    module = run_script(SCRIPT)
    return module, *module.real_text()


def comes_to(first: int, **otherwise) -> float:
    """Loss on the text kept aside, the mean over three starts."""
    module, text, kept = texts()
    losses = []
    for seed in range(first, first + 3):
        E, W, batches = module.start(text, seed)
        for k, at in enumerate(batches):
            dE, dW = module.gradients(E, W, text[at], text[at + 1], **otherwise)
            rate = 2.0 * (1 - k / len(batches))
            E, W = E - rate * dE, W - rate * dW
        losses.append(module.model_loss(E, W, kept[:-1], kept[1:]))
    return float(np.mean(losses))


@pytest.mark.parametrize("first", STARTS)
def test_right_pieces_reach_the_target(first):
    module, text, kept = texts()
    assert comes_to(first) <= module.goal(text, kept)


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("first", STARTS[:2])
def test_a_broken_piece_misses_it(first, broken):
    module, text, kept = texts()
    assert comes_to(first, **BROKEN[broken]) > module.goal(text, kept)
