"""python -m lessons: list the lessons, run them, step through them."""

import os
import sys
from pathlib import Path

# Lessons multiply small matrices. A second thread of the library behind NumPy's products would
# cost more than it saves, and a sum cut in two comes out with other last bits. The library reads
# this when NumPy is imported, so it stands before our own import.
for library in ("OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

from scratch_embed.lesson.walk.cli import main

if __name__ == "__main__":  # not in a process that runs a part of the course
    sys.exit(main(Path(__file__).parent))
