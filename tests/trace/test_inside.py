"""Walking inside a function: every statement that ran, with the names it made, as they were."""

from __future__ import annotations

import sys
from collections import deque

import numpy as np
import pytest

from scratch_embed import Tensor
from scratch_embed import functional as F
from scratch_embed.ops import lookup, norm, patches, project
from scratch_embed.trace import inside, moment, within
from scratch_embed.trace.inside import walk, watching

RNG = np.random.default_rng(5)


def made(visit, name):
    """Every value that the name had, in the order of the lines that made them."""
    return [row.made[name] for row in visit.rows if name in row.made]


def test_layer_norm_line_by_line():
    x, gamma = RNG.normal(size=(2, 4)), RNG.normal(size=4)
    visit = walk(norm.layer_norm_forward, x, gamma)
    expected, _ = norm.layer_norm_forward(x, gamma)
    assert np.array_equal(visit.result[0], expected)
    (centred,), (inverse,) = made(visit, "centred"), made(visit, "inverse")
    assert np.array_equal(centred, x - x.mean(axis=-1, keepdims=True))
    assert np.allclose(inverse[:, 0], 1 / np.sqrt(x.var(axis=1) + 1e-5))
    sources = [row.source for row in visit.rows]
    assert "inverse = 1 / np.sqrt(variance + eps)" in sources and sources[-1].startswith("return")
    numbers = [row.number for row in visit.rows]
    assert numbers == sorted(set(numbers))  # no loop in it: each statement once
    file = open(norm.__file__, encoding="utf-8").read().splitlines()  # noqa: SIM115
    assert all(file[row.number - 1].strip() == row.source.splitlines()[0] for row in visit.rows)


def test_a_helper_of_the_same_file_is_a_visit_of_its_own():
    visit = walk(patches.unfold_forward, np.arange(16.0).reshape(4, 4), 2)
    (inner,) = visit.rows[-1].inner
    assert inner.name == "_cut" and np.array_equal(inner.result, visit.result[0])
    assert len(inner.rows) > 1 and inner.rows[0].inner[0].name == "_grid"


def test_kernels_stay_one_line():
    saved = lookup.lookup_forward(np.zeros((3, 2)), np.array([1, 1]))[1]
    visit = walk(lookup.lookup_backward, np.ones((2, 2)), saved)
    assert visit.result.tolist() == [[0, 0], [2, 2], [0, 0]]
    assert {visit.path} == {lookup.__file__}


def test_what_a_loop_makes_is_kept_as_it_was():
    def running(values):
        total = np.zeros(1)
        for value in values:
            total += value
        return total

    visit = walk(running, [1.0, 2.0, 4.0])
    assert [float(t[0]) for t in made(visit, "total")] == [0, 1, 3, 7]  # not four times 7
    assert made(visit, "value") == [1.0, 2.0, 4.0] and visit.given == {"values": [1.0, 2.0, 4.0]}


def test_lists_and_dicts_are_told_as_they_were_at_each_statement():
    def counted(words):
        counts, grads, seen = {}, [np.zeros(2)], (set(), deque())
        for word in words:
            counts[word] = counts.get(word, 0) + 1
            grads[-1] += 1
            seen[1].append(word)
        return counts

    visit = walk(counted, ["a", "b"])
    assert made(visit, "counts") == [{}, {"a": 1}, {"a": 1, "b": 1}]
    assert [found[0].tolist() for found in made(visit, "grads")] == [[0, 0], [1, 1], [2, 2]]
    assert [list(found[1]) for found in made(visit, "seen")] == [[], ["a"], ["a", "b"]]


def test_a_long_list_is_told_by_its_beginning_and_one_that_holds_itself_is_told():
    def grown(words):
        words.append("end")
        ring = [words]
        ring.append(ring)
        return len(ring)

    visit = walk(grown, ["the"] * moment.LONGEST)
    (after,) = made(visit, "words")
    assert repr(after).endswith("1,001 in all") and len(repr(after)) < 100
    assert made(visit, "ring") and visit.result == 2


def test_a_statement_of_several_lines_is_one_row():
    def long(x):
        y = max(
            abs(x),
            abs(2 * x),
        )
        if y > 1:
            y = y + 1
        return y

    visit = walk(long, -3)
    assert [row.source.splitlines()[0] for row in visit.rows] == [
        "y = max(", "if y > 1:", "y = y + 1", "return y"]  # fmt: skip
    assert visit.rows[0].source.endswith(")") and visit.rows[-1].made == {"return": 7}


