"""How a command ends: with an exit code, and a sentence for what is wrong with its input."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

STOPPED = 130  # what a shell expects of a program that Ctrl-C ended
UNREAD = 141  # and of one whose lines nobody reads any more


def ended(work: Callable[[], int]) -> int:
    """The exit code of `work`: what is wrong with its input or its files becomes a sentence."""
    open_streams()
    try:
        try:
            code = work()
        except SystemExit:  # of argparse, after --help
            sys.stdout.flush()
            raise
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read our lines, such as `head`, wants no more of them
        silence()
        return UNREAD
    except OSError as error:
        from scratch_embed.files import sentence  # here: it imports NumPy

        print(sentence(error), file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:  # it was our own lines that could not be written
            silence()
    except (ValueError, FloatingPointError) as error:
        print(error, file=sys.stderr)
    except MemoryError as error:
        asked = f"{error}. " if str(error) else ""  # NumPy says how much it asked for
        print(f"{asked}There is not enough memory: take smaller sizes.", file=sys.stderr)
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return STOPPED
    return 1


def silence() -> None:
    """Lead nowhere what is still to be printed, at which Python would stumble again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_streams() -> None:
    """Let nothing that is printed or read end a program: not a letter that a console lacks, which
    becomes a ?, nor a stream that was closed before we began, as by >&-."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif mode == "w" and hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="replace")
