"""Where the figures of a run are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratch_embed.lesson.tools import figures_folder


@pytest.mark.parametrize(
    ("script", "folder"),
    [
        ("course/lessons/ch00_lookup.py", "course/figures"),
        ("course/lessons/labs/swaps.py", "course/figures"),
        ("elsewhere/notes.py", "elsewhere/figures"),
    ],
)
def test_figures_of_lessons_and_labs_lie_beside_the_lessons(script, folder):
    assert figures_folder(Path(script)) == Path(folder)
