"""The same measured with several seeds, several ways side by side: medians, ranges, dots."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from scratch_embed.plot import CYCLE, figure
from scratch_embed.training.progress import Progress

Found = dict[str, list[float]]  # way -> a score for each seed


def repeat(
    ways: Sequence[str], seeds: Sequence[int], score: Callable[[str, int], float]
) -> tuple[Found, bool]:
    """score(way, seed) for every way and seed, all ways of a seed before the next seed.

    Returns (scores, whole). Ctrl-C lets the run that is under way end; then `whole` is False, and a
    seed for which a way is missing is left out, so that all ways are compared on the same seeds.
    """
    found: Found = {way: [] for way in ways}
    with Progress(0, len(ways) * len(seeds), unit="run") as progress:
        for job in progress:
            way, seed = ways[job % len(ways)], seeds[job // len(ways)]
            found[way].append(score(way, seed))
            progress.says = f"{way}, seed {seed}: {found[way][-1]:.3f}"
    complete = min(map(len, found.values()))
    return {way: scores[:complete] for way, scores in found.items()}, not progress.stopped


def table(found: Found) -> str:
    """A line for each way: median, smallest and largest."""
    width = max(map(len, found))
    lines = [f"  {'':<{width}}  median  smallest  largest"]
    for way, scores in found.items():
        low, middle, high = np.min(scores), np.median(scores), np.max(scores)
        lines.append(f"  {way:<{width}}  {middle:6.3f}  {low:8.3f}  {high:7.3f}")
    return "\n".join(lines)


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
