"""The benchmarks' own machinery, without timing anything: checks, verdicts, peers, reports."""

from __future__ import annotations

import json

import numpy as np
import pytest

from scratch_embed import kernels
from scratch_embed.lesson.timing import Spread, Times
from tests.benchmarks import figure, limits, registry, report, shapes
from tests.benchmarks.registry import Bench, Benchmark, Verdict, Wrong


@pytest.fixture
def timed(monkeypatch):
    """Rows take their times from here instead of from a clock."""
    taken = {}

    def in_turns(ways, seconds, least):
        return {name: Times(taken[name]) for name in ways}

    monkeypatch.setattr(registry, "in_turns", in_turns)
    yield taken
    registry.BENCHMARKS.pop("thing", None)


def measured(run, **options) -> Bench:
    """A bench that has run one benchmark called "thing"."""
    bench = Bench(quick=True, threads=2, **options)
    one = registry.benchmark("thing", "as fast as a copy")(run)
    bench.run(registry.BENCHMARKS["thing"])
    assert one is run
    return bench


def test_ratios_shares_and_verdicts(timed):
    timed.update({"ours": [1.0, 2.0, 4.0], "copy": [0.5, 1.0, 2.0], "peer": [3.0, 6.0, 20.0]})

    def run(bench):
        row = bench.row("case", V=10, D=2, N=3, dtype="float32", ids="uniform", table_bytes=80)
        row.time(dict.fromkeys(timed), moved=300, copied=100)
        row.bar("share", row.share(), at_least=1.5)
        row.bar("share", row.share(), at_least=2)
        row.bar("peer over ours", row.ratio("peer"), at_most=2)
        row.bar("absent over ours", row.ratio("absent"), at_least=1)
        row.note("words a second", 1234.5)

    (row,) = measured(run).rows
    assert row.share() == Spread(1.5, 1.5, 1.5)
    assert row.ratio("peer") == Spread(3.0, 3.0, 4.0)
    words = ["reached", "missed by 25%", "missed by 50%", "not measured"]
    assert [verdict.word for verdict in row.verdicts] == words
    shown = report.row_lines(row)
    assert "V=10 D=2 N=3, float32, uniform ids, table 80 bytes" in shown and "2 threads" in shown
    assert "150% of copy" in shown and "3.00 x ours" in shown and "words a second: 1234" in shown
    closing = report.closing_table([row], {})
    assert "thing: as fast as a copy" in closing and "1 of 3 reached, 1 not measured" in closing
    assert closing.index("missed by 50%") < closing.index("missed by 25%")


def test_a_verdict_near_its_limit_says_so():
    verdict = Verdict("ratio", 0.96, 0.9, 1.1, "at least", 1.0)
    assert not verdict.reached and verdict.word == "missed by 4% (within the spread)"
    assert Verdict("ratio", 1.0, 0.9, 1.1, "at most", 1.0).word == "reached"


def test_times_of_different_rounds_are_not_compared(timed):
    timed.update({"ours": [1.0], "peer": [1.0]})

    def run(bench):
        row = bench.row("case")
        row.time({"ours": None})
        row.time({"peer": None})
        with pytest.raises(ValueError, match="not timed in the same rounds"):
            row.ratio("peer")

    measured(run)


def test_what_is_wrong_is_not_timed(timed):
    def run(bench):
        row = bench.row("case")
        row.check("same", np.ones(3), np.ones(3))
        row.check("near", np.ones(3), np.ones(3) + 1e-7, rtol=1e-6)
        row.check("fast against slow", np.ones(3), np.array([1, 1, 1 + 1e-15]))
        raise AssertionError("went on after a wrong result")

    bench = Bench(quick=True, threads=1)
    with pytest.raises(Wrong, match="case: fast against slow is not equal to the last bit"):
        bench.run(Benchmark("thing", "", run))
    (row,) = bench.rows
    assert row.times == {} and "WRONG" in report.row_lines(row)
    assert row.checks == ["same: equal to the last bit", "near: equal to rtol 1e-06, atol 0"]


def test_a_copy_copies_on_any_number_of_threads():
    before = kernels.get_num_threads()
    array = np.random.default_rng(0).standard_normal(1001).astype(np.float32)
    try:
        for threads in (1, 2, 3):
            kernels.set_num_threads(threads)
            out = np.zeros_like(array)
            limits.copy(out, array)
            assert np.array_equal(out, array)
    finally:
        kernels.set_num_threads(before)


def test_a_missing_peer_is_told_once():
    said = []
    bench = Bench(quick=True, threads=1, say=said.append)
    assert bench.peer("no_such_package") is None and bench.peer("no_such_package") is None
    assert said == [
        "no_such_package is not installed, so it is not compared with. pip install no_such_package"
    ]


def test_quick_takes_the_first_two():
    assert Bench(quick=True, threads=1).some("abc") == ["a", "b"]
    assert Bench(quick=False, threads=1).some("abc") == ["a", "b", "c"]


def test_a_bar_has_one_limit():
    bench = Bench(quick=True, threads=1)
    with pytest.raises(ValueError, match="either at_least or at_most"):
        bench.row("case").bar("x", 1.0)


def test_json_and_figure(timed, tmp_path):
    timed.update({"ours": [1.0, 2.0], "copy": [1.0, 2.0], "peer": [2.0, 4.0]})

    def run(bench):
        row = bench.row("case", V=10)
        row.time(dict.fromkeys(timed), moved=1, copied=1)
        row.bar("peer over ours", row.ratio("peer"), at_least=1)
        row.note("spread", Spread(1.0, 0.5, 2.0))

    bench = measured(run)
    report.write_json(tmp_path / "b.json", report.as_json(bench.rows, {"threads": 2}, {}))
    read = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))
    (row,) = read["benchmarks"]["thing"]["rows"]
    assert row["ratios"]["peer"] == {"median": 2.0, "low": 2.0, "high": 2.0}
    assert row["seconds"]["ours"]["median"] == 1.5 and row["seconds"]["ours"]["rounds"] == 2
    assert row["verdicts"][0]["verdict"] == "reached" and row["share of copy"]["median"] == 1.0
    assert figure.draw(bench.rows, tmp_path / "b.png").stat().st_size > 10_000
    assert figure.draw([], tmp_path / "none.png") is None


@pytest.mark.parametrize("pattern", shapes.PATTERNS)
def test_ids_are_drawn_as_named(pattern):
    ids = shapes.ids_like(pattern, 1000, 20_000, np.random.default_rng(0))
    counts = np.sort(np.bincount(ids, minlength=1000))[::-1]
    assert len(counts) == 1000 and counts.sum() == 20_000
    first_over_tenth = {"uniform": (1, 1.5), "Zipf": (10, 24), "all equal": (9, np.inf)}[pattern]
    assert first_over_tenth[0] <= counts[0] / max(counts[9], 1) <= first_over_tenth[1]
    with pytest.raises(ValueError, match="one of"):
        shapes.ids_like("sorted", 5, 5, np.random.default_rng(0))
