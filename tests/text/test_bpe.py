"""Byte pair encoding: the hand calculation, the definition, the fast trainer."""

import random
import sys

import numpy as np
import pytest

from scratch_embed.kernels import bpe_loops
from scratch_embed.text import bpe_fast
from scratch_embed.text.bpe import BPE, merge, merge_steps, pair_counts, split_words, train
from scratch_embed.text.toy import CAT, CAT_SHORT

ALPHABETS = ("ab", "abc ", "abé ß€", "aab  \n1.,", "a", "hello world ")


def random_text(seed, longest=80):
    choose = random.Random(seed)
    letters = choose.choice(ALPHABETS)
    return "".join(choose.choice(letters) for _ in range(choose.randint(1, longest)))


# -- the hand calculation ------------------------------------------------------------------------


def test_every_pair_of_the_hand_calculation():
    counts = pair_counts(list(CAT))
    assert {"".join(pair): n for pair, n in counts.items()} == {
        "th": 3, "he": 3, "e ": 3, " c": 2, "ca": 2, "at": 4, "t ": 3, " s": 1, "sa": 1,
        " o": 1, "on": 1, "n ": 1, " t": 2, " m": 1, "ma": 1,
    }  # fmt: skip
    assert sum(counts.values()) == len(CAT) - 1 == 29
    assert next(iter(counts)) == ("t", "h")  # in order of first appearance


def test_the_first_merges_of_the_hand_calculation():
    steps = list(merge_steps(CAT, 4))
    assert [(s.pair, s.count, len(s.tokens)) for s in steps] == [
        (("a", "t"), 4, 26), (("t", "h"), 3, 23), (("th", "e"), 3, 20), (("the", " "), 3, 17),
    ]  # fmt: skip
    assert steps[0].tied == [("a", "t")]
    assert steps[1].tied == [("t", "h"), ("h", "e"), ("e", " "), ("at", " ")]
    assert steps[2].tied == [("th", "e"), ("e", " "), ("at", " ")]
    the_text = ["the", " ", "c", "at", " ", "s", "at", " ", "o", "n", " ",
                "the", " ", "m", "at", " ", "the", " ", "c", "at"]  # fmt: skip
    assert steps[2].tokens == the_text
    assert all(sum(s.counts.values()) == len(s.tokens) + s.count - 1 for s in steps)


def test_the_other_tie_rule_takes_another_second_merge():
    steps = list(merge_steps(CAT, 2, ties="smallest"))
    assert steps[1].pair == ("at", " ") and steps[1].count == 3


def test_words_keep_merges_from_crossing_spaces():
    inside = list(merge_steps(CAT, 20, boundaries=True))
    assert [s.pair for s in inside[:4]] == [("a", "t"), ("t", "h"), ("th", "e"), (" ", "c")]
    assert inside[3].tied == [(" ", "c"), ("c", "at"), (" ", "the")]
    assert all(" " not in "".join(s.pair)[1:] for s in inside)
    assert {" the", " cat", " sat", " on", " mat", "the"} == set(inside[-1].tokens)
    assert any(" " in "".join(s.pair)[1:] for s in merge_steps(CAT, 20))


def test_the_short_sentence_is_memorised():
    counts = [s.count for s in merge_steps(CAT_SHORT, 10)]
    assert len(counts) == 10 and counts[5:] == [1] * 5 and min(counts[:5]) > 1
    assert len(list(merge_steps(CAT_SHORT, 10, min_count=2))) == 5


def test_pairs_overlap_and_merges_do_not():
    assert pair_counts("aaaa") == {("a", "a"): 3}
    assert merge("aaaa", ("a", "a")) == ["aa", "aa"]
    assert merge("aaa", ("a", "a")) == ["aa", "a"]
    assert merge("banana", ("a", "n")) == ["b", "an", "an", "a"]
    assert merge("ab", ("b", "a")) == ["a", "b"] and merge("", ("a", "b")) == []


def test_bytes_start_below_characters():
    step = next(merge_steps("éé", 1, unit="byte"))
    assert step.counts == {(b"\xc3", b"\xa9"): 2, (b"\xa9", b"\xc3"): 1}
    assert step.tokens == ["é".encode()] * 2


def test_a_long_training_stops_when_nothing_is_left():
    (only,) = merge_steps("ab", 100)
    assert only.tokens == ["ab"]
    assert list(merge_steps("a", 5)) == [] and list(merge_steps("ab", 0)) == []


# -- words ---------------------------------------------------------------------------------------


def test_split_words():
    assert split_words("don't  stop 25_x") == ["don", "'", "t", " ", " stop", " 25", "_", "x"]
    choose = random.Random(0)
    for _ in range(300):
        text = "".join(chr(choose.choice([choose.randrange(1, 0x250), choose.randrange(1, 0xD7FF)]))
                       for _ in range(40))  # fmt: skip
        assert "".join(split_words(text)) == text


# -- the fast trainer ----------------------------------------------------------------------------


