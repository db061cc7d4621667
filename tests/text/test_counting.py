"""Ids in a file after one pass: what `Vocabulary` finds in memory, whatever the pieces."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed.text import counting
from scratch_embed.text.corpus import Vocabulary
from scratch_embed.text.counting import Ids, count, cut_by, learn_pieces, write_tokens


def zipf_text(size: int = 3000, seed: int = 0) -> list[str]:
    ids = np.random.default_rng(seed).zipf(1.4, size)
    return ["w" + chr(97 + i % 26) * (1 + i // 26 % 9) for i in ids.tolist()]


@pytest.mark.parametrize(("min_count", "max_words"), [(1, None), (5, None), (2, 7)])
@pytest.mark.parametrize("stretch", [64, 1 << 20])
def test_one_pass_finds_what_a_vocabulary_finds(
    tmp_path, monkeypatch, min_count, max_words, stretch
):
    monkeypatch.setattr(counting, "STRETCH", stretch)
    tokens, rng = zipf_text(), np.random.default_rng(1)
    cuts = np.sort(rng.integers(0, len(tokens), 9))
    pieces = [" ".join(part) for part in np.split(np.array(tokens), cuts)]
    found = count(pieces, tmp_path / "ids", min_count=min_count, max_words=max_words)
    size = None if max_words is None else max_words + 1
    expected = Vocabulary.from_tokens(tokens, max_size=size, min_count=min_count)
    assert found.words == expected.tokens[1:]  # without the row that rare words share there
    np.testing.assert_array_equal(found.counts, expected.counts[1:])
    ids = expected.encode(tokens)
    ids = ids[ids > 0] - 1
    kept = Ids(tmp_path / "ids")
    assert len(kept) == len(ids) and found.read == len(tokens)
    np.testing.assert_array_equal(kept[0 : len(kept)], ids)
    np.testing.assert_array_equal(kept[10:20], ids[10:20])
    assert kept.checksum() == found.checksum


def test_too_many_words_to_remember_are_forgotten_from_the_rarest(tmp_path):
    """The frequent ones are never among them, so they are found with all their counts."""
    tokens = zipf_text(5000)
    pieces = [" ".join(tokens[start : start + 100]) for start in range(0, 5000, 100)]
    all_of_them = count(pieces, tmp_path / "all", min_count=20)
    found = count(pieces, tmp_path / "ids", min_count=20, remembered=60)
    assert found.forgotten > 0 and all_of_them.forgotten == 0
    assert found.words[:8] == all_of_them.words[:8]
    assert (found.counts[:8] == all_of_them.counts[:8]).all()
    ids = Ids(tmp_path / "ids")
    np.testing.assert_array_equal(np.bincount(ids[0 : len(ids)]), found.counts)


def test_what_is_kept_in_mind_does_not_grow_with_the_text(tmp_path, monkeypatch):
    """A text of ever new words: numbers are given out again, and the file shrinks with them."""
    made = []

    class Watched(counting._Numbers):
        def __init__(self):
            made.append(self)

    monkeypatch.setattr(counting, "_Numbers", Watched)
    letters = "abcdefghij"
    new = ["".join(letters[int(digit)] for digit in str(n)) for n in range(5000)]
    pieces = (" ".join([*new[at : at + 50], "the", "of", "the"]) for at in range(0, 5000, 50))
    highest = []

    def watched():
        for piece in pieces:
            highest.append(made[0].next)
            yield piece

    found = count(watched(), tmp_path / "ids", min_count=100, remembered=200)
    assert (found.words, found.counts.tolist()) == (("the", "of"), [200, 100])
    assert max(highest) <= 200 + 52 + 1 and found.read == 5300


def test_reading_stops_after_so_many_words_and_long_ones_are_none(tmp_path):
    pieces = iter(["a b a b a " + "x" * 101, "b b b", "c c c"])
    found = count(pieces, tmp_path / "ids", min_count=1, most_read=8)
    assert (found.words, found.counts.tolist(), found.read) == (("b", "a"), [4, 3], 8)
    assert next(pieces) == "c c c"


def test_pieces_of_byte_pairs_stand_in_the_place_of_words(tmp_path):
    text = ["the cat sat on the mat\n", "the cats sat\n"] * 30
    pieces, tokenizer = learn_pieces(iter(text), 40)
    found = count(pieces, tmp_path / "ids", cut_by(tokenizer), min_count=1)
    ids = Ids(tmp_path / "ids")
    back = "".join(found.words[i] for i in ids[0 : len(ids)])
    assert back.replace("\u2581", " ") == "".join(text).replace("\n", "")
    assert "\u2581cat" in found.words and len(tokenizer.merges) > 5


def test_a_text_is_written_as_the_tokens_of_a_tokenizer(tmp_path):
    text = ["the cat sat on the mat\n", "\u00e9t\u00e9\n"] * 5
    pieces, tokenizer = learn_pieces(iter(text), 30, unit="byte")
    checksum = write_tokens(pieces, tmp_path / "ids", tokenizer)
    ids = Ids(tmp_path / "ids")
    assert tokenizer.decode(ids[0 : len(ids)]) == "".join(text)
    assert ids.checksum() == checksum and len(tokenizer) > 256


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "0 words were read, and none"),
        ("a a a b", "4 words were read, and of them only 'a'.*, or a smaller min_count, or"),
        ("a a a", "only 'a' came 3 times: give more text, or cut it"),
    ],
)
def test_too_little_text_is_said_and_leaves_nothing(tmp_path, text, said):
    with pytest.raises(ValueError, match=said):
        count([text], tmp_path / "ids", min_count=3)
    assert list(tmp_path.iterdir()) == []


def test_one_string_is_no_pieces(tmp_path):
    text = "the cat sat on the mat " * 20
    pieces, tokenizer = counting.learn_pieces([text], 5)  # of a list, which would begin anew
    assert "".join(pieces) == text
    path = tmp_path / "ids"
    for use in (
        lambda: counting.count(text, path),
        lambda: counting.count(tmp_path, path),
        lambda: counting.learn_pieces(text, 5),
        lambda: counting.write_tokens(text, path, tokenizer),
    ):
        with pytest.raises(TypeError, match=r"pieces is one string: give \[text\]"):
            use()
    with pytest.raises(ValueError, match="most_read is -5"):
        counting.count([text], path, most_read=-5)
    counting.write_tokens([text], path, tokenizer)
    for part in (np.s_[::2], np.s_[::-1], 0):
        with pytest.raises(TypeError, match="a stretch is read"):
            counting.Ids(path)[part]


def test_pieces_of_bytes_are_no_words(tmp_path):
    pieces, tokenizer = learn_pieces(iter(["the cat sat " * 50]), 20, unit="byte")
    with pytest.raises(ValueError, match="tokenizer is of bytes"):
        count(pieces, tmp_path / "ids", cut_by(tokenizer), min_count=1)
