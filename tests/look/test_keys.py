"""The keys: one table, and how one is read from a terminal, a pipe, a dumb terminal."""

from __future__ import annotations

import io
import sys

import pytest

from scratch_embed.look import keys
from scratch_embed.look.screen import Screen

ALL = [key.name for key in keys.KEYS]
SOME = ("on", "back", "step", "search", "quit")


def test_no_press_means_two_things():
    presses = [press for key in keys.KEYS for press in key.press]
    assert len(presses) == len(set(presses))
    told = [key.press[0] for key in keys.KEYS]
    assert all(press in " ".join(keys.help_lines(ALL, 60)) for press in told)


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_hint_and_help_fit(columns):
    assert len(keys.hint(ALL, columns)) <= columns and keys.hint(ALL, columns).endswith("? help")
    assert max(map(len, keys.help_lines(ALL, columns))) <= columns
    assert "Enter on" in keys.hint(ALL, columns) and "Down" not in keys.hint(ALL, columns)


@pytest.mark.parametrize(
    "line, expected",
    [
        ("", ("on", "")),
        ("b", ("back", "b")),
        ("B ", ("back", "B")),
        ("12", ("step", "12")),
        ("g 3", ("step", "3")),
        ("/softmax", ("search", "softmax")),
        ("?", ("help", "?")),
        ("back", ("unknown", "back")),
        ("o", ("unknown", "o")),  # not among the keys of this walk
    ],
)
def test_a_line_from_a_pipe_is_a_key(monkeypatch, line, expected):
    monkeypatch.setattr(sys, "stdin", io.StringIO(line + "\n"))
    assert keys.read(SOME) == expected


@pytest.mark.parametrize("stdin", [io.StringIO(""), None])  # None: closed before, as by <&-
def test_the_end_of_input_quits(monkeypatch, stdin):
    monkeypatch.setattr(sys, "stdin", stdin)
    assert keys.read(SOME).name == Screen().key(SOME).name == "quit"
    assert Screen().ask("?") == ""


def test_ctrl_c_is_no_key_and_stops_nothing(monkeypatch):
    def interrupted(prompt):
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupted)
    pressed = keys.read(SOME)
    assert pressed.name == keys.UNKNOWN and "q quits" in keys.refused(pressed)
    assert keys.refused(keys.Pressed(keys.UNKNOWN, "o"), {"open": "It is open."}) == "It is open."


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")
def test_presses_on_a_terminal_act_at_once(monkeypatch):
    import os

    main, other = os.openpty()
    with os.fdopen(other, "r+b", buffering=0) as raw, io.TextIOWrapper(raw) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        monkeypatch.setattr(keys, "at_once", lambda: True)
        monkeypatch.setattr("builtins.input", lambda prompt: "2")
        typed = [b"\n", b"b", b"\x1b[A", b"\x1b[5~", b"\x04", b"7", b"z"]
        found = []
        for press in typed:
            os.write(main, press)
            found.append(keys.read(ALL, ""))
    assert [pressed.name for pressed in found] == [
        "on", "back", "up", "back", "quit", "step", "unknown"]  # fmt: skip
    assert found[5].text == "72" and found[6].text == "z"
    os.close(main)
