"""`play("lookup")`: the place of a lesson where its simulation belongs."""

from __future__ import annotations

import html

from scratch_embed.lesson.record import current
from scratch_embed.lesson.usage import spoken


def play(name: str) -> None:
    """Say which simulation belongs here and how to open it; on a page, show it as it opens.

    Raises ValueError for a simulation that is not there.
    """
    from scratch_embed.simulations import load  # here, so that other lessons do not pay for it

    simulation = load(name)
    command = spoken(f"python -m lessons play {name}")
    text = f"  move it    {simulation.title}\n             {command}"
    current().put(text, page=lambda: _page(name, command), words=text)


def _page(name: str, command: str) -> str:
    """The question, the picture and the command, as HTML."""
    from scratch_embed.lesson.play.frames import frame
    from scratch_embed.simulations import Scene, load

    simulation = load(name)
    title, question = map(html.escape, (simulation.title, simulation.notice.question))
    return (
        f"<p><b>{title}</b><br>{question}<br>Move it: <code>{command}</code></p>"
        f'<div style="max-width: 40em">{frame(Scene(simulation)).svg}</div>'
    )
