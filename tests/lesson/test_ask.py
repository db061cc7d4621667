"""guess: asked before, judged and answered after."""

from __future__ import annotations

import pytest

from scratch_embed.lesson import guess
from scratch_embed.lesson.record import Record, recording


def asked(typed: str | None, *answers: str):
    """A record whose person types this, or nobody is there."""
    replies = iter([typed, *answers]) if typed is not None else None
    return recording(Record("test", ask=(lambda text: next(replies)) if replies else None))


def test_without_a_person_the_question_stands_and_the_answer_comes_after(capsys):
    with asked(None) as record:
        q = guess("How many rows?")
        assert capsys.readouterr().out == "  ? How many rows?\n"
        q.answer(1400, because="each is read once")
    assert capsys.readouterr().out == "\n  = 1,400: each is read once.\n"
    assert record.questions[0].right is None and record.passed


def test_a_reason_may_belong_to_one_answer(capsys):
    reasons = {"rows": "there are more of them"}
    for answer, told in (("rows", "= A) rows: there are more of them."), ("columns", "B) columns")):
        with asked(None):
            guess("Which?", ["rows", "columns"]).answer(answer, because=reasons)
        assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    "typed, right, told", [("2", True, "Right."), ("1", False, "No. That is g[0] alone.")]
)
def test_a_person_is_judged_and_told_the_slip(capsys, typed, right, told):
    with asked(typed) as record:
        guess("The slope?").answer(2.0, slips={1: "That is g[0] alone."})
    assert told in capsys.readouterr().out and record.questions[0].right is right


def test_options_take_a_letter_or_the_text_and_ask_again_for_anything_else(capsys):
    with asked("x", "b") as record:
        q = guess("Which?", ["rows", "columns"])
        q.answer("columns")
    out = capsys.readouterr().out
    assert record.questions[0].right and "A) rows\n    B) columns" in out and "= B) columns." in out


def test_a_number_is_asked_again_for_anything_else(capsys):
    with asked("many", "2") as record:
        guess("How many?").answer(2)
    assert record.questions[0].right is True


def test_who_presses_enter_is_not_judged():
    with asked("") as record:
        guess("Which?", ["rows", "columns"]).answer("rows")
    assert record.questions[0].right is None


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: guess("?", ["a"]), ValueError, "2 to 10"),
        (lambda: guess("?", ["a", "a"]), ValueError, "different"),
        (lambda: guess("?", ["a", "b"]).answer("c"), ValueError, "not among the options"),
        (lambda: guess("?").answer("many"), TypeError, "one number"),
        (lambda: guess("?").answer(True), TypeError, "one number"),
        (lambda: guess("?").answer(float("nan")), ValueError, "finite"),
    ],
)
def test_wrong_calls_say_what_to_do(call, error, message):
    with asked(None), pytest.raises(error, match=message):
        call()
