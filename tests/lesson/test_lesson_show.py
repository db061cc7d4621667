"""`show` prints an array as it is: names, heads, and also what is no number."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed.lesson import show


def test_rows_and_columns_have_their_names(capsys):
    show("E", [[0.5, -1], [2, 1e-15]], rows=["cat", "dog"])
    assert capsys.readouterr().out == "  E        0   1\n  0 cat  0.5  -1\n  1 dog    2   0\n"


def test_what_is_no_number_is_shown_as_such(capsys):
    show("out", [np.nan, np.inf, -np.inf])
    assert capsys.readouterr().out.split() == ["out", "0", "1", "2", "nan", "inf", "-inf"]


def test_a_name_for_each_row():
    with pytest.raises(ValueError, match="rows has 1 names for 2 rows"):
        show("E", np.eye(2), rows=["cat"])
