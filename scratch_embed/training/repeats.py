"""The same measured with several seeds, several ways side by side: medians, ranges, dots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from scratch_embed.learning import Learning
from scratch_embed.plot import CYCLE, figure
from scratch_embed.training.progress import Progress
from scratch_embed.training.run import Run

Found = dict[str, list[float]]  # way -> a score for each seed


class Job(NamedTuple):
    """One way with one seed.

    score : what it is worth in the end.
    learning : what takes steps before; None where nothing is learned.
    """

    score: Callable[[], float]
    learning: Learning | None = None


def repeat(
    run: Run, steps: Mapping[str, int], seeds: Iterable[int], job: Callable[[str, int], Job]
) -> Found | None:
    """The score of every way with every seed, all ways of a seed before the next seed.

    steps : of each way. job(way, seed) : what is to be done; its chance follows from the seed.

    Returns None when Ctrl-C came, between two steps. All is saved then, at the beginning and every
    so many seconds, and a resumed run goes on with the very step.
    """
    jobs = [(way, seed) for seed in seeds for way in steps]
    with run.restoring():
        given = run.saved["found"] if run.saved else {way: [] for way in steps}
        found: Found = {way: [float(score) for score in given[way]] for way in steps}
        under_way = run.saved.get("learning")
        counts = [len(scores) for scores in found.values()]
        through = sum(counts)
        passed = [way for way, _ in jobs[:through]]
        if counts != [passed.count(way) for way in steps]:
            raise ValueError(f"the ways have {counts} scores; each seed goes through all of them")
        taken = sum(steps[way] * len(scores) for way, scores in found.items())
        taken += under_way["step"] if under_way else 0
    fresh = not run.saved  # what lies in the folder then is of another run
    with Progress(taken, sum(steps[way] for way, _ in jobs)) as progress:
        for way, seed in jobs[through:]:
            progress.says = f"{way}, seed {seed}"
            score, learning = job(way, seed)
            if under_way:
                with run.restoring():
                    learning.load_state_dict(under_way)
                under_way = None
            for _ in range(learning.step if learning else 0, steps[way]):
                if fresh or run.due or progress.stopped:
                    run.save(found=found, learning=learning.state_dict())
                    fresh = False
                if progress.stopped:
                    return None
                learning.take()
                progress.to(progress.done + 1)
            found[way].append(score())
    run.save(found=found, learning=None)
    return found


def table(found: Found) -> str:
    """A line for each way: median, smallest and largest."""
    width = max(map(len, found))
    lines = [f"  {'':<{width}}  median  smallest  largest"]
    for way, scores in found.items():
        low, middle, high = np.min(scores), np.median(scores), np.max(scores)
        lines.append(f"  {way:<{width}}  {middle:6.3f}  {low:8.3f}  {high:7.3f}")
    return "\n".join(lines)


def ahead(found: Found, one: str, other: str) -> str:
    """With how many seeds one way exceeds another: what may be said, and no more."""
    wins = sum(a > b for a, b in zip(found[one], found[other]))
    return f"{one} above {other}: with {wins} of {len(found[one])} seeds"


def dots(found: Found, title: str, label: str):
    """A figure: a column for each way, a dot for each seed, a bar at the median."""
    fig, ax = figure(title=title)
    for place, (scores, colour) in enumerate(zip(found.values(), CYCLE)):
        sideways = np.linspace(-0.15, 0.15, len(scores)) if len(scores) > 1 else [0.0]
        ax.scatter(place + np.array(sideways), scores, color=colour, alpha=0.7)
        ax.hlines(np.median(scores), place - 0.3, place + 0.3, color=colour, lw=2)
    ax.set_xticks(range(len(found)), [way.replace(", ", ",\n") for way in found])
    ax.set(ylabel=label, ylim=(0, 1.02))
    return fig
