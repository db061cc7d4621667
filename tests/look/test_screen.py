"""What a screen does while something runs."""

from __future__ import annotations

import sys

from scratch_embed.lesson.walk.capture import Aside, Capture
from scratch_embed.look import keys
from scratch_embed.look.screen import Screen, noticing


def test_what_is_compiled_is_told_by_its_name_and_a_warning_passes(monkeypatch, capsys):
    monkeypatch.setattr(keys, "at_once", lambda: True)
    monkeypatch.setattr(keys.os, "name", "nt")  # no terminal here whose echo could be set
    told, capture = [], Capture(sys.stdout)
    with noticing(told.append):
        for stderr in (sys.stderr, Aside(capture)):  # the second: while a cell runs
            print("scratch_embed: compiling gather, once: it is kept in a/place\n", end="",
                  file=stderr)  # fmt: skip
            print("a warning", file=stderr)
    assert told == ["compiling gather, once ..."] * 2
    assert capture.take() == "a warning"
    assert capsys.readouterr().err == "a warning\n"


def test_what_is_typed_while_something_runs_is_dropped(monkeypatch):
    dropped, screen = [], Screen()
    monkeypatch.setattr(keys, "read", lambda *told: keys.END)
    monkeypatch.setattr(keys, "forget", lambda: dropped.append(True))
    screen.moves = True
    screen.key(["on"])
    assert not dropped
    screen.busy()
    screen.key(["on"])
    screen.key(["on"])
    assert dropped == [True]
