"""guess: asked before, judged and answered after."""

from __future__ import annotations

import pytest

from scratch_embed.lesson import guess
from scratch_embed.lesson.ask import is_right
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
    assert capsys.readouterr().out == "  = 1,400: each is read once.\n"
    assert record.questions[0].right is None and record.passed


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


@pytest.mark.parametrize(
    "typed, answer, options, tolerance, right",
    [
        ("18", 18, None, None, True), ("18.1", 18, None, None, True),
        ("18.3", 18, None, None, False), ("18.3", 18, None, 0.5, True),
        ("102,400,000", 102_400_000, None, None, True), ("98.3 %", 0.983, None, None, True),
        ("195 MiB", 195 * 2**20, None, None, True), ("many", 18, None, None, False),
        ("b", "two", ["one", "two"], None, True), ("B)", "two", ["one", "two"], None, True),
        ("TWO", "two", ["one", "two"], None, True), ("a", "two", ["one", "two"], None, False),
    ],
)  # fmt: skip
def test_answers_typed_by_a_person(typed, answer, options, tolerance, right):
    assert is_right(typed, answer, options, tolerance) is right