def test_a_comprehension_is_one_row_and_its_variable_is_not_made():
    """Since Python 3.12 it runs in the frame of its function, and its variable is there a while."""

    def several(xs):
        doubled = [2 * one for one in xs]
        pairs = {
            two: 2
            for two in xs
            if two
        }
        return doubled, pairs

    visit = walk(several, [1, 2, 3])
    assert [row.made for row in visit.rows[:2]] == [{"doubled": [2, 4, 6]},
                                                    {"pairs": {1: 2, 2: 2, 3: 2}}]  # fmt: skip
    assert len(visit.rows) == 3


def test_a_long_loop_is_cut_and_a_large_array_is_told_by_its_size(monkeypatch):
    def long(n):
        big = np.zeros(moment.LARGEST + 1)
        for _ in range(n):
            pass
        return big

    visit = walk(long, 1000)
    assert len(visit.rows) == inside.MOST_ROWS and visit.left_out > 1000
    assert visit.rows[0].made["big"] == moment.Size((moment.LARGEST + 1,), np.dtype(float))


def test_the_return_of_a_long_call_is_shown_behind_what_is_left_out():
    def long(n):
        total = 0
        for k in range(n):
            total += k
        return total

    visit = walk(long, 1000)
    assert len(visit.rows) == inside.MOST_ROWS and "return" not in visit.rows[-1].made
    assert visit.last.made == {"return": 499_500} and visit.last.source == "return total"
    shown = within.blocks(visit)
    assert shown[-2] == [f"... {visit.left_out:,} statements more"] and "499500" in shown[-1][-1]
    assert visit.left_out == 1 + 2 * 1000 + 1 + 1 - inside.MOST_ROWS - 1


def test_what_is_not_shown_is_not_copied(monkeypatch):
    """A loop of thousands of turns over a dict that grows took minutes."""
    copied = []
    monkeypatch.setattr(inside, "kept", lambda value: copied.append(value) or value)

    def helper(grads, k):
        grads[k] = 1.0

    def grown(n):
        grads = {}
        for k in range(n):
            helper(grads, k)
        return grads

    walk(grown, 300)
    few = len(copied)
    walk(grown, 3000)
    assert len(copied) - few == few


def test_what_is_returned_belongs_to_the_return_and_not_to_the_end_of_a_with():
    def quiet(x):
        with np.errstate(over="ignore"):
            return np.exp(x)

    visit = walk(quiet, np.zeros(2))
    (made_by,) = [row.source for row in visit.rows if "return" in row.made]
    assert made_by == "return np.exp(x)"


def test_watching_finds_the_calls_deep_inside_others():
    wanted = {lookup.lookup_forward.__code__, project.project_forward.__code__}
    table = Tensor(RNG.normal(size=(5, 3)), requires_grad=True)
    before = sys.gettrace()
    with watching(lambda code: code in wanted, most=2) as visits:
        for _ in range(3):
            logits = F.project(F.lookup(table, np.array([1, 4, 1])), table)
    assert [visit.name for visit in visits] == ["lookup_forward", "project_forward"]
    assert np.array_equal(visits[1].result[0], logits.numpy())
    assert np.array_equal(visits[0].given["ids"], [1, 4, 1]) and sys.gettrace() is before


def test_an_error_passes_through_and_tracing_ends():
    before = sys.gettrace()
    with pytest.raises(IndexError):
        walk(lookup.lookup_forward, np.zeros((3, 2)), np.array([7]))
    assert sys.gettrace() is before
    with pytest.raises(TypeError, match="no Python code"):
        walk(len, [])
    with pytest.raises(TypeError, match="<lambda> is no def in Python"):
        walk(lambda x: x + 1, 1)


def test_a_long_list_is_told_in_lines_that_cut_no_number():
    told = within.told("weights", [1.25**k for k in range(9)], 80, 8)
    assert len(told) == 2 and all(len(line) <= 80 for line in told)
    assert " ".join(" ".join(told).split()) == f"weights = {[1.25**k for k in range(9)]}"
    many = within.told("many", list(range(1000)), 80, 8)
    assert len(many) == 5 and many[-1].strip() == "..."
