"""Worked arithmetic: the result is NumPy's, and the numbers shown are the numbers used."""

from __future__ import annotations

import re

import numpy as np
import pytest

from scratch_embed.lesson import worked
from scratch_embed.lesson.record import Record, recording

H, CAT = [0.6, 0.1, 0.3], [0.8, -0.2, 0.4]
E = np.array([[-0.12, 0.05, 0.88], [0.72, -0.41, 0.15], [0.68, -0.38, 0.22]])


@pytest.fixture
def record():
    with recording(Record("test")) as made:
        yield made


def lines(capsys):
    return capsys.readouterr().out.splitlines()


def test_dot_is_written_out(capsys):
    assert worked.dot("cat", H, CAT) == pytest.approx(0.58)
    assert lines(capsys) == [
        "  cat = 0.6*0.8 + 0.1*(-0.2) + 0.3*0.4 = 0.48 - 0.02 + 0.12 = 0.58"]  # fmt: skip


def test_distance_shows_difference_squares_and_root(capsys):
    assert worked.distance("cat, dog", E[1], E[2]) == pytest.approx(np.sqrt(0.0074))
    out = "\n".join(lines(capsys))
    assert "= [0.04, -0.03, -0.07]" in out and "sqrt(0.0016 + 0.0009 + 0.0049)" in out
    assert "0.0860233" in out


def test_scatter_add_shows_the_running_sum_of_a_repeated_row(capsys, record):
    values = np.random.default_rng(0).normal(size=(3, 2))
    out = worked.scatter_add("dE", [1, 3, 1], values, 4)
    expected = np.zeros((4, 2))
    np.add.at(expected, [1, 3, 1], values)
    np.testing.assert_array_equal(out, expected)
    text = lines(capsys)
    assert text[0].startswith("  dE[1] += values[0]") and text[-1].endswith("stay zero: 0, 2")
    assert text[2] == "  row 1 again, so values[2] is added:"
    ((working, _),) = record.workings
    assert np.array_equal(np.sum(working.lines[2].adds, axis=0), out[1])


def test_sigmoid_is_shown_and_does_not_overflow(capsys):
    assert worked.sigmoid("z", 2.0) == pytest.approx(0.880797, abs=1e-6)
    assert lines(capsys) == ["  σ(z) = 1 / (1 + exp(-2)) = 0.880797"]
    with np.errstate(over="raise"):
        assert worked.sigmoid("z", -800.0) == 0.0 and worked.sigmoid("z", 800.0) == 1.0


def test_unfold_shows_the_squares_in_reading_order(capsys):
    image = np.arange(24.0).reshape(4, 6)
    out = worked.unfold("p", image, 2)
    text = lines(capsys)
    assert len(text) == 6 and text[4] == "  p[4] at row 2, column 2: 14 15 | 20 21"
    assert out[4].tolist() == [14, 15, 20, 21]
    with pytest.raises(ValueError, match="patch_size 4 does not divide"):
        worked.unfold("p", image, 4)


def test_every_function_returns_what_numpy_computes(capsys):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 12))
    table, other = rng.normal(size=(12, 3)), rng.normal(size=(3, 5))
    exps = np.exp(a)
    pairs = [
        (worked.dot("x", a, b), np.dot(a, b)),
        (worked.norm("x", a), np.linalg.norm(a)),
        (worked.distance("x", a, b), np.linalg.norm(a - b)),
        (worked.cosine("x", a, b), np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b)),
        (worked.difference("x", a, b), a - b),
        (worked.scale("x", -2.5, a), -2.5 * a),
        (worked.sum("x", a), a.sum()),
        (worked.sum("x", a, b, a), 2 * a + b),
        (worked.mean("x", a), a.mean()),
        (worked.quotient("x", 3, -7), -3 / 7),
        (worked.root("x", 7), 7**0.5),
        (worked.product("x", 0.5, 3), 1.5),
        (worked.softmax("z", a), exps / exps.sum()),
        (worked.softmax("z", 1000 * a), (a == a.max()).astype(float)),
        (worked.cross_entropy("L", a, 4), -np.log(exps[4] / exps.sum())),
        (worked.lookup("x", table, [3, 3, 0]), table[[3, 3, 0]]),
        (worked.onehot_product("x", 5, table), table[5]),
        (worked.matmul("x", table, other), table @ other),
    ]
    for got, expected in pairs:
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)
    assert max(map(len, lines(capsys))) <= 100


