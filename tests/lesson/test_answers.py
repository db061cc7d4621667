"""What a person typed is judged: right, or told the slip that leads there."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scratch_embed.lesson.answers import how_far, is_number, judge, names_an_option


@pytest.mark.parametrize(
    "typed, answer, given",
    [
        ("18", 18, {}), ("18.1", 18.01, {}), ("18.3", 18, {"tolerance": 0.5}), ("~18", 18, {}),
        ("102,400,000", 102_400_000, {}), ("98.3 %", 0.983, {}), ("195 MiB", 195 * 2**20, {}),
        ("\u22120.3", -0.3, {}), ("3e-4", 3e-4, {}), ("0", 0, {}), ("\u20130.3", -0.3, {}),
        ("- 0.3", -0.3, {}), ("\u2013 1/4", -0.25, {}), ("204.8 mb", 204_800_000, {}),
        ("195mib", 195 * 2**20, {}), ("10^\u22124", 1e-4, {}), ("\u2014 0.3", -0.3, {}),
        ("1/4 MB", 250_000, {"asked": "How many bytes?"}), ("1/4 %", 0.0025, {}),
        ("1/4 MB", 0.25, {"asked": "How many MB?"}), ("[- 0.1, 0.2]", [-0.1, 0.2], {}),
        ("(0.1, \u2212 0.2)", [0.1, -0.2], {}),
        ("131.1 million", 131.072, {"asked": "How many million numbers?"}),
        ("131.1M", 131.072, {"asked": "How many million numbers?"}),
        ("0.1311 billion", 131.072, {"asked": "How many million numbers?"}),
        ("131,072K", 131.072, {"asked": "How many million numbers?"}),
        ("59 %", 59, {"asked": "What share is left, in percent?"}),
        ("0.59", 59, {"asked": "What share is left? percent"}),
        ("1.0", 100, {"asked": "What share is left, in percent?"}),
        ("0.5", 0.5, {"asked": "What share is left, in percent?"}),
        ("2518 million", 2.5176, {"asked": "how many scores, in billions?", "tolerance": 0.5}),
        ("4096", 4096, {"asked": "How many parts?"}),
        ("1/4", 0.25, {}), ("3/8", 37.5, {"asked": "What share is left, in percent?"}),
        ("2^10", 1024, {}), ("2**10", 1024, {}), ("10^3", 1000, {}), ("3*10^-4", 3e-4, {}),
        ("3 x 10^-4", 3e-4, {}), ("-1.5 \u00b7 10**2", -150, {}), ("\u00bd", 0.5, {}),
        ("1 000", 1000, {}), ("1 234 567.5", 1234567.5, {}), ("0.5^3", 0.125, {}),
        ("10^6 rows", 1e6, {"asked": "How many rows are there?"}),
        ("3 rows", 3, {"asked": "How many rows get a gradient?"}),
        ("1 row", 1, {"asked": "How many rows get a gradient?"}),
        ("0.25 nats", 0.25, {"asked": "How much is the loss? nats"}),
        ("2.9", 2.92, {"asked": "how many of them will share a row?", "tolerance": 0.5}),
        ("53 %", 53.5, {"asked": "in how many of 100 sums ...", "tolerance": 10}),
        ("59 per cent", 59, {"asked": "What share is left, in percent?"}), ("59 percent", 0.59, {}),
        ("0.262 GB", 262.1, {"asked": "How many MB?"}),
        ("262 MB", 262.1, {"asked": "How many MB?"}), ("16 B", 16, {"asked": "How many bytes?"}),
        ("b", "two", {"options": ["one", "two"]}), ("B)", "two", {"options": ["one", "two"]}),
        ("B) two", "two", {"options": ["one", "two"]}),
        ("b)  the row of 'cat'", "the row of 'cat'.", {"options": ["a row", "the row of 'cat'."]}),
        ("TWO", "two", {"options": ["one", "two"]}),
        ("cat", "'cat', by far", {"options": ["'cat', by far", "'dog'"]}),
        ("Dog.", "'dog'", {"options": ["'cat', not 'dog'", "'dog'"]}),
        ("[0.1, -0.2]", np.array([0.1, -0.2]), {}), (".1 -.2", np.array([0.1, -0.2]), {}),
        ("0.33 0", np.array([0.3333, 0.004]), {}), ("0.017 -0.067", np.array([1, -4]) / 60, {}),
        ("0.175 -0.05", np.array([0.175, -0.048]), {}), ("-2. 1.", np.array([-2.0, 1.0]), {}),
    ],
)  # fmt: skip
def test_right_answers(typed, answer, given):
    assert judge(typed, answer, **given) == (True, "")


@pytest.mark.parametrize(
    "typed, answer, asked, said",
    [
        ("1.005", 0.996, "what is the cosine of their two sums?", "No cosine is above 1."),
        ("1.02", 1.0, "what share of words is next to a friend?", "between nothing and all"),
        ("101 %", 99.5, "what share of words, in percent?", "between nothing and all"),
        ("101", 99.5, "what share of words, in percent?", "between nothing and all"),
    ],
)
def test_what_no_number_can_be_is_not_near_enough(typed, answer, asked, said):
    judged = judge(typed, answer, asked=asked, tolerance=2)
    assert not judged.right and said in judged.slip
    assert judge(str(answer), answer, asked=asked, tolerance=2).right


@pytest.mark.parametrize("typed", ["0-8", "3-5", "-9 to 17", "<4", ">4", "<=4", "4+", "~4+"])
def test_a_range_or_a_bound_is_no_number(typed):
    assert judge(typed, 4.0).slip.startswith("A number is asked for") and not is_number(typed)
    assert not judge(f"{typed} 4", np.array([4.0, 4.0])).right


@pytest.mark.parametrize("typed", ["", "D", "same", "5", "0.4", "nothing", "-", "e sam",
                                   "A) not the same"])  # fmt: skip
def test_what_names_no_single_option(typed):
    options = ["the same", "not the same", "-0.4 or 15"]
    assert not names_an_option(typed, options)


@pytest.mark.parametrize(
    "typed, answer, given, told",
    [
        # another unit
        ("204.8", 204_800_000, {}, "a million times too small"),
        ("131072000", 131.072, {"asked": "How many million?"}, "a million times too large"),
        ("0.59", 59, {}, "100 times too small: per cent, or a share of 1?"),
        ("250", 262.144, {"asked": "How many MB?"}, "MiB count in powers of 1,024, MB in"),
        ("2097", 262.144, {"asked": "How many MB?"}, "A byte has 8 bits"),
        ("14", 1.4, {}, "slipped by one place"),
        ("4095", 4096, {"asked": "How many parts?"}, ""), ("999", 1000, {}, ""),
        ("65 bytes", 65.4, {"asked": "At 4 bytes each, how many times as large?"}, "not bytes"),
        ("250 MiB", 262, {"asked": "To the nearest MB?", "tolerance": 0}, "before rounding"),
        ("131 MB", 131e6, {"asked": "How many numbers?"}, "what is counted is not bytes"),
        ("1.4 bytes", 1.4, {"asked": "What is the slope for E[cat]?"}, "not bytes"),
        # another rounding
        ("2.5 MB", 2.549, {"asked": "How many MB?"}, "rounds to that"),
        ("2.5 MB", 2.59, {"asked": "How many MB?"}, "cut off"),
        ("105 MiB", 105, {"asked": "How many MB?"}, "MiB count in powers of 1,024, MB in"),
        ("0.6", 0.5799, {}, "rounds to that"), ("0.57", 0.5799, {}, "cut off"),
        ("262.144", 262, {"tolerance": 0, "asked": "To the nearest?"}, "before rounding"),
        # sign, a repeat, another place
        ("-1.4", 1.4, {}, "sign is the other one"),
        ("0.6", 1.4, {"parts": [0.8, 0.6]}, "one of the 2 parts"),
        ("0.7", 1.4, {"parts": [0.8, 0.6]}, "the mean of the parts"),
        ("0.41", 0.05, {"elsewhere": {"z[cat]": 0.41}}, "That is z[cat]"),
        # the author's own come first
        ("-1.4", 1.4, {"slips": {-1.4: "own words"}}, "own words"),
        ("a", "two", {"options": ["one", "two"], "slips": {"one": "own words"}}, "own words"),
        ("0.41", 0.05, {"slips": {"0.41": "own words"}}, "own words"),
        ("30", 5, {"slips": {"20-40": "too many"}}, "too many"),
        ("3", 0, {"slips": {"> 0": "none"}}, "none"),
        # nothing to compare
        ("1e400", 18, {}, "A number is asked for"), ("0,125", 125, {}, "A number is asked for"),
        ("many", 18, {}, "A number is asked for"), ("", 18, {}, "A number is asked for"),
        # vectors
        ("0.1", np.array([0.1, 0.2]), {}, "2 numbers are asked for, and you gave one number"),
        ("1 2", np.array([0.1]), {}, "1 number is asked for, and you gave 2 numbers"),
        ("a b", np.array([0.1, 0.2]), {}, "2 numbers are asked for, and that is something else"),
        ("-.1 .2", np.array([0.1, -0.2]), {}, "every sign is the other one"),
        (".2 .1", np.array([0.1, 0.2]), {}, "another order"),
        (".1 .2 -.4", np.array([0.1, 0.2, 0.4]), {}, "All but number 3 of 3 are right. The number"),
        ("1 2", np.array([11.0, 22]), {"parts": [[1, 2], [10, 20]]}, "one of the 2 parts"),
        ("1 2", np.array([11.0, 22]), {"elsewhere": {"dE[dog]": [1, 2]}}, "That is dE[dog]"),
    ],
)  # fmt: skip
def test_a_near_miss_is_told_by_name(typed, answer, given, told):
    judged = judge(typed, answer, **given)
    assert not judged.right and told in judged.slip


@pytest.mark.parametrize(
    "typed, answer, told",
    [
        ("7", 18, "That is 11 too low."), ("-0.1", 0.58, "That is 0.68 too low."),
        ("3", -0.5, "That is 3.5 too high."), ("2", 0, "That is 2 too high."),
        ("1", 50257, "That is about 50,000 times too small."),
        ("-40", -0.5, "That is about 80 times too large."),
        ("[1, 2, 3]", np.array([1, 5.5, 3]), "Number 2 is 3.5 too low."),
        ("many", 18, ""), ("1 2", np.array([1, 2, 3]), ""),
    ],
)  # fmt: skip
def test_how_far_a_wrong_number_is(typed, answer, told):
    assert how_far(typed, answer) == told


@pytest.mark.parametrize(
    "typed, answer, given",
    [
        ("18.1", 18, {}), ("7", 18, {}), ("4000", 4, {}), ("20", 2, {}), ("5", 0, {}), ("0", 5, {}),
        ("41", 5, {"slips": {"20-40": "too many"}}), ("-3", 0, {"slips": {"> 0": "none"}}),
        ("a", "two", {"options": ["one", "two"]}), ("0.5", 1.4, {"parts": [0.8, 0.6]}),
        ("0.25", 0.262144, {}),  # no bytes are asked for
        ("7 MB", 400, {"asked": "How many MB?"}), ("3 GB", 400, {"asked": "How many MB?"}),
        ("2 million", 30, {"asked": "How many million?"}),
        ("1e-320", 0.5, {}), ("0." + "1" * 400, 0.5, {}),
        ("3 4", np.array([0.1, 0.2]), {}), ("0.9", 1.4, {"parts": [0.9]}),
    ],
)  # fmt: skip
def test_no_cause_is_made_up(typed, answer, given):
    assert judge(typed, answer, **given) == (False, "")


@pytest.mark.parametrize("answer", [192, 192.0, np.int64(192), np.float64(192)])
def test_a_count_is_right_to_the_last_one_whatever_its_type(answer):
    assert judge("192", answer).right and judge("= 192.", answer).right
    assert not judge("193", answer).right and not judge("191.5", answer).right


def test_a_sum_of_zero_that_rounding_left_a_trace_of_is_zero():
    assert judge("0", 2.8e-17).right and not judge("0", 2.8e-7).right


@pytest.mark.parametrize("typed, right", [("0", 1), ("-3e-7", 1), ("3.6e-11", 1), ("0.0001", 0)])
def test_where_parts_cancel_no_more_is_asked_than_their_shown_digits_tell(typed, right):
    """0.08 * 1.2 + (-0.106667) * 0.9 is -3e-7 as shown; with all digits nudges left 3.6e-11."""
    assert judge(typed, 3.56e-11, parts=[0.096, -0.096]).right == bool(right)
    assert judge(f"{typed} 1", np.array([3.56e-11, 1]), tolerance=1e-9,
                 parts=[[0.096, 0.5], [-0.096, 0.5]]).right == bool(right)  # fmt: skip
    assert judge("0.096", 3.56e-11, parts=[0.096, -0.096]).slip.startswith("That is one of the 2")
    assert not judge("5", 1.0, parts=[math.inf, 1.0]).right
    assert how_far("0.25", 2.8e-17) == "That is 0.25 too high."


@pytest.mark.parametrize("typed", ["1e-320", "-5e-324", "1e308", "1/9e999", "1e-320 MB", "9" * 400])
@pytest.mark.parametrize("answer", [4096, 4095.5, -0.3, 1e300])
@pytest.mark.parametrize("asked", ["How many parts?", "How many MB?", "in percent?"])
def test_numbers_at_the_ends_of_float64_are_answers_like_others(typed, answer, asked):
    assert not judge(typed, answer, asked=asked).right


def test_a_wrong_share_is_measured_as_a_right_one_is_read():
    asked = "What share is left, in percent?"
    assert not judge("1", 100, asked=asked).right  # nobody means all by a plain 1
    assert how_far("0.41", 59, asked) == how_far("41", 59, asked) == "That is 18 too low."
    assert how_far("0.9", 0.5, asked) == "That is 0.4 too high."


@pytest.mark.parametrize(
    "typed, answer",
    [
        ("1.14, 0.04, 0.2, 1.4", [1.14, 0.04, 0.21, 1.4]),  # 0.2 + 0.01
        ("1.14, 0.05, 0.21, 1.4", [1.14, 0.04, 0.21, 1.4]),
        ("4, 1, 0.05, 9", [4.0, 1.0, 0.0, 9.0]),
        ("-0.175, -0.05", [-0.175, -0.045]),
        ("100, 0.9", [100.0, 0.3]),
    ],
)
def test_each_number_of_a_vector_is_judged_by_itself(typed, answer):
    assert not judge(typed, answer).right
    given = ", ".join(f"{number:.6g}" for number in answer)
    assert judge(given, answer).right


@pytest.mark.parametrize("typed, answer", [("3", 3.5), ("1", 1.5), ("-1", -1.5), ("0.2", 0.25)])
def test_half_a_unit_does_not_round_to_what_is_cut_off(typed, answer):
    assert judge(typed, answer).slip.startswith("Its digits are cut off")
    assert judge("4", 3.5).slip.startswith("It rounds to that")
