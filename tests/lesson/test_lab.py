"""The protocol of a lab: seeds, budgets, and claims that hold for every seed or are not made."""

from __future__ import annotations

import json

import numpy as np
import pytest

from scratch_embed.lesson.lab import Results, across, dump
from scratch_embed.lesson.record import Options, Record, recording


def score(seed, budget, shift):
    return 10.0 - budget + shift + 0.1 * seed


WAYS = {"low": {"shift": 0.0}, "high": {"shift": 1.0}, "close": {"shift": 0.05}}


def test_every_way_sees_every_seed_and_budget():
    with recording(Record("lab")) as record:
        results = across(score, WAYS, seeds=4, budgets=(1, 5))
    assert results.longest == 5 and record.results == [results]
    assert results.final("high").tolist() == [6.0, 6.1, 6.2, 6.3]
    assert results.scores["low"][1][2] == 9.2


def test_a_number_that_compares_with_nothing_is_told_where_it_came_from():
    with recording(Record("lab")), pytest.raises(ValueError, match="high with seed 1 comes to nan"):
        across(lambda s, b, shift: np.nan if s and shift == 1 else 0.0, WAYS, seeds=2)


def test_budgets_are_whole_numbers_from_any_iterable():
    found = across(lambda seed, budget: budget, {"a": {}, "b": {}}, 2, map(int, (10, 20)))
    assert [found.scores["b"][10].tolist(), found.scores["b"][20].tolist()] == [[10, 10], [20, 20]]
    with pytest.raises(ValueError, match="a budget is 0.5"):
        across(lambda seed, budget: budget, {"a": {}}, 2, (0.5, 1))


@pytest.mark.parametrize(
    "one, other, by, holds",
    [(0.4, 0.3, 0.1, False), (0.9, 0.8, 0.1, False), (0.1 + 0.2, 0.3, 0.0, False),
     (0.4004, 0.3, 0.1, True)],
)  # fmt: skip
def test_what_is_the_same_but_for_rounding_is_not_above(one, other, by, holds, capsys):
    results = Results({"a": {9: np.array([one, 0.7])}, "b": {9: np.array([other, 0.1])}})
    assert results.claim("a", "above", "b", by=by) is holds
    told = " ".join(capsys.readouterr().out.split())
    assert not holds or "by more than 0.1 for all 2 seeds (0.1004 to 0.6)" in told


def test_large_scores_are_told_in_full(capsys):
    Results({"a": {9: np.array([12345.678, -12399.1])}}).show()
    assert "(-12399 to 12346)" in capsys.readouterr().out


def test_quick_runs_three_seeds_at_the_shortest_budget():
    with recording(Record("lab", options=Options(quick=True))):
        results = across(score, WAYS, seeds=5, budgets=(2, 5))
    assert list(results.scores["low"]) == [2] and len(results.final("low")) == 3


def test_a_claim_needs_every_seed_at_the_longest_budget(capsys):
    results = Results({"a": {1: np.zeros(3), 9: np.array([1.0, 2.0, 3.0])},
                       "b": {1: np.ones(3), 9: np.array([0.5, 1.0, 3.5])}}, "nats")  # fmt: skip
    assert not results.claim("a", "above", "b")
    assert "No claim: a is above b for 2 of 3 seeds" in capsys.readouterr().out
    results.scores["b"][9][2] = 2.5
    assert results.claim("a", "above", "b") and not results.claim("a", "above", "b", by=0.5)
    assert results.claim("b", "below", "a", by=0.4)
    assert [claim["holds"] for claim in results.claims] == [False, True, False, True]


def test_show_gives_medians_and_ranges(capsys):
    Results({"a": {10: np.array([1.0, 3.0, 2.0])}, "b": {10: np.full(3, 4.0)}}, "nats").show()
    out = capsys.readouterr().out
    assert "3 seeds, nats" in out and "2 (1 to 3)" in out and "b              4" in out


def test_results_are_plain_json():
    results = Results({"a": {1: np.array([1.0])}}, "nats")
    results.conclude("nothing is settled", False)
    (read,) = json.loads(dump([results]))
    assert read["scores"] == {"a": {"1": [1.0]}} and read["claims"][0]["holds"] is False


def test_wrong_names_are_told():
    results = Results({"a": {1: np.array([1.0])}})
    with pytest.raises(ValueError, match="there is no way 'b'; there are a"):
        results.final("b")
    with pytest.raises(ValueError, match="'above' or 'below'"):
        results.claim("a", "over", "a")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"seeds": 0}, "seeds is 0"),
        ({"seeds": []}, "seeds is empty"),
        ({"ways": {}}, "ways is empty"),
        ({"budgets": ()}, "budgets is empty"),
        ({"run": lambda seed, budget: None}, "a with seed 0 returns None; a run must return one"),
        ({"run": lambda seed, budget: np.ones(1)}, "a run must return one number"),
    ],
)
def test_what_cannot_be_compared_is_told(changed, told):
    given = {"run": lambda seed, budget: 1.0, "ways": {"a": {}}} | changed
    with pytest.raises(ValueError, match=told):
        across(**given)
    assert len(across(lambda seed, budget: 1.0, {"a": {}}, seeds=np.int64(3)).final("a")) == 3
