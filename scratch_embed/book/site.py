"""The pages of the book, written as Markdown for Sphinx: what stands where, and what follows what.

Everything is made from the course itself. A page that is the same as before is not written again,
so Sphinx reads only what changed.
"""

from __future__ import annotations

from pathlib import Path

from scratch_embed.book import claims_page, notebook, reference, script_page, words
from scratch_embed.book.markdown import code, fence, folded, plain, toctree
from scratch_embed.book.running import Ran
from scratch_embed.files import replacing
from scratch_embed.lesson.exercises import exercise
from scratch_embed.lesson.tools import is_lab
from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.course import Course

ROOT = Path(__file__).parents[2]  # of a checkout: the benchmarks stand in its tests


class Site:
    """The folder of Markdown pages, as they are being written."""

    def __init__(self, course: Course, source: Path, quick: bool = False):
        self.course, self.source, self.quick = course, source, quick
        self.exercises = exercise.find(course.folder / "exercises")
        self.plays: dict[str, str] = {}  # simulation: title
        self.written: set[Path] = set()

    def links(self, here: str) -> script_page.Links:
        """Where other pages are, seen from the page `here`."""
        titles = {name: one.title for name, one in self.exercises.items()}
        return script_page.Links(self.course.lessons, titles, here)

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file below the source, unless it stands there already."""
        path = self.source / name
        data = content.encode() if isinstance(content, str) else content
        self.written.add(path)
        if not path.exists() or path.read_bytes() != data:
            with replacing(path) as temporary:
                temporary.write_bytes(data)

    def finish(self) -> None:
        """Take away what an earlier book had and this one has not."""
        for path in self.source.rglob("*"):
            if path.is_file() and path not in self.written:
                path.unlink()

    def script(self, ran: Ran) -> None:
        """The page of a lesson or lab, its pictures, and what it offers to take away."""
        folder = "labs" if is_lab(ran.path) else "lessons"

        def keep(name: str, data: bytes) -> str:
            self.write(f"pictures/{name}", data)
            return f"../pictures/{name}"

        here = f"{folder}/{ran.path.stem}"
        text = script_page.page(ran, self.links(here), keep, self.plays)
        if self.quick and is_lab(ran.path):
            text += f"\n{words.QUICK}\n"
        self.write(f"{here}.md", text)
        for line, walk in ran.traces.items():
            if walk:
                self.write(f"_extra/traces/{ran.path.stem}_{line}.html", walk)
        below = "downloads/" + "labs/" * is_lab(ran.path) + ran.path.stem
        self.write(f"{below}.py", ran.path.read_bytes())
        self.write(f"{below}.ipynb", notebook.text(ran))

    def front(self) -> None:
        """The first page: the first path, all lessons, and the questions that they answer."""
        course, links = self.course, self.links("index")
        first = course.first_path
        rest = [n for n in course.whole_path if n not in first]
        heads = {n: cells.load(path) for n, path in course.lessons.items()}
        minutes = sum(heads[n].head.minutes for n in first)
        parts = [words.WELCOME, f"## The first path, {minutes} minutes"]
        parts += [_table(("lesson", "afterwards"), [
            (links.lesson(n, heads[n].title), links.prose(heads[n].head.afterwards)) for n in first
        ])]  # fmt: skip
        parts += ["## Then, in this order"]
        parts += [_table(("lesson", "its question"), [
            (links.lesson(n, heads[n].title), links.prose(heads[n].head.question)) for n in rest
        ])]  # fmt: skip
        parts += ["## Single questions"]
        parts += ["\n".join(f"- {plain(q)} {links.lesson(n, f'Lesson {n}')}"
                            for q, n in course.questions.items())]  # fmt: skip
        stem = {n: f"lessons/{path.stem}" for n, path in course.lessons.items()}
        others = [*words.OTHERS, *["benchmarks"] * self.benchmarks()]
        parts += [
            toctree([stem[n] for n in first], "The first path"),
            toctree([stem[n] for n in rest], "And then"),
            toctree(others, "Beside the lessons"),
        ]
        self.write("index.md", "\n\n".join(parts) + "\n")
        self.write("running.md", words.RUNNING)

    def simulations(self, told: dict[str, dict[str, str]]) -> None:
        """The page of all simulations; to be written before the lessons that show them."""
        self.plays = {name: one["title"] for name, one in told.items()}
        parts = [words.SIMULATIONS]
        for name, one in told.items():
            self.write(f"_extra/simulations/{name}.html", one["page"])
            parts += [f"## {plain(one['title'])}", plain(one["question"])]
            parts += [script_page.simulation(name, one["title"], "")]
        self.write("simulations.md", "\n\n".join(parts) + "\n")

    def lab_index(self) -> None:
        """The list of the labs."""
        titles = {name: cells.load(path).title for name, path in self.course.labs.items()}
        text = [
            words.LABS,
            toctree(list(titles), hidden=False),
        ]
        self.write("labs/index.md", "\n\n".join(text) + "\n")

    def exercise_pages(self) -> None:
        """A page for each exercise, and their list."""
        rows = []
        for name, one in self.exercises.items():
            links = self.links(f"exercises/{name}")
            lesson = links.lesson(one.lesson, f"lesson {one.lesson}")
            about = one.doc.partition("\n")[2].strip()
            command = f"python -m lessons exercise {name}"
            hints = [folded(f"Hint {n}", links.prose(hint)) for n, hint in enumerate(one.hints, 1)]
            parts = [
                f"# {plain(one.title)}",
                f"Level: {one.level}. It belongs to {lesson}.",
                links.prose(about),
                "## What you are given",
                f"`{command}` writes this file for you; the same command again checks it.",
                code(one.stub(command)),
                *(["## Hints", *hints] if hints else []),
                folded("A solution", code(one.solution)),
            ]
            self.write(f"exercises/{name}.md", "\n\n".join(p for p in parts if p) + "\n")
            rows.append((f"[{plain(one.title)}]({name}.md)", one.level, lesson))
        text = [
            words.EXERCISES,
            _table(("exercise", "level", "belongs to"), rows),
            toctree(list(self.exercises)),
        ]
        self.write("exercises/index.md", "\n\n".join(text) + "\n")

    def claims(self, judged: dict[str, dict]) -> None:
        """The pages of claims, and the errata of each source."""
        pages = sorted(judged)
        for name in pages:
            self.write(f"claims/{name}.md", claims_page.page(judged[name], self.links("claims/x")))
        verdicts = [verdict for name in pages for verdict in judged[name]["verdicts"]]
        sources = dict.fromkeys(verdict["claim"]["source"] for verdict in verdicts)
        errata = {source: "errata-" + "-".join(source.split()) for source in sources}
        for source, name in errata.items():
            text = claims_page.errata(source, verdicts, self.links("claims/x"))
            self.write(f"claims/{name}.md", text)
        self.write("claims/index.md", "\n\n".join([
            words.CLAIMS,
            "## Errata, by source", toctree(list(errata.values()), hidden=False),
            "## All claims, by chapter", toctree(pages, hidden=False),
        ]) + "\n")  # fmt: skip

    def glossary(self) -> None:
        """The words, and the lessons that explain them."""
        links = self.links("glossary")
        terms = "\n\n".join(
            f"{term}\n  {links.prose(plain(told))} ({links.lesson(n, f'lesson {n}')})"
            for term, (n, told) in self.course.glossary.items()
        )
        self.write("glossary.md", f"# Glossary\n\n{fence('{glossary}', terms)}\n")

    def reference(self) -> None:
        """A page a module."""
        for name in reference.MODULES:
            self.write(f"reference/{name}.md", reference.page(name))
        text = [
            words.REFERENCE,
            toctree(list(reference.MODULES), hidden=False),
        ]
        self.write("reference/index.md", "\n\n".join(text) + "\n")

    def benchmarks(self) -> bool:
        """The page of the benchmarks, which a checkout has. Returns whether there is one."""
        page, picture = ROOT / "tests/benchmarks/README.md", ROOT / "figures/benchmarks.png"
        if not page.exists():
            return False
        self.write("pictures/benchmarks.png", picture.read_bytes())
        link = "[The run as a picture](../../figures/benchmarks.png)"
        text = page.read_text(encoding="utf-8").replace(link, "Below is the run as a picture")
        shown = fence("{image} pictures/benchmarks.png", ":alt: The benchmarks, bar by bar")
        self.write("benchmarks.md", f"{self.links('benchmarks').prose(text)}\n\n{shown}\n")
        return True


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    bars = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in bars)
