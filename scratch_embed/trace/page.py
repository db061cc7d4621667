"""A trace as one HTML file that needs nothing else: no network, a keyboard or a mouse.

Every screen is the text page of one entry of one step, made here; the script only chooses among
them. Enter goes on, b back, the arrows choose an entry, as in the terminal.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scratch_embed.files import check_ending, replacing
from scratch_embed.trace import replay, text
from scratch_embed.trace.choice import Choice, first, moved
from scratch_embed.trace.replay import Use
from scratch_embed.trace.walk import ForwardStep

if TYPE_CHECKING:
    from scratch_embed.trace import Trace

MOST = 40  # entries of a step that can be chosen; each is worked out, with its nudge
LEAST = 4  # of them where a nudge computes a large loss again and again
WORK = 10_000_000  # numbers that a nudge of each entry once may compute again in a step
MOST_STEPS = 60
WAYS = {"ArrowUp": "up", "ArrowDown": "down", "ArrowLeft": "left", "ArrowRight": "right"}
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>
body {{ max-width: 50rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff; }}
pre {{ font: 0.9rem/1.35 monospace; min-height: 34rem; overflow-x: auto; }}
button {{ font: inherit; padding: 0.3rem 0.7rem; }}
@media (prefers-color-scheme: dark) {{ body {{ color: #ddd; background: #181818; }} }}
</style>
<p><button data-key="b">b back</button> <button data-key="Enter">Enter on</button>
<button data-key="ArrowUp">↑</button> <button data-key="ArrowDown">↓</button>
<button data-key="ArrowLeft">←</button> <button data-key="ArrowRight">→</button>
<span id="at" role="status"></span></p>
<pre id="page" tabindex="0" aria-live="polite">{opening}</pre>
<noscript>Choosing a step needs a script; the page of step 0 is above.</noscript>
<script type="application/json" id="screens">{screens}</script>
<script>
const all = JSON.parse(document.getElementById("screens").textContent);
let step = 0, chosen = 0;
function show() {{
  document.getElementById("page").textContent = all[step][chosen].text;
  document.getElementById("at").textContent = `step ${{step}} of ${{all.length - 1}}`;
}}
function press(key) {{
  if (key === "Enter" || key === " ") {{ if (step + 1 < all.length) {{ step++; chosen = 0; }} }}
  else if (key === "b" || key === "Backspace") {{ if (step > 0) {{ step--; chosen = 0; }} }}
  else if (key in all[step][chosen].to) chosen = all[step][chosen].to[key];
  else return false;
  show();
  return true;
}}
document.addEventListener("keydown", e => {{
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  const pressed = e.key === "Enter" || e.key === " ";
  if (pressed && e.target.tagName === "BUTTON") return;  // the button clicks
  if (press(e.key)) e.preventDefault();
}});
for (const b of document.querySelectorAll("button"))
  b.addEventListener("click", e => {{
    press(b.dataset.key);
    if (e.detail) b.blur();  // after a mouse, Enter means on again
  }});
show();
</script>
</html>
"""


class Screen(NamedTuple):
    """One entry of one step: its page, and which screen of the step each arrow leads to."""

    text: str
    to: dict[str, int]


def _most(trace: Trace, step: int) -> int:
    """How many entries of a step can be chosen."""
    at = trace.steps[step - 1]
    if isinstance(at, ForwardStep):  # which is not nudged
        return MOST
    uses = [Use(trace.forward_of[at.name], part.place) for part in at.parts]
    return min(max(WORK // replay.work(trace, uses, WORK), LEAST), MOST)


def screens(trace: Trace, step: int) -> list[Screen]:
    """The screens of a step, the first one to begin with; as many as `_most` says."""
    begin = first(trace, step)
    if begin is None:
        return [Screen(text.page(trace, step), {})]
    place: dict[Choice, int] = {begin: 0}
    leads, most = [], _most(trace, step)
    for at in range(most):
        if at == len(place):
            break
        choice = list(place)[at]
        beside = {key: moved(trace, step, choice, way) for key, way in WAYS.items()}
        for other in beside.values():
            if len(place) < most:
                place.setdefault(other, len(place))
        leads.append({key: place[other] for key, other in beside.items() if other in place})
    pages = [text.page(trace, step, choice=choice) for choice in place]
    return [Screen(told, to) for told, to in zip(pages, leads)]


def write(trace: Trace, path: str | Path) -> Path:
    """Write the page of a trace. Raises ValueError for a trace too long for one file, or a name
    that is not that of a page."""
    check_ending(path, [".html", ".htm"], "a page")
    if len(trace) > MOST_STEPS:
        raise ValueError(
            f"this trace has {len(trace):,} steps and a page holds {MOST_STEPS}; trace a smaller "
            "part of it, or use trace.text(step)"
        )
    every = [[screen._asdict() for screen in screens(trace, k)] for k in _shown(len(trace) + 1)]
    every[-1][0]["text"] += "\n\n" + text.ending(trace)
    data = json.dumps(every, ensure_ascii=False).replace("<", "\\u003c")  # no </script> inside
    title = html.escape(f"{trace.loss}, forward and back")
    page = PAGE.format(title=title, opening=html.escape(every[0][0]["text"]), screens=data)
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return Path(path)


def _shown(steps: int) -> Iterable[int]:
    """0, 1, 2, ... with a bar where it takes more than a second: large tables are nudged slowly."""
    from tqdm import tqdm

    return tqdm(range(steps), desc="steps", delay=1, disable=None, leave=False)
