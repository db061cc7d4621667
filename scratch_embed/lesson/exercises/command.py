"""`python -m lessons exercise`: list the exercises, begin one, check it, help with it."""

from __future__ import annotations

import argparse
import difflib
from os.path import expanduser
from pathlib import Path

from tqdm import tqdm

from scratch_embed.files import sentence
from scratch_embed.lesson.exercises.desk import FOLDER, NOT_BEGUN, SOLVED, Desk
from scratch_embed.lesson.exercises.exercise import Exercise, find
from scratch_embed.lesson.exercises.report import indented, listing, verdict
from scratch_embed.lesson.exercises.run import Job, check
from scratch_embed.lesson.tools import shown_path
from scratch_embed.lesson.usage import Parser, UsageError, spoken
from scratch_embed.look.render import markdown

EXAMPLES = """\
python -m lessons exercise                          list them, with your state
python -m lessons exercise lookup_backward          begin it; the same again checks it
python -m lessons exercise lookup_backward --hint   one hint more
python -m lessons exercise --all                    check all that you have begun
"""


def main(scripts: Path, argv: list[str]) -> int:
    """Returns 0 when nothing is wrong, 1 for a file that is not right yet; UsageError otherwise.

    scripts: the folder of the exercises, lessons/exercises.
    """
    try:
        return _main(scripts, _parse(argv))
    except BrokenPipeError:
        raise
    except OSError as error:  # the learner's folder or file cannot be read or written
        raise UsageError(sentence(error)) from None


def _main(scripts: Path, arguments: argparse.Namespace) -> int:
    exercises = find(scripts)
    if not exercises:
        raise UsageError(f"there are no exercises in {shown_path(scripts)}.")
    desk = Desk(_folder(_folder_of(arguments), scripts))
    if arguments.all:
        return _check_all(exercises, desk)
    if arguments.name is None:
        print(f"{listing(exercises, desk)}\n\n{spoken(EXAMPLES.rstrip())}")
        return 0
    exercise = _chosen(arguments.name, exercises)
    if arguments.hint:
        return _hint(exercise, desk)
    if arguments.solution:
        return _solution(exercise, desk)
    if desk.begin(exercise):
        return _begun(exercise, desk)
    return _check(exercise, desk, exercises)


