"""What a benchmark is, and what it reports: rows of checks, times, notes and verdicts."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from scratch_embed.lesson.timing import LEAST_ROUNDS, Spread, Times, in_turns

SECONDS = 0.8  # spent on the rounds of one row
QUICK_SECONDS = 0.1
PEERS = {
    "scipy": "pip install scipy",
    "torch": "pip install torch --index-url https://download.pytorch.org/whl/cpu",
    "gensim": "pip install gensim",
    "tokenizers": "pip install tokenizers",
}


class Benchmark(NamedTuple):
    name: str
    bar: str
    run: Callable[[Bench], None]


BENCHMARKS: dict[str, Benchmark] = {}


def benchmark(name: str, bar: str) -> Callable:
    """Register the decorated function under `name`, with its goal in words."""

    def register(run: Callable[[Bench], None]) -> Callable[[Bench], None]:
        if name in BENCHMARKS:
            raise ValueError(f"there are two benchmarks called {name!r}")
        BENCHMARKS[name] = Benchmark(name, bar, run)
        return run

    return register


class Wrong(AssertionError):
    """The fast way and its slow reference disagree, so there is nothing to time."""


class Verdict(NamedTuple):
    what: str
    value: float | None
    low: float | None
    high: float | None
    kind: str  # "at least" or "at most"
    limit: float

    @property
    def reached(self) -> bool | None:
        if self.value is None:
            return None
        return self.value >= self.limit if self.kind == "at least" else self.value <= self.limit

    @property
    def missed_by(self) -> float:
        """How far on the wrong side of the limit, as a share of it; negative when reached."""
        gap = self.value / self.limit - 1
        return -gap if self.kind == "at least" else gap

    @property
    def word(self) -> str:
        if self.reached is None:
            return "not measured"
        if self.reached:
            return "reached"
        near = self.low <= self.limit <= self.high
        return f"missed by {self.missed_by:.0%}" + (" (within the spread)" if near else "")


@dataclass
class Row:
    """One case of a benchmark: a shape, a distribution of ids, whatever decides the time."""

    benchmark: str
    case: str
    facts: dict
    seconds: float
    checks: list[str] = field(default_factory=list)
    wrong: str | None = None
    times: dict[str, Times] = field(default_factory=dict)
    together: list[set[str]] = field(default_factory=list)  # the ways that were timed in turns
    moved: float | None = None
    copied: float | None = None
    notes: dict[str, object] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)

    def check(self, what: str, value, expected, rtol: float = 0.0, atol: float = 0.0) -> None:
        value, expected = np.asarray(value), np.asarray(expected)
        if rtol == atol == 0:
            same, how = np.array_equal(value, expected), "equal to the last bit"
        else:
            same = value.shape == expected.shape
            same = same and bool((abs(value - expected) <= atol + rtol * abs(expected)).all())
            how = f"equal to rtol {rtol:g}, atol {atol:g}"
        if not same:
            self.wrong = f"{what} is not {how}"
            raise Wrong(f"{self.benchmark}, {self.case}: {self.wrong}")
        self.checks.append(f"{what}: {how}")

    def time(self, ways: dict, moved: float | None = None, copied: float | None = None) -> None:
        least = 3 if self.seconds == QUICK_SECONDS else LEAST_ROUNDS
        self.times |= in_turns(ways, self.seconds, least=least)
        self.together.append(set(ways))
        if moved is not None:
            self.moved, self.copied = moved, copied

    def ratio(self, peer: str, ours: str = "ours") -> Spread | None:
        if peer not in self.times:
            return None
        if not any({peer, ours} <= ways for ways in self.together):
            raise ValueError(f"{peer!r} and {ours!r} were not timed in the same rounds")
        return self.times[peer] / self.times[ours]

    def share(self, ours: str = "ours") -> Spread | None:
        if not (self.moved and self.copied):
            return None
        ratio = self.ratio("copy", ours)
        return ratio and Spread(*(each * self.moved / self.copied for each in ratio))

    def note(self, name: str, value) -> None:
        self.notes[name] = value

    def bar(self, what: str, value, at_least=None, at_most=None) -> None:
        if (at_least is None) == (at_most is None):
            raise ValueError("a bar is either at_least or at_most")
        kind, limit = ("at least", at_least) if at_most is None else ("at most", at_most)
        if not isinstance(value, Spread):
            value = Spread(*[None if value is None else float(value)] * 3)
        self.verdicts.append(Verdict(what, *value, kind, float(limit)))


class Bench:
    """What a benchmark is handed: the run's options, and where its rows go."""

    def __init__(self, quick: bool, threads: int, say: Callable[[str], None] = print):
        self.quick, self.threads = quick, threads
        self.rows: list[Row] = []
        self.shown: Callable[[Row], None] = lambda row: None  # called when a row is complete
        self._say, self._peers, self._name, self._open = say, {}, "", False

    def run(self, one: Benchmark) -> None:
        """All rows of one benchmark."""
        self._name = one.name
        try:
            one.run(self)
        finally:
            self._close()

    def row(self, case: str, **facts) -> Row:
        self._close()
        seconds = QUICK_SECONDS if self.quick else SECONDS
        self.rows.append(Row(self._name, case, {**facts, "threads": self.threads}, seconds))
        self._open = True
        return self.rows[-1]

    def _close(self) -> None:
        if self._open:
            self._open = False
            self.shown(self.rows[-1])

    def some(self, items: Sequence) -> list:
        return list(items)[:2] if self.quick else list(items)

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(5)

    def peer(self, name: str):
        if name not in self._peers:
            try:
                self._peers[name] = importlib.import_module(name)
            except ImportError:
                self._peers[name] = None
                how = PEERS.get(name, f"pip install {name}")
                self._say(f"{name} is not installed, so it is not compared with. {how}")
            if name == "torch" and self._peers[name]:
                self._peers[name].set_num_threads(self.threads)
        return self._peers[name]
