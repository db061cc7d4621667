"""What the first cell of a lesson or lab says of it."""

from __future__ import annotations

from scratch_embed.lesson.walk.heads import read_head


def test_the_head_of_a_lesson():
    head = read_head(
        "# Title\n\n**Question.** How does a row\nmove?\n\n**Afterwards** you can write it.\n\n"
        "**Time** 15 minutes. **Needs** lessons 0 and 10. **Exercises** `one`, `two`."
    )
    assert head.question == "How does a row move?" and head.afterwards == "you can write it"
    assert (head.minutes, head.needs, head.exercises) == (15, (0, 10), ("one", "two"))


def test_the_question_of_a_lab_ends_before_its_guess():
    """It ran on through Guess, Control, Baseline and Threshold, so that the list was 200 lines."""
    head = read_head(
        "# Lab\n\n**Question.** Is **more** better?\n\n**Guess.** Yes.\n\n**Control.** None."
    )
    assert head.question == "Is **more** better?" and head.minutes == 0
