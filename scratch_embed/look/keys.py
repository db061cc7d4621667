"""The keys of whoever walks, as data: one table for the stepper and the trace, and how one is read.

    key = read(["on", "back", "step", "quit"], prompt="2/9 ")
    key.name, key.text                  "step", "12"

On a terminal a key acts at once; only where text follows (a step's number, a word to search for)
does Enter end it. From a pipe, or where TERM=dumb, each line is a key, and an empty one is Enter.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from scratch_embed.look.terminal import width, wrap


class Key(NamedTuple):
    """One thing that a person can ask for, and what is pressed for it."""

    name: str
    press: tuple[str, ...]  # the first is the one that is told
    does: str  # in the line at the foot of the screen
    help: str


KEYS = (
    Key("on", ("Enter", " "), "on", "go on: the next line, or the next step"),
    Key("back", ("b", "Backspace", "PageUp"), "back", "the screen before (nothing runs)"),
    Key("open", ("o",), "open", "open the line: the parts that it is made of"),
    Key("close", ("c",), "close", "close it again"),
    Key("into", ("i",), "into", "into the operation: the lines of code that ran, one an Enter"),
    Key("out", ("u",), "up", "up again, out of the operation"),
    Key("view", ("v",), "view code", "view the code of this step, or put it away"),
    Key("up", ("Up",), "entry", "the entry above"),
    Key("down", ("Down",), "", "the entry below"),
    Key("left", ("Left",), "", "the entry to the left"),
    Key("right", ("Right",), "", "the entry to the right"),
    Key("sections", ("s",), "sections", "the sections, to jump to one"),
    Key("step", ("g", *"0123456789"), "go to", "go to a step: its number, then Enter"),
    Key("search", ("/",), "search", "search for a word: lists the steps that have it"),
    Key("python", ("p",), "Python", "Python on what is known; exit() or Ctrl-D comes back"),
    Key("again", ("r",), "run again", "run this step again, later ones as you come to them"),
    Key("quit", ("q", "Ctrl-D"), "quit", "quit"),
    Key("help", ("?", "h"), "help", "this help"),
)
BY_NAME = {key.name: key for key in KEYS}
TYPED = ("step", "search")  # text follows
REDRAW = "redraw"  # the name of what comes when the window has another size
UNKNOWN = "unknown"

SEQUENCES = {
    "\r": "Enter", "\n": "Enter", "\t": "Tab", "\x7f": "Backspace", "\x08": "Backspace",
    "\x04": "Ctrl-D",
    "\x1b[A": "Up", "\x1b[B": "Down", "\x1b[C": "Right", "\x1b[D": "Left", "\x1b[5~": "PageUp",
    "\x1bOA": "Up", "\x1bOB": "Down", "\x1bOC": "Right", "\x1bOD": "Left", "\x1b[6~": "Enter",
    "\xe0H": "Up", "\xe0P": "Down", "\xe0M": "Right", "\xe0K": "Left", "\xe0I": "PageUp",
    "\xe0Q": "Enter", "\x1a": "Ctrl-D",
    "\x00": "Ctrl-D",  # as Linux tells of one that was typed while lines were read
}  # fmt: skip


class Pressed(NamedTuple):
    """What a person asked for, and the text that was typed with it."""

    name: str
    text: str = ""


CTRL_C, END = Pressed(UNKNOWN, "Ctrl-C"), Pressed("quit")  # END: of the input


def hint(names: Iterable[str], columns: int | None = None) -> str:
    """The line at the foot of the screen: as many keys as it has room for, help last."""
    columns = width() if columns is None else columns
    told = [f"{BY_NAME[name].press[0]} {BY_NAME[name].does}" for name in names if name != "help"]
    told = [text.replace("Up", "arrows") for text in told if not text.endswith(" ")]
    while told and len("   ".join([*told, "? help"])) > columns:
        told.pop()
    return "   ".join([*told, "? help"])


def help_lines(names: Iterable[str], columns: int | None = None) -> list[str]:
    """What each of these keys does, a line for each where there is room."""
    columns = width() if columns is None else columns
    lines = []
    for name in (*(name for name in names if name != "help"), "help"):
        key = BY_NAME[name]
        lines += wrap(key.help, columns, f"  {key.press[0]:<6} ")
    return lines


def meaning(press: str, names: Iterable[str]) -> str:
    """The name of what a press asks for, among these; UNKNOWN for any other."""
    found = (name for name in (*names, "help") if press in BY_NAME[name].press)
    return next(found, UNKNOWN)


def read(
    names: Iterable[str], prompt: str = "> ", drawn: os.terminal_size | None = None
) -> Pressed:
    """Wait for one of these keys. The end of input is "quit".

    drawn: the window's size when the page was drawn, if that was before now.
    Another window size gives the name REDRAW; any other key, and Ctrl-C, give UNKNOWN, with the key
    as text.
    """
    names = tuple(names)
    try:
        return _read_press(names, prompt, drawn) if at_once() else _read_line(names, prompt)
    except (EOFError, RuntimeError):  # the second: no standard input at all, as by <&-
        return END
    except KeyboardInterrupt:
        return CTRL_C


def refused(pressed: Pressed, why: Mapping[str, str] | None = None) -> str:
    """A sentence on a key that has no meaning here. why: {the name of a key: why it has none}."""
    name = meaning(pressed.text, BY_NAME)
    if why and name in why:
        return why[name]
    return f"{pressed.text} is no key here: ? lists them, q quits."


def at_once() -> bool:
    """Whether single presses can be read: both ends are a terminal that knows how to move."""
    dumb = os.environ.get("TERM") == "dumb"
    return not dumb and is_terminal(sys.stdin) and is_terminal(sys.stdout)


def is_terminal(stream) -> bool:
    """Whether a stream is a terminal. None, as Python calls one that is closed, is not."""
    return bool(getattr(stream, "isatty", lambda: False)())


def _read_line(names: tuple[str, ...], prompt: str) -> Pressed:
    text = input(prompt).strip()
    press = text or "Enter"
    name = meaning(press if press == "Enter" else press[0].lower(), names)
    if name == "step":
        return Pressed(name, text.lower().removeprefix("g").strip())
    if name == "search":
        return Pressed(name, text[1:].strip())
    return Pressed(name if len(text) < 2 else UNKNOWN, text)


def _read_press(names: tuple[str, ...], prompt: str, drawn: os.terminal_size | None) -> Pressed:
    size = drawn or shutil.get_terminal_size()
    print(prompt, end="", flush=True)
    with _presses() as next_press:
        while (press := next_press()) is None:
            if shutil.get_terminal_size() != size:
                return Pressed(REDRAW)
    press = SEQUENCES.get(press, press)
    name = meaning(press, names)
    if name not in TYPED:
        return Pressed(name, press)
    first = press if press.isdecimal() else ""
    with echo(True):
        return Pressed(name, (first + input(f"\r{BY_NAME[name].does}: {first}")).strip())


def forget() -> None:
    """Let go of what was typed on a terminal and not read yet."""
    if os.name != "nt" and at_once():
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


@contextmanager
def echo(on: bool) -> Iterator[None]:
    """In this block a terminal shows what is typed, or does not: Enter would scroll a page away."""
    if os.name == "nt" or not at_once():
        yield
        return
    import termios

    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    now = [*before]
    now[3] = now[3] | termios.ECHO if on else now[3] & ~termios.ECHO
    termios.tcsetattr(file, termios.TCSADRAIN, now)
    try:
        yield
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)


@contextmanager
def _presses() -> Iterator:
    """A function that waits a moment for a press: its characters, or None."""
    if os.name == "nt":
        yield _windows_press
        return
    import select
    import termios
    import tty

    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)

    def press() -> str | None:
        if not select.select([file], [], [], 0.2)[0]:
            return None
        got = os.read(file, 1)
        if not got:
            raise EOFError
        if got == b"\x1b":  # the rest of an arrow key is there already
            while select.select([file], [], [], 0.02)[0] and len(got) < 6:
                got += os.read(file, 1)
                if got[-1:].isalpha() and got != b"\x1bO" or got[-1:] == b"~":
                    break
        return got.decode("utf-8", "replace")

    try:
        tty.setcbreak(file, termios.TCSADRAIN)  # drain: what was typed ahead is not lost
        yield press
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)


def _windows_press() -> str | None:
    import msvcrt

    if not msvcrt.kbhit():
        time.sleep(0.05)
        return None
    got = msvcrt.getwch()
    if got == "\x03":
        raise KeyboardInterrupt
    return "\xe0" + msvcrt.getwch() if got in "\x00\xe0" else got
