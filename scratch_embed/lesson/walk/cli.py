"""The two ways in: `python -m lessons ...`, and a lesson run as a plain script."""

from __future__ import annotations

import argparse
import builtins
import difflib
import os
import sys
from pathlib import Path

from scratch_embed.ending import STOPPED, UNREAD, open_streams, silence
from scratch_embed.files import check_writable, replacing, sentence
from scratch_embed.lesson import notes
from scratch_embed.lesson.record import Options, running
from scratch_embed.lesson.usage import Parser, UsageError, spoken
from scratch_embed.lesson.walk import greeting
from scratch_embed.lesson.walk.course import Course
from scratch_embed.lesson.walk.suite import run_all, step_one, trace_one
from scratch_embed.look.terminal import width, wrap

EXAMPLES = """\
python -m lessons                  the map: where to begin, and what there is
python -m lessons 0                run lesson 0; also by name, or a part of it: tied
python -m lessons 0 --step         walk through it, an Enter a step
python -m lessons 11 --trace       walk through the backward of lesson 11
python -m lessons all              run every lesson, lab and page of claims, a line each
python -m lessons exercise [NAME]  write a piece yourself, and have it checked
python -m lessons quiz [N ...]     ten questions of lessons that are done, or those of lesson N
python -m lessons play [NAME]      list the pictures that move, or open one in the browser
python -m lessons lab [NAME]       list the experiments, or run one (all: every one)
python -m lessons claims [PAGE]    what printed sources say, judged
python -m lessons errata [SOURCE]  what they print that is wrong, and what is right
python -m lessons glossary [TERM]  the words, and the lessons that explain them
python -m lessons figures          draw every figure again, into figures/
python -m lessons --forget         forget which lessons were finished, and all answers
"""
FLAGS = ("--step", "--trace", "--quiet", "--quick", "--text", "--ledger", "--forget", "--help")


