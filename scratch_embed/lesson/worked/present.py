"""How a worked calculation reaches the run that it is called in."""

from __future__ import annotations

from collections.abc import Iterable

from scratch_embed.lesson.record import current
from scratch_embed.working import Line, Working


def present(kind: str, title: str, lines: Line | Iterable[Line], value):
    """Hand a working to the run that is under way, and return its result.

    kind: what it is an example of ("dot"). Of like calculations a person who steps is shown the
    first, and asked for more and more of the later ones.
    """
    lines = (lines,) if isinstance(lines, Line) else tuple(lines)
    current().show(Working(title, lines, value, kind))
    return value
