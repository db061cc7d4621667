"""Timing without a clock: what is called, how often, in which order, and how it is compared."""

from __future__ import annotations

import gc
from itertools import pairwise

import numpy as np
import pytest

from scratch_embed.lesson import timing
from scratch_embed.lesson.timing import Spread, Times, in_turns, readable


@pytest.fixture
def clock(monkeypatch):
    """A clock that only moves when it is told to."""

    class Clock:
        now = 0.0

        def wait(self, seconds):
            self.now += seconds

    clock = Clock()
    monkeypatch.setattr(timing, "perf_counter", lambda: clock.now)
    return clock


def test_times_and_ratios(clock):
    times = in_turns(
        {"one": lambda: clock.wait(0.001), "three": lambda: clock.wait(0.003)}, rounds=7
    )
    assert [len(each.seconds) for each in times.values()] == [7, 7]
    assert np.isclose(times["one"].median, 0.001)
    assert np.allclose(times["three"] / times["one"], 3)


def test_a_ratio_is_taken_within_each_round():
    slow_machine = np.array([1.0, 1.0, 10.0, 10.0, 10.0])
    ours, theirs = Times(slow_machine), Times(2 * slow_machine)
    assert theirs / ours == Spread(2.0, 2.0, 2.0)


def test_every_round_runs_every_way_once_in_changing_order(clock):
    calls = []
    ways = {name: lambda name=name: (calls.append(name), clock.wait(0.1)) for name in "abc"}
    in_turns({name: (lambda: None, way) for name, way in ways.items()}, rounds=20)
    rounds = ["".join(calls[i : i + 3]) for i in range(6, len(calls), 3)]  # 2 x 3 to begin with
    assert len(rounds) == 20 and all(sorted(each) == list("abc") for each in rounds)
    assert len(set(rounds)) > 3


def test_fast_calls_are_timed_several_at_once(clock):
    count = [0]

    def fast():
        count[0] += 1
        clock.wait(1e-6)

    (times,) = in_turns({"fast": fast}, rounds=4).values()
    assert count[0] == 2 + 4 * (timing.WARM + 50)
    assert np.allclose(times.seconds, 1e-6)


def test_what_comes_before_is_called_each_time_and_not_timed(clock):
    calls = []

    def before():
        calls.append("before")
        clock.wait(5)

    def run():
        calls.append("run")
        clock.wait(1e-6)

    (times,) = in_turns({"way": (before, run)}, rounds=3).values()
    assert calls == ["before", "run"] * 5
    assert np.allclose(times.seconds, 1e-6)


def test_a_way_finds_what_it_left_and_not_what_another_way_did(clock):
    last = ["none"]

    def way(name):
        clock.wait(0.001 if last[0] == name else 0.002)  # it finds the cache as another left it
        last[0] = name

    times = in_turns({name: lambda name=name: way(name) for name in "ab"}, rounds=5)
    assert np.allclose([each.seconds for each in times.values()], 0.001)


def test_rounds_fill_the_time_but_are_never_few(clock):
    def rounds(each, seconds):
        (times,) = in_turns({"way": lambda: clock.wait(each)}, seconds).values()
        return len(times.seconds)

    assert rounds(0.2, 6) in (29, 30)
    assert rounds(0.01, 1.5) in (29, 30)  # four times, and once
    assert rounds(60, 0.3) == 5
    assert rounds(0.001, 1e9) == timing.MOST_ROUNDS


def test_the_garbage_collector_rests_and_comes_back(clock):
    seen = []
    in_turns({"way": lambda: (seen.append(gc.isenabled()), clock.wait(1))}, rounds=2)
    assert seen[2:] == [False, False] and gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        in_turns({"way": lambda: 1 / 0})
    assert gc.isenabled()


def test_readable():
    assert [readable(s) for s in (2, 0.25, 3e-3, 4.5e-6, 1e-8)] == [
        "2 s", "250 ms", "3 ms", "4.5 us", "0.01 us",
    ]  # fmt: skip
    assert all(a < b for a, b in pairwise([Spread.of([1, 2, 3]).low, 2.0, 3.0]))
