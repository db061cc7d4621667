"""What a command line that cannot be followed is answered with: one sentence, and no traceback."""

from __future__ import annotations

import argparse

TYPED = "python -m lessons"  # how the course is called, wherever a text speaks of it
_called = [TYPED]


def called(command: str) -> None:
    """From now on the course is called by this command, as by "scratch-embed lessons"."""
    _called[:] = [command]


def spoken(text: str) -> str:
    """The text, with the command that this person types to call the course."""
    return text.replace(TYPED, _called[0])


class UsageError(Exception):
    """The command line asks for something that is not there. The message is one sentence."""


class Parser(argparse.ArgumentParser):
    """argparse that raises instead of exiting, so that one place prints what was wrong."""

    def error(self, message: str):
        raise UsageError(message)

    def format_help(self) -> str:
        return spoken(super().format_help())
