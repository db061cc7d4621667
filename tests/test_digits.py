"""What is shown of a calculation leads to what is shown as its result."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Tensor, digits
from scratch_embed import functional as F
from scratch_embed.digits import comes_out, worked_out
from scratch_embed.trace import trace
from scratch_embed.working import Line

FAR = 100 + np.array([[0.1, 0.2, 0.35, 0.4], [0.24, 0.11, 0.3, 0.07]])
CASES = {
    "layer_norm": lambda x: F.layer_norm(x),
    "attention": lambda x: F.attention(0.2 * x, x, x),
    "difference": lambda x: x - (x.data + 0.031),
    "softmax": lambda x: F.softmax(x),
    "nearly 1": lambda x: F.sigmoid(0.1 * x) ** 2,
    "products": lambda x: x @ np.array([[1.0], [-1.0], [2.0], [-2.0]]),
}


def lines_of(fn):
    x = Tensor(FAR, requires_grad=True, name="x")
    out = fn(x)
    walk = trace((out * np.random.default_rng(0).standard_normal(out.shape)).sum())
    return [walk.entry(step).lines[0] for step in range(1, 1 + len(walk.steps))]


@pytest.mark.parametrize("name", CASES)
def test_what_is_shown_comes_to_what_is_shown(name):
    lines = lines_of(CASES[name])
    assert lines and all(map(comes_out, lines))


def test_four_digits_would_not_do(monkeypatch):
    monkeypatch.setattr(digits, "TRIED", (4,))
    lines = [line for fn in CASES.values() for line in lines_of(fn)]
    assert sum(not comes_out(line) for line in lines) >= len(CASES)


def test_no_logarithm_of_nothing_is_told():
    z = Tensor([[0.0, 900.0], [500.0, 0.0]], requires_grad=True, name="z")
    line = trace(F.cross_entropy(z, [0, 1])).entry(1).lines[0]
    assert line.stages[1:] == ("-(ln e^-900 + ln e^-500) / 2", "700")
    tied = F.tied_cross_entropy(Tensor([[30.0]]), Tensor([[1.0], [-1.0]], requires_grad=True), [1])
    assert "-(ln e^-60)" in trace(tied).entry(1).lines[0].stages


def test_where_rounding_is_all_that_is_left_four_digits_stand():
    x = Tensor([0.1, 0.2, -0.3], requires_grad=True, name="x")
    line = trace(x.sum()).entry(1).lines[0]
    assert line.stages == ("0.1 + 0.2 + (-0.3)", "5.551e-17")


@pytest.mark.parametrize(
    "text, value",
    [
        ("1,234 - 0.5 (1 - 0.5)", 1233.75),
        ("-2^2 + (-2)^2", 0.0),
        ("1/(2 0.5)", 1.0),
        ("e^-2 * e^(-(-2))", 1.0),
        ("1 / (1 + e^-(-0))", 0.5),
        ("-(ln s(0) + ln 2) / 3", 0.0),
        ("-(ln e^-2 + ln e^-4) / 2", 3.0),
        ("max(0.1, 0.4) * sqrt 4", 0.8),
        ("(0.25 - 1) / 1.334e+123", -0.75 / 1.334e123),
        ("0.1 + ... (3 more)", None),
        ("x * 2", None),
        ("e^904 / 2", None),
        ("__import__('os')", None),
    ],
)
def test_a_stage_is_worked_out(text, value):
    assert worked_out(text) == (value if value is None else pytest.approx(value))


def test_a_part_that_does_not_come_out_counts():
    part = Line("mean", ("1.001 - 1.000", "0.0014"), 0.0014)
    assert not comes_out(Line("y", ("mean*2", "0.0028"), 0.0028, parts=(part,)))


def test_a_number_that_has_few_digits_itself_asks_others_for_no_fewer():
    """One share of three is 1e-317, of which no float holds four digits."""
    h = Tensor([[-8.456], [4.605], [-4.055], [48.021]], requires_grad=True, name="h")
    E = Tensor([[21.086], [70.122], [107.394]], requires_grad=True, name="E")
    walk = trace(F.tied_cross_entropy(h, E, [1, 0, 2, 0]))
    text = " ".join(walk.entry(2, (1, (2, 0))).text(everything=True).split())
    assert "= e^494.55 / 6.0265e+214 = 1 " in text
