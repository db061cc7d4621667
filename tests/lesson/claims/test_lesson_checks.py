"""The calls of a lesson: what they print and record, and what they refuse."""

from __future__ import annotations

import json

import numpy as np
import pytest

from scratch_embed.lesson import check, compare, erratum, quiz, reference, verdict
from scratch_embed.lesson.claims.ledger import Claim
from scratch_embed.lesson.record import Record, recording, write_ledger
from scratch_embed.lesson.walk.questions import is_right


@pytest.fixture
def record():
    with recording(Record(lesson="demo")) as made:
        yield made


@pytest.mark.parametrize(
    "call, kind, holds",
    [
        (lambda: check("a", 0.5799, printed="0.58"), "check", True),
        (lambda: check("a", 0.5701, printed="0.58"), "check", False),
        (lambda: check("a", np.True_, shown={"gap": 2}), "demonstration", True),
        (lambda: check("a", False, shown={"gap": 2}), "demonstration", False),
        (lambda: erratum("a", 525336576, printed="525.4 M", because="product"), "erratum", True),
        (lambda: erratum("a", 525436576, printed="525.4 M", because="product"), "erratum", False),
        (lambda: erratum("a", True, shown={"n": 2}, because="more"), "erratum", True),
        (lambda: erratum("a", False, shown={"n": 2}, because="more"), "erratum", False),
        (lambda: reference("a", 768, printed="768", source="config"), "reference", True),
        (lambda: reference("a", 769, printed="768", source="config"), "reference", False),
        (lambda: quiz("a", "How many?", 3 * 6, because="V D"), "quiz", True),
        (lambda: quiz("a", "Which?", "b", options=["a", "b"], printed="B"), "quiz", True),
        (lambda: quiz("a", "Which?", "b", options=["a", "b"], printed="A"), "quiz", False),
    ],
)
def test_each_call_records_one_answer_that_holds_or_not(record, capsys, call, kind, holds):
    call()
    (answer,) = record.answers
    assert (answer.kind, answer.holds, answer.lesson) == (kind, holds, "demo")
    assert record.passed is holds
    assert ("DISAGREES" in capsys.readouterr().out) is not holds


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: check("a", 1.0), TypeError, "printed="),
        (lambda: check("a", 1.0, shown={"n": 1}), TypeError, "True or False"),
        (lambda: check("a", True, shown={}), ValueError, "shown must name"),
        (lambda: check("", 1, printed="1"), ValueError, "id must be"),
        (lambda: check("a", 1, printed="V dominant"), ValueError, "condition"),
        (lambda: erratum("a", 1, printed="2", because=" "), ValueError, "because"),
        (lambda: erratum("a", 1, printed="1; 2", because="x"), ValueError, "1 values for 2"),
        (lambda: erratum("a", np.nan, printed="2", because="x"), ValueError, "NaN"),
        (lambda: reference("a", 1, printed="1", source=""), ValueError, "source"),
        (lambda: quiz("a", "?", "c", options=["a", "b"]), ValueError, "not among"),
        (lambda: quiz("a", "?", [1, 2]), TypeError, "one number"),
        (lambda: quiz("own-a", "?", 3 * 6, printed="18"), ValueError, "no printed answer"),
        (lambda: check("own-a", 3 * 6, printed="18"), ValueError, "only a quiz"),
        (lambda: quiz("a", "?", float("nan")), ValueError, "finite"),
        (lambda: compare("r", hand=1.0), ValueError, "at least two"),
        (lambda: compare("r", hand=[1.0], ours=[1.0, 2.0]), ValueError, "one shape"),
    ],
)
def test_wrong_calls_say_what_to_do_and_record_nothing(record, call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert record.answers == [] and record.rows == []


def test_ids_and_prints_are_held_to_the_list_of_claims(record):
    claim = Claim("000-ch1-size", "ten-chapter text", "ch1", "table", "size", "131.1 M")
    record.claims = {claim.id: claim}
    check(claim.id, 131_072_000, printed="131.1M")  # the same figure in another notation
    assert record.answers[0].source == "ten-chapter text, ch1"
    with pytest.raises(ValueError, match="did you mean '000-ch1-size'"):
        check("000-ch1-sizes", 131_072_000, printed="131.1 M")
    with pytest.raises(ValueError, match='claims.csv has "131.1 M"'):
        check(claim.id, 131_072_000, printed="131 M")  # rounder than the page
    assert len(record.answers) == 1


def test_a_question_of_the_lessons_own_is_shown_and_asked_but_answers_no_claim(record, capsys):
    record.claims, asked = {"a": None}, []
    record.ask = lambda prompt: asked.append(prompt) or "17"
    quiz("own-count", "How many?", 3 * 6, because="6 rows of 3", tolerance=0)
    out = capsys.readouterr().out
    assert "? How many?" in out and "No: 18" in out and "6 rows of 3" in out
    assert len(asked) == 1 and record.answers == []


def test_a_recorded_value_does_not_change_with_the_lessons_array(record):
    values = np.array([1.0, 2.0])
    check("a", values, printed="1; 2")
    compare("row", hand=values, ours=values)
    values[:] = 9.0
    assert record.answers[0].computed == [1.0, 2.0]
    assert record.rows[0].ways["by hand"].tolist() == [1.0, 2.0]


def test_compare_catches_a_difference_relative_to_its_row(record):
    good = np.array([1e-3, 2e-3, 0.0])
    compare("good", hand=good, ours=good, numeric=good + 1e-10)
    compare("lost a repeat", hand=good, ours=good * [1, 0.5, 1], numeric=good)
    compare("not a number", hand=good, ours=good * np.nan)
    assert [row.holds for row in record.rows] == [True, False, False]


def test_verdict_prints_the_table_and_what_disagrees(record, capsys):
    check("right", 1.0, printed="1.0")
    check("wrong", 1.2, printed="1.0")
    compare("dE", hand=[1.0], ours=[1.0], numeric=[2.0])
    capsys.readouterr()
    verdict()
    out = capsys.readouterr().out
    assert "0 of 1 comparisons hold" in out and "1 of 2 answers hold" in out
    assert "wrong" in out and "right" not in out and "FAILED" in out


def test_running_a_cell_again_replaces_its_answers(record):
    for value in (1.2, 1.0):
        record.forget(4)
        record.cell = 4
        check("a", value, printed="1.0")
        compare("row", hand=value, ours=value)
    assert len(record.answers) == len(record.rows) == 1 and record.passed


def test_ledger_is_plain_json(record, tmp_path):
    check("a", np.float32(0.5), printed="0.5")
    erratum("b", np.array([1, 2]), printed="1; 3", because="counted")
    check("c", True, shown={"nan": float("nan"), "rows": np.arange(2)})
    path = tmp_path / "ledger.json"
    write_ledger([record], path)
    a, b, c = json.loads(path.read_text(encoding="utf-8"))
    assert (a["printed"], a["computed"], a["agrees"], a["holds"]) == ("0.5", 0.5, True, True)
    assert (b["correction"], b["reason"], b["agrees"]) == ([1, 2], "counted", False)
    assert c["computed"] == {"nan": "nan", "rows": [0, 1]}
    assert [entry.name for entry in tmp_path.iterdir()] == ["ledger.json"]


@pytest.mark.parametrize(
    "typed, answer, options, tolerance, right",
    [
        ("18", 18, None, None, True),
        ("19", 18, None, None, False),
        ("195 MiB", 204_800_000, None, None, True),
        ("205 MB", 204_800_000, None, None, True),
        ("10", 204_800_000, None, None, False),
        ("0.6", 0.58, None, 0.02, True),
        ("0.61", 0.58, None, 0.02, False),
        ("b", "two", ["one", "two"], None, True),
        ("B)", "two", ["one", "two"], None, True),
        ("two", "two", ["one", "two"], None, True),
        ("a", "two", ["one", "two"], None, False),
        ("no idea", 18, None, None, False),
        ("yes", True, None, None, True),
    ],
)
def test_answers_typed_by_a_person(typed, answer, options, tolerance, right):
    assert is_right(typed, answer, options, tolerance) is right
