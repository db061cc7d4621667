"""Printed calls: made where their library is, told in a sentence where it is not."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from scratch_embed.lesson.claims import left, ran
from scratch_embed.lesson.claims.judging import Page, judging
from scratch_embed.lesson.claims.ledger import Claim
from scratch_embed.lesson.claims.pages import judge_page, page_text

PRINTED_PYTHON = Path(__file__).parents[3] / "lessons" / "claims" / "printed_python.py"
WRONG_IN_PRINT = {  # by the verdicts of their own pages
    "000-ch0-torch-equivalent-init",
    "000-ch5-class-undefined-helper",
    "000-ch5-class-init",
    "000-ch9-quick-scale",
}


@pytest.fixture
def page():
    claim = Claim("shape", "reference page", "code", "api-example", "a shape", "(2, 3)")
    with judging(Page({"shape": claim})) as made:
        yield made


@pytest.fixture
def library(monkeypatch):
    """A library made for the test, which can be imported by name."""
    made = ModuleType("peer")
    made.__version__, made.shape = "1.5", lambda rows: (rows, 3)
    monkeypatch.setitem(sys.modules, "peer", made)


def test_what_came_stands_beside_what_is_printed(page, library):
    ran("shape", "peer", lambda peer: peer.shape(2))
    ran("shape", "peer", lambda peer: peer.shape(4))
    ran("shape", "peer", lambda peer: peer.shape(4), says="(4, 3)")
    ran("shape", "peer", lambda peer: peer.missing(4))
    assert [call.same for call in page.calls] == [True, False, True, False]
    assert page.calls[3].came.startswith("AttributeError: module 'peer' has no attribute")
    text = page_text("Page", page)
    assert 'says "(2, 3)"; peer 1.5: (4, 3)' in text
    assert text.count("as printed") == 2 and text.count("not so") == 2 and "Not run" not in text


def test_an_absent_library_gives_one_sentence(page, monkeypatch):
    monkeypatch.setitem(sys.modules, "peer", None)  # so Python refuses to import it
    for _ in range(2):
        ran("shape", "peer", lambda peer: peer.shape(2))
    left("shape", "other", "it fetches a file")
    text = " ".join(page_text("Page", page).split())
    assert "Not run here, 2 of 3 calls: peer is not installed (the extra 'peers'" in text
    assert "Not run here, 1 of 3 calls: it fetches a file." in text
    assert "as printed" not in text and "not so" not in text


def test_python_by_itself_needs_no_library(page):
    ran("shape", None, lambda: (2, 3))
    assert page.calls[0].library == "Python" and page.calls[0].same


@cache
def _page():
    return judge_page(PRINTED_PYTHON)


def _calls(library):
    return [call for call in _page().calls if call.library.startswith(library)]


def test_what_needs_no_peer_prints_what_is_printed():
    calls = _calls("numpy") + _calls("Python")
    assert len(calls) == 5 and all(call.same for call in calls)


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed, see setup.cfg"
)
def test_torch_prints_what_is_printed_but_where_the_print_is_wrong():
    calls = _calls("torch")
    assert len(calls) == 19
    assert {call.claim.id for call in calls if not call.same} == WRONG_IN_PRINT
