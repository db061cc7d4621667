"""Walk through a lesson, a screen at a time: `python -m lessons 0 --step`.

A step is the prose and the code cell that follows it. The engine that runs a whole lesson runs the
cells here too; nothing in a lesson knows that it is being stepped. Where a cell asks, or writes out
a calculation, the run calls back (`record.ask`, `.reveal`, `.judged`), and the cell waits while the
person looks at what there is so far.
"""

from __future__ import annotations

import time
import types
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO

from scratch_embed.lesson.quiz import memory
from scratch_embed.lesson.quiz.asked import asked_of
from scratch_embed.lesson.record import Options, Record, recording
from scratch_embed.lesson.usage import spoken
from scratch_embed.lesson.walk import ending, looking, marks, operations, places
from scratch_embed.lesson.walk.capture import Aside, Capture
from scratch_embed.lesson.walk.cells import HEADING, Lesson
from scratch_embed.lesson.walk.fading import Fading
from scratch_embed.lesson.walk.pager import Pager
from scratch_embed.lesson.walk.places import Missed, Place
from scratch_embed.lesson.walk.revealing import Revealing
from scratch_embed.lesson.walk.runner import new_record, run_cell, shown_code, stage
from scratch_embed.lesson.walk.sheet import Block, Code, Printed, Prose
from scratch_embed.look.keys import Pressed
from scratch_embed.look.leaf import JUMPS, where_to
from scratch_embed.look.screen import Screen
from scratch_embed.look.terminal import paint
from scratch_embed.trace.inside import Visit, watching
from scratch_embed.working import Line


@dataclass
class Step:
    """Prose, and the code cell that follows it (None where a lesson closes on prose)."""

    prose: list[str] = field(default_factory=list)
    cell: int | None = None
    section: str = ""
    begins: bool = False  # a section begins here
    blocks: tuple[Block, ...] | None = None  # what stood on its sheet; None until it has run
    visits: list[Visit] = field(default_factory=list)  # calls in its cell that can be entered


def steps_of(lesson: Lesson) -> list[Step]:
    """The lesson's cells in steps: prose gathers until a code cell completes the step."""
    steps, step, section = [], Step(), ""
    for position, cell in enumerate(lesson.cells):
        if cell.kind == "markdown":
            step.prose.append(cell.text)
            if titles := HEADING.findall(cell.text):
                section, step.begins = titles[-1].replace("`", ""), True
            step.section = section
        else:
            step.cell, step.section = position, section
            steps.append(step)
            step = Step()
    return [*steps, step] if step.prose else steps


class Leave(BaseException):
    """A person leaves the step, also in the midst of a cell: for another step, or for good."""

    def __init__(self, step: int | None):
        super().__init__(step)
        self.step = step


def step_through(
    lesson: Lesson, options: Options | None = None, screen: Screen | None = None
) -> Record:
    """Step through the lesson with a person (or a pipe: its end quits). Returns its record."""
    record = new_record(lesson, options)
    start = time.perf_counter()
    with stage(lesson, record) as module:
        Stepper(lesson, module, record, screen or Screen()).walk()
    record.seconds = time.perf_counter() - start
    return record


