"""python -m scratch_embed.book notebooks: the course as notebooks, or as a web book."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

for library in ("OPENBLAS", "MKL"):  # as in lessons/__main__.py, and for the same reason
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

from scratch_embed.book import notebook
from scratch_embed.book.running import ran
from scratch_embed.lesson.tools import course_folder
from scratch_embed.lesson.walk.course import Course

BUILD = Path("build")


def main(argv: list[str] | None = None) -> int:
    """Make the notebooks; returns 0, or 1 with the reason when a script fails."""
    made = argparse.ArgumentParser(prog="python -m scratch_embed.book", description=__doc__)
    made.add_argument("what", choices=["notebooks"], help="what to make, below build/")
    made.add_argument("--quick", action="store_true", help="labs in their quick size")
    arguments = made.parse_args(argv)
    try:
        notebooks(Course(course_folder()), arguments.quick)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. What ran through is kept; the same command goes on.", file=sys.stderr)
        return 130
    return 0


def notebooks(course: Course, quick: bool) -> None:
    """A notebook for every lesson and lab, in build/notebooks and build/notebooks/labs."""
    from tqdm import tqdm

    paths = [*course.lessons.values(), *course.labs.values()]
    for done in tqdm(ran(paths, BUILD, quick), "notebooks", len(paths), leave=False, disable=None):
        place = done.path.relative_to(course.folder).with_suffix(".ipynb")
        notebook.write(done, BUILD / "notebooks" / place)
    print(f"{len(paths)} notebooks are in {BUILD / 'notebooks'}")


if __name__ == "__main__":
    sys.exit(main())
