"""compare, beside and show: what they print, what they refuse, and what fails a run."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import RowGrad
from scratch_embed.lesson import beside, compare, show
from scratch_embed.lesson.proof import summary
from scratch_embed.lesson.record import Record, recording

GOOD = np.array([1e-3, 2e-3, 0.0])


@pytest.fixture
def record(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with recording(Record("test")) as made:
        yield made


def test_compare_tells_on_the_spot_how_near_each_way_is(record, capsys):
    compare("dE[cat]", hand=GOOD, code=GOOD, numeric=GOOD + 1e-12)
    out = capsys.readouterr().out
    assert out == "  dE[cat]   by hand [0.001 0.002 0] | code the same | nudged the same to 1e-12\n"
    assert record.passed


def test_equal_infinities_are_the_same_and_hide_no_difference(record, capsys):
    compare("x", hand=[np.inf, 1.0], code=[np.inf, 1.0])
    compare("y", hand=[np.inf, 1.0], code=[np.inf, 2.0])
    compare("z", hand=[np.inf, 1.0], code=[3.0, 1.0])
    beside("w", rows=["p", "q"], a=[[np.inf], [1.0]], b=[[np.inf], [1.0]])
    assert [row.holds for row in record.rows] == [True, False, False, True]
    assert "<-" not in capsys.readouterr().out


def test_compare_catches_a_difference_relative_to_its_row(record, capsys):
    compare("lost a repeat", hand=GOOD, code=GOOD * [1, 0.5, 1], numeric=GOOD)
    compare("not a number", hand=GOOD, code=GOOD * np.nan)
    compare("right", hand=GOOD, row_grad=RowGrad([0], GOOD[None, :1], (3, 1)).to_dense()[:, 0] * 0)
    assert [row.holds for row in record.rows] == [False, False, False]
    assert "DIFFERS by 1.0e-03" in capsys.readouterr().out and not record.passed
    assert summary(record) == "0 of 3 checks came out as they should: FAILED"


def test_a_recorded_value_does_not_change_with_the_lessons_array(record):
    values = GOOD.copy()
    compare("row", hand=values, code=values)
    values[:] = 9.0
    assert record.rows[0].ways["by hand"].tolist() == GOOD.tolist()


def test_what_does_not_fit_a_line_gets_a_line_a_way(record, capsys):
    many = np.arange(7) + 0.12345
    compare("a long name for a row", by_hand=many, code=many, another_way=many)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and max(map(len, lines)) <= 80 and "another way  the same" in lines[-1]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: compare("r", hand=1.0), "at least two ways"),
        (lambda: compare("r", hand=[1.0], code=[1.0, 2.0]), "one shape"),
        (lambda: beside("r", hand=[1.0], code=[1.0], wrong="other"), "names 'other'"),
        (lambda: beside("r", rows=["a", "b"], hand=[1.0], code=[1.0]), "2 names for 1 rows"),
        (lambda: show("r", np.zeros((2, 2, 2))), "one or two axes"),
        (lambda: show("r", np.zeros((2, 2)), columns=["a"]), "1 names for 2 columns"),
    ],
)
def test_wrong_calls_say_what_to_do(record, call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_beside_marks_the_rows_on_which_a_wrong_way_is_wrong(record, capsys):
    right, fast = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 2.0], [0.0, 4.0]])
    beside("dE", rows=["the", "cat"], loop=right, fancy=fast, numeric=right, wrong="fancy")
    the, cat = capsys.readouterr().out.splitlines()[1:]
    assert "<-" not in the and cat.endswith("<- fancy differs") and record.passed


def test_beside_fails_where_the_wrong_way_is_right_or_the_right_one_wrong(record):
    right = np.array([1.0, 2.0])
    beside("same", loop=right, fancy=right, numeric=right, wrong="fancy")
    assert [row.holds for row in record.rows] == [True, False]
    record.rows.clear()
    beside("off", loop=right + 1, numeric=right)
    assert [row.holds for row in record.rows] == [False]


def test_show_names_rows_and_columns(record, capsys):
    show("E", [[-0.5, 10.0], [0.25, 1.0]], rows=["the", "cat"], columns=["x", "y"])
    assert capsys.readouterr().out.splitlines() == [
        "  E         x   y",
        "  0 the  -0.5  10",
        "  1 cat  0.25   1",
    ]
    show("loss", [1.0, 2.0])
    assert capsys.readouterr().out.splitlines()[1].split() == ["1", "2"]


def test_show_tells_what_is_no_number_from_a_zero(record, capsys):
    show("out", [0, 1e-15, np.nan, -np.inf])
    assert capsys.readouterr().out.split() == ["out", *"0123", "0", "0", "nan", "-inf"]


def test_running_a_cell_again_replaces_its_rows(record):
    for value in (1.2, 1.0):
        record.forget(4)
        record.cell = 4
        compare("row", hand=1.0, code=value)
    assert len(record.rows) == 1 and record.passed


def test_beside_checks_the_rows_that_it_marks(record, capsys):
    right, lost = np.array([[2e6], [0.3]]), np.array([[2e6], [0.1]])
    beside("dE", rows=["cat", "dog"], fancy=lost, nudged=right, wrong="fancy")
    beside("dE", rows=["cat", "dog"], fancy=lost, nudged=right)
    assert [row.holds for row in record.rows] == [True, False]
    assert capsys.readouterr().out.count("<- fancy differs") == 2
    beside("dE", code=np.zeros((0, 3)), nudged=np.zeros((0, 3)))
    assert record.rows[-1].holds
