"""python -m scratch_embed.book WHAT: the course as notebooks, or as a web book, below build/.

`edited` lists the notebooks there that somebody has changed: nothing of ours writes over them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from scratch_embed import one_thread  # noqa: F401, it comes before what imports NumPy
from scratch_embed.book import html, links, notebook
from scratch_embed.book.running import judged, ran, simulations
from scratch_embed.book.site import Site
from scratch_embed.files import sentence
from scratch_embed.lesson.tools import course_folder
from scratch_embed.lesson.walk.course import Course
from scratch_embed.simulations import NAMES

BUILD = Path("build")


def main(argv: list[str] | None = None) -> int:
    """Make what is asked for; returns 0, 1 with the reason where that fails, 2 for wrong usage."""
    made = argparse.ArgumentParser(prog="python -m scratch_embed.book", description=__doc__)
    made.add_argument("what", choices=["notebooks", "html", "edited"], help="what to make")
    made.add_argument("--quick", action="store_true", help="labs in their quick size")
    arguments = made.parse_args(argv)
    if arguments.what == "edited":
        print(*notebook.edited(BUILD), sep="\n", end="")
        return 0
    make = notebooks if arguments.what == "notebooks" else book
    try:
        (BUILD / "pages").mkdir(parents=True, exist_ok=True)  # where it cannot be made, say so now
        return make(Course(course_folder()), arguments.quick)
    except OSError as error:
        print(sentence(error), file=sys.stderr)
        return 1
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. What ran through is kept; the same command goes on.", file=sys.stderr)
        return 130


def notebooks(course: Course, quick: bool) -> int:
    """A notebook for every lesson and lab, in build/notebooks and build/notebooks/labs."""
    edited, count = [], 0
    for count, one in enumerate(_ran(course, quick), 1):
        place = BUILD / "notebooks" / one.path.relative_to(course.folder).with_suffix(".ipynb")
        if not notebook.write(one, place):
            edited.append(place)
    print(f"{count} notebooks are in {BUILD / 'notebooks'}")
    if edited:
        print("Left as they are, for they have been edited; delete one to have it made anew:")
        print(*edited, sep="\n")
    return 0


def book(course: Course, quick: bool) -> int:
    """The web book, in build/book."""
    if lacking := html.missing():
        print(
            f"The book needs {', '.join(lacking)}: python -m pip install {' '.join(lacking)}\n"
            "(setup.cfg lists them under `book`; `make book` installs them).",
            file=sys.stderr,
        )
        return 1
    site = Site(course, BUILD / "book-source", quick)
    drawn = dict(_progress(simulations(BUILD / "pages"), "simulations", len(NAMES)))
    site.simulations({name: drawn[name] for name in NAMES})
    for one in _ran(course, quick):
        site.script(one)
    pages = _progress(judged(course, BUILD / "pages"), "claims", len(course.pages))
    site.claims(dict(pages))
    site.front()
    site.lab_index()
    site.exercise_pages()
    site.glossary()
    site.reference()
    site.write("conf.py", html.conf())
    for name, data in html.statics().items():
        site.write(f"_static/{name}", data)
    site.finish()
    good = html.build(site.source, BUILD / "book", BUILD / "book-doctrees")
    broken = links.broken(BUILD / "book")
    if not good or broken:
        print(*broken, "The book has the mistakes above.", sep="\n", file=sys.stderr)
        return 1
    print(f"The book begins at {BUILD / 'book' / 'index.html'}")
    return 0


def _ran(course: Course, quick: bool):
    paths = [*course.lessons.values(), *course.labs.values()]
    return _progress(ran(paths, BUILD / "pages", quick), "scripts", len(paths))


def _progress(items, label: str, total: int):
    from tqdm import tqdm

    return tqdm(items, label, total, leave=False, disable=None)


if __name__ == "__main__":
    sys.exit(main())