def parser(script: str | None = None) -> Parser:
    """The options. A lesson run as a script takes the same ones, without naming itself."""
    made = Parser(
        prog=f"python {script}" if script else "python -m lessons",
        epilog=None if script else EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if not script:
        made.add_argument("what", nargs="*", metavar="what", help="which lessons, or a word below")
        made.add_argument("--forget", action="store_true", help="forget what was done")
    made.add_argument("--step", action="store_true", help="walk through it")
    made.add_argument("--trace", action="store_true", help="walk through its backward")
    made.add_argument("--quiet", action="store_true", help="print only what is wrong")
    made.add_argument("--quick", action="store_true", help="smaller experiments")
    text = "read this text instead of the standard one"
    made.add_argument("--text", type=os.path.expanduser, metavar="FILE", help=text)
    ledger = "write every verdict to this file as JSON; what it held is replaced"
    made.add_argument("--ledger", type=os.path.expanduser, metavar="FILE", help=ledger)
    return made


def begin() -> None:
    """First line of a lesson: run as a plain script, it is handed to the engine.

    `python lessons/ch00_lookup.py --step` then does what `python -m lessons 0 --step` does. Inside
    the engine, in a notebook, or when the lesson is imported, this does nothing.
    """
    scope = sys._getframe(1).f_globals
    interactive = hasattr(builtins, "__IPYTHON__") or "__file__" not in scope
    if scope.get("__name__") == "__main__" and not interactive and not running():
        path = Path(scope["__file__"])
        sys.exit(guarded(lambda: _script(path, sys.argv[1:])))


def main(folder: str | Path, argv: list[str] | None = None) -> int:
    """`python -m lessons`: returns 0, 1 for a disagreement or crash, 2 for a wrong command line."""
    argv = sys.argv[1:] if argv is None else argv
    return guarded(lambda: _main(Course(folder), argv))


def guarded(work) -> int:
    """Run the command; wrong usage, Ctrl-C and a closed pipe end it in a sentence at most."""
    open_streams()
    try:
        code = work()
        sys.stdout.flush()
        return code
    except UsageError as error:
        print(spoken(f"lessons: {error}"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:
        silence()
        return UNREAD
    except OSError as error:
        print(sentence(error), file=sys.stderr)  # as of `> lessons.txt` on a full disk
        silence()
        return 1


def _main(course: Course, argv: list[str]) -> int:
    if argv[:1] == ["exercise"]:
        # it has options of its own
        from scratch_embed.lesson.exercises.command import main as exercise

        return exercise(course.folder / "exercises", argv[1:])
    if argv[:1] == ["quiz"]:
        from scratch_embed.lesson.quiz.command import main as quiz

        return quiz(course, argv[1:])
    if argv[:1] == ["play"]:
        from scratch_embed.lesson.play.command import main as play

        return play(argv[1:])
    arguments = _parse(parser(), argv)
    if arguments.forget:
        return _forget(argv)
    if not arguments.what:
        if argv:
            named = "its number, its name, or all" if arguments.ledger else "its number or its name"
            raise UsageError(f"{argv[0]} needs a lesson: {named}.")
        print(spoken(greeting.greeting(course)))
        return 0
    word, *rest = arguments.what
    if word in COMMANDS:
        _no_use_for(word, arguments, [] if word == "lab" and not rest else TAKES.get(word))
        return COMMANDS[word](course, rest, arguments)
    paths = list(dict.fromkeys(course.find(word) for word in arguments.what))
    return _run(paths, arguments)


def _forget(argv: list[str]) -> int:
    if argv != ["--forget"]:
        raise UsageError("--forget forgets all lessons and answers; it stands alone.")
    try:
        print("Forgotten." if notes.forget() else "There was nothing to forget.")
    except OSError as error:
        raise UsageError(sentence(error)) from None
    return 0


def _all(course: Course, rest: list[str], arguments: argparse.Namespace) -> int:
    from scratch_embed.lesson.walk.everything import closing, run_everything

    _nothing_more("all", rest)
    outcomes = run_everything(course)
    print(closing(outcomes))
    verdicts = [verdict for outcome in outcomes for verdict in outcome.verdicts]
    kept = _write_ledger(verdicts, arguments.ledger)
    if course.lessons:
        first = (course.first_path or course.whole_path)[0]
        print(spoken(f"\n  Begin here: python -m lessons {first} --step"))
    return 0 if kept and all(outcome.good for outcome in outcomes) else 1


def _figures(course: Course, rest: list[str], arguments: argparse.Namespace) -> int:
    _nothing_more("figures", rest)
    return _run(list(course.lessons.values()), arguments, figures=True)


def _lab(course: Course, rest: list[str], arguments: argparse.Namespace) -> int:
    if not rest:
        print(spoken(greeting.labs_text(course)))
        return 0
    wanted = course.labs.values() if rest == ["all"] else map(course.find_lab, rest)
    return _run(list(wanted), arguments)


def _claims(course: Course, rest: list[str], arguments: argparse.Namespace) -> int:
    from scratch_embed.lesson.claims import pages

    verdicts = []
    for path in _pages(course, rest).values():
        page, (title, below) = pages.judge_page(path), pages.heading(path)
        print(pages.page_text(title, page, below))
        verdicts += page.verdicts
    if verdicts:
        print(pages.counts_text(verdicts))
    return 0 if _write_ledger(verdicts, arguments.ledger) else 1


def _errata(course: Course, rest: list[str], arguments: argparse.Namespace) -> int:
    from tqdm import tqdm

    from scratch_embed.lesson.claims import pages
    from scratch_embed.lesson.claims.ledger import load

    claims = load(course.folder / "claims" / "claims.csv")
    sources = dict.fromkeys(claim.source for claim in claims)
    wanted = [s for s in sources if not rest or " ".join(rest).casefold() in s.casefold()]
    if not wanted:
        raise UsageError(f"there is no source {' '.join(rest)}; there are {', '.join(sources)}.")
    every = tqdm(course.pages.values(), desc="pages", disable=None, leave=False)  # a minute or two
    verdicts = [v for path in every for v in pages.judge_page(path).verdicts]
    print("\n".join(pages.errata_text(source, verdicts) for source in wanted))
    return 0


def _glossary(course: Course, rest: list[str], arguments: argparse.Namespace) -> int:
    print(greeting.glossary_text(course, " ".join(rest) or None))
    return 0


COMMANDS = {"all": _all, "figures": _figures, "lab": _lab, "claims": _claims,
            "errata": _errata, "glossary": _glossary}  # fmt: skip
TAKES = {"all": ["ledger"], "claims": ["ledger"], "errata": [], "glossary": []}  # the others run


def _no_use_for(word: str, arguments: argparse.Namespace, takes: list[str] | None) -> None:
    """Told before anything runs: a flag that this command would pass over; None takes all."""
    for flag in ("step", "trace", "quiet", "quick", "text", "ledger") if takes is not None else ():
        if getattr(arguments, flag) and flag not in takes:
            what = f"{word} without a name" if word == "lab" else word
            raise UsageError(f"{what} has no use for --{flag}: leave it out.")


def _pages(course: Course, rest: list[str]) -> dict[str, Path]:
    """The pages that were named: "ch04" or "4"; all when none was."""
    if not rest:
        return course.pages
    chosen = {}
    for word in rest:
        name = f"ch{int(word):02d}" if word.isdecimal() else word
        if name not in course.pages:
            known = ", ".join(course.pages) or "none yet"
            raise UsageError(f"there is no page of claims {word}; there are {known}.")
        chosen[name] = course.pages[name]
    return chosen


def _write_ledger(verdicts: list, path: str | None) -> bool:
    """Write the ledger if one is asked for. Returns False when that fails, and says why."""
    import json

    rows = [verdict.as_json() for verdict in verdicts]
    text = json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        if path is not None:
            with replacing(path) as temporary:
                temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"lessons: the verdicts are not written. {sentence(error)}", file=sys.stderr)
        return False
    return True


def _nothing_more(word: str, rest: list[str]) -> None:
    if rest:
        raise UsageError(f"{word} stands alone; leave out {rest[0]}.")


def _script(path: Path, argv: list[str]) -> int:
    return _run([path], _parse(parser(os.path.relpath(path)), argv))


def _run(paths: list[Path], arguments: argparse.Namespace, figures: bool = False) -> int:
    if arguments.ledger is not None:
        raise UsageError("--ledger writes verdicts, which only all and claims have: leave it out.")
    text = None if arguments.text is None else Path(arguments.text).resolve()
    if text is not None and not any(map(_reads_text, paths)):
        raise UsageError(f"--text: {paths[0].stem} reads no text of yours: leave it out.")
    options = Options(text=text, quick=arguments.quick, figures=figures)
    if arguments.step or arguments.trace:
        flag, walk = ("--step", step_one) if arguments.step else ("--trace", trace_one)
        if len(paths) != 1:
            raise UsageError(f"{flag} walks through one lesson at a time: name one.")
        return walk(paths[0], options)
    if text is not None and not arguments.quiet:
        told = f"The text is {arguments.text}. Tables and answers are of it; what the sentences say"
        print(*wrap(f"{told} of a text, they say of the standard one.", width()), sep="\n")
    return run_all(paths, options, arguments.quiet)


def _reads_text(path: Path) -> bool:
    return any(word in path.read_bytes() for word in (b"options.text", b"lab_text("))


def _parse(made: Parser, argv: list[str]) -> argparse.Namespace:
    arguments, unknown = made.parse_known_intermixed_args(argv)
    if unknown:
        flag = unknown[0].partition("=")[0]
        known = [each for each in FLAGS if each in made.format_help()]  # a script has not all
        close = difflib.get_close_matches(flag, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"the flags are {', '.join(known)}."
        raise UsageError(f"there is no {flag}; {hint}")
    if (arguments.step or arguments.trace) and arguments.quiet:
        flag = "--step" if arguments.step else "--trace"
        raise UsageError(f"{flag} talks to you and --quiet does not: give one of them.")
    if arguments.step and arguments.trace:
        raise UsageError("--step walks through the lesson, --trace through backward: give one.")
    if arguments.text is not None:
        _readable(arguments.text)
    if arguments.ledger is not None:
        _writable(arguments.ledger)
    return arguments


def _readable(text: str) -> None:
    """Told before anything runs: a text that is missing, empty or not UTF-8."""
    # here, so that runs without --text do not pay for it
    from scratch_embed.text.corpus import read_text

    try:
        read_text(text)
    except OSError as error:
        raise UsageError(f"--text: {sentence(error)}") from None
    except ValueError as error:
        raise UsageError(f"--text: {error}") from None


def _writable(ledger: str) -> None:
    """Told before anything runs: a ledger that cannot be written, or that holds what is printed."""
    if _is_printed_to(ledger):
        raise UsageError(f"--ledger: {ledger} takes what this run prints. Name a file of its own.")
    try:
        check_writable(ledger)
    except OSError as error:
        raise UsageError(f"--ledger: {sentence(error)}") from None


def _is_printed_to(path: str) -> bool:
    """Whether standard output or standard error goes to this file, as after > or to /dev/stdout."""
    streams = [stream.fileno() for stream in (sys.__stdout__, sys.__stderr__) if stream]
    return os.path.exists(path) and any(
        os.path.samestat(os.stat(path), os.fstat(handle)) for handle in streams
    )
