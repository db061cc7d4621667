"""Walk through a lesson one code cell at a time: `python -m lessons 0 --step`.

Each step shows the prose, the code with its line numbers in the file, and the code's output. The
engine that runs a whole lesson runs the cells here too; nothing in a lesson knows that it is being
stepped.
"""

from __future__ import annotations

import io
import sys
import time
import types
from contextlib import redirect_stdout
from dataclasses import dataclass, field

from scratch_embed.lesson.proof import summary
from scratch_embed.lesson.record import Options, Record, recording
from scratch_embed.lesson.usage import spoken
from scratch_embed.lesson.walk.cells import Lesson
from scratch_embed.lesson.walk.runner import new_record, run_cell, stage
from scratch_embed.look.prompt import python_prompt, read_key
from scratch_embed.look.render import markdown
from scratch_embed.look.terminal import paint, width, wrap

HELP = """\
Enter  go on to the next cell
b      back: read the step before again (nothing runs)
r      run this cell again, on the variables as they are now;
       what it answers replaces what it answered before
p      a Python prompt on the lesson's variables; exit() or Ctrl-D comes back
q      quit
?      this help
Ctrl-C stops a cell that takes too long, and keeps you here."""
KEYS = "Enter: on   b: back   r: run again   p: Python   q: quit   ?: help"


@dataclass
class Step:
    """Prose, and the code cell that follows it (None where a lesson closes on prose)."""

    prose: list[str] = field(default_factory=list)
    cell: int | None = None
    output: str | None = None  # what the cell printed; None until it has run


class Tee(io.TextIOBase):
    """Writes to the terminal and keeps a copy, for reading a step again."""

    def __init__(self, stream):
        self.stream, self.copy = stream, io.StringIO()

    def write(self, text: str) -> int:
        self.copy.write(text)
        return self.stream.write(text)

    def flush(self) -> None:
        self.stream.flush()

    def isatty(self) -> bool:
        return self.stream.isatty()

    @property
    def encoding(self):
        return self.stream.encoding


def steps_of(lesson: Lesson) -> list[Step]:
    """The lesson's cells in steps: prose gathers until a code cell completes the step."""
    steps, step = [], Step()
    for position, cell in enumerate(lesson.cells):
        if cell.kind == "markdown":
            step.prose.append(cell.text)
        else:
            step.cell = position
            steps.append(step)
            step = Step()
    return [*steps, step] if step.prose else steps


def step_through(lesson: Lesson, options: Options | None = None) -> Record:
    """Step through the lesson with a person (or a pipe: its end quits). Returns its record."""
    record = new_record(lesson, options)
    start = time.perf_counter()
    with stage(lesson, record) as module:
        Stepper(lesson, module, record).walk()
    record.seconds = time.perf_counter() - start
    return record


class Stepper:
    """The steps of one lesson, where in them we are, and the keys."""

    def __init__(self, lesson: Lesson, module: types.ModuleType, record: Record):
        self.lesson, self.module, self.record = lesson, module, record
        self.steps, self.at = steps_of(lesson), 0
        self.out = sys.stdout
        record.ask = self.ask

    def walk(self) -> None:
        """Show step after step until the end of the lesson or q."""
        while self.at < len(self.steps):
            self.show()
            while (key := self.key()) not in ("", "b", "q"):
                self.stay(key)
            if key == "q":
                break
            self.at = max(0, self.at - 1) if key == "b" else self.at + 1
        self.record.closed = self.at == len(self.steps) and not self.record.failures
        ran = sum(step.output is not None for step in self.steps)
        total = sum(step.cell is not None for step in self.steps)
        print(f"\n{ran} of {total} code cells run\n{summary(self.record)}")

    def show(self) -> None:
        """The step's prose, its code, and its output: run now, or as it was when it ran."""
        step = self.steps[self.at]
        head = f" {self.lesson.title}: step {self.at + 1} of {len(self.steps)} "
        print("\n" + paint(head[: width()].center(width(), "-"), "dim"))
        for text in step.prose:
            print(f"\n{markdown(spoken(text))}")
        if step.cell is None:
            return
        listing = f"\n{self.listing(step.cell)}\n"
        asks = ".answer(" in self.lesson.cells[step.cell].text  # its code would tell the answer
        if not asks:
            print(listing)
        if step.output is None:
            self.run(step)
        else:
            print(step.output, end="")
        if asks:
            print(listing)

    def listing(self, position: int) -> str:
        """The code with the line numbers it has in the file; long lines go on below."""
        cell = self.lesson.cells[position]
        lines = cell.text.splitlines()
        digits = len(str(cell.line + len(lines)))
        room = max(10, width(widest=1000) - digits - 3)
        laid = []
        for k, line in enumerate(lines):
            pieces = [line[at : at + room] for at in range(0, len(line), room)] or [""]
            laid.append(f"{cell.line + k:>{digits}} | {pieces[0]}".rstrip())
            laid += [f"{'':>{digits}} : {piece}" for piece in pieces[1:]]
        return "\n".join(paint(line, "cyan") for line in laid)

    def run(self, step: Step) -> None:
        """Run the step's cell and keep its output. Ctrl-C stops the cell, not the lesson."""
        tee = Tee(self.out)
        with redirect_stdout(tee):
            try:
                failure = run_cell(step.cell, self.lesson, self.module, self.record)
                if failure is not None:
                    print(paint(failure.text, "red"))
            except KeyboardInterrupt:
                print("\nStopped. The cell did not finish; r runs it again.")
        step.output = tee.copy.getvalue()

    def stay(self, key: str) -> None:
        """The keys that keep us at this step."""
        step = self.steps[self.at]
        if key == "p":
            self.prompt()
        elif key == "r" and step.cell is not None:
            self.run(step)
        elif key in ("?", "h"):
            print(HELP)
        else:
            print("There is no code here." if key == "r" else f"{key!r} is no key; ? lists them.")

    def key(self) -> str:
        """The next key pressed (first letter of a line); q at the end of input."""
        keys = KEYS if width() > len(KEYS) else "Enter b r p q ?"
        return read_key("> ", above="\n" + paint(keys, "dim"))

    def ask(self, question: str) -> str:
        """Ask during a quiz; an answer cut short by Ctrl-D or Ctrl-C is no answer."""
        with redirect_stdout(self.out):  # input() edits lines only on the true standard output
            try:
                return input(question)
            except (EOFError, KeyboardInterrupt):
                print()
                return ""

    def prompt(self) -> None:
        """A Python prompt on the lesson's variables. What it checks there is not recorded."""
        names = sorted(name for name in self.module.__dict__ if not name.startswith("_"))
        banner = (
            "\n".join(wrap("Names: " + ", ".join(names), width())) if names else "No names yet."
        )
        with recording(Record("prompt")):
            banner += "\nexit() or Ctrl-D goes back to the lesson."
            python_prompt(self.module.__dict__, banner)
        print("Back in the lesson.")
