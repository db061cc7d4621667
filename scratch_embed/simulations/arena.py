"""The arena: how six strategies score in four tasks, what each costs, and why a bar is where it is.

    python -m scratch_embed.simulations.arena       measures again (minutes), and writes arena.json

The scores are those of lesson 8's contest with SEEDS starts, kept in arena.json beside this file:
text is measured in bits saved for a character over counting alone, pictures in share over chance.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from scratch_embed import contest, images, sizes
from scratch_embed.files import replacing
from scratch_embed.look.numbers import signed
from scratch_embed.simulations.artists import Bars
from scratch_embed.simulations.simulation import Control, Notice, Simulation

SEEDS, TOKENS, LETTERS, UNSEEN = 5, 12_000, 60_000, 4_000
TASKS = {
    "equal tokens": f"each reads {TOKENS:,} tokens of one language",
    "equal work": "each may spend as many multiply-adds",
    "five scripts": f"five alphabets share the rows, {TOKENS:,} tokens each",
    "pictures": "letters in fonts that nobody trained on",
}
HOW = {
    "words, tied": "whole words; one table reads and scores",
    "words": "whole words; the head has a table of its own",
    "pieces": "byte pairs, two to five letters",
    "characters": "one row for each letter",
    "patches of 8": "looks at drawn text, a letter a patch",
    "patches of 16": "looks at drawn text, four letters a patch",
}
SHORT = {"words, tied": "words, tied", "patches of 8": "patches 8", "patches of 16": "patches 16"}


@lru_cache(maxsize=1)
def scores() -> dict:
    """{"scores": {task: {strategy: [one for each seed]}}, "rows": ..., "cost": ...}, as stored."""
    path = files("scratch_embed.simulations").joinpath("arena.json")
    return json.loads(path.read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def _texts() -> dict[str, tuple[str, str]]:
    """(known, unseen) of one language, and of five alphabets."""
    from scratch_embed.text import corpus

    known, unseen = contest.split(corpus.python_text(("topics",)), LETTERS)
    unseen = unseen[:UNSEEN]
    mixed = contest.in_scripts(known + unseen)
    parts = [mixed[k * len(mixed) // 5 : (k + 1) * len(mixed) // 5] for k in range(5)]
    many = "".join(part[:-800] for part in parts), "".join(part[-800:] for part in parts)
    return {"one": (known, unseen), "five": many}


@lru_cache(maxsize=1)
def _players() -> dict[str, contest.Player]:
    """One of each strategy: what it costs, and how many rows it has."""
    return {name: contest.contestant(name, _texts()["one"][0], 0) for name in contest.STRATEGIES}


@lru_cache(maxsize=1)
def _letters() -> tuple:
    """Pictures to learn from, and those of other fonts."""
    learned = images.letter_images("ABCDEFGHIJKL", images.FONTS[:12], 8, copies=3, rng=3)
    return learned, images.letter_images("ABCDEFGHIJKL", images.FONTS[12:20], 8, copies=2, rng=4)


def score(task: str, strategy: str, seed: int) -> float:
    """Train a strategy for a task from one seed, and say what it gained."""
    if task == "pictures":
        return contest.see(strategy, *_letters(), 6, rng=seed) - 1 / 12
    tokens = TOKENS
    if task == "equal work":
        cheapest = min(player.cost for player in _players().values())
        tokens = TOKENS * cheapest // _players()[strategy].cost
    known, unseen = _texts()["five" if task == "five scripts" else "one"]
    player = contest.contestant(strategy, known, rng=seed)
    player.learn(known, tokens, rng=seed + 100)
    return player.unigram_bits(known, unseen) - player.bits(unseen)


def measure() -> dict:
    """Train everything, and return what `scores` has."""
    found = {
        task: {name: [round(float(score(task, name, seed)), 4) for seed in range(SEEDS)]
               for name in contest.STRATEGIES}
        for task in TASKS
    }  # fmt: skip
    players = _players().items()
    return {
        "scores": found,
        "cost": {name: int(player.cost) for name, player in players},
        "rows": {name: len(player.cut.tokens) for name, player in players},
    }


def _build(figure):
    held = scores()
    top, low = figure.subplots(2, 1, height_ratios=[1.25, 1])
    names = [SHORT.get(name, name) for name in contest.STRATEGIES]
    gids = [f"strategy={name}" for name in contest.STRATEGIES]
    bars = Bars(top, names, (-0.4, 2.4), "sky blue", lying=True, gids=gids)
    ranges = [top.plot([0, 0], [i, i], color="black", lw=2.5)[0] for i in range(len(names))]
    costs = list(held["cost"].values())
    cost = Bars(low, names, (min(costs) / 3, max(costs) * 12), "sky blue", lying=True, gids=gids)
    low.set(xscale="log", xlabel="multiply-adds of one prediction")
    top.set_xlabel("x")
    heads = [ax.set_title("x", loc="left") for ax in (top, low)]
    return bars, ranges, cost, heads, top.xaxis.label


def _update(artists, values: dict) -> dict[str, str]:
    bars, ranges, cost, heads, unit = artists
    held, task, chosen = scores(), values["task"], values["strategy"]
    seeds = np.array(list(held["scores"][task].values()))  # (strategies, seeds)
    middle = np.median(seeds, axis=1)
    pictures = task == "pictures"
    names = list(contest.STRATEGIES)
    at = names.index(chosen)
    colours = ["vermillion" if name == chosen else "sky blue" for name in names]
    bars.set(middle, [""] * len(names), colours)
    for i, (line, text) in enumerate(zip(ranges, bars.texts)):
        low, high = seeds[i].min(), seeds[i].max()
        line.set_xdata([low, high])
        text.set_text(f"{100 * middle[i]:+.0f} %" if pictures else signed(middle[i]))
        text.set(x=max(high, 0.0) + 0.03, ha="left")
    cost.set(list(held["cost"].values()), [sizes.human(n) for n in held["cost"].values()], colours)
    unit.set_text("share above chance" if pictures
                  else "bits saved for a character, over counting alone")  # fmt: skip
    heads[0].set_text(f"{task}: {TASKS[task]}")
    heads[1].set_text(f"{chosen}: {HOW[chosen]}")
    place = 1 + int((middle > middle[at]).sum())
    below, above = seeds.max(axis=1) < seeds[at].min(), seeds.min(axis=1) > seeds[at].max()
    told = "{:.0%}" if pictures else "{:+.3f}"
    return {
        f"{chosen}, {len(seeds[at])} starts": ", ".join(told.format(x) for x in sorted(seeds[at])),
        "place": f"{place} of {len(names)}",
        "apart from it in every start": f"{(below | above).sum()} of the other {len(names) - 1}",
        "rows, multiply-adds": f"{held['rows'][chosen]:,}, {held['cost'][chosen]:,}",
        "most in this task": names[int(middle.argmax())],
    }


SIMULATION = Simulation(
    "Arena: six ways to make rows, four tasks",
    (
        Control("task", tuple(TASKS), "equal tokens", "Task"),
        Control("strategy", contest.STRATEGIES, "words", "Explain the bar of"),
    ),
    Notice(
        "Will one of the six gain most in all four tasks?",
        "No: characters gain most in the three tasks with text, patches of 8 where there is "
        "something to see, and pieces gain nothing of the plain text: this small model learns less "
        "of them than counting knows. A black line is the range over the starts: where two of them "
        "meet, do not rank. And to gain most over counting is not to need the fewest bits.",
    ),
    _build,
    _update,
)


if __name__ == "__main__":
    with replacing(Path(__file__).with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
