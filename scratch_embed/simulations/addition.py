"""Token + position + segment: three rows are looked up and added, number by number.

    x = E_token[id] + E_position[t] + E_segment[s]                         (D,) each, here D = 4

The token's row never moves. Sliding the word through the sentence changes the position's row, and
with it the sum. Without the token's row nothing in the sum says which word it was.
"""

from __future__ import annotations

import numpy as np

from scratch_embed import geometry
from scratch_embed.look.numbers import signed
from scratch_embed.ops.lookup import lookup_forward
from scratch_embed.simulations.artists import Bars
from scratch_embed.simulations.simulation import Control, Notice, Simulation

POSITIONS = 8
WORDS = ("cat", "the", "dog", "sat")

# Rows of lesson 2: with them "cat" at position 3 of sentence A is [0.34, -0.52, -0.07, 0.84].
TOKEN = np.array([[0.50, -0.60, 0.10, 0.40], [-0.30, 0.20, 0.65, -0.10],
                  [0.45, -0.45, 0.20, 0.30], [0.05, 0.55, -0.40, -0.35]])  # fmt: skip
SEGMENT = np.array([[0.02, -0.02, -0.02, 0.02], [-0.15, 0.10, 0.12, -0.08]])
POSITION = np.random.default_rng(5).normal(0, 0.3, (POSITIONS, 4)).round(2)
POSITION[3] = [-0.18, 0.10, -0.15, 0.42]
COLORS = {"token": "orange", "position": "green", "segment": "purple"}


def parts(
    word: str = "cat",
    token: bool = True,
    position: bool = True,
    segment: bool = True,
    at: int = 3,
    sentence: str = "A",
) -> dict[str, np.ndarray]:
    """The three rows (D,) by name; zeros where a part is switched off. Their sum is the input.

    >>> np.sum(list(parts().values()), axis=0).round(2).tolist()
    [0.34, -0.52, -0.07, 0.84]
    """
    chosen = {
        "token": (TOKEN, WORDS.index(word), token),
        "position": (POSITION, at, position),
        "segment": (SEGMENT, "AB".index(sentence), segment),
    }
    return {
        name: lookup_forward(table, np.array([row]))[0][0] * shown
        for name, (table, row, shown) in chosen.items()
    }


def _build(figure):
    grid = figure.subplot_mosaic([["token", "position"], ["segment", "sum"], ["alike", "alike"]],
                                 height_ratios=[1, 1, 0.75])  # fmt: skip
    reach = 1.35 * np.abs(TOKEN).max() + np.abs(POSITION).max()
    columns = [str(d) for d in range(TOKEN.shape[1])]
    bars = {name: Bars(grid[name], columns, reach, color, fontsize=11)
            for name, color in {**COLORS, "sum": "blue"}.items()}  # fmt: skip
    heads = {name: grid[name].set_title("x", loc="left") for name in bars}
    gids = [f"word={word}" for word in WORDS]
    bars["alike"] = Bars(grid["alike"], WORDS, (-1.4, 1.4), "sky blue", lying=True, gids=gids)
    grid["alike"].set_title("Cosine of the sum with each token's row", loc="left")
    return bars, heads


def _update(artists, values: dict) -> dict[str, str]:
    bars, heads = artists
    rows = parts(**values)
    total = np.sum(list(rows.values()), axis=0)
    names = {
        "token": f'token "{values["word"]}"',
        "position": f"+ position {values['at']}",
        "segment": f"+ segment {values['sentence']}",
    }
    for name, row in rows.items():
        bars[name].set(row)
        heads[name].set_text(names[name] + ("" if values[name] else " (off)"))
    bars["sum"].set(total)
    heads["sum"].set_text("= the input row")
    some = bool(np.abs(total).max() > 1e-12)
    likeness = [geometry.cosine(total, row) if some else 0.0 for row in TOKEN]
    best = int(np.argmax(likeness))
    colors = ["vermillion" if some and i == best else "sky blue" for i in range(len(WORDS))]
    bars["alike"].set(likeness, colors=colors)
    return {
        "sum": " ".join(signed(x) for x in total),
        f'cosine with "{values["word"]}"': signed(likeness[WORDS.index(values["word"])], 3),
        "most like": WORDS[best] if some else "nothing: the sum is 0",
    }


SIMULATION = Simulation(
    "Addition: token, position and segment in one row",
    (
        Control("word", WORDS, "cat", "Word", page=WORDS[:3]),
        Control("at", tuple(range(POSITIONS)), 3, "Position", play=True),
        Control("token", (True, False), True, "Add the token's row"),
        Control("position", (True, False), True, "Add the position's row"),
        Control("segment", (True, False), True, "Add the segment's row"),
        Control("sentence", ("A", "B"), "A", "Segment", page=("A",)),
    ),
    Notice(
        "Slide the word from position 0 to 7. Which of the four sets of bars will move?",
        "The token's bars never move; the position's do, and with them the sum. One row carries "
        "both, and order enters in no other way. Switch the token off: whatever the sum is most "
        "like now, it says nothing of the word.",
    ),
    _build,
    _update,
)
