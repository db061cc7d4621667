"""Verdicts on claims: each that could come out otherwise brings a case in which it does."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed.lesson.claims import corrected, given, measured, reproduced, undecided
from scratch_embed.lesson.claims.judging import NotTested, Page, judging
from scratch_embed.lesson.claims.ledger import Claim
from scratch_embed.lesson.claims.pages import counts_text, errata_text, page_text


def claim(id, printed=""):
    return Claim(id, "ten-chapter text", "ch0", "hand-calc", f"statement of {id}", printed)


CLAIMS = {c.id: c for c in (claim("size", "18"), claim("rows", "0.5; 2"), claim("said"))}


@pytest.fixture
def page():
    with judging(Page(CLAIMS)) as made:
        yield made


def test_the_five_verdicts(page):
    reproduced("size", lambda v, d: v * d, 6, 3, counter=(6, 4))
    corrected("rows", lambda x: x, np.array([0.5, 3.0]), counter=np.array([0.5, 2.0]), because="3")
    measured("said", lambda r: r > 1, 2.0, counter=0.5, because="2 is more than 1", lab="size")
    assert [v.word for v in page.verdicts] == ["reproduced", "corrected", "measured"]
    assert page.verdicts[0].computed == "18" and page.verdicts[1].told == "3"
    assert page.verdicts[0].as_json()["verdict"] == "reproduced"
    assert "1 reproduced, 1 measured, 1 corrected, 0 given, 0 open: 3 claims" == counts_text(
        page.verdicts
    )
    text = page_text("Page", page)
    assert 'printed "18", computed 18' in text and "lab: size" in text
    assert "right: [0.5, 3]: 3" in errata_text("ten-chapter text", page.verdicts)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: reproduced("size", lambda v: v, 17, counter=1), "not what is printed"),
        (lambda: reproduced("size", lambda v: v > 3, 1, counter=5), "came out False, which is not"),
        (lambda: reproduced("size", lambda v: 18, 1, counter=2), "counter-case does not turn"),
        (lambda: corrected("size", lambda v: v, 18, counter=1, because="x"), "as printed"),
        (lambda: corrected("size", lambda v: v, 17, counter=1, because="x"), "does not turn"),
        (lambda: measured("said", bool, 1, counter=2, because="x"), "does not turn"),
        (lambda: measured("said", bool, 0, counter=1, because="x"), "says otherwise"),
    ],
)
def test_what_is_not_borne_out_is_no_verdict(page, call, message):
    with pytest.raises(NotTested, match=message):
        call()
    assert page.verdicts == []


def test_a_lab_may_contradict(page):
    measured("said", bool, 0, counter=1, because="it is nothing", bears_out=False)
    assert page.verdicts[0].word == "measured"


def test_words_are_wanted_and_ids_known_and_single(page):
    with pytest.raises(ValueError, match="source must be a sentence"):
        given("said", " ")
    with pytest.raises(ValueError, match="'sad' is not in claims.csv"):
        given("sad", "a definition")
    undecided("said", "no such text is here")
    with pytest.raises(ValueError, match="judged before"):
        given("said", "a definition")
    with pytest.raises(ValueError, match="no printed figure"):
        reproduced("said", lambda: 3, counter=())
    with pytest.raises(ValueError, match="no part of"):
        reproduced("size", lambda v: v, 6, counter=7, printed="6")


def test_a_verdict_outside_a_page_is_refused():
    with pytest.raises(RuntimeError, match="python -m lessons claims"):
        given("said", "a definition")
