"""Which lines of a working a person is asked for: of like calculations more and more.

The first of a kind is shown whole. Of the second one line is asked, and of the later ones all that
can be asked: numbers, and vectors short enough to type, that an expression leads to, and in which
there is no number too long to calculate with in one's head. What stood in
a lesson that was finished counts as shown. So nobody is asked for what has not been shown once.

No line is marked for it in a lesson: which one is asked depends on what this person has seen, and
in which order, and that no lesson knows.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from scratch_embed.lesson.answers import Judgement, judge
from scratch_embed.working import Line, Working

LONGEST = 4  # numbers of a vector that is typed
NEVER = ("", "line", "merge_pair")  # of one kind in name only
DIGITS = 4  # that matter, of a number that one calculates with in one's head
NUMBER = re.compile(r"\d[\d,.]*(?:e-?\d+)?")
EARLIER = 8  # lines before, whose value may be taken for this one's


@dataclass
class Fading:
    """What was shown so far of each kind, and the values that were seen on the way."""

    seen: Counter = field(default_factory=Counter)
    values: dict = field(default_factory=dict)

    def known(self, working: Working) -> bool:
        """Whether one of its kind was shown before."""
        return bool(self.seen[working.kind]) and working.kind not in NEVER

    def asked(self, working: Working) -> dict[int, int]:
        """{position of a line that is asked: stages of it that are shown}; and count the kind."""
        known, before = self.known(working), self.seen[working.kind]
        self.seen[working.kind] += 1
        lines = {n: line for n, line in enumerate(working.lines) if known and can_be_asked(line)}
        shown = {n: len(line.stages) - 1 if before == 1 else 1 for n, line in lines.items()}
        found = {n: stages for n, stages in shown.items() if for_the_head(lines[n], stages)}
        return dict([*found.items()][-1:]) if before == 1 else found

    def judge(self, typed: str, line: Line) -> Judgement:
        """Judge what was typed for a line. Values of other lines count as near misses."""
        elsewhere = {name: v for name, v in self.values.items() if not _same(v, line.value)}
        value = float(line.value) if np.ndim(line.value) == 0 else np.asarray(line.value)
        return judge(typed, value, parts=line.adds, elsewhere=elsewhere)

    def note(self, line: Line) -> None:
        """A line was shown."""
        if line.name and can_be_asked(line):
            self.values.pop(line.name, None)
            self.values[line.name] = line.value
            while len(self.values) > EARLIER:
                self.values.pop(next(iter(self.values)))


def can_be_asked(line: Line) -> bool:
    """Whether an expression stands there that leads to a number that can be typed, or to a few."""
    if not line.name or len(line.stages) < 2 or line.value is None:
        return False
    value = np.asarray(line.value)
    short = value.ndim < 2 and 0 < value.size <= LONGEST
    return value.dtype.kind in "iuf" and short and bool(np.isfinite(value).all())


def for_the_head(line: Line, stages: int) -> bool:
    """Whether no number in the last stage that is shown, nor in the result, has many digits."""
    numbers = NUMBER.findall(f"{line.stages[stages - 1]} {line.stages[-1]}")
    digits = (text.partition("e")[0].replace(",", "").replace(".", "") for text in numbers)
    return all(len(text.strip("0")) <= DIGITS for text in digits)


def _same(a, b) -> bool:
    return np.shape(a) == np.shape(b) and bool(np.allclose(a, b, rtol=1e-3))
