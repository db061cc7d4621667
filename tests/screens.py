"""Two screens that a test can read: one that a function answers, one at the end of a real terminal.

    Person(play)                        a Screen in this process, which only measures what it shows
    Terminal(command, 80, 24).walk(play)      another process in a pseudo-terminal of that size

`play(frame)` is the person: it answers with the name of a key, "open" or "step 12", or, where an
answer is wanted, with what is typed.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import NamedTuple

import pytest

from scratch_embed.look import keys
from scratch_embed.look.screen import Screen
from scratch_embed.look.terminal import visible

CTRL_C = "Ctrl-C"
CLEAR, CLOSE = b"\x1b[H\x1b[2J", b"\x1b[?1049l"
LONGEST = 60  # seconds that a screen may take on a busy machine; then the test fails
HINT = re.compile(r"(?:^|   )(\S+) ")  # "Enter on   b back   ..."
PROMPT = re.compile(r"(to see\)|shows it\)|please):? *$")


class Frame(NamedTuple):
    """What was on the screen when a key or an answer was wanted."""

    head: str
    step: str
    page: list[str]
    note: str
    names: tuple[str, ...]  # the keys that were offered; () where an answer was wanted


class Person(Screen):
    """Draws nothing, and sees that every page fits. `play(frame)` says what is pressed or typed."""

    def __init__(self, play: Callable[[Frame], str]):
        super().__init__()
        self.moves = True
        self.play, self.frames, self.now, self.views = play, [], None, []

    def opened(self):
        return nullcontext(self)

    def clear(self) -> None:
        pass

    busy = clear

    def draw(self, head, page, note="") -> None:
        assert len(page) <= self.height, f"{head}: {len(page)} rows for {self.height}"
        wide = [line for line in [*page, note] if visible(line) > self.columns]
        assert not wide, f"{head}: {wide}"
        self.now = head, page, note

    def _seen(self, names) -> str:
        assert len(self.frames) < 2000, "this walk comes to no end"
        (head, step), page, note = self.now
        self.frames.append(Frame(head, (step.split() or [""])[-1], list(page), note, tuple(names)))
        return self.play(self.frames[-1])

    def key(self, names) -> keys.Pressed:
        name, _, text = self._seen(names).partition(" ")
        return keys.Pressed(name, text)

    def ask(self, prompt) -> str:
        return self._seen(())


class Terminal:
    """A process at the other end of a pseudo-terminal, and the rows of its window.

    A line that leaves the window at its top, while nobody has pressed a key, fails the test.
    """

    def __init__(self, command: list[str], columns: int, rows: int, **environment: str):
        self.emulator = pytest.importorskip("pyte")
        self.main, other = os.openpty()
        self.size(columns, rows)
        unset = ("COLUMNS", "LINES", "NO_COLOR")
        env = {name: value for name, value in os.environ.items() if name not in unset}
        env |= {"TERM": "xterm", "PYTHONIOENCODING": "utf-8", **environment}
        self.process = subprocess.Popen(
            command, stdin=other, stdout=other, stderr=other, env=env, start_new_session=True
        )
        os.close(other)
        self.got, self.text = b"", ""  # since the last key; all of it

    def size(self, columns: int, rows: int) -> None:
        """Give the window this size."""
        import fcntl
        import struct
        import termios

        self.columns, self.rows = columns, rows
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, key: str) -> None:
        """Send what a key or a line of text sends; CTRL_C as the terminal sends it."""
        self.got = b""
        if key == CTRL_C:
            # One between Python's last look and its wait for a key is heard with what comes next.
            # So press again where nothing moves, as a person would.
            heard, deadline = False, time.monotonic() + LONGEST
            while not heard and time.monotonic() < deadline:
                self.process.send_signal(signal.SIGINT)
                heard = bool(select.select([self.main], [], [], 5)[0])
        else:
            os.write(self.main, key.encode())

    def until(self, wanted: str) -> str:
        """Read on until these words came after the last key; all that came after it."""
        came = self._read(lambda: wanted in self.got.decode("utf-8", "replace"))
        assert wanted in came, f"it ended without {wanted}: {came}"
        return came

    def frame(self) -> Frame | None:
        """The next screen that waits for a person; None when the window was given back."""
        self._read(self._waits)
        if not self._waits() or CLOSE in self.got.rpartition(CLEAR)[2]:
            return None
        shown = self.display()
        head, _, step = shown[0].rpartition(" ")
        asks = PROMPT.search(shown[-2])
        names = () if asks else tuple(_name(press) for press in HINT.findall(shown[-1]))
        return Frame(head.strip(), step, shown[1:-2], shown[-2], names)

    def display(self) -> list[str]:
        """The rows of the window, as a person sees them."""
        _, clear, frame = self.got.rpartition(CLEAR)
        window = self.emulator.Screen(self.columns, self.rows)
        down = window.index  # a line down; on the last row all rows go up by one

        def index() -> None:
            assert window.cursor.y < self.rows - 1, f"a line left the window at its top: {frame}"
            down()

        window.index = index
        self.emulator.ByteStream(window).feed(clear + frame)
        rows = (window.buffer[y] for y in range(self.rows))  # {column: cell}, of those written in
        return ["".join(row[x].data for x in range(max(row, default=-1) + 1)).rstrip()
                for row in rows]  # fmt: skip

    def walk(self, play: Callable[[Frame], str], most: int = 500) -> list[Frame]:
        """Let this person press and type until the window is given back; the screens on the way."""
        frames = []
        while (frame := self.frame()) is not None:
            assert len(frames) < most, "this walk comes to no end"
            frames.append(frame)
            self.press(_sent(play(frame), frame))
        return frames

    def end(self) -> int | None:
        """Wait for the end; the exit code."""
        try:
            self._read(lambda: False)
            return self.process.wait(LONGEST)
        finally:
            self.process.kill()
            os.close(self.main)

    def _waits(self) -> bool:
        """Whether a screen is complete: its keys are told, a question is asked, or it is gone."""
        _, clear, frame = self.got.rpartition(CLEAR)
        asks = PROMPT.search(frame.decode("utf-8", "replace"))
        told = b"? help" in frame and b":? help" not in frame
        return CLOSE in frame or bool(clear) and (told or asks is not None)

    def _read(self, enough: Callable[[], bool]) -> str:
        deadline = time.monotonic() + LONGEST
        while not enough():
            assert time.monotonic() < deadline, self.got[-3000:].decode("utf-8", "replace")
            if not select.select([self.main], [], [], 1)[0]:
                continue
            try:
                got = os.read(self.main, 65536)
            except OSError:  # the other end is closed
                break
            if not got:
                break
            self.got += got
            self.text += got.decode("utf-8", "replace")
        return self.got.decode("utf-8", "replace")


def _name(press: str) -> str:
    """The name of the key that the foot of a screen tells."""
    return next((key.name for key in keys.KEYS if key.press[0] == press), press)


def _sent(answer: str, frame: Frame) -> str:
    """What a terminal sends for the name of a key, or for an answer that is typed."""
    if not frame.names:
        return f"{answer}\n"
    name, _, text = answer.partition(" ")
    if name == "step":
        return f"{text}\n"
    press = keys.BY_NAME[name].press[0]
    arrows = {"Up": "\x1b[A", "Down": "\x1b[B", "Right": "\x1b[C", "Left": "\x1b[D"}
    typed = {"Enter": "\n", "quit": "\x04", "search": f"/{text}\n", **arrows}
    return typed.get(name, typed.get(press, press))
