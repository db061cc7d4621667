"""What lies over a page for a while: the sections to jump from, what a search found, the keys.

Whoever walks, through a lesson or through a trace, has a list of stops and hands it on:

    to = where_to(screen, stops, here, pressed)     pressed: sections, a step's number, or a search
    to                                              the number of a stop, or a note: "There are ..."
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from scratch_embed.look import keys
from scratch_embed.look.screen import Screen
from scratch_embed.look.terminal import fit

JUMPS = ("sections", "step", "search")
WHY = {"out": "b leaves this list."}  # a key that may be tried has no meaning here
ARROW = "->"  # points at where we are


class Stop(NamedTuple):
    """A step that one can go to."""

    number: int  # what is typed to go there
    title: str  # its line in the list of sections; "" where none begins
    words: str  # what a search looks through


def where_to(screen: Screen, stops: Sequence[Stop], here: int, pressed: keys.Pressed) -> int | str:
    """The number of the stop that a key of JUMPS leads to; or a note to show, and we stay."""
    typed = pressed.text
    if pressed.name == "search":
        if not found(stops, here, typed):
            return f"{typed} is not to be found." if typed else "/word searches for a word."
        title, lay = f"{typed}: type a step's number", partial(found, stops, here, typed)
        typed = leaf(screen, title, lay, number=True)
    elif pressed.name == "sections":
        lay = partial(sections, stops, here)
        typed = leaf(screen, "Sections: type a step's number", lay, number=True)
    if not typed:
        return ""
    if any(typed.lstrip("0") == str(stop.number or "") for stop in stops):
        return int(typed)
    return f"There are steps {stops[0].number} to {stops[-1].number}; this is step {here}."


def sections(stops: Sequence[Stop], here: int, columns: int = 80) -> list[str]:
    """The stops where a section begins; the arrow stands at the one that we are in."""
    begins = [stop for stop in stops if stop.title]
    ours = max((stop.number for stop in begins if stop.number <= here), default=None)
    return [_row(stop.number, stop.title, stop.number == ours, columns) for stop in begins]


def found(stops: Sequence[Stop], here: int, word: str, columns: int = 80) -> list[str]:
    """The stops with the word, each with the line where it stands first; the arrow: from here on.

    Capital letters count where there is a word with just these. An empty word is found nowhere.
    """
    same = str if any(word in stop.words for stop in stops) else str.casefold
    room = columns - len(_row(0, "", False))
    hits = []
    for stop in stops if word else ():
        lines = (line.strip() for line in stop.words.splitlines())
        hit = next((line for line in lines if same(word) in same(line)), None)
        if hit is not None:
            hits.append((stop.number, _around(hit, same(hit).index(same(word)), len(word), room)))
    ahead = next((number for number, _ in hits if number >= here), None)
    return [_row(number, hit, number == ahead, columns) for number, hit in hits]


def _row(number: int, text: str, arrow: bool, columns: int = 80) -> str:
    return fit(f"{ARROW if arrow else '':<2} {number:>3}  {text}", columns)


def _around(line: str, at: int, length: int, columns: int) -> str:
    """The line, from further right on where the word in it would not be seen otherwise."""
    if at + length < columns - 4:
        return line
    return f"... {line[max(0, at - columns // 2) :].partition(' ')[2]}"


def leaf(
    screen: Screen, title: str, lay: Callable[[int], Sequence[str]], number: bool = False
) -> str:
    """Show lines over the page, screen by screen, from the one with the arrow on.

    lay: makes the lines for so many columns. number: whether a step's number may be typed. Returns
    what was typed; "" when a key led off the leaf.
    """
    names = ("on", "back", *(("step",) if number else ()), "quit")
    page, note = None, ""
    while True:
        lines, height = lay(screen.columns), screen.height
        pages = [lines[k : k + height] for k in range(0, len(lines), height)]
        if page is None:
            arrow = (k for k, line in enumerate(lines) if line.startswith(ARROW))
            page = next(arrow, 0) // height
        page = min(page, len(pages) - 1)
        screen.draw((title, f"{page + 1}/{len(pages)}"), pages[page], note)
        pressed = screen.key(names)
        note = keys.refused(pressed, WHY) if pressed.name in (keys.UNKNOWN, "help") else ""
        if pressed.name == "step":
            return pressed.text
        step = {"on": 1, "back": -1}.get(pressed.name, 0)
        if pressed.name == "quit" or step and not 0 <= page + step < len(pages):
            return ""
        page += step
