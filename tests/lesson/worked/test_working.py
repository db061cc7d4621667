"""A hand calculation is data: every worked function makes one whose lines add up to its value."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed.lesson import worked
from scratch_embed.lesson.record import Record, recording
from scratch_embed.working import Line, Working

TABLE = np.array([[1.0, -2.0], [0.5, 3.0], [0.0, 4.0]])


@pytest.fixture
def record(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with recording(Record("test")) as made:
        yield made


CALLS = {
    "dot": lambda: worked.dot("z", [1.0, -2.0], [0.5, 3.0]),
    "sum": lambda: worked.sum("s", [1.0, 2.0], [3.0, 4.0]),
    "mean": lambda: worked.mean("m", [1.0, 2.0]),
    "difference": lambda: worked.difference("d", [1.0, 2.0], [3.0, 5.0]),
    "scale": lambda: worked.scale("s", -2.0, [3.0, 5.0]),
    "times": lambda: worked.times("t", [1.0, 2.0], [3.0, 5.0]),
    "cosine": lambda: worked.cosine("c", [1.0, 2.0], [3.0, 5.0]),
    "distance": lambda: worked.distance("d", [1.0, 2.0], [3.0, 5.0]),
    "lookup": lambda: worked.lookup("E", TABLE, [1, 0, 1]),
    "scatter_add": lambda: worked.scatter_add("dE", [1, 0, 1], TABLE, 4),
    "matmul": lambda: worked.matmul("C", TABLE, TABLE.T),
    "outer": lambda: worked.outer("G", [1.0, 2.0], [3.0, 5.0]),
    "softmax": lambda: worked.softmax("z", [1.0, 2.0, 3.0]),
    "cross_entropy": lambda: worked.cross_entropy("loss", [1.0, 2.0, 3.0], 1),
    "nudge": lambda: worked.nudge("w", lambda w: (w**2).sum(), [1.0, 3.0], 1),
    "line": lambda: worked.line("x", "1 + 1", 2),
}


@pytest.mark.parametrize("name", CALLS)
def test_each_call_makes_one_working_with_its_value(record, capsys, name):
    value = CALLS[name]()
    ((working, _),) = record.workings
    assert isinstance(working, Working) and np.array_equal(working.value, value)
    assert capsys.readouterr().out == working.text() + "\n"
    assert all(isinstance(line, Line) for line in working.lines)


def leaves(line: Line):
    return [leaf for part in line.parts for leaf in leaves(part)] if line.parts else [line]


def test_a_product_opens_into_rows_dot_products_and_products(record):
    product = CALLS["matmul"]()
    ((working, _),) = record.workings
    rows = working.lines
    assert [np.array_equal(row.value, product[i]) for i, row in enumerate(rows)] == [True] * 3
    assert rows[1].parts[0].value == product[1, 0]
    for i, row in enumerate(rows):
        for j, entry in enumerate(row.parts):
            assert sum(leaf.value for leaf in leaves(entry)) == pytest.approx(product[i, j])


def test_a_repeated_id_opens_into_its_running_sum(record):
    CALLS["scatter_add"]()
    ((working, _),) = record.workings
    first, other, again, untouched = working.lines
    assert not first.parts and not other.parts and "rows never named" in untouched.stages[0]
    assert [part.value for part in again.parts] == [1.0, 2.0]  # 1 + 0, -2 + 4


def test_parts_are_shown_on_demand_and_what_a_line_is_for_stands_above_it(record, capsys):
    worked.dot("z", [1.0, -2.0], [0.5, 3.0], why="how well the row fits")
    ((working, _),) = record.workings
    assert capsys.readouterr().out == (
        "  how well the row fits:\n  z = 1*0.5 + (-2)*3 = 0.5 - 6 = -5.5\n"
    )
    assert "      (-2)*3 = -6" in working.text(everything=True).splitlines()


def test_a_person_sees_the_working_instead(record, capsys):
    seen = []
    record.reveal = seen.append
    worked.mean("m", [1.0, 2.0])
    assert capsys.readouterr().out == "" and seen[0].value == 1.5


def test_the_nudge_writes_out_both_losses(record, capsys):
    slope = worked.nudge("E", lambda E: float((E**3).sum()), TABLE, (1, 0), step=0.01)
    assert slope == pytest.approx(3 * 0.5**2, abs=2e-4)
    out = capsys.readouterr().out
    above, below = (((TABLE + [[0, 0], [h, 0], [0, 0]]) ** 3).sum() for h in (0.01, -0.01))
    assert f"L(E[1, 0] + h) = {above:.11g}" in out and f"L(E[1, 0] - h) = {below:.11g}" in out
