"""python -m lessons: list the lessons, run them, step through them."""

import sys
from pathlib import Path

from scratch_embed import one_thread  # noqa: F401, it comes before what imports NumPy
from scratch_embed.ending import ended
from scratch_embed.uninterrupted import uninterrupted


def run() -> int:
    """The command; what it needs is loaded here, where Ctrl-C is answered in a word."""
    with uninterrupted():
        from scratch_embed.lesson.walk.cli import main
    return main(Path(__file__).parent)


if __name__ == "__main__":  # not in a process that runs a part of the course
    sys.exit(ended(run))
