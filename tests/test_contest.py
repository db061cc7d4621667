"""The contest: cuts that write every text, bits by hand, refusals in one line."""

from __future__ import annotations

import random
import string

import numpy as np
import pytest

from scratch_embed import contest, images
from scratch_embed.functional import cross_entropy
from scratch_embed.gradcheck import slopes

TEXT = ("the cat sat on the mat and the dog sat on the cat while a bird sang " * 60).strip()


@pytest.mark.parametrize("make", [contest.words, contest.pieces, contest.characters])
def test_a_cut_gives_the_text_back(make):
    cut = make(TEXT, 60) if make is not contest.characters else make(TEXT)
    other = " a mad cat sings the hat"  # words that it has never met
    assert "".join(cut.cut(other)) == other
    assert "".join(cut.tokens[i] for i in cut.encode(other)) == other
    assert len(cut.tokens) <= 61


@pytest.mark.parametrize("make", [contest.words, contest.pieces, contest.characters])
def test_a_character_that_no_token_holds_is_refused(make):
    with pytest.raises(ValueError, match="'X' is in no token"):
        make(TEXT).encode("the Xat")


def test_words_without_a_row_are_spelt():
    cut = contest.words(TEXT, 22)
    assert cut.cut(" the gate") == [" the", " ", "g", "a", "t", "e"]


def test_counting_by_hand():
    player = contest.contestant("characters", "aaab", rng=0)
    assert player.unigram_bits("aaab", "aa") == pytest.approx(-np.log2(4 / 6))


def test_bits_of_even_chances():
    """A model whose scores are all alike pays log2 of its rows for each token."""
    player = contest.contestant("words", TEXT, rng=0)
    player.model.head.weight.data[:] = 0
    tokens = len(player.cut.encode(TEXT))
    assert player.bits(TEXT) == pytest.approx(
        tokens * np.log2(len(player.cut.tokens)) / len(TEXT), rel=1e-5
    )


@pytest.mark.parametrize("name", contest.STRATEGIES)
def test_learning_beats_counting(name):
    player = contest.contestant(name, TEXT, rng=0)
    before = player.bits(TEXT)
    player.learn(TEXT, 30 * contest.BATCH, rng=0)
    assert player.bits(TEXT) < min(before, player.unigram_bits(TEXT, TEXT))


def test_a_tied_body_has_the_gradient_of_both_ends():
    player = contest.contestant("words, tied", TEXT, rng=0)
    for weight in player.model.parameters():
        weight.data = weight.data.astype(np.float64)
    ids = player.cut.encode(TEXT)[:6]
    contexts, table = contest.windows(ids, player.length), player.model.entrance.weight

    def loss(E):
        kept, table.data = table.data, E
        value = cross_entropy(player.model(contexts), ids).item()
        table.data = kept
        return value

    cross_entropy(player.model(contexts), ids).backward()
    assert np.abs(table.grad - slopes(loss, table.data)).max() < 1e-7


def test_the_context_is_what_came_before():
    assert contest.windows(np.array([5, 6, 7]), 2).tolist() == [[0, 0], [0, 5], [5, 6]]


def test_five_scripts_differ_and_keep_the_spaces():
    mixed = contest.in_scripts("a cat " * 50)
    assert len(mixed) == 300 and mixed.count(" ") == 100
    assert {mixed[60 * k] for k in range(5)} == set(contest.SCRIPTS)


def test_a_token_of_a_picture_stands_where_it_begins():
    page = contest.typewritten(np.array([[[[0.0, 1.0], [0.0, 1.0]]]]))
    assert page == ["ad ad"]
    cut = contest.Cut(("a", "d", " ", " ad"), lambda text: ["a", "d", " ad"])
    assert contest.placed(page, cut).tolist() == [[0, 1, 3, 4, 4]]


@pytest.mark.parametrize("name", contest.STRATEGIES)
def test_seeing_beats_chance(name):
    pictures = images.letter_images("OIX", images.FONTS[:4], 8, copies=3, rng=0)
    assert contest.see(name, pictures, pictures, 30, rng=0) > 0.6


def _word(rng, length):
    return "".join(rng.choices(string.ascii_lowercase, k=length))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (lambda rng: _word(rng, 200_000), "60,000 letters of this text are 1 words. Give a text"),
        (lambda rng: " ".join(_word(rng, 3000) for _ in range(70)), "letters of this text are"),
        (lambda rng: "too short", "a to z and spaces; the first 9 characters of the text have"),
        (lambda rng: "\u4e2d\u6587 " * 50_000, "the first 150,000 characters of the text have 0"),
    ],
)
def test_a_text_that_cannot_be_used_is_refused_in_one_line(text, told):
    with pytest.raises(ValueError, match=told) as failure:
        contest.split(text(random.Random(0)), 60_000)
    assert "\n" not in str(failure.value)


def test_an_unknown_strategy():
    with pytest.raises(ValueError, match="there is no strategy 'sounds'; choose one of words"):
        contest.contestant("sounds", TEXT, rng=0)


def test_pictures_and_labels_that_do_not_fit_are_told():
    pictures, labels = np.zeros((4, 1, 8, 8)), np.arange(4)
    for known, unseen, said in (
        ((pictures, labels[:2]), (pictures, labels), "4 pictures take as many labels"),
        ((pictures, labels), (pictures, labels[:, None]), "4 pictures take as many labels"),
        ((pictures + 255, labels), (pictures, labels), "outside 0..1: divide bytes by 255"),
    ):
        with pytest.raises(ValueError, match=said):
            contest.see("patches of 8", known, unseen, 1, 0)


@pytest.mark.parametrize("shade", [-0.3, 1.01, np.nan])
def test_shades_outside_their_range_are_refused(shade):
    with pytest.raises(ValueError, match="shades outside 0..1"):
        contest.typewritten(np.full((1, 1, 2, 2), shade))


def test_a_picture_is_seen_by_a_strategy_that_there_is():
    seen = np.zeros((2, 1, 8, 8)), np.array([0, 1])
    with pytest.raises(ValueError, match="there is no strategy 'wrods'"):
        contest.see("wrods", seen, seen, 1, 0)
