"""What a lesson uses besides its checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratch_embed.lesson.tools import home


@pytest.mark.parametrize(
    ("script", "folder"),
    [
        ("course/lessons/ch00_lookup.py", "course"),
        ("course/lessons/labs/swaps.py", "course"),
        ("elsewhere/notes.py", "elsewhere"),
    ],
)
def test_figures_of_lessons_and_labs_go_to_one_place(script, folder):
    assert home(Path(script)) == Path(folder)
