"""`python -m lessons claims`: the pages of verdicts, the counts, and the errata of each source.

A page is a plain script in `lessons/claims/`. It takes the values of its lesson or lab with
`values_of("ch00_lookup")`, which runs that script once, quietly, and judges each claim.
"""

from __future__ import annotations

import ast
import io
import runpy
from collections import Counter
from collections.abc import Iterable
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

from scratch_embed.lesson.claims.calls import Call
from scratch_embed.lesson.claims.judging import WORDS, Page, Verdict, judging
from scratch_embed.lesson.claims.ledger import load
from scratch_embed.lesson.record import current
from scratch_embed.lesson.tools import course_folder, is_lab
from scratch_embed.look.render import markdown
from scratch_embed.look.terminal import paint, width, wrap

if TYPE_CHECKING:
    from scratch_embed.lesson.record import Record

COLOURS = {"reproduced": "green", "measured": "green", "corrected": "yellow", "given": "dim",
           "open": "magenta"}  # fmt: skip


def values_of(name: str) -> SimpleNamespace:
    """The names that a lesson or lab leaves behind, after one quiet run in this process.

    name: "ch00_lookup", or "labs/tied_or_untied" (in its quick size). Raises RuntimeError when the
    run did not pass.
    """
    record = run_quietly(folder() / f"{name}.py").record
    if not record.passed:
        raise RuntimeError(f"{name} did not pass, so nothing can be judged by its values")
    return SimpleNamespace(**record.names)


class Quiet(NamedTuple):
    """A run without output: its record, and what it would have printed, cell by cell."""

    record: Record
    printed: list[tuple[str, str]]  # ("markdown" or "code", text); at the end ("summary", text)


@cache
def run_quietly(path: Path) -> Quiet:
    """Run a lesson or lab without output, once a process. A lab takes its quick size."""
    from scratch_embed.lesson.record import Options
    from scratch_embed.lesson.walk import cells, runner

    lesson = cells.load(path)
    record = runner.new_record(lesson, Options(quick=is_lab(path)))
    printed, out = [], io.StringIO()
    with redirect_stdout(out):
        for cell in runner.play(lesson, record):
            printed.append((cell.kind, out.getvalue()))
            out.seek(0)
            out.truncate()
    return Quiet(record, [*printed, ("summary", out.getvalue())])


_folder: list[Path] = []


def folder() -> Path:
    """The lessons whose claims are being judged; else those that the lab which runs belongs to."""
    if _folder:
        return _folder[-1]
    lab = current().path
    return lab.parent.parent if lab else course_folder()  # in a notebook nobody knows the path


def judge_page(path: Path) -> Page:
    """Run one claims file; its verdicts, and its calls, in the order in which they were given."""
    page = Page({claim.id: claim for claim in load(path.with_name("claims.csv"))})
    _folder.append(path.parent.parent)
    try:
        with judging(page):
            runpy.run_path(str(path), run_name="claims")
    finally:
        _folder.pop()
    return page


def heading(path: Path) -> tuple[str, str]:
    """The first line of a page's docstring, and what the docstring says below it."""
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.stem
    title, _, below = doc.partition("\n")
    return title.rstrip("."), below.strip()


def page_text(title: str, page: Page, below: str = "") -> str:
    """A page as text: each claim with its source named, its print, its verdict and the reason.

    Then the printed Python that was run.
    """
    lines = [*_underlined(title), *([markdown(below), ""] if below else [])]
    for verdict in page.verdicts:
        lines += _told(verdict)
    return "\n".join(lines + _calls_told(page.calls))


def _underlined(title: str) -> list[str]:
    lines = wrap(title, width())
    return [*(paint(line, "bold") for line in lines), "-" * max(map(len, lines)), ""]


def _told(verdict: Verdict) -> list[str]:
    claim, indent = verdict.claim, " " * 12
    head = f"{claim.source}, {claim.section}: {claim.statement}"
    figures = [f'printed "{claim.printed}"' if claim.printed else "", verdict.computed]
    figures = ", computed ".join(text for text in figures if text)
    word = f"{verdict.word:<11} "
    lines = wrap(head, width(), paint(word, COLOURS[verdict.word]), indent)
    for text in filter(None, (figures, verdict.told, verdict.lab and f"lab: {verdict.lab}")):
        lines += wrap(text, width(), indent)
    return [*lines, ""]


def _calls_told(calls: list[Call]) -> list[str]:
    """What came of each call beside what is printed; then a sentence for those not made."""
    lines, indent = [], " " * 12
    for call in calls:
        if not call.why:
            word = "as printed" if call.same else "not so"
            first = paint(f"{word:<12}", "green" if call.same else "yellow")
            head = f"{call.claim.source}, {call.claim.section}: {call.claim.statement}"
            lines += wrap(head, width(), first, indent)
            lines += wrap(f'says "{call.says}"; {call.library}: {call.came}', width(), indent)
    waiting = Counter(call.why for call in calls if call.why)
    for why, times in waiting.items():
        lines += ["", *wrap(f"Not run here, {times} of {len(calls)} calls: {why}.", width())]
    return [*lines, ""] if calls else []


def counts_text(verdicts: Iterable[Verdict]) -> str:
    """reproduced 301, measured 24, ...: how many of each."""
    counts = Counter(verdict.word for verdict in verdicts)
    return ", ".join(f"{counts[word]} {word}" for word in WORDS) + f": {counts.total()} claims"


def errata_text(source: str, verdicts: Iterable[Verdict]) -> str:
    """What one source prints that is wrong, in the order of the source."""
    wrong = [v for v in verdicts if v.claim.source == source and v.word == "corrected"]
    wrong.sort(key=lambda verdict: verdict.claim.place)
    title = f"Errata: {source} ({len(wrong)})"
    lines = _underlined(title)
    for verdict in wrong:
        printed = f' (printed "{verdict.claim.printed}")' if verdict.claim.printed else ""
        lines += wrap(f"{verdict.claim.section}: {verdict.claim.statement}{printed}", width(), "")
        right = f"{verdict.computed}: " if verdict.computed else ""
        lines += [*wrap(f"right: {right}{verdict.told}", width(), "    "), ""]
    return "\n".join(lines)
