"""`python -m lessons quiz`: asks, judges, scores, remembers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from scratch_embed.lesson import notes
from scratch_embed.lesson.ask import read_answer
from scratch_embed.lesson.quiz import memory
from scratch_embed.lesson.quiz.asked import Asked, questions
from scratch_embed.lesson.usage import Parser, UsageError, spoken
from scratch_embed.lesson.walk import marks
from scratch_embed.lesson.walk.course import Course
from scratch_embed.lesson.walk.sheet import fold
from scratch_embed.look.terminal import paint, width, wrap

ROUND = 10  # questions, where no lesson is named
PROMPT = "    your answer (Enter: see it, ?: read more, q: stop): "
NOTHING_MISSED = "Nothing is missed: what you answered last went right."
NOTHING_ANSWERED = "You have not answered a question yet: python -m lessons quiz"
EXAMPLES = """\
python -m lessons quiz            ten questions of the lessons that you have finished
python -m lessons quiz 4 tied     all questions of these lessons
python -m lessons quiz --missed   what went wrong the last time it was asked
"""


class Stop(Exception):
    """The person wants no more questions."""


def main(course: Course, argv: list[str]) -> int:
    """Returns 0; UsageError for lessons that are not there."""
    made = Parser(
        prog="python -m lessons quiz",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("what", nargs="*", help="which lessons, by number or name")
    made.add_argument("--missed", action="store_true", help="ask again what went wrong")
    arguments = made.parse_args(argv)
    paths = list(dict.fromkeys(map(course.find, arguments.what)))
    if arguments.missed:
        chosen = _missed(course, paths)
        if not chosen:
            print(NOTHING_MISSED if memory.answered() else spoken(NOTHING_ANSWERED))
            return 0
        return _round(chosen)
    if paths:
        return _round(_all(paths))
    return _round(_mixed(course), most=ROUND)


# ---- which questions -----------------------------------------------------------------------------


def _all(paths: Iterable[Path], lines: bool = False) -> Iterator[Asked]:
    """Every question of these lessons, each lesson run when its turn comes.

    lines: also the lines of their workings that can be asked.
    """
    for path in paths:
        try:
            if sys.stdout.isatty():
                print(paint(f"\nWorking out the answers of {path.stem} ...", "dim"), flush=True)
            yield from questions(path, lines)
        except SyntaxError as error:
            raise UsageError(
                f"{path.name} does not parse: {error.msg}, line {error.lineno}."
            ) from None
        except RuntimeError as error:
            raise UsageError(str(error)) from None


def _missed(course: Course, paths: list[Path]) -> list[Asked]:
    """What was answered wrongly the last time, of these lessons or of all."""
    wrong = {key for key, right in memory.answered().items() if not right}
    lessons = {key.partition(":")[0] for key in wrong}
    known = paths or [course.lessons[number] for number in course.whole_path]
    found = _all((path for path in known if path.stem in lessons), lines=True)
    return list({asked.key: asked for asked in found if asked.key in wrong}.values())


def _mixed(course: Course) -> Iterator[Asked]:
    """Of the lessons that were finished: first what was never right, then what was."""
    done = marks.finished()
    path = [course.lessons[number] for number in course.whole_path]
    paths = [lesson for lesson in path if lesson.stem in done]
    if not paths:
        paths = path[:1]
        print("No lesson is finished yet, so these are of the first one.")
    later, known = [], memory.answered()
    for asked in _all(paths):
        if known.get(asked.key):
            later.append(asked)
        else:
            yield asked
    yield from sorted(later, key=lambda asked: list(known).index(asked.key))


# ---- a round -------------------------------------------------------------------------------------


def _round(chosen: Iterable[Asked], most: int | None = None) -> int:
    """Ask one after the other. Ctrl-D and q end it with the score, Ctrl-C too."""
    right, wrong, seen = 0, [], 0
    try:
        for number, asked in enumerate(chosen, 1):
            outcome = _ask(asked)
            seen += outcome is None
            right += outcome is True
            wrong += [asked] * (outcome is False)
            if number == most:
                break
            if _at_a_terminal():  # the next question would push the answer off the screen
                _typed("    Enter goes on, q stops: ")
    except Stop:
        pass
    except KeyboardInterrupt:
        print()
        print(_score(right, wrong, seen))
        raise
    print(_score(right, wrong, seen))
    return 0


def _ask(asked: Asked) -> bool | None:
    """Put one question; whether it was answered right, None when the person would rather see it."""
    head = f" {asked.lesson.title} "
    print("\n" + paint(head[: width()].center(width(), "-"), "dim"))
    if asked.above:
        print(paint(_folded(asked.above), "dim"))
    print()
    question = replace(asked.question, typed="", right=None)
    question.put()
    question.typed = read_answer(
        lambda prompt: _line(prompt, asked),
        question.options,
        PROMPT,
        np.size(question.value),
        question.words,
    )
    question.tell()
    if question.right is not None:
        memory.remember(asked.key, question.right)
    return question.right


def _line(prompt: str, asked: Asked) -> str:
    """An answer that is typed; before it, "?" as often as one likes."""
    while (typed := _typed(prompt)).strip() == "?":
        print(f"\n{paint(_folded(asked.more), 'dim')}\n")
        asked.question.put()
    return typed


def _folded(text: str) -> str:
    """The text of a lesson, in which lines of code too long for the window go on below."""
    return "\n".join(piece for line in text.splitlines() for piece in fold(line, width()))


def _typed(prompt: str) -> str:
    """What a person types; Stop at q and at the end of input."""
    try:
        typed = input(prompt)
    except (EOFError, RuntimeError):  # the second: no standard input at all, as by <&-
        print()
        raise Stop from None
    if not _at_a_terminal():
        print(typed)  # a terminal shows what is typed, a pipe does not
    if typed.strip().casefold() in ("q", "quit"):
        raise Stop
    return typed


def _at_a_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _score(right: int, wrong: list[Asked], seen: int) -> str:
    total = right + len(wrong)
    if not total:
        return "\nNothing was answered."
    looked = f", {seen} only looked at" if seen else ""
    lines = [paint(f"{right} of {total} right{looked}.", "bold")]
    for number, title in {a.lesson.number: a.lesson.title for a in wrong}.items():
        lines += wrap(f"Read again: {title}: python -m lessons {number} --step", width())
    if told := notes.unkept():
        lines += wrap(told, width())
    elif wrong:
        lines.append("Ask these again: python -m lessons quiz --missed")
    return spoken("\n" + "\n".join(lines))
