"""One script of lessons/exercises: contract, solution, hints and checks in a single file.

    LESSON = 0                              the lesson that it belongs to
    LEVEL = "easy"                          easy, medium or hard
    HINTS = "..."                           paragraphs, asked for one at a time
    IN_PLACE = {"scatter_add": ("table",)}  parameters that a function changes (optional)
    SECONDS = 60                            time for the check (optional)

    def lookup_backward(dout, ids, num_rows):
        (docstring: the contract, with a worked example; body: the solution)

    def check(trial):
        (what to try, see `trial.Trial`)

The learner writes the public functions above `check`. Their stub is the same script with the
bodies taken out, so a contract and its solution cannot drift apart. Reading runs nothing.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

NAME = re.compile(r"ex(\d+)_(\w+)\.py")
SECONDS = 10
FOOTER = """\
Arrays of numbers are float64 and arrays of ids int64, unless a contract says otherwise.

Check it:      {command}
Ask for help:  {command} --hint
"""


@dataclass(frozen=True)
class Exercise:
    """A parsed script. Equal names mean the same exercise."""

    path: Path
    source: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """ "lookup_backward" for ex02_lookup_backward.py"""
        return NAME.fullmatch(self.path.name)[2]

    @property
    def number(self) -> int:
        return int(NAME.fullmatch(self.path.name)[1])

    @property
    def doc(self) -> str:
        """The docstring of the script: what it is about."""
        return ast.get_docstring(self.tree) or ""

    @property
    def title(self) -> str:
        """The first line of the docstring, without its full stop."""
        return self.doc.partition("\n")[0].rstrip(".")

    @property
    def lesson(self) -> int | None:
        """The number of the lesson that teaches what it asks."""
        return self._constant("LESSON", None)

    @property
    def level(self) -> str:
        return self._constant("LEVEL", "medium")

    @property
    def hints(self) -> list[str]:
        blocks = self._constant("HINTS", "").strip().split("\n\n")
        return [" ".join(block.split()) for block in blocks if block]

    @property
    def in_place(self) -> dict[str, tuple[str, ...]]:
        """{function: its parameters that it is to change}"""
        return self._constant("IN_PLACE", {})

    @property
    def seconds(self) -> int:
        """How long a check may take before it is taken for an endless loop."""
        return self._constant("SECONDS", SECONDS)

    @property
    def functions(self) -> list[ast.FunctionDef]:
        """What the learner is to write."""
        found = [node for node in self.tree.body if isinstance(node, ast.FunctionDef)]
        before = [node.lineno for node in found if node.name == "check"]
        last = before[0] if before else len(self.source)
        return [f for f in found if not f.name.startswith("_") and f.lineno < last]

    def stub(self, command: str) -> str:
        """The learner's file before they write in it: contracts without bodies.

        command is what checks it, and is told at the top of the file.
        """
        # It names a folder, of any name; one quotation mark by itself can stay as it is.
        told = command.replace("\\", "\\\\").replace('""', '"\\"')
        doc = f'"""{self.doc}\n\n{FOOTER.format(command=told)}"""'
        empty = [
            f"{self._lines(f.lineno, f.body[0].end_lineno)}\n"
            f'    raise NotImplementedError("{f.name} is yours to write")'
            for f in self.functions
        ]
        return "\n\n\n".join([f"{doc}\n\n{self._imports()}", *empty]) + "\n"

    @property
    def solution(self) -> str:
        """A file that solves it, without the contracts."""
        solved = []
        for f in self.functions:
            first = min([f.lineno, *(d.lineno for d in f.decorator_list)])
            head = self._lines(first, f.body[0].lineno - 1)
            solved.append(f"{head}\n{self._lines(f.body[0].end_lineno + 1, f.end_lineno)}")
        return "\n\n\n".join([self._imports(), *solved]) + "\n"

    def _constant(self, name: str, default):
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
                return ast.literal_eval(node.value)
        return default

    def _imports(self) -> str:
        """What a learner's file imports: all but this project, which is not theirs to use."""
        imports = [n for n in self.tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
        texts = [self._lines(node.lineno, node.end_lineno) for node in imports]
        return "\n".join(t for t in texts if "scratch_embed" not in t and "__future__" not in t)

    def _lines(self, first: int, last: int) -> str:
        return "\n".join(self.source.splitlines()[first - 1 : last])


def load(path: Path) -> Exercise:
    """Parse a script of lessons/exercises."""
    source = path.read_text(encoding="utf-8")
    return Exercise(path, source, ast.parse(source, str(path)))


def find(folder: Path) -> dict[str, Exercise]:
    """The exercises of a folder by name, in the order of their numbers."""
    paths = [path for path in folder.glob("ex*.py") if NAME.fullmatch(path.name)]
    found = sorted(map(load, paths), key=lambda exercise: exercise.number)
    return {exercise.name: exercise for exercise in found}
