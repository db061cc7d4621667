"""What the commands share: options with their units, errors in a sentence, exit codes.

    NUMBERS = [("steps", count, 2000, "STEPS", "steps to train"), ...]
    def made(): ...                         # parser("lm", __doc__) and add_numbers(NUMBERS)
    def main(argv=None): return start(made(), work, argv, quick={"steps": 60})

`work(run)` gets a `Run` and returns the exit code: 0 when it came to its end, 1 for an error, 2 for
options that make no sense, 130 after Ctrl-C and 141 when nobody reads its lines any more.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scratch_embed.ending import ended
from scratch_embed.files import alone_in
from scratch_embed.training.run import (
    CHECKPOINT,
    SHOWN,
    Run,
    computing,
    finished,
    load_run,
    maker,
    unfinished,
)

MOST = 1 << 63  # what is counted fits in 64 bits


class Number(NamedTuple):
    """What a number may be, for `type=`: "12" -> 12, or what argparse tells."""

    kind: type
    least: float
    itself: bool  # whether it may be `least`
    range: str
    most: float = math.inf  # it is below

    def __call__(self, text: str):
        try:
            value = self.kind(text)
        except ValueError:
            value = math.nan
        above = self.least <= value if self.itself else self.least < value
        if not (above and value < self.most):
            what = "a whole number" if self.kind is int else "a number"
            told = text if len(text) <= 40 else f"{text[:36]} ..."
            raise argparse.ArgumentTypeError(f"{told!r} is not {what}, {self.range}")
        return value


whole = Number(int, 0, True, "0 or more")
count = Number(int, 1, True, "1 or more", MOST)
threads = Number(int, 1, True, "1 to 1024", 1025)
few = Number(int, 1, True, "1 to 10000", 10_001)
some = Number(int, 1, True, "1 to 1000", 1_001)  # what takes some MB each
size = Number(int, 1, True, "1 to 1000000", 1_000_001)  # of an array, along one axis
share = Number(float, 0, True, "0 or more")
positive = Number(float, 0, False, "above 0")


def folder(text: str) -> Path:
    """A path, for `type=`; "" is that of a variable that was not set, and not the folder here."""
    if not text:
        raise argparse.ArgumentTypeError("'' is no folder; . is the one that you are in")
    path = Path(os.path.expanduser(text))  # a shell leaves the ~ of --out=~/runs to us
    for part in (path, *path.parents):
        if part.exists() and not part.is_dir():
            raise argparse.ArgumentTypeError(f"{str(part)!r} is a file; name a folder")
    return path


def named(text: str) -> str:
    """The name of a file, for `type=`; "" is a variable that was not set."""
    if not text:
        raise argparse.ArgumentTypeError("'' names no file")
    return text


def parser(name: str, doc: str | None, resumable: bool = False) -> argparse.ArgumentParser:
    """The parser of `scratch-embed NAME`, with the options that every command has.

    doc : its second paragraph says what the command does; None as `python -OO` has it.
    """
    description = doc and doc.split("\n\n")[1]
    made = argparse.ArgumentParser(prog=f"scratch-embed {name}", description=description)
    out = Path("build") / name
    made.add_argument(
        "--out", type=folder, default=out, metavar="FOLDER",
        help=f"where results.json, results.png and all else go (default {out})",
    )  # fmt: skip
    add_numbers(made, [("seed", whole, 0, "NUMBER", "seed of the random generator")])
    quick = "a small run, in seconds: to see how, not to learn what"
    made.add_argument("--quick", action="store_true", help=quick)
    if resumable:
        made.add_argument(
            "--resume", action="store_true",
            help="go on with the run in FOLDER, with its options and its text as it was read then; "
            "begin where there is none",
        )  # fmt: skip
        every = ("save-every", positive, 30.0, "SECONDS", "seconds between two checkpoints")
        add_numbers(made, [every])
    return made


def add_numbers(made: argparse.ArgumentParser, options: Iterable[tuple]) -> None:
    """Add --NAME for each (name, kind, default, unit, meaning); its range and default are told."""
    for name, kind, default, unit, meaning in options:
        usual = "all" if default is None else f"{default:g}"
        told = f"{meaning} ({kind.range}; default {usual})"
        made.add_argument(f"--{name}", type=kind, default=default, metavar=unit, help=told)


def start(
    made: argparse.ArgumentParser,
    work: Callable[[Run], int],
    argv: Sequence[str] | None,
    quick: dict,
    needs: Mapping[str, tuple[str, str]] = {},
) -> int:
    """Do the work of a command; returns its exit code.

    quick : what the options are with `--quick`, where nothing else is given.
    needs : {option: (other, value)}: the option means something only with --OTHER VALUE; who gives
        it without is told.
    """
    argv = sys.argv[1:] if argv is None else argv

    def whole() -> int:
        out = _read(made, argv).out
        if out.is_dir():  # who writes there now is told first: what it holds is not all there yet
            with alone_in(out):
                pass
        run = parse(made, argv, quick)
        _check_needs(made, argv, run.options, needs)
        # What becomes infinite ends a run with a sentence; NumPy need not warn of it before.
        with alone_in(out), np.errstate(all="ignore"), _warned_in_a_sentence():
            try:
                return _done(work, run)
            except ValueError as error:
                raise ValueError(_as_typed(str(error), run.options)) from error
            except FloatingPointError as error:  # --resume would come to the same numbers
                left = run.options.out / CHECKPOINT
                again = f". To begin anew there, remove {left}" if left.exists() else ""
                raise FloatingPointError(f"{error}{again}") from None

    return ended(whole)


def _done(work: Callable[[Run], int], run: Run) -> int:
    try:
        return work(run)
    except Exception:
        run.forget()
        raise


def _as_typed(told: str, options: argparse.Namespace) -> str:
    """What a function says of its argument, with the name of the option: --min-count."""
    for name in vars(options):
        if "_" in name:  # a word of one part may mean something else; so does a part of a path
            told = re.sub(rf"(?<![\w/.-]){name}(?![\w/]|\.\w)", f"--{name.replace('_', '-')}", told)
    return told


@contextmanager
def _warned_in_a_sentence() -> Iterator[None]:
    """A block whose warnings are of what was read: where in our code that was helps nobody."""
    usual, warnings.formatwarning = warnings.formatwarning, lambda message, *_, **__: f"{message}\n"
    try:
        yield
    finally:
        warnings.formatwarning = usual


def _check_needs(made, argv: Sequence[str], options: argparse.Namespace, needs: Mapping) -> None:
    for name, value in _given(made, argv, options).items():
        other, wanted = needs.get(name, (None, None))
        if other and value is not None and getattr(options, other) != wanted:
            flag = name.replace("_", "-")
            made.error(f"--{flag} means nothing without --{other} {wanted}: leave it out")


def _given(made, argv: Sequence[str], options: argparse.Namespace) -> dict:
    """Each option as it was given; None where it was not."""
    unset = argparse.Namespace(**dict.fromkeys(vars(options)))  # None gives way to no default
    return vars(_read(made, argv, unset))


def _go_on_showing(options: argparse.Namespace, given: dict, shown) -> None:
    """What is shown of a resumed run is what was, if nothing else is asked for."""
    for name, value in shown.items() if isinstance(shown, dict) else ():
        fits = type(value) is float if name == "save_every" else _texts(value)
        if name in SHOWN and given.get(name, "") is None and fits:
            setattr(options, name, value)


def _texts(value) -> bool:
    """A text, or a list that holds some."""
    texts = value if type(value) is list else [value]
    return bool(texts) and all(type(text) is str for text in texts)


def _read(made: argparse.ArgumentParser, argv: Sequence[str], into=None) -> argparse.Namespace:
    """What was given; words may stand on both sides of an option, and all behind a --."""
    read = made.parse_args if "--" in argv else made.parse_intermixed_args
    return read(argv, into)


def _may_be(value, default) -> bool:
    """Whether a value from a checkpoint is of a type that this option has on the command line."""
    if default is None:
        return value is None or type(value) in (int, str)
    return type(value) is type(default) or (type(value), type(default)) == (int, float)


def parse(made: argparse.ArgumentParser, argv: Sequence[str], quick: dict | None = None) -> Run:
    """A new run, or the one that `--resume` names.

    Where nothing is saved yet, `--resume` begins: so the same command line can always be repeated,
    whenever the run was killed. A run is resumed with the options that it was begun with; whoever
    gives another one is told. Raises what `checkpoint.load` raises.
    """
    options = _read(made, argv)
    usual = {name: made.get_default(name) for name in vars(options)}
    if options.quick and quick:
        made.set_defaults(**quick)
        options = _read(made, argv)
    saved = load_run(options.out) if getattr(options, "resume", False) else {}
    if not getattr(options, "resume", False) and unfinished(options.out):
        raise ValueError(
            f"{options.out} holds a run that has not ended: --resume goes on with it, and another "
            f"--out begins beside it. To begin anew there, remove {options.out / CHECKPOINT}."
        )
    if saved:
        begun, shown, _ = (saved.pop(name, None) for name in ("options", "shown", "writes"))
        if not isinstance(begun, dict) or set(begun) != set(computing(options)):
            made.error(f"{options.out} holds no checkpoint of {made.prog}")
        for name, value in begun.items():
            if not _may_be(value, usual[name]):
                made.error(f"{options.out / CHECKPOINT} is damaged: {name} is {value!r}")
        chosen = [f"{name} {x}" for name, x in begun.items() if x != made.get_default(name)]
        print(f"Going on with the run in {options.out}: {', '.join(chosen) or 'as by default'}.")
        made.set_defaults(**begun)
        options = _read(made, argv)
        _go_on_showing(options, _given(made, argv, options), shown)
        for name, value in computing(options).items():
            if value != begun[name]:
                made.error(
                    f"{name} is {value}, but the run in {options.out} was begun with "
                    f"{begun[name]}; leave it out, or begin another run in another --out"
                )
    run = Run(made.prog, options, saved, usual)
    _check_not_replacing(options, made.prog)
    return run


def _check_not_replacing(options: argparse.Namespace, command: str) -> None:
    """ValueError where results of another command lie in the folder, or a training that has ended
    and was another one: it may have taken hours."""
    ours, before = computing(options), finished(options.out)
    if maker(options.out) not in (None, command):
        what, way = f"a run of {maker(options.out)}", f"move {options.out} away"
    elif before is not None and before != ours:
        other = [
            f"{k} {x}" for k, x in before.items() if x != ours.get(k) and x not in (None, False)
        ]
        what = f"a finished run with {', '.join(other) or 'other options'}"
        way = f"remove {options.out / CHECKPOINT}"
    else:
        return
    raise ValueError(
        f"{options.out} holds {what}, which would be written over: give another --out, or {way}"
    )