def test_the_products_shown_add_up_to_the_result_shown(capsys):
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 5)).round(2)
    result = worked.dot("x", a, b)
    stages = " ".join(lines(capsys)).split("=")
    shown = [float(x.replace(" ", "")) for x in re.findall(r"-? ?\d+\.?\d*", stages[2])]
    assert len(shown) == 5 and sum(shown) == pytest.approx(result, abs=1e-6)


def test_a_probability_below_all_floats_is_told_as_a_power(capsys):
    assert worked.cross_entropy("loss", [0.0, 1000.0], 0) == 1000
    assert "-ln(e^-1,000) = 1,000" in capsys.readouterr().out


def test_whole_numbers_stay_whole():
    assert worked.sum("n", 2**62, np.int64(2**62)) == 2**63
    assert worked.sum("s", *np.float32([1e8, 1, -1e8])) == 1  # in float64, as one vector is
    assert worked.product("p", *np.float32([2**24 + 2, 0.1])) != np.float32((2**24 + 2) * 0.1)
    product = worked.product("bytes", 128_256, np.int32(4096), 2)
    assert product == 1_050_673_152 and type(product) is int
    assert worked.sum("ids", 3782, 5291) == 9073


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_lines_fit_the_terminal(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    rng = np.random.default_rng(3)
    worked.dot("a long label of a result", *rng.normal(size=(2, 8)))
    worked.softmax("z", rng.normal(size=8))
    worked.scatter_add("dE", rng.integers(9, size=20), rng.normal(size=(20, 3)), 9)
    assert max(map(len, lines(capsys))) <= columns


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: worked.dot("x", [1, 2], [1, 2, 3]), ValueError, "a has 2, b has 3"),
        (lambda: worked.dot("x", [[1]], [1]), ValueError, r"shape \(1, 1\)"),
        (lambda: worked.dot("x", [], []), ValueError, "at least one"),
        (lambda: worked.scatter_add("x", [0, 7], E[:2], 3), IndexError, r"ids\[1\] = 7.*0 to 2"),
        (lambda: worked.scatter_add("x", [-1], E[:1], 3), IndexError, r"ids\[0\] = -1"),
        (lambda: worked.scatter_add("x", [0.5], E[:1], 3), TypeError, "integers"),
        (lambda: worked.scatter_add("x", [0, 1], E, 3), ValueError, "2 ids for 3 rows"),
        (lambda: worked.matmul("x", E, E[:2]), ValueError, "do not fit"),
        (lambda: worked.cosine("x", [0, 0], [1, 2]), ValueError, "zero vector"),
        (lambda: worked.cosine("x", [1e-200, 0], [1, 2]), ValueError, "below all floats"),
        (lambda: worked.cross_entropy("x", [0.1, 0.2], 2), IndexError, "0 to 1"),
    ],
)
def test_wrong_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_what_is_written_comes_out_where_large_numbers_are_subtracted(capsys):
    worked.sum("s", 100000.25, -100000.125)
    worked.mean("m", [100000.25, -100000.125])
    worked.distance("d", [1000.0004], [1000.0001])
    worked.softmax("z", [1000.0004, 1000.0001])
    worked.nudge("w", lambda w: 1e7 + float((w**2).sum()), [1.5, 2.0], 0)
    out = capsys.readouterr().out
    assert "s = 100000.25 - 100000.125 = 0.125\n" in out
    assert "m = (100000.25 - 100000.125) / 2 = 0.125 / 2 = 0.0625\n" in out
    assert "[1000.0004] - [1000.0001] = [0.0003]" in out
    assert "exp(z - 1000.0004) = [1, 0.9997]" in out
    assert "h) = 10000006.2503\n" in out and "h) = 10000006.2497\n" in out
    worked.cross_entropy("L", [15.4, 0.0], 0)
    worked.cross_entropy("M", [30.0, 0.0], 0)
    out = capsys.readouterr().out
    assert "L = -ln(softmax[0]) = -ln(0.9999997949) = 2.050524365e-07" in out
    assert "M = -ln(softmax[0]) = -ln(e^-9.35762e-14) = 9.35762e-14" in out
    worked.sum("zero", 0.1, 0.2, -0.3)
    assert capsys.readouterr().out == "  zero = 0.1 + 0.2 - 0.3 = 5.55112e-17\n"
