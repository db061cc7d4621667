"""Runs what is typed as `python -m lessons ...`, command after command, in one process.

    [next] 0 --step
    ... the lesson, in this terminal ...
    [next] 4 --trace

So several walks cost one start of Python. Pictures are not drawn. When a lesson was stepped to its
end, what no screen can tell is checked here: that every line of every working was shown, those of a
calculation that is new one at a time, and that every screen would have fitted any of three windows.
"""

from __future__ import annotations

from pathlib import Path

from scratch_embed import plot
from scratch_embed.lesson.walk import cli, stepper
from scratch_embed.lesson.walk.sheet import Shown, screens
from scratch_embed.look.screen import FRAME
from scratch_embed.look.terminal import visible

LESSONS = Path(__file__).resolve().parents[3] / "lessons"
SIZES = ((80, 24), (60, 20), (120, 40))
walks: dict[str, list] = {}  # of each lesson, the views of every time it was stepped


class Checked(stepper.Stepper):
    """The stepper, looked at when it has come to its end."""

    def walk(self) -> None:
        known = set(self.revealing.fading.seen)
        super().walk()
        views = walks.setdefault(self.lesson.name, [])
        views += self.pager.views
        if self.record.closed:
            all_is_shown(self.record, views, known)
            all_fits(views)


def all_is_shown(record, views, known) -> None:
    """Every line and every part; one at a time where a kind of calculation is new."""
    news = [[b for b in view.blocks[view.new :] if isinstance(b, Shown)] for view in views]
    shown = {block.line.whole for new in news for block in new if block.stages is None}
    alone = {new[0].line.whole for new in news if len(new) == 1}
    for working, _ in record.workings:
        for line in working.lines:
            assert {line.whole, *(part.whole for part in line.parts)} <= shown, line.whole
            assert working.kind in known or line.whole in alone, line.whole
        known.add(working.kind)
    assert record.passed and record.workings


def all_fits(views) -> None:
    """Whatever the window was: no screen of another one would be too small either."""
    for columns, rows in SIZES:
        for view in views:
            for page in screens(view.blocks, view.new, columns, rows - FRAME):
                assert len(page) <= rows - FRAME
                assert all(visible(line) <= columns for line in page), page


if __name__ == "__main__":
    plot.save = lambda *_: None
    stepper.Stepper = Checked
    while True:
        command = input("[next] ").split()
        print(f"[code {cli.main(LESSONS, command)}]")
