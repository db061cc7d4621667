"""The whole course, run once: what each lesson shows its learner, and the verdict on each claim."""

from __future__ import annotations

import io
import re
from collections import Counter
from contextlib import redirect_stdout
from itertools import groupby
from pathlib import Path

import pytest

from scratch_embed.lesson.answers import judge
from scratch_embed.lesson.claims.judging import WORDS
from scratch_embed.lesson.claims.ledger import load
from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.course import Course
from scratch_embed.lesson.walk.everything import closing, run_everything

ROOT = Path(__file__).parents[2]
COURSE = Course(ROOT / "lessons")
CLAIMS = load(ROOT / "lessons" / "claims" / "claims.csv")
TAUGHT = [path.stem for path in COURSE.lessons.values() if cells.load(path).head.minutes]
SCREEN = 24  # rows


@pytest.fixture(scope="module")
def outcomes():
    """Every lesson, quick lab and page of claims, as `python -m lessons all` runs them."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out):
        patch.chdir(ROOT)
        patch.setenv("COLUMNS", str(80))
        patch.setenv("PYTHONPATH", str(ROOT))
        ended = run_everything(COURSE)
        print(closing(ended))
    assert all(outcome.good for outcome in ended), out.getvalue()[-4000:]
    lines = out.getvalue().splitlines()
    assert len(lines) < 58  # and two that say where to begin
    assert [line for line in lines[:-1] if len(line) > 80] == []
    return {outcome.path.stem: outcome for outcome in ended}


@pytest.fixture(scope="module")
def verdicts(outcomes):
    return [verdict for outcome in outcomes.values() for verdict in outcome.verdicts]


@pytest.mark.parametrize("name", TAUGHT)
def test_a_run_fits_the_terminal(outcomes, name):
    printed = outcomes[name].printed
    wide = [line for _, text in printed for line in text.splitlines() if len(line) > 80]
    assert wide == []
    tall = [text for kind, text in printed if kind == "code" and text.count("\n") > SCREEN]
    assert tall == []


@pytest.mark.parametrize("name", TAUGHT)
def test_the_object_stands_in_the_first_two_screens(outcomes, name):
    rows = 0
    for kind, text in outcomes[name].printed:
        rows += text.count("\n")
        if kind == "code" and re.search(r"-?\d+(\.\d+)?\s+-?\d+|\[|\u00b7|\|", text):
            break
    assert rows <= 2 * SCREEN


@pytest.mark.parametrize("name", TAUGHT)
def test_a_question_comes_before_its_answer(outcomes, name):
    squeezed = " ".join("".join(text for _, text in outcomes[name].printed).split())
    assert outcomes[name].questions
    for question in outcomes[name].questions:
        assert question.shown, f"never answered: {question.text}"
        asked = squeezed.index(" ".join(question.text.split()))
        answer = " ".join(question.shown.split())
        assert f"= {answer}" in squeezed[asked:], f"not answered after it is asked: {answer}"
        value = answer.split(") ")[-1]
        if question.options is None and len(value) > 2:  # a small whole number stands anywhere
            told = re.search(rf"(?<![\d.,]){re.escape(value)}(?![\d,])", squeezed[:asked])
            assert not told, f"{value} stood there before: {question.text}"


@pytest.mark.parametrize("name", TAUGHT)
def test_an_answer_is_right_as_it_is_told_unit_and_all(outcomes, name):
    for question in outcomes[name].questions:
        typed = question.value if question.options else question.shown
        given = {"options": question.options, "tolerance": question.tolerance}
        asked = f"{question.text}{question.unit}"
        assert judge(typed, question.value, asked=asked, **given).right, (question.text, typed)


@pytest.mark.parametrize("name", TAUGHT)
def test_every_wrong_answer_has_its_reason(outcomes, name):
    """Each wrong option, and of each number at least one that is commonly given instead."""
    for question in outcomes[name].questions:
        if question.options:
            assert set(question.slips) == set(question.options) - {question.value}, question.text
        else:
            assert question.slips, question.text
        for wrong, why in question.slips.items():
            assert len(why) > 10 and why.endswith((".", "?")), why
            given = {"options": question.options, "tolerance": question.tolerance}
            if question.options or not str(wrong).startswith((">", "<")):
                assert not judge(str(wrong), question.value, **given).right, (question.text, wrong)


def test_the_list_of_claims_is_sound():
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS) >= 487
    assert all(claim.id and claim.source and claim.section and claim.statement for claim in CLAIMS)


def test_the_list_stands_in_the_order_of_the_sources():
    """So that the errata of a source come as its reader meets them."""
    places = [(claim.source, claim.section) for claim in CLAIMS]
    sections = [place for place, _ in groupby(places)]
    assert len(sections) == len(set(sections))
    assert [claim.place for claim in CLAIMS] == list(range(len(CLAIMS)))


def test_every_claim_is_judged_once(verdicts):
    judged = Counter(verdict.claim.id for verdict in verdicts)
    assert [id for id, times in judged.items() if times > 1] == []
    assert sorted({claim.id for claim in CLAIMS} - set(judged)) == []


def test_the_readme_tells_the_counts_as_they_are(verdicts):
    counts = Counter(verdict.word for verdict in verdicts)
    told = ", ".join(f"{counts[word]} {word}" for word in WORDS) + f": {len(verdicts)} claims"
    assert told in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_every_verdict_is_one_of_five_and_says_why(verdicts):
    assert {verdict.word for verdict in verdicts} <= set(WORDS)
    silent = [v.claim.id for v in verdicts if v.word != "reproduced" and not v.told]
    assert silent == []