class Stepper:
    """The steps of one lesson, where in them we are, and what a key does there."""

    def __init__(self, lesson: Lesson, module: types.ModuleType, record: Record, screen: Screen):
        self.lesson, self.module, self.record = lesson, module, record
        self.blank = dict(module.__dict__)  # as it is before anything has run
        self.steps, self.at = steps_of(lesson), 0
        self.screen = screen
        self.pager = Pager(self.screen, self.head, self.code, self.keys, self.obey)
        self.revealing = Revealing(self.pager, Fading(Counter(marks.shown())), self.line_judged)
        self.capture = Capture(self.screen.out)
        self.missed: list[Missed] = []
        self.attend()

    def walk(self) -> None:
        """Show step after step until the end of the lesson or q."""
        with self.screen.opened():
            try:
                self.follow(self.enter)
                while self.at < len(self.steps) or not self.follow(self.end):
                    self.follow(self.go)
            except Leave:
                pass  # for good: other ones end in follow()
        self.note()
        print(ending.closing(self.steps, self.record, self.at))

    def note(self) -> None:
        """Keep the place, for another time; forget it at the end of the lesson."""
        finished = self.at == len(self.steps)
        if self.at:  # who leaves at the beginning keeps the place there was
            place = None if finished else Place(self.at + 1, tuple(self.missed))
            places.keep(self.lesson.name, len(self.steps), place)

    def enter(self) -> None:
        """Before the first step: on from where the last walk ended, if there was one."""
        place = places.kept(self.lesson.name, len(self.steps))
        if place is not None:
            section = self.steps[place.step - 1].section
            self.pager.sheet.append(Printed(
                f"Last time you came to step {place.step} of {len(self.steps)}: {section}.\n\n"
                "Enter    go on there (the steps before it run by themselves)\n"
                "r        run the lesson from its beginning"
            ))  # fmt: skip
            if self.pager.pause(["again"]) == "on":
                self.missed = list(place.missed)
                self.reach(place.step - 1, shown_before=True)
                return
        looking.back(self.lesson, self.pager, self.screen)

    def follow(self, act: Callable[[], None]) -> bool:
        """Do this, unless the person would rather be elsewhere. Whether it came to its end."""
        try:
            act()
        except Leave as leave:
            if leave.step is None:
                raise
            self.reach(leave.step)
            return False
        return True

    def go(self) -> None:
        """One step, and on to the next. The place is noted before: a window may be closed."""
        self.note()
        self.visit(self.steps[self.at])
        self.at += 1

    def end(self) -> None:
        """After the last step: what it came to."""
        self.pager.begin(len(self.steps) - 1)
        told = ending.text(self.steps, self.record, self.missed, self.revealing)
        self.pager.sheet.append(Printed(told))
        self.record.closed = not self.record.failures
        self.pager.pause()

    def visit(self, step: Step) -> None:
        """The step's prose and its cell, run now; or the sheet as it was when the cell ran."""
        if step.blocks is not None:
            self.pager.begin(self.at, step.blocks)
        else:
            self.pager.begin(self.at, self.blocks(step))
            if step.cell is not None:
                self.screen.wait(self.head(self.at), self.pager.first_page(), "running ...")
                self.run(step)
            step.blocks = tuple(self.pager.sheet)
        if len(self.pager.sheet) > self.pager.new:
            self.pager.pause()

    def blocks(self, step: Step) -> list[Block]:
        """What stands on the sheet before the cell has run: prose, and the lesson's functions."""
        blocks: list[Block] = [Prose(spoken(text)) for text in step.prose]
        if step.cell is not None:
            functions = shown_code(self.lesson.cells[step.cell])
            blocks += [Printed(paint(code, "cyan")) for code in functions]
        return blocks

    def run(self, step: Step) -> None:
        """Run the step's cell. Ctrl-C stops the cell, not the lesson."""
        self.missed = [one for one in self.missed if one.step != self.at + 1]
        chosen = operations.Chosen(self.lesson.path)
        with redirect_stdout(self.capture), redirect_stderr(Aside(self.capture)):
            try:
                with watching(chosen, most=operations.MOST) as step.visits:
                    failure = run_cell(step.cell, self.lesson, self.module, self.record)
                if failure is not None:
                    print(paint(failure.text, "red"))
            except KeyboardInterrupt:
                print("Stopped. The cell did not finish; r runs it again.")
            finally:
                self.flush()

    def reach(self, target: int, shown_before: bool = False) -> None:
        """Go to a step. Those before it that have not run do so now, without a stop."""
        self.attend(False)
        for at in range(target):
            step = self.steps[at]
            if step.blocks is None:
                self.pager.begin(at, self.blocks(step))
                note = f"running step {at + 1}, on the way to {target + 1} ..."
                self.screen.wait(self.head(at), [], note)
                if step.cell is not None:
                    self.run(step)
                step.blocks = tuple(self.pager.sheet)
        self.attend()
        if shown_before:
            for working, _ in self.record.workings:
                self.revealing.fading.asked(working)
        self.at = target

    # ---- what a cell calls back -----------------------------------------------------------------

    def attend(self, there: bool = True) -> None:
        """Whether a person is there to be asked and shown things."""
        self.record.ask = self.ask if there else None
        self.record.reveal = self.reveal if there else None
        self.record.judged = self.judged if there else None

    def flush(self) -> None:
        """What was printed since the last stop comes on the sheet."""
        if printed := self.capture.take():
            self.pager.sheet.append(Printed(printed))

    def ask(self, prompt: str) -> str:
        """Ask a guess of the lesson."""
        self.flush()
        return self.pager.pause(question=f"{prompt.strip()} ")

    def reveal(self, working) -> None:
        """A hand calculation, line by line. While a guess is open it is the answer: not asked."""
        self.flush()
        open_guess = any(not question.shown for question in self.record.questions)
        self.revealing.show(working, asks=not open_guess)

    def judged(self, question) -> None:
        """An answer was judged: it is the last thing on the screen."""
        self.flush()
        memory.remember(f"{self.lesson.name}: {question.text}", question.right)
        if not question.right:
            self.miss(question.text, question.typed, question.shown)
        self.pager.pause()

    def line_judged(self, line: Line, typed: str, right: bool) -> None:
        """What was typed for a line of a working was judged."""
        question = asked_of(line)
        memory.remember(f"{self.lesson.name}: {question.text}", right)
        if not right:
            self.miss(question.text, typed, question.shown)

    def miss(self, question: str, typed: str, shown: str) -> None:
        """Remember a wrong answer, and where it was given."""
        self.missed.append(Missed(self.at + 1, question, typed, shown))

    # ---- what keys ask for ----------------------------------------------------------------------

    def head(self, at: int) -> tuple[str, str]:
        """The two ends of the first row: the section; the lesson, step and steps."""
        number = "" if self.lesson.number is None else f"lesson {self.lesson.number}   "
        return self.steps[at].section or self.lesson.title, f"{number}{at + 1}/{len(self.steps)}"

    def code(self, at: int) -> Code | None:
        """The code of a step, its imports folded into a line, and while it runs its answers."""
        step = self.steps[at]
        told = step.blocks is not None
        return None if step.cell is None else looking.listing(self.lesson, step.cell, told)

    def keys(self, at: int) -> tuple[str, ...]:
        """The keys that this step has besides those that are always there."""
        step = self.steps[at]
        return (*(("into",) if step.visits else ()), *(("view",) if step.cell is not None else ()))

    def obey(self, pressed: Pressed, at: int) -> str:
        """A key that leads neither on nor back. Returns a note to show."""
        if pressed.name == "quit":
            raise Leave(None)
        if pressed.name in JUMPS:
            to = where_to(self.screen, looking.stops(self.steps), at + 1, pressed)
            if isinstance(to, str):
                return to
            raise Leave(to - 1)
        if pressed.name == "into":
            return self.into(self.steps[at])
        if pressed.name == "python":
            self.screen.clear()
            looking.prompt(self.module, self.screen)
            return "Back in the lesson."
        return self.again(at)

    def again(self, at: int) -> str:
        """Run the step that is under way once more, and later ones when the person comes to them.

        Where some of these have run, its variables may be others by now: they are made anew.
        """
        if self.steps[at].cell is None:
            return "There is no code here."
        if any(step.cell is not None and step.blocks is not None for step in self.steps[at + 1 :]):
            try:
                self.make_anew(at)
            except KeyboardInterrupt:
                return "Stopped, in the midst of the steps before this one. r begins again."
        for step in self.steps[at:]:
            step.blocks = None
        raise Leave(at)

    def make_anew(self, at: int) -> None:
        """Bring the variables to what they were before a step: run those before it, unseen."""
        names, unseen = self.module.__dict__, new_record(self.lesson, self.record.options)
        self.screen.wait(self.head(at), [], "running the steps before it ...")
        names.clear()
        names.update(self.blank)
        with recording(unseen), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            for step in self.steps[:at]:
                if step.cell is not None:
                    run_cell(step.cell, self.lesson, self.module, unseen)

    def into(self, step: Step) -> str:
        """Through the lines of a call in this step's cell."""
        visit = looking.choose(step.visits, self.screen)
        if isinstance(visit, str):
            return visit
        self.revealing.enter(visit)
        return ""