def _parse(argv: list[str]) -> argparse.Namespace:
    made = Parser(
        prog="python -m lessons exercise",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("name", nargs="?", help="its name or number")
    made.add_argument(
        "--folder", type=expanduser, default=FOLDER, help="where your files are (exercises)"
    )
    made.add_argument("--hint", action="store_true", help="show one hint more")
    made.add_argument("--solution", action="store_true", help="show all hints and the solution")
    made.add_argument("--all", action="store_true", help="check every file that you have begun")
    arguments = made.parse_args(argv)
    if arguments.hint and arguments.solution:
        raise UsageError("--hint shows one hint, --solution all of them: give one of the two.")
    for flag in ("hint", "solution"):
        if getattr(arguments, flag) and (arguments.name is None or arguments.all):
            raise UsageError(f"--{flag} is for one exercise: name it.")
    if arguments.all and arguments.name is not None:
        raise UsageError(f"--all checks every exercise; leave out {arguments.name}, or --all.")
    return arguments


def _folder_of(arguments: argparse.Namespace) -> str:
    """The folder that is meant: that of the file, where one is named by a path."""
    file = Path(arguments.name or "")
    if file.suffix != ".py" or file.parent == Path():
        return arguments.folder
    if not file.is_file():
        raise UsageError(f"{file} is no file; to begin an exercise give its name alone.")
    if arguments.folder != FOLDER and Path(arguments.folder).resolve() != file.parent.resolve():
        raise UsageError(f"{file} is not in --folder {arguments.folder}; leave one of them out.")
    return str(file.parent)


def _folder(folder: str, scripts: Path) -> Path:
    path = Path(folder)
    if not folder:  # a variable that was not set
        raise UsageError("--folder '' is no folder; . is the one that you are in.")
    if path.exists() and not path.is_dir():
        raise UsageError(f"--folder {folder} is a file; name a folder for your work.")
    if path.resolve() == scripts.resolve():
        raise UsageError(f"--folder {folder} holds the exercises themselves; name another one.")
    return path


def _chosen(word: str, exercises: dict[str, Exercise]) -> Exercise:
    word = Path(word).stem if word.endswith(".py") else word
    for exercise in exercises.values():
        if word in (exercise.name, str(exercise.number)):
            return exercise
    close = difflib.get_close_matches(word, exercises, n=1)
    hint = f"did you mean {close[0]}?" if close else "python -m lessons exercise lists them."
    raise UsageError(f"there is no exercise {word}; {hint}")


def _begun(exercise: Exercise, desk: Desk) -> int:
    path = shown_path(desk.path(exercise))
    print(f"{markdown(exercise.doc)}\n\nWritten: {path}, with the contract and an example.")
    print(f"Edit it, then check it: {desk.command(exercise)}")
    if exercise.lesson is not None:
        print(spoken(f"What it needs is in:    python -m lessons {exercise.lesson}"))
    return 0


def _check(exercise: Exercise, desk: Desk, exercises: dict[str, Exercise]) -> int:
    file = desk.path(exercise)
    if not file.is_file():
        raise UsageError(f"{shown_path(file)} is no file; move it away to begin anew.")
    checked = desk.fingerprint(exercise)
    found = check(Job(exercise, file))
    try:
        print(f"{verdict(exercise, file, found)}\n", flush=True)
    finally:  # also where nobody reads to the end; and last, as the note may not be writable
        desk.remember(exercise, checked, found["passed"])
    if found["passed"]:
        print(_next(desk, exercises))
        return 0
    left = len(exercise.hints) - desk.hints_shown(exercise)
    if left:
        more = "1 hint is" if left == 1 else f"{left} hints are"
        print(f"{more} left: {desk.command(exercise)} --hint")
    else:
        print(f"The solution: {desk.command(exercise)} --solution")
    return 1


def _next(desk: Desk, exercises: dict[str, Exercise]) -> str:
    unsolved = [e for e in exercises.values() if desk.state(e) != SOLVED]
    if not unsolved:
        return f"All {len(exercises)} are solved."
    return f"Next: {desk.command(unsolved[0])}"


def _check_all(exercises: dict[str, Exercise], desk: Desk) -> int:
    """Check every file that there is; one line for each that is not right, then the list."""
    begun = [e for e in exercises.values() if desk.state(e) != NOT_BEGUN]
    wrong = []
    for exercise in tqdm(begun, desc="exercises", disable=None, leave=False):
        checked = desk.fingerprint(exercise)
        found = check(Job(exercise, desk.path(exercise)))
        desk.remember(exercise, checked, found["passed"])
        if not found["passed"]:
            where = f", line {found['line']}" if found["line"] else ""
            wrong.append(f"{shown_path(desk.path(exercise))}{where}: {found['sentence']}")
    print("\n".join([*wrong, ""] if wrong else []) + listing(exercises, desk))
    return 1 if wrong else 0


def _hint(exercise: Exercise, desk: Desk) -> int:
    shown, total = desk.hints_shown(exercise), len(exercise.hints)
    if shown == total:
        print(f"You have read all {total} hints: here they are again.\n")
        _print_hints(exercise, 0, total)
        print(f"\nThe solution: {desk.command(exercise)} --solution")
        return 0
    _print_hints(exercise, shown, shown + 1)
    desk.show_hints(exercise, shown + 1)
    return 0


def _solution(exercise: Exercise, desk: Desk) -> int:
    shown, total = desk.hints_shown(exercise), len(exercise.hints)
    if shown < total:
        _print_hints(exercise, shown, total)
        desk.show_hints(exercise, total)
        print()
    print("\n".join(indented(exercise.solution.splitlines())))
    return 0


def _print_hints(exercise: Exercise, first: int, last: int) -> None:
    for n in range(first, last):
        print(markdown(f"**Hint {n + 1} of {len(exercise.hints)}.** {exercise.hints[n]}"))
