"""python -m lessons: list the lessons, run them, step through them."""

import sys
from pathlib import Path

from scratch_embed import one_thread  # noqa: F401, it comes before what imports NumPy
from scratch_embed.lesson.walk.cli import main

if __name__ == "__main__":  # not in a process that runs a part of the course
    sys.exit(main(Path(__file__).parent))
