"""The HTML of a trace: one file, the terminal's pages, and arrows that lead to screens."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from scratch_embed import Tensor
from scratch_embed.models import NextToken
from scratch_embed.trace import trace
from scratch_embed.trace.page import LEAST, MOST, screens

IDS = np.array([1, 3, 1])


def test_the_file_holds_every_step_and_needs_nothing_else(tmp_path):
    walk = trace(NextToken(5, 3, tied=True, rng=0).loss(IDS, IDS[::-1]))
    page = walk.html(tmp_path / "trace.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|src=|href=|@import", page)
    data = re.search(r'id="screens">(.*?)</script>', page, re.DOTALL)[1]
    every = json.loads(data)
    assert len(every) == len(walk) + 1
    for step, of_step in enumerate(every):
        assert of_step[0]["text"].startswith(walk.text(step))
        assert all(0 <= to < len(of_step) for screen in of_step for to in screen["to"].values())
    assert "agrees" in data and "DIFFERS" not in data


def test_arrows_lead_to_every_entry_of_a_small_step():
    x = Tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    walk = trace((x * x).sum())
    told = screens(walk, len(walk))
    assert len(told) == 12  # two parts of six entries
    assert len({screen.text for screen in told}) == 12
    wide = trace((Tensor(np.ones((9, 99)), requires_grad=True) * 2).sum())
    assert len(screens(wide, len(wide))) == MOST


def test_fewer_entries_can_be_chosen_where_a_nudge_computes_a_large_loss_again():
    E = Tensor(np.ones((3_000, 400)), requires_grad=True)
    walk = trace((E * 2).sum())
    forward, backward = 1, len(walk)
    assert len(screens(walk, forward)) == MOST > len(screens(walk, backward)) == LEAST


def test_names_cannot_break_out_of_the_page(tmp_path):
    a = Tensor(2.0, requires_grad=True, name="</script><script>alert(1)")
    page = trace(a * a).html(tmp_path / "t.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page and page.count("</script>") == 2


def test_a_trace_too_long_for_a_page_says_so(tmp_path):
    x = Tensor(1.0, requires_grad=True)
    y = x
    for _ in range(40):
        y = y + 0.5
    with pytest.raises(ValueError, match="80 steps and a page holds 60"):
        trace(y).html(tmp_path / "t.html")
    assert list(tmp_path.iterdir()) == []


def test_a_page_replaces_nothing_that_is_no_page(tmp_path):
    script, a = tmp_path / "train.py", Tensor([1.0, 2.0], requires_grad=True)
    script.write_text("three evenings of work", encoding="utf-8")
    with pytest.raises(ValueError, match="ends in '.py'; a page ends in .html or .htm"):
        trace((a * a).sum()).html(script)
    assert script.read_text(encoding="utf-8") == "three evenings of work"
