"""How long do several ways take? Measured in turns, and compared as ratios.

A machine is now faster, now slower: it heats up, it has other work. So the ways are not timed one
after the other but in rounds, each of which runs every way once, in an order drawn anew. A ratio is
taken within each round, and of all rounds the median counts.

Just before it is timed, a way is run a few times untimed. So it finds its data in the cache, or
not, as in a loop of its own, and not because of what another way read or wrote; and the same is
true of the memory that it asks for.

    times = in_turns({"ours": lambda: gather(table, ids), "copy": lambda: copy(out, rows)})
    times["ours"].median                        # seconds a call
    times["copy"] / times["ours"]               # Spread(median=0.97, low=0.95, high=1.01)
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter
from typing import NamedTuple

import numpy as np

SHORTEST = 50e-6  # seconds; calls faster than this are timed several at once
WARM = 4  # untimed runs: with fewer, a copy of 25 MB takes up to twice as long as on its own
WARMING = 0.1  # seconds that they may take; a way that takes longer itself has none
LEAST_ROUNDS, MOST_ROUNDS = 5, 101


class Spread(NamedTuple):
    """The middle of many measurements, and the quartiles on both sides of it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, numbers) -> Spread:
        """Median and quartiles of an array."""
        low, median, high = np.percentile(numbers, [25, 50, 75])
        return cls(float(median), float(low), float(high))


class Times:
    """What one way took in each round, in seconds a call.

    `a / b` compares round by round: how many times as long a took, as a Spread.
    """

    def __init__(self, seconds):
        self.seconds = np.asarray(seconds, dtype=float)

    @property
    def spread(self) -> Spread:
        """Median and quartiles over the rounds."""
        return Spread.of(self.seconds)

    @property
    def median(self) -> float:
        """The middle round."""
        return self.spread.median

    def __truediv__(self, other: Times) -> Spread:
        return Spread.of(self.seconds / other.seconds)


def in_turns(
    ways: Mapping[str, Callable[[], object] | tuple[Callable, Callable]],
    seconds: float = 0.3,
    rounds: int | None = None,
    seed: int = 0,
    least: int = LEAST_ROUNDS,
) -> dict[str, Times]:
    """Time every way in turns for about `seconds` altogether, or for exactly `rounds` rounds.

    ways: name -> a function of no arguments, or a pair (before, run) whose first half is called
    before every run and not timed. At least `least` rounds are run, however long they take.

    >>> times = in_turns({"short": lambda: sum(range(50)), "long": lambda: sum(range(5000))})
    >>> (times["long"] / times["short"]).median > 10
    True
    """
    pairs = {name: way if isinstance(way, tuple) else (None, way) for name, way in ways.items()}
    repeats, once = {}, 0.0
    for name, (before, run) in pairs.items():
        _timed(before, run, 1)  # compiles
        quick = _timed(before, run, 1)
        repeats[name] = 1 if before else max(1, round(SHORTEST / max(quick, 1e-7)))
        once += quick * repeats[name]
        warm = min(WARM, int(WARMING / max(quick, 1e-7)))
        if before is None and warm:
            pairs[name] = partial(_timed, None, run, warm), run
            once += quick * warm
    if rounds is None:
        rounds = int(np.clip(seconds / max(once, 1e-9), least, MOST_ROUNDS))
    taken = {name: [] for name in pairs}
    rng, names = np.random.default_rng(seed), list(pairs)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name in rng.permutation(names):
                taken[name].append(_timed(*pairs[name], repeats[name]))
    finally:
        if collecting:
            gc.enable()
    return {name: Times(each) for name, each in taken.items()}


def _timed(before: Callable | None, run: Callable, repeats: int) -> float:
    """Seconds a call."""
    if before is not None:
        before()
    start = perf_counter()
    for _ in range(repeats):
        run()
    return (perf_counter() - start) / repeats


def readable(seconds: float) -> str:
    """A time with a unit that suits it.

    >>> readable(0.00123)
    '1.23 ms'
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            break
    return f"{seconds / size:.3g} {unit}"
