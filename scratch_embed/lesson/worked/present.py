"""How a worked calculation reaches the run that it is called in."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scratch_embed.digits import written_out
from scratch_embed.lesson.record import current
from scratch_embed.working import Line, Working

DIGITS = (6, 8, 10)  # significant ones; what takes more is what rounding left


def present(kind: str, title: str, told: Callable[[], Line | Iterable[Line]], value):
    """Hand a working to the run that is under way, and return its result.

    kind: what it is an example of ("dot"). Of like calculations a person who steps is shown the
    first, and asked for more and more of the later ones.
    told: writes its lines; called again, for more digits, where they do not come out.
    """

    def made() -> Line:
        lines = told()
        return Line("", (), parts=(lines,) if isinstance(lines, Line) else tuple(lines))

    current().show(Working(title, written_out(made, DIGITS).parts, value, kind))
    return value
