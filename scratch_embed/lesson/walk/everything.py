"""`python -m lessons all`: every lesson, lab and page of claims, quietly, a line each.

They are shared out to as many processes as there are cores. What belongs together runs in one
process, so that a page of claims finds the values of its lesson without running it again; its
verdict stands in the line of that lesson.
"""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import as_completed
from dataclasses import dataclass, field
from pathlib import Path

from scratch_embed.lesson.claims.judging import Verdict
from scratch_embed.lesson.claims.pages import counts_text, judge_page, run_quietly
from scratch_embed.lesson.tools import is_lab
from scratch_embed.lesson.walk.course import Course
from scratch_embed.look.terminal import paint
from scratch_embed.workers import workers

KINDS = {"labs": "lab", "claims": "claims"}  # by folder; whatever else is a lesson
USES = re.compile(r'values_of\(\s*"([\w/]+)"')


@dataclass
class Outcome:
    """How the run of one file ended."""

    path: Path
    good: bool
    told: str  # a few words
    seconds: float = 0.0
    trouble: str = ""  # what is wrong, in full
    verdicts: list[Verdict] = field(default_factory=list)
    printed: list[tuple[str, str]] = field(default_factory=list)  # (kind, text) of each cell
    questions: list = field(default_factory=list)  # a `Question` each

    @property
    def kind(self) -> str:
        return KINDS.get(self.path.parent.name, "lesson")

    def line(self, page: Outcome | None = None) -> str:
        """kind  name  seconds  a few words; behind a lesson, those of its page of claims."""
        told = self.words() + (f"; {page.words()}, {page.seconds:.1f} s" if page else "")
        return f"  {self.kind:<6}  {self.path.stem:<26} {self.seconds:5.1f} s  {told}"

    def words(self) -> str:
        return self.told if self.good else paint(self.told, "red")


def run_everything(course: Course) -> list[Outcome]:
    """Run the whole course, printing a line when a file is through. Returns the outcomes."""
    groups = together(course)
    outcomes = []
    with workers(len(groups)) as pool:
        for ended in as_completed([pool.submit(run_group, group) for group in groups]):
            outcomes += ended.result()
            print("\n".join(lines(ended.result())), flush=True)
    return outcomes


def lines(outcomes: list[Outcome]) -> list[str]:
    """A line for each; a page of claims stands in that of the first lesson that it uses."""
    lessons = {outcome.path.stem for outcome in outcomes if outcome.kind == "lesson"}
    page_of, alone = {}, []
    for page in outcomes:
        if page.kind == "claims":
            free = [n for n in USES.findall(_text(page.path)) if n in lessons and n not in page_of]
            page_of.update({free[0]: page} if free else {})
            alone += [] if free else [page.line()]
    others = (outcome for outcome in outcomes if outcome.kind != "claims")
    return [outcome.line(page_of.get(outcome.path.stem)) for outcome in others] + alone


def together(course: Course) -> list[list[Path]]:
    """The files of the course in groups, the longest first; a page stands behind what it uses."""
    pages = list(course.pages.values())
    group_of = {path: [path] for path in [*course.lessons.values(), *course.labs.values()]}
    for page in pages:
        used = [course.folder / f"{name}.py" for name in USES.findall(_text(page))]
        joined: list[Path] = []
        for path in used:
            joined += [p for p in group_of.get(path, []) if p not in joined]
        joined.append(page)
        for path in joined:
            group_of[path] = joined
    groups = {id(group): group for group in group_of.values()}.values()
    return sorted(groups, key=_effort, reverse=True)


def _effort(paths: list[Path]) -> int:
    """How long these files may take, roughly: a lab trains models many times over."""
    return sum(3 if is_lab(path) else 1 for path in paths)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def run_group(paths: list[Path]) -> list[Outcome]:
    """Run these files one after the other in this process."""
    return list(_outcomes(paths))


def _outcomes(paths: list[Path]) -> Iterator[Outcome]:
    for path in paths:
        start = time.perf_counter()
        try:
            outcome = _judged(path) if path.parent.name == "claims" else _ran(path)
        except Exception:  # noqa: BLE001 - whatever goes wrong is reported, and the others go on
            trouble = traceback.format_exc(limit=-3)
            outcome = Outcome(path, False, "CRASHED", trouble=trouble)
        outcome.seconds = time.perf_counter() - start
        yield outcome


def _ran(path: Path) -> Outcome:
    record, printed = run_quietly(path)
    wrong = [row.name for row in record.rows if not row.holds]
    trouble = "\n".join([failure.text for failure in record.failures] + wrong)
    if record.results:  # a lab
        claims = [claim for result in record.results for claim in result.claims]
        told = f"{sum(c['holds'] for c in claims)} of {len(claims)} may be claimed"
    else:
        told = f"{len(record.rows) - len(wrong)} of {len(record.rows)} hold"
    told = "CRASHED" if record.failures else told
    return Outcome(
        path, record.passed, told, trouble=trouble, printed=printed, questions=record.questions
    )


def _judged(path: Path) -> Outcome:
    page = judge_page(path)
    told = f"{len(page.verdicts)} claims"
    if page.calls:
        told = f"{sum(not call.why for call in page.calls)} of {len(page.calls)} printed calls run"
    return Outcome(path, True, told, verdicts=page.verdicts)


def closing(outcomes: list[Outcome]) -> str:
    """What went wrong, in full, and one line for everything."""
    lines = []
    for outcome in outcomes:
        if not outcome.good:
            lines += ["", paint(f"{outcome.path.name}", "red"), outcome.trouble]
    verdicts = [verdict for outcome in outcomes for verdict in outcome.verdicts]
    good = sum(outcome.good for outcome in outcomes)
    lines += ["", f"  {good} of {len(outcomes)} run through. Claims: {counts_text(verdicts)}."]
    return "\n".join(lines)
