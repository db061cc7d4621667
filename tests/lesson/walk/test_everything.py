"""`python -m lessons all`: what belongs together runs together, and is told in one line."""

from __future__ import annotations

import pytest

from scratch_embed.lesson.walk.course import Course
from scratch_embed.lesson.walk.everything import Outcome, lines, together


@pytest.fixture
def course(tmp_path):
    """Two lessons, a lab, a page that uses a lesson and the lab, and one that uses nothing."""
    files = {
        "ch00_rows.py": "",
        "ch01_sums.py": "",
        "labs/long.py": "",
        "claims/ch05.py": 'values_of("ch01_sums"), values_of("labs/long")',
        "claims/ch06.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return Course(tmp_path)


def test_a_page_runs_behind_what_it_uses_and_the_longest_group_begins(course):
    groups = [[path.stem for path in group] for group in together(course)]
    assert groups == [["ch01_sums", "long", "ch05"], ["ch00_rows"], ["ch06"]]


def test_a_page_stands_in_the_line_of_its_lesson(course):
    told = [
        line
        for group in together(course)
        for line in lines([Outcome(path, True, path.stem.upper(), 0.5) for path in group])
    ]
    assert [line.split() for line in told] == [
        ["lesson", "ch01_sums", "0.5", "s", "CH01_SUMS;", "CH05,", "0.5", "s"],
        ["lab", "long", "0.5", "s", "LONG"],
        ["lesson", "ch00_rows", "0.5", "s", "CH00_ROWS"],
        ["claims", "ch06", "0.5", "s", "CH06"],
    ]
