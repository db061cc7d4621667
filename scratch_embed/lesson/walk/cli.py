"""The two ways in: `python -m lessons ...`, and a lesson run as a plain script."""

from __future__ import annotations

import argparse
import builtins
import difflib
import os
import sys
from pathlib import Path

from scratch_embed.lesson.record import Options, running
from scratch_embed.lesson.usage import Parser, UsageError
from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.quizzes import listing as quiz_listing
from scratch_embed.lesson.walk.suite import listing, run_all, step_one, trace_one

EXAMPLES = """\
python -m lessons               list the lessons
python -m lessons 0             run lesson 0
python -m lessons 0 3 5         run several
python -m lessons all           run all, with a closing table
python -m lessons 0 --step      walk through lesson 0 cell by cell
python -m lessons 17 --trace    walk through the backward of lesson 17 step by step
python -m lessons figures       draw every figure again, into figures/
python -m lessons exercise      list the exercises: write a piece yourself and have it checked
python -m lessons quiz          list every quiz question (quiz 0 3: those of lessons 0 and 3)
"""
FLAGS = ("--step", "--trace", "--quiet", "--quick", "--text", "--ledger", "--help")


def parser(script: str | None = None) -> Parser:
    """The options. A lesson run as a script takes the same ones, without naming itself."""
    made = Parser(
        prog=f"python {script}" if script else "python -m lessons",
        epilog=None if script else EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if not script:
        what = "N | all | figures | quiz"
        made.add_argument("what", nargs="*", metavar=what, help="which lessons")
    made.add_argument("--step", action="store_true", help="walk through cell by cell")
    made.add_argument("--trace", action="store_true", help="walk through its backward")
    made.add_argument(
        "--quiet", action="store_true", help="print only what is wrong, and the table"
    )
    made.add_argument("--quick", action="store_true", help="smaller experiments")
    made.add_argument("--text", metavar="FILE", help="read this text instead of the standard one")
    made.add_argument("--ledger", metavar="FILE", help="write every answer to this file as JSON")
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
    return guarded(lambda: _main(Path(folder), argv))


def guarded(work) -> int:
    """Run the command; wrong usage, Ctrl-C and a closed pipe end it in a sentence at most."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a console without the letter ∈ prints a ?
    try:
        code = work()
        sys.stdout.flush()
        return code
    except UsageError as error:
        print(f"lessons: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _main(folder: Path, argv: list[str]) -> int:
    if argv[:1] == ["exercise"]:
        # it has options of its own
        from scratch_embed.lesson.exercises.command import main as exercise

        return exercise(folder / "exercises", argv[1:])
    arguments = _parse(parser(), argv)
    paths = cells.find(folder)
    if not arguments.what:
        if len(argv):
            raise UsageError(f"{argv[0]} needs a lesson: a number ({_known(paths)}) or all.")
        print(f"{listing(folder, paths)}\n\n{EXAMPLES.rstrip()}")
        return 0
    if arguments.what == ["figures"]:
        return _run(list(paths.values()), arguments, figures=True)
    if arguments.what[0] == "quiz":
        if argv != arguments.what:
            raise UsageError("quiz lists the questions and takes no flags; --step asks them.")
        print(quiz_listing(_chosen(arguments.what[1:] or ["all"], paths)))
        return 0
    return _run(_chosen(arguments.what, paths), arguments)


def _script(path: Path, argv: list[str]) -> int:
    return _run([path], _parse(parser(os.path.relpath(path)), argv))


def _run(paths: list[Path], arguments: argparse.Namespace, figures: bool = False) -> int:
    text = None if arguments.text is None else Path(arguments.text).resolve()
    options = Options(text=text, quick=arguments.quick, figures=figures)
    if arguments.step or arguments.trace:
        flag, walk = ("--step", step_one) if arguments.step else ("--trace", trace_one)
        if len(paths) != 1:
            raise UsageError(f"{flag} walks through one lesson at a time: name one.")
        return walk(paths[0], options, arguments.ledger)
    return run_all(paths, options, arguments.quiet, arguments.ledger)


def _parse(made: Parser, argv: list[str]) -> argparse.Namespace:
    arguments, unknown = made.parse_known_intermixed_args(argv)
    if unknown:
        flag = unknown[0].partition("=")[0]
        close = difflib.get_close_matches(flag, FLAGS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"the flags are {', '.join(FLAGS)}."
        raise UsageError(f"there is no {flag}; {hint}")
    if (arguments.step or arguments.trace) and arguments.quiet:
        flag = "--step" if arguments.step else "--trace"
        raise UsageError(f"{flag} talks to you and --quiet does not: give one of them.")
    if arguments.step and arguments.trace:
        raise UsageError("--step walks through the cells, --trace through backward: give one.")
    if arguments.text is not None:
        _readable(arguments.text)
    if arguments.ledger is not None and Path(arguments.ledger).is_dir():
        raise UsageError(f"--ledger {arguments.ledger} is a folder; name a file in it.")
    return arguments


def _readable(text: str) -> None:
    """Told before anything runs: a text that is missing, empty or not UTF-8."""
    # here, so that runs without --text do not pay for it
    from scratch_embed.text.corpus import read_text

    if Path(text).is_dir():
        raise UsageError(f"--text {text} is a folder; name a text file in it.")
    if not Path(text).is_file():
        raise UsageError(f"--text {text}: there is no such file.")
    try:
        read_text(text)
    except (OSError, ValueError) as error:
        raise UsageError(f"--text: {error}") from None


def _known(paths: dict[int, Path]) -> str:
    return ", ".join(map(str, paths)) or "none yet"


def _chosen(words: list[str], paths: dict[int, Path]) -> list[Path]:
    if words == ["all"]:
        return list(paths.values())
    chosen = []
    for word in words:
        number = int(word) if word.isdecimal() else None
        if number not in paths:
            close = difflib.get_close_matches(word, ["all", "figures", "quiz", "exercise"], n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise UsageError(
                f"there is no lesson {word}; there are {_known(paths)}, and all.{hint}"
            )
        chosen.append(paths[number])
    return list(dict.fromkeys(chosen))  # each once
