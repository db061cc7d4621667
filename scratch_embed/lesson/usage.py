"""What a command line that cannot be followed is answered with: one sentence, and no traceback."""

from __future__ import annotations

import argparse


class UsageError(Exception):
    """The command line asks for something that is not there. The message is one sentence."""


class Parser(argparse.ArgumentParser):
    """argparse that raises instead of exiting, so that one place prints what was wrong."""

    def error(self, message: str):
        raise UsageError(message)
