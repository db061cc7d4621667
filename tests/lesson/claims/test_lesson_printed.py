"""Printed figures: every notation, its interval, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scratch_embed.lesson.claims.printed import (
    agrees,
    describe,
    flatten,
    number,
    parts,
    read,
    read_figure,
)

# printed, the lowest and the highest number it allows (both allowed)
INTERVALS = [
    ("0.58", 0.575, 0.585),
    ("0.30", 0.295, 0.305),
    ("-0.41", -0.415, -0.405),
    ("\u22120.41", -0.415, -0.405),  # a typeset minus
    ("9073", 9072.5, 9073.5),
    ("50,257", 50256.5, 50257.5),
    ("0", 0, 0),
    ("0.0", -0.05, 0.05),
    ("1.5e-3", 0.00145, 0.00155),
    ("14x", 13.5, 14.5),
    ("14 x", 13.5, 14.5),
    ("14×", 13.5, 14.5),
    ("14 times", 13.5, 14.5),
    ("16 :1", 15.5, 16.5),
    ("150K", 149_500, 150_500),
    ("131.1M", 131.05e6, 131.15e6),
    ("131 M", 130.5e6, 131.5e6),
    ("175B", 174.5e9, 175.5e9),
    ("22.6 billion", 22.55e9, 22.65e9),
    ("5 million", 4.5e6, 5.5e6),
    ("1,001 MB", 1000.5e6, 1001.5e6),
    ("1,001 MiB", 1000.5 * 2**20, 1001.5 * 2**20),
    ("1 GB", 0.5e9, 1.5e9),
    ("1 GiB", 0.5 * 2**30, 1.5 * 2**30),
    ("200 KB", 199_500, 200_500),
    ("1 byte", 0.5, 1.5),
    ("12 bytes", 11.5, 12.5),
    ("3k", 2_500, 3_500),
    ("2T", 1.5e12, 2.5e12),
    ("4 thousand", 3_500, 4_500),
    ("6 trillion", 5.5e12, 6.5e12),
    ("2 kB", 1_500, 2_500),
    ("7 TB", 6.5e12, 7.5e12),
    ("8 KiB", 7.5 * 2**10, 8.5 * 2**10),
    ("9 TiB", 8.5 * 2**40, 9.5 * 2**40),
    ("98.3 %", 0.9825, 0.9835),
    ("~2 %", 0.015, 0.025),
    ("~500 MB", 450e6, 550e6),
    ("~250 MB", 245e6, 255e6),
    ("~4x", 3.5, 4.5),
    ("≈40", 35, 45),
    ("~0.50", 0.495, 0.505),
    ("12+", 12, math.inf),
    ("100K+", 100_000, math.inf),
    ("<=8", -math.inf, 8),
    ("32K-128K", 31_500, 128_500),
    ("768-4096", 767.5, 4096.5),
    ("3-5 MB", 2.5e6, 5.5e6),
]


@pytest.mark.parametrize("text, low, high", INTERVALS)
def test_interval(text, low, high):
    """Both ends agree, a little beyond either does not."""
    inside = [x for x in (low, high) if math.isfinite(x)]
    assert all(agrees(x, text) for x in inside)
    width = high - low if math.isfinite(high - low) and high > low else 1.0
    if math.isfinite(low):
        assert not agrees(low - 1e-6 * width, text)
    if math.isfinite(high):
        assert not agrees(high + 1e-6 * width, text)


@pytest.mark.parametrize("text, inside, outside", [("<1B", 0.999e9, 1e9), (">7B", 7.01e9, 7e9)])
def test_strict_bounds_leave_the_printed_number_out(text, inside, outside):
    assert agrees(inside, text) and not agrees(outside, text)


@pytest.mark.parametrize(
    "value, text, expected",
    [
        ([0.34, -0.52], "[0.34, -0.52]", True),
        ([0.34, 0.52], "[0.34, -0.52]", False),
        (np.array([[0.72, -0.41], [0.15, 1.0]]), "0.72; -0.41; 0.15; 1.00", True),
        (np.zeros((2, 3)).shape, "(2, 3)", True),
        ((3, 3), "(3,3)", True),
        ([1, 2, 3], "(1, 2)", False),  # one value too many
        ([[30522, 768], (512, 768)], "(30522, 768); (512, 768)", True),
        ([262_144_000, 1_050_673_152], "250 MB; 1 GB", False),  # 262 MB
        ([250_000_000, 1_050_673_152], "250 MB; 1 GB", True),
        ([1.0, 16.0], "1.0 : 16.0", True),
        ([57, 12, 908], "57, 12, 908", True),
        (True, "True", True),
        (np.bool_(False), "Yes", False),
        ("Cat", "cat", True),
        ("un|happiness", "un|happi|ness", False),
        (["transform", "er"], "['transform', 'er']", True),
        ([True, "RoPE"], "Yes; RoPE", True),
        (["transform", 3], "['transform']; 3", True),
        (float("nan"), "0.58", False),
        (np.float32(0.58), "0.58", True),
        (0.5, "0", False),
    ],
)
def test_values(value, text, expected):
    assert agrees(value, text) is expected


@pytest.mark.parametrize("text", ["V dominant", "(4, d)", "", "1.2.3", "1,00", "half", "5-3", "[]"])
def test_what_is_no_number_is_refused_with_the_way_out(text):
    with pytest.raises(ValueError, match="condition|is not a number"):
        read_figure(text)


def test_a_truth_value_is_not_compared_with_a_number():
    with pytest.raises(ValueError, match="neither True, False"):
        agrees(True, "18")


@pytest.mark.parametrize("value", [None, {"a": 1}, 1 + 2j, object()])
def test_values_that_cannot_be_compared(value):
    with pytest.raises(TypeError, match="a number, a text"):
        flatten(value)


def test_parts_and_reading_several():
    assert parts("23,440,896; 393,216") == ["23,440,896", "393,216"]
    assert [figure.value for figure in read("(2, 128, 768)")] == [2, 128, 768]


def test_rounding_to_the_printed_digits_always_agrees():
    """What Python's own rounding prints is allowed, for random numbers and any number of digits."""
    rng = np.random.default_rng(0)
    for digits in range(5):
        for x in rng.normal(scale=100, size=200):
            text = f"{x:,.{digits}f}"
            if text not in ("0", "-0"):
                assert agrees(x, text), (x, text)


def test_writing_numbers():
    assert (
        number(-0.0) == "0" and number(2**40) == "1,099,511,627,776" and number(math.inf) == "inf"
    )
    assert describe(525_336_576, "525.4M") == "525.3M (525,336,576)"
    assert describe(np.arange(20.0)).endswith("11, ... 20 values]")
