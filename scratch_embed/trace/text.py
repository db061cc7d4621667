"""A trace in words: one page a step."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from scratch_embed.look.page import fold
from scratch_embed.rows import RowGrad
from scratch_embed.trace.arrays import GAP, NOT_YET, lines, shape
from scratch_embed.trace.choice import Choice, checked
from scratch_embed.trace.entry import which
from scratch_embed.trace.names import Same
from scratch_embed.trace.rule import derived, in_names, needed
from scratch_embed.trace.walk import BackwardStep, ForwardStep, option
from scratch_embed.working import Working

if TYPE_CHECKING:
    from scratch_embed.trace import Trace

MOST_STEPS = 60  # of a story; a chain of ten thousand operations is told by its two ends
ORDINALS = ("", "first", "second", "third", "fourth", "fifth")
ENDINGS = {1: "st", 2: "nd", 3: "rd"}
LABEL = 10  # letters before what a line is about


def plain(text: str, *styles: str) -> str:
    """The text without colour. A terminal passes its own `paint` instead."""
    return text


def story(trace: Trace, columns: int = 80) -> str:
    """Every page one after another, the middle ones left out when there are very many."""
    steps, half = list(range(len(trace) + 1)), MOST_STEPS // 2
    if len(steps) > MOST_STEPS:
        steps = [*steps[:half], None, *steps[-half:]]
    gap = f"{GAP} {len(trace) + 1 - 2 * half:,} steps left out; .text(step) tells any of them"
    pages = [gap if step is None else page(trace, step, columns) for step in steps]
    return "\n\n".join([*pages, ending(trace, columns)])


def page_of(trace: Trace) -> str:
    """The story as HTML: the plan, then a fold for each step under its first line."""
    few = range(1, len(trace) + 1) if len(trace) <= MOST_STEPS else ()
    pages = [page(trace, step).partition("\n") for step in few]
    folds = [fold(html.escape(head.strip()), _pre(told)) for head, _, told in pages]
    return "\n".join([_pre(page(trace, 0)), *folds, _pre(ending(trace, 80))])


def _pre(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def page(
    trace: Trace,
    step: int,
    columns: int = 80,
    paint: Callable[..., str] = plain,
    choice: Choice | None = None,
    rows: int | None = None,
    opened: bool = False,
) -> str:
    """One step: 0 is the plan, then forward, then backward.

    choice : the entry that is worked out; None takes the largest.
    rows : of the screen. Arrays are cut to fewer rows until the page fits, if it can.
    opened : with the parts of the working's lines, the local derivatives.
    """
    if step == 0:
        return plan(trace, columns, paint)
    at = trace.steps[step - 1]
    choice = checked(trace, step, choice)
    working = trace.entry(step, choice) if choice else None
    for most in (8, 4, 3, 2, 1, 0):
        write = Page(trace, columns, paint, most, choice)
        if isinstance(at, ForwardStep):
            write.forward(at)
        else:
            write.backward(at)
        if working is not None:
            write.working(working, opened)
        if isinstance(at, BackwardStep):
            write.status(step)
        if rows is None or len(write.text) <= rows:
            break
    return "\n".join(write.text)


def plan(trace: Trace, columns: int, paint: Callable[..., str]) -> str:
    """What there is to come: the inputs, and the operations in order."""
    write = Page(trace, columns, paint)
    counts = f"{len(trace.forward)} steps forward, {len(trace.backward)} back"
    write.head(f"the tape of {trace.loss}: {counts}")
    for name, array in trace.sources.items():
        wants = "its gradient is wanted" if name in trace.leaves else "no gradient"
        write.line(f"{name} {shape(array)}", "given", wants)
    told = trace.forward
    if len(told) > MOST_STEPS:
        told = [*told[:10], None, *told[-10:]]
    for at in told:
        text = f"{at.name} = {at.expression}   {shape(at.out)}" if at else f"{GAP} {GAP}"
        write.line(text, f"step {at.number}" if at else "")
    write.line(f"{NOT_YET}, all of them", "gradients")
    return "\n".join(write.text)


def ending(trace: Trace, columns: int = 80, paint: Callable[..., str] = plain) -> str:
    """The gradients of the leaves, with the parts that they were added up from."""
    write = Page(trace, columns, paint)
    write.head("what backward() adds to .grad")
    counts = {part.parent: part.of for step in trace.backward for part in step.parts}
    for name in trace.leaves:
        if name not in trace.gradients:
            write.line(f"d{name}: no gradient reaches it, .grad stays as it was")
            continue
        parts = f", the sum of {counts[name]} parts" if counts.get(name, 1) > 1 else ""
        write.array(f"d{name}", trace.gradients[name], name, note=parts)
    return "\n".join(write.text)


def ordinal(number: int) -> str:
    """second, third, ...; of a weight with many uses also 21st, 22nd, 111th."""
    if number < len(ORDINALS):
        return ORDINALS[number]
    ending = "th" if number // 10 % 10 == 1 else ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"


class Page:
    """Lines of text in the making.

    most : rows of an array that are shown. With fewer than 4 what backward needs is only named: its
        numbers stand in the working. With 0 stays the one array that an entry was chosen from.
    """

    def __init__(self, trace: Trace, columns: int, paint: Callable[..., str], most: int = 8,
                 choice: Choice | None = None):  # fmt: skip
        self.trace, self.columns, self.paint = trace, columns, paint
        self.most, self.choice = most, choice
        self.text: list[str] = []

    def forward(self, at: ForwardStep) -> None:
        self.head(f"forward {at.number} of {len(self.trace.forward)}: {at.name} = {at.expression}")
        self.formula("formula", in_names(at.formula, at))
        for held in at.inputs:
            if held.name:
                alias = "" if held.name == held.parameter else f", used as {held.parameter}"
                self.array(held.name, held.value, held.name, "input", alias)
            elif held.value is not None:
                self.line(f"{held.parameter} = {option(held.value)}", "input")
        self.array(at.name, at.out, at.name, "output", chosen=self.choice)
        if self.most < 4:
            return
        for field, value in at.saved.items():
            self.saved(field, value)
        for field, value in derived(at).items():
            self.array(field, value, "", "from these")
        if not at.saved:
            self.line("nothing: backward needs none of the numbers", "saved")

    def backward(self, at: BackwardStep) -> None:
        made = self.trace.forward_of[at.name]
        total = len(self.trace.backward)
        self.head(f"backward {at.number} of {total}: {at.name} = {made.expression}")
        self.formula("rule", in_names(at.rule, made))
        self.array(f"d{at.name}", at.incoming, at.name, "arriving", ", complete")
        needs = needed(made)
        for name, value in needs.items() if self.most >= 4 else ():
            self.array(name, value, name, "needs")
        if self.most < 4 and needs:
            self.line(", ".join(f"{name} {shape(held)}" for name, held in needs.items()), "needs")
        for k, part in enumerate(at.parts):
            chosen = self.choice if self.choice and self.choice.part == k else None
            note = f", {which(part)}"
            self.array(f"d{part.parent}", part.value, part.parent, "gives", note, chosen)
            if part.number > 1 and self.most > 2:
                note = f", sum of {part.number} parts so far"
                self.array(f"d{part.parent}", part.total, part.parent, "sum", note)
        if not at.parts:
            self.line("nothing: none of the inputs gets a gradient", "gives")

    def working(self, working: Working, opened: bool) -> None:
        """The entry that was chosen, worked out."""
        whole = working.text(everything=opened, columns=self.columns).splitlines()
        told = [line[k : k + self.columns] for line in whole
                for k in range(0, len(line), self.columns)]  # fmt: skip
        self.text += ["", *told] if self.most >= 4 else told

    def status(self, step: int) -> None:
        """Which gradients are complete, which wait for another part, which nobody has begun."""
        gradients = self.trace.state(step).gradients
        waiting = [
            f"d{name} has {g.number} of {g.of} parts, waiting for its {ordinal(g.number + 1)}"
            for name, g in gradients.items()
            if not g.complete
        ]
        absent = [f"d{name}" for name in self.trace.wanted if name not in gradients]
        last = step == len(self.trace)
        for told, label in ((waiting, ""), (absent, "no gradient: " if last else f"{NOT_YET}: ")):
            if told:
                shown = told if len(told) <= 8 else [*told[:8], f"{GAP} {len(told) - 8} more"]
                self.wrapped(f"{label}{', '.join(shown)}", "", "dim")

    def head(self, title: str) -> None:
        told = textwrap.wrap(title, max(10, self.columns - 4)) or [title]
        told = [f"-- {told[0]} ".ljust(self.columns, "-"), *(f"   {line}" for line in told[1:])]
        self.text += [self.paint(line, "bold") for line in told]

    def line(self, text: str, label: str = "", note: str = "") -> None:
        note = f"   {note}" if note else ""
        self.wrapped(text + note, label)

    def wrapped(self, text: str, label: str, *styles: str) -> None:
        """Text after a label, wrapped where the page ends."""
        told = textwrap.wrap(text, max(10, self.columns - LABEL - 2), break_on_hyphens=False)
        for row, piece in enumerate(told or [""]):
            left = "" if row else label
            piece = self.paint(piece, *styles) if styles else piece
            self.text.append(f"{left:<{LABEL}}  {piece}")

    def formula(self, label: str, text: str) -> None:
        told = text.splitlines()
        if self.most < 3:  # without the shapes
            told = [line for line in told if "->" not in line or "=" in line]
        for row, line in enumerate(told):
            self.wrapped(line, "" if row else label, "cyan")

    def array(self, title: str, array, name: str, label: str = "", note: str = "",
              chosen: Choice | None = None) -> None:  # fmt: skip
        """A title with the shape, and the numbers below; a single number stays beside its title."""
        if not array.shape:
            self.wrapped(f"{title} = {lines(array)[0]}{note}", label)
            return
        sparse = ", sparse" if isinstance(array, RowGrad) else ""
        room = self.columns - LABEL - 4
        index = chosen.index if chosen else None
        most = self.most or int(chosen is not None)
        told = lines(array, self.trace.touched.get(name), room, max(most, 1), chosen=index)
        if self.most < 3:  # what is left out takes a line too
            told = [line for line in told if not line.startswith(GAP)][:most]
        self.wrapped(f"{title} {shape(array)}{sparse}{note}", label)
        self.text += [f"{'':<{LABEL}}    {line}" for line in told]

    def saved(self, field: str, value: Any) -> None:
        """A field of what forward kept; an array that has been shown is named, not shown again."""
        if isinstance(value, Same):
            alias = "" if field == value.name else f"{field} is "
            self.line(f"{alias}{value.name} itself, no copy", "saved")
        elif isinstance(value, np.ndarray):
            self.array(field, value, "", "saved")
        elif not hasattr(value, "_fields") and not (isinstance(value, list) and not value):
            self.line(f"{field} = {option(value)}", "saved")
