"""What it came to: the last screen of a walk, and the lines that stay in the window after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scratch_embed.lesson.proof import summary
from scratch_embed.lesson.record import Record
from scratch_embed.lesson.walk.places import Missed
from scratch_embed.lesson.walk.revealing import Revealing
from scratch_embed.look.terminal import width, wrap

if TYPE_CHECKING:
    from scratch_embed.lesson.walk.stepper import Step


def text(steps: Sequence[Step], record: Record, missed: Sequence[Missed], lines: Revealing) -> str:
    """The end: what held, what was answered, and of what went wrong where to read again."""
    told = [summary(record) or "That was the lesson."]
    asked, typed = len(record.questions), sum(bool(q.typed) for q in record.questions)
    if asked > typed:
        told.append(f"{asked - typed} of {asked} questions were not answered.")
    if answered := lines.right + lines.wrong:
        told.append(f"{lines.right} of {answered} lines that you worked out were right.")
    if missed:
        told += ["", "Worth another look (g and the step's number goes there):"]
    for one in missed:
        step = steps[one.step - 1]
        told += wrap(f"{one.question} You said {one.typed}; it is {one.shown}.", width(),
                     f"{one.step:>4}  ")  # fmt: skip
        told += wrap(f"in: {step.section}", width(), "      ") if step.section else []
    return "\n".join(told)


def closing(steps: Sequence[Step], record: Record, at: int) -> str:
    """After the walk: how far it came, and how to go on."""
    seen = sum(step.blocks is not None for step in steps)
    through = f"all {len(steps)}" if seen == len(steps) else f"{seen} of {len(steps)}"
    lines = [f"You went through {through} steps. {summary(record)}".rstrip()]
    if 0 < at < len(steps):
        lines += wrap(f"You are at step {at + 1} of {len(steps)}. The same command goes on there.",
                      width())  # fmt: skip
    return "\n".join(lines)