def options(seed):
    choose = random.Random(seed)
    return {
        "unit": choose.choice(["character", "byte"]),
        "boundaries": choose.choice([True, False]),
        "ties": choose.choice(["first", "smallest"]),
        "min_count": choose.choice([1, 1, 2, 3]),
    }


def fast(text, num_merges, boundaries, **how):
    words = split_words(text) if boundaries else [text]
    return tuple(bpe_fast.fast_merges(words, num_merges, progress=False, **how))


def disagreements(seeds):
    """The seeds on which the fast trainer finds other merges than the definition."""
    wrong = []
    for seed in seeds:
        text, how = random_text(seed), options(seed)
        defined = tuple(step.pair for step in merge_steps(text, 40, **how))
        try:
            if fast(text, 40, **how) != defined:
                wrong.append(seed)
        except (IndexError, KeyError, ValueError):
            wrong.append(seed)
    return wrong


def test_fast_merges_are_the_defined_ones():
    assert disagreements(range(400)) == []


def test_fast_merges_of_real_words():
    from scratch_embed.text.docstrings import file_texts, source_files

    text = "\n".join(file_texts(source_files("argparse")[0]))
    for ties in ("first", "smallest"):
        defined = [s.pair for s in merge_steps(text, 150, boundaries=True, ties=ties)]
        assert list(train(text, 150, boundaries=True, ties=ties, progress=False).merges) == defined


def test_small_texts_and_large_ones_are_trained_alike(monkeypatch):
    text, found = random_text(3) * 5, []
    for small in (0, 1 << 40):
        monkeypatch.setattr("scratch_embed.text.bpe.SMALL", small)
        found.append(train(text, 40, boundaries=True, progress=False))
    assert found[0] == found[1] and len(found[0].merges) > 5


def forget_places(t, pair):
    """A planted bug: trust the remembered place, though its occurrence may be merged away."""
    return t.first[pair]


def forget_words(t, place):
    """A planted bug: places where a known pair comes up again are counted but not remembered."""
    pair = bpe_loops.find(t, t.token[place], t.token[t.after[place]])
    if t.newest[pair] < 0:
        NOTE(t, place)
    else:
        bpe_loops.add(t, pair, t.weight[place])


def forget_the_pair_before(t, pair, into):
    """A planted bug: the pairs that a merge takes apart keep their counts."""
    before = t.count.copy()
    MERGE(t, pair, into)
    np.maximum(before, t.count, out=t.count, where=np.arange(len(before)) != pair)
    t.stale[:] = True


NOTE, MERGE = bpe_loops.note, bpe_loops.merge


@pytest.fixture
def uncompiled(monkeypatch):
    """The loops as plain Python, so that a part of them can be replaced."""
    monkeypatch.setattr(bpe_fast, "run", lambda loop, parts, *args: loop(*args))
    for helper in bpe_loops.HELPERS:
        monkeypatch.setattr(bpe_loops, helper.__name__, helper)
    return monkeypatch


def test_the_loops_need_no_compiler(uncompiled):
    assert disagreements(range(60)) == []


@pytest.mark.parametrize(
    ("name", "bug"),
    [
        ("first_place", forget_places),
        ("note", forget_words),
        ("merge", forget_the_pair_before),
        ("sorts_before", lambda t, pair, other: pair < other),
    ],
)
def test_planted_bugs_in_the_fast_trainer_are_caught(uncompiled, name, bug):
    uncompiled.setattr(bpe_loops, name, bug)
    assert disagreements(range(200))


def test_words_that_count_once_are_caught(monkeypatch):
    table = bpe_fast.table
    monkeypatch.setattr(
        bpe_fast, "table", lambda words, *rest: table([*dict.fromkeys(words)], *rest)
    )
    assert disagreements(range(200))


# -- the tokenizer -------------------------------------------------------------------------------


# -- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, error, match",
    [
        (("", 1), ValueError, "text is empty"),
        ((b"ab", 1), TypeError, "bytes"),
        (("a\ud800b", 1), ValueError, r"U\+D800, at position 1"),
        (("ab", -1), ValueError, "num_merges = -1"),
        (("ab", 1.5), TypeError, "num_merges"),
    ],
)
def test_bad_training_input_gets_a_sentence(arguments, error, match):
    for function in (train, lambda *a: list(merge_steps(*a))):
        with pytest.raises(error, match=match):
            function(*arguments)


def test_bad_options_get_a_sentence():
    for wrong in ({"unit": "word"}, {"ties": "last"}, {"min_count": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            train("ab", 1, **wrong)
        with pytest.raises(ValueError, match=next(iter(wrong))):
            list(merge_steps("ab", 1, **wrong))
    with pytest.raises(TypeError, match="int"):
        BPE((), ()).pieces(3)


def test_no_progress_bar_without_a_terminal(capsys):
    assert not sys.stderr.isatty()
    train(CAT, 3, progress=True)
    assert capsys.readouterr().err == ""
