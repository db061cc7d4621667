"""A person who steps, played by a function, and a screen that notes whether all of it fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from scratch_embed.lesson.record import Options, Record
from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.runner import new_record, stage
from scratch_embed.lesson.walk.screen import Screen
from scratch_embed.lesson.walk.stepper import Stepper
from scratch_embed.look.keys import Pressed
from scratch_embed.look.terminal import visible


class Frame(NamedTuple):
    """What was on the screen when a key or an answer was wanted."""

    head: str
    step: str
    page: list[str]
    note: str
    names: tuple[str, ...]  # the keys that were offered; () where an answer was wanted


class Person(Screen):
    """Draws nothing. `play(frame)` says what is pressed, "name" or "name text", or typed."""

    def __init__(self, play: Callable[[Frame], str]):
        super().__init__()
        self.play, self.frames, self.now, self.views = play, [], None, []

    def draw(self, head, page, note="") -> None:
        assert len(page) <= self.height, f"{head}: {len(page)} rows for {self.height}"
        wide = [line for line in page if visible(line) > self.columns]
        assert not wide, f"{head}: {wide}"
        self.now = head, page, note

    def _seen(self, names) -> str:
        assert len(self.frames) < 2000, "this walk comes to no end"
        (head, step), page, note = self.now
        self.frames.append(Frame(head, step.split()[-1], list(page), note, tuple(names)))
        return self.play(self.frames[-1])

    def key(self, names) -> Pressed:
        name, _, text = self._seen(names).partition(" ")
        return Pressed(name, text)

    def ask(self, prompt) -> str:
        return self._seen(())


def walk(path, play, quick=True) -> tuple[Record, Person]:
    """Step through a lesson file as this person would."""
    lesson, person = cells.load(path), Person(play)
    record = new_record(lesson, Options(quick=quick))
    with stage(lesson, record) as module:
        stepper = Stepper(lesson, module, record, person)
        stepper.walk()
    person.views = stepper.pager.views
    return record, person
