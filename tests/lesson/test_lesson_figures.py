"""Where the figures of a run are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratch_embed.lesson.record import Options
from scratch_embed.lesson.tools import figures_folder, home


@pytest.mark.parametrize(
    ("script", "folder"),
    [
        ("course/lessons/ch00_lookup.py", "course"),
        ("course/lessons/labs/swaps.py", "course"),
        ("elsewhere/notes.py", "elsewhere"),
    ],
)
def test_figures_of_lessons_and_labs_lie_beside_the_lessons(script, folder):
    assert home(Path(script)) == Path(folder)


@pytest.mark.parametrize(
    ("options", "folder"),
    [
        (Options(), "build/figures"),
        (Options(quick=True), "build/figures/quick"),
        (Options(text=Path("words.txt")), "build/figures/text"),
        (Options(figures=True), "figures"),
        (Options(figures=True, quick=True), "build/figures/quick"),
    ],
)
def test_only_a_full_run_that_asks_for_them_draws_the_figures_that_are_kept(options, folder):
    assert figures_folder(options) == Path(folder)
