"""A lesson stepped in this process by a person that a function plays."""

from __future__ import annotations

from scratch_embed.lesson.record import Options, Record
from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.runner import new_record, stage
from scratch_embed.lesson.walk.stepper import Stepper
from tests.screens import Person


def walk(path, play, quick=True) -> tuple[Record, Person]:
    """Step through a lesson file as this person would."""
    lesson, person = cells.load(path), Person(play)
    record = new_record(lesson, Options(quick=quick))
    with stage(lesson, record) as module:
        stepper = Stepper(lesson, module, record, person)
        stepper.walk()
    person.views = stepper.pager.views
    return record, person
