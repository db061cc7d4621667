"""A text becomes rows and comes back: every word is cut as training cut it."""

import random
from heapq import heappop
from itertools import pairwise

import numpy as np
import pytest

from scratch_embed.text import bpe, bpe_cut
from scratch_embed.text.bpe import BPE, UNKNOWN, merge_steps, train
from scratch_embed.text.toy import CAT

ALPHABETS = ("ab", "abc ", "abé ß€", "aab  \n1.,", "a", "hello world ")


def random_text(seed, longest=80):
    choose = random.Random(seed)
    letters = choose.choice(ALPHABETS)
    return "".join(choose.choice(letters) for _ in range(choose.randint(1, longest)))


def options(seed):
    choose = random.Random(seed)
    return {
        "unit": choose.choice(["character", "byte"]),
        "boundaries": choose.choice([True, False]),
        "ties": choose.choice(["first", "smallest"]),
        "min_count": choose.choice([1, 1, 2, 3]),
    }


def test_training_text_comes_out_as_training_left_it():
    for seed in range(300):
        text, how = random_text(seed), options(seed)
        steps = list(merge_steps(text, 30, **how))
        if steps:
            assert train(text, 30, progress=False, **how).pieces(text) == steps[-1].tokens


def plain(tokens, merges):
    """The definition: each time, the pair that was learned first is merged everywhere."""
    while found := [pair for pair in merges if pair in pairwise(tokens)]:
        tokens = bpe.merge(tokens, found[0])
    return tokens


@pytest.mark.parametrize("seed", range(60))
def test_a_word_is_cut_as_defined_whatever_the_order_of_the_merges(seed):
    rng = random.Random(seed)
    merges = list(bpe.train(random_text(seed), 20, progress=False).merges)
    if seed % 2:
        rng.shuffle(merges)  # a file may hold them so: a token can then be made in two ways
    word = list(random_text(seed + 1000))
    tokenizer = bpe.BPE(tuple(merges), tuple(sorted(set(word))))
    assert tokenizer.pieces("".join(word)) == plain(word, merges)


def test_a_long_word_costs_steps_by_its_length_and_no_more(monkeypatch):
    tokenizer = bpe.train("a" * 64, 6, progress=False)
    taken = []
    monkeypatch.setattr(bpe_cut, "heappop", lambda heap: taken.append(1) or heappop(heap))
    assert set(tokenizer.pieces("a" * 4096)) == {"a" * 64}
    assert len(taken) < 3 * 4096


def test_encode_and_decode_undo_each_other():
    for seed in range(200):
        how = options(seed)
        bpe = train(random_text(seed), 30, progress=False, **how)
        assert bpe.decode(bpe.encode(random_text(seed))) == random_text(seed)
        strange = random_text(seed + 1) + "ж\n\t🙂 e\u0301\r\n"
        if how["unit"] == "byte":
            assert bpe.decode(bpe.encode(strange)) == strange
        ids = bpe.encode(strange)
        assert ids.min() >= 0 and ids.max() < len(bpe)


def test_rows_of_the_vocabulary():
    bpe = train(CAT, 3, progress=False)
    assert bpe.tokens == (UNKNOWN, *" acehmnost", "at", "th", "the")
    assert len(bpe) == 1 + 10 + 3 and bpe.index["the"] == 13
    assert bpe.pieces("the hat") == ["the", " ", "h", "at"]
    assert bpe.encode("the hat").tolist() == [13, 1, 5, 11]
    assert len(train(CAT, 3, unit="byte", progress=False)) == 256 + 3


def test_unknown_characters():
    bpe = train(CAT, 3, progress=False)
    assert bpe.pieces("the zoo") == ["the", " ", UNKNOWN, "o", "o"]
    assert bpe.encode("zq").tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"text\[4\] = 'z'.*byte"):
        bpe.encode("the zq", errors="strict")
    assert train(CAT, 3, unit="byte", progress=False).pieces("z") == [b"z"]


def test_a_text_may_hold_the_unknown_character_itself():
    bpe = train("a\ufffda\ufffd", 1, progress=False)
    assert bpe.tokens == (UNKNOWN, "a", "a\ufffd")
    assert bpe.decode(bpe.encode("a\ufffda")) == "a\ufffda"


def test_decode_checks_its_ids_and_cut_characters():
    bpe = train("é", 0, unit="byte", progress=False)
    assert bpe.decode([0xC3, 0xA9]) == "é" and bpe.decode([0xC3]) == UNKNOWN
    with pytest.raises(UnicodeDecodeError):
        bpe.decode([0xC3], errors="strict")
    for wrong in (256, -1):
        with pytest.raises(IndexError):
            bpe.decode([wrong])
    assert bpe.decode([]) == "" and bpe.encode("").shape == (0,)


def test_few_remembered_words_give_the_same_rows(monkeypatch):
    text = " ".join(random_text(seed) for seed in range(200))
    tokenizer = train(text, 60, boundaries=True, progress=False)
    expected = tokenizer.encode(text)
    monkeypatch.setattr(bpe, "REMEMBERED", 3)
    few = BPE(tokenizer.merges, tokenizer.alphabet, boundaries=True)
    np.testing.assert_array_equal(few.encode(text), expected)
    assert few.pieces(text) == tokenizer.pieces(text) and len(few._words) <= 3


@pytest.mark.parametrize("errors", ["Strict", "ignore", None])
def test_what_is_done_about_errors_is_one_of_two(errors):
    tokenizer = bpe.train("the cat sat", 2, progress=False)
    for use, given in ((tokenizer.encode, "the"), (tokenizer.pieces, ""), (tokenizer.decode, [1])):
        with pytest.raises(ValueError, match="errors is .* it must be 'replace' or 'strict'"):
            use(given, errors=errors)
