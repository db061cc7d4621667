"""The learner's folder: one file an exercise, and a note of how far each has come.

The note, .progress.json, holds for each exercise how many hints were shown and the outcome of the
last check together with a fingerprint of what was checked. Deleting it loses no work. A file of
that name that holds something else is kept beside it, as .progress.json.before.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from pathlib import Path

from scratch_embed.files import from_json, read_bytes, replacing
from scratch_embed.lesson.exercises.exercise import Exercise
from scratch_embed.lesson.usage import spoken

PLAIN = re.compile(r"[\w./:-]+")  # means itself to every shell
IMPORT, WORD = re.compile(r"\b(?:import|from)\s(.*)"), re.compile(r"\w+")
FOLDER, NOTE = "exercises", ".progress.json"
NOT_BEGUN, UNCHECKED, NOT_YET, SOLVED = "not begun", "not checked yet", "not yet right", "solved"


class Desk:
    """A folder with the learner's files. It is made when the first file is written."""

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self._note = self._read()

    def path(self, exercise: Exercise) -> Path:
        """Where the learner's file is, or will be."""
        return self.folder / f"{exercise.name}.py"

    def command(self, exercise: Exercise) -> str:
        """What to type to begin the exercise, or to check it."""
        folder = "" if str(self.folder) == FOLDER else f" --folder={_quoted(self.folder)}"
        return spoken(f"python -m lessons exercise {exercise.name}{folder}")

    def begin(self, exercise: Exercise) -> bool:
        """Write the stub unless something has that name. Returns whether it was written."""
        try:
            with replacing(self.path(exercise), new=True) as temporary:
                temporary.write_bytes(self._stub(exercise))
        except FileExistsError:
            return False
        return True

    def state(self, exercise: Exercise) -> str:
        """NOT_BEGUN, UNCHECKED (written or edited since the last check), NOT_YET or SOLVED."""
        path = self.path(exercise)
        if not path.is_file():
            return NOT_BEGUN
        if path.read_bytes() == self._stub(exercise):
            return NOT_YET
        known = self._of(exercise)
        if known.get("checked") != self.fingerprint(exercise):
            return UNCHECKED
        return SOLVED if known.get("passed") is True else NOT_YET

    def remember(self, exercise: Exercise, checked: str, passed: bool) -> None:
        """Note the outcome of a check of what had that fingerprint: it may be edited since."""
        self._change(exercise, checked=checked, passed=passed)

    def fingerprint(self, exercise: Exercise) -> str:
        """Of the learner's file, those beside it that it imports, and the exercise: an edit of any
        makes a check out of date."""
        sources = [*_with_imports(self.path(exercise)), exercise.source.encode()]
        return hashlib.sha256(b"\0".join(sources)).hexdigest()

    def hints_shown(self, exercise: Exercise) -> int:
        shown = self._of(exercise).get("hints")
        return min(max(shown, 0), len(exercise.hints)) if isinstance(shown, int) else 0

    def show_hints(self, exercise: Exercise, count: int) -> None:
        """Note that the first `count` hints have been read."""
        self._change(exercise, hints=count)

    def _stub(self, exercise: Exercise) -> bytes:
        text = exercise.stub(self.command(exercise))  # a folder need not be named in UTF-8
        return text.encode("utf-8", "backslashreplace")

    def _change(self, exercise: Exercise, **news: object) -> None:
        self._note = self._read()  # a check of another file may have ended since
        self._of(exercise).update(news)
        self._write()

    def _of(self, exercise: Exercise) -> dict:
        return self._note.setdefault(exercise.name, {})

    def _read(self) -> dict:
        try:
            note = from_json(read_bytes(self.folder / NOTE).decode("utf-8"))
        except (OSError, ValueError):
            return {}
        ours = type(note) is dict and all(isinstance(held, dict) for held in note.values())
        return note if ours else {}

    def _write(self) -> None:
        path = self.folder / NOTE
        if path.is_file() and not self._read():  # damaged, or of another program: nothing is lost
            path.replace(path.with_name(f"{NOTE}.before"))
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(self._note, indent=1), encoding="utf-8")


def _with_imports(path: Path) -> list[bytes]:
    """What a file holds, and those in its folder that it may import, one from the other."""
    found, named = {}, [path]
    while named:
        at = named.pop()
        if at not in found and at.is_file():
            found[at] = at.read_bytes()
            lines = IMPORT.findall(found[at].decode("utf-8", "replace"))
            named += [at.with_name(f"{name}.py") for name in WORD.findall(" ".join(lines))]
    return [found.pop(path, b""), *(found[at] for at in sorted(found))]


def _quoted(path: Path) -> str:
    """The path as one word of a command line of this system."""
    if PLAIN.fullmatch(str(path)):
        return str(path)
    return f'"{path}"' if os.name == "nt" else shlex.quote(str(path))
