"""Worked byte pair encoding: what is shown is what is counted, ties and colours included."""

from __future__ import annotations

import pytest

from scratch_embed.lesson import worked
from scratch_embed.lesson.worked.bpe import FEW, MANY, trained
from scratch_embed.text import toy
from scratch_embed.text.pairs import merge_steps


def test_three_merges_equal_those_of_the_library_ties_included(capsys):
    tokens = list(toy.CAT)
    for expected in merge_steps(toy.CAT, 3):
        step = worked.merge_pair("merge", tokens)
        assert step == expected
        tokens = step.tokens
    out = capsys.readouterr().out
    assert "30 tokens, 29 pairs, 15 different" in out and "4x a+t" in out
    assert "merge a+t (no other is as often)" in out
    assert "merge t+h (tied with h+e, e+\u00b7, at+\u00b7; it comes first in the text)" in out


def test_every_pair_is_shown_with_its_count(capsys):
    worked.merge_pair("banana", "banana")
    out = capsys.readouterr().out
    assert "2x a+n n+a" in out and "1x b+a" in out and "  b an an a\n" in out


def test_one_token_has_no_pair():
    with pytest.raises(ValueError, match="tokens has 1 entries; a pair needs two"):
        worked.merge_pair("none", ["the"])


def test_pieces_stand_above_their_updates(capsys):
    worked.pieces("V = 9", [" un", b"\xc3h", "\ufffd"], [5, 1234, 0])
    above, below = capsys.readouterr().out.splitlines()
    assert above == "  V = 9 | \u00b7un | <c3>h | \ufffd"
    assert [above[below.index(n)] for n in ("5", "1,234", "0")] == ["\u00b7", "<", "\ufffd"]
    with pytest.raises(ValueError, match="2 parts and 1 updates"):
        worked.pieces("x", ["a", "b"], [1])


def test_colours_tell_how_often_a_row_was_trained(capsys, monkeypatch):
    assert [trained(n) for n in (0, FEW - 1, FEW, MANY - 1, MANY)] == [
        "red", "red", "yellow", "yellow", "blue"]  # fmt: skip
    monkeypatch.setattr("scratch_embed.look.terminal.coloured", lambda stream=None: True)
    worked.pieces("V", ["a", "b", "c"], [0, FEW, MANY])
    out = capsys.readouterr().out
    assert "\x1b[31ma\x1b[0m" in out and "\x1b[33mb\x1b[0m" in out and "\x1b[34mc\x1b[0m" in out
