"""What the commands share: options with their units, errors in a sentence, runs that go on.

Each run has a folder, `--out`, with its checkpoint, its results and its picture. The exit code is 0
when it came to its end, 1 for an error, 2 for options that make no sense and 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from scratch_embed import checkpoint
from scratch_embed.files import sentence

CHECKPOINT = "checkpoint.npz"
STOPPED = 130  # what a shell expects of a program that Ctrl-C ended
# These say where a run lies and what to show of it; all other options say what it computes.
PLACES = ("out", "resume", "prompt", "formats", "save_every")


def parser(name: str, description: str, resumable: bool = False) -> argparse.ArgumentParser:
    """The parser of `scratch-embed NAME`, with the options that every training has."""
    made = argparse.ArgumentParser(prog=f"scratch-embed {name}", description=description)
    out = Path("build") / name
    made.add_argument("--out", type=Path, default=out, metavar="FOLDER", help=f"of the run ({out})")
    made.add_argument("--seed", type=whole, default=0, help="of everything random, from 0 up (0)")
    made.add_argument("--quick", action="store_true", help="a small run, in seconds")
    if resumable:
        made.add_argument("--resume", action="store_true", help="go on with a run in FOLDER")
    return made


def whole(text: str) -> int:
    """A whole number from 0 up, for `type=`."""
    return _number(text, int, lambda n: n >= 0, "a whole number, 0 or more")


def count(text: str) -> int:
    """A whole number from 1 up, for `type=`."""
    return _number(text, int, lambda n: n >= 1, "a whole number, 1 or more")


def positive(text: str) -> float:
    """A finite number above 0, for `type=`."""
    return _number(text, float, lambda x: 0 < x < math.inf, "a number above 0")


def _number(text: str, kind: type, allowed: Callable, what: str):
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not allowed(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return value


def parse(
    made: argparse.ArgumentParser, argv: Sequence[str], quick: dict | None = None
) -> tuple[argparse.Namespace, dict]:
    """(options, saved): of a new run with an empty dict, or of the one that `--resume` names.

    Where nothing is saved yet, `--resume` begins: so the same command line can always be repeated,
    whenever the run was killed.

    quick : what the options are with `--quick`, where nothing else is given.

    A run is resumed with the options it was begun with, which `for_checkpoint` put by; whoever
    gives another one is told. Raises what `checkpoint.load` raises.
    """
    options = made.parse_args(argv)
    if options.quick and quick:
        made.set_defaults(**quick)
        options = made.parse_args(argv)
    if not getattr(options, "resume", False):
        return options, {}
    if not (options.out / CHECKPOINT).exists():
        print(f"Nothing is saved in {options.out} yet, so this run begins.", flush=True)
        return options, {}
    saved = checkpoint.load(options.out / CHECKPOINT)
    begun = saved.get("options")
    known = set(vars(options)) - set(PLACES)
    if not isinstance(begun, dict) or set(begun) != known:
        made.error(f"{options.out / CHECKPOINT} is no checkpoint of {made.prog}")
    made.set_defaults(**begun)
    options = made.parse_args(argv)
    for name, value in for_checkpoint(options).items():
        if value != begun[name]:
            made.error(
                f"{name} is {value}, but the run in {options.out} was begun with {begun[name]}; "
                "leave it out, or begin another run in another --out"
            )
    return options, saved


def for_checkpoint(options: argparse.Namespace) -> dict:
    """The options that say what a run computes, as `checkpoint.save` takes them."""
    return {
        name: str(value) if isinstance(value, Path) else value
        for name, value in vars(options).items()
        if name not in PLACES
    }


def ended(work: Callable[[], int]) -> int:
    """The exit code of a command: what is wrong with its input or its files becomes a sentence."""
    try:
        return work()
    except OSError as error:
        print(sentence(error), file=sys.stderr)
    except (ValueError, FloatingPointError, MemoryError) as error:
        print(error, file=sys.stderr)
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return STOPPED
    return 1
