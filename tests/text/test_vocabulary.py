"""Words and their rows: cut, counted, encoded, and what is no text is told."""

import numpy as np
import pytest

from scratch_embed.text import bpe, ppmi, toy, word2vec, word2vec_fast
from scratch_embed.text.corpus import (
    OTHER,
    Vocabulary,
    batches_read,
    rank_frequency,
    words,
    zipf_slope,
)


def test_words():
    assert words("Don't add 2 rows to my_table!") == ["don't", "add", "rows", "to", "my", "table"]
    assert words("'quoted' it’s ÉTÉ naïve int64 x") == [
        "quoted", "it’s", "été", "naïve", "int", "x",
    ]  # fmt: skip
    assert words("12 + 3") == []
    # marks belong to their letters, with one code point for both or two
    assert words("हिन्दी भाषा, cafe\u0301s d'e\u0301te\u0301") == ["हिन्दी", "भाषा", "cafés", "d'été"]
    assert words("İstanbul שָׁלוֹם می‌خواهم") == ["i̇stanbul", "שָׁלוֹם", "می‌خواهم"]
    with pytest.raises(TypeError, match="bytes"):
        words(b"bytes")


def test_vocabulary_counts_ranks_and_cuts():
    tokens = words(toy.CAT)
    full = Vocabulary.from_tokens(tokens)
    assert full.tokens == (OTHER, "the", "cat", "sat", "on", "mat")
    assert full.counts.tolist() == [0, 3, 2, 1, 1, 1]
    cut = Vocabulary.from_tokens(tokens, max_size=3)
    assert (cut.tokens, cut.counts.tolist()) == ((OTHER, "the", "cat"), [3, 3, 2])
    assert Vocabulary.from_tokens(tokens, min_count=2).tokens == cut.tokens
    assert len(Vocabulary.from_tokens(tokens, max_size=1)) == 1
    for vocabulary in (full, cut):
        assert vocabulary.counts.sum() == len(tokens)
        ids = vocabulary.encode(tokens)
        assert np.bincount(ids, minlength=len(vocabulary)).tolist() == vocabulary.counts.tolist()


def test_vocabulary_encodes_and_decodes():
    vocabulary = Vocabulary.from_tokens(["a", "b", "a"])
    ids = vocabulary.encode(["b", "new", "a"])
    assert ids.tolist() == [2, 0, 1] and ids.dtype == np.int64
    assert vocabulary.decode(ids) == ["b", OTHER, "a"]
    assert vocabulary.encode([]).shape == (0,) and vocabulary.decode([]) == []
    with pytest.raises(IndexError, match="3"):
        vocabulary.decode([3])
    with pytest.raises(IndexError):
        vocabulary.decode([-1])


def test_a_text_may_hold_the_name_of_the_other_row():
    vocabulary = Vocabulary.from_tokens(["a", OTHER, OTHER])
    assert vocabulary.tokens == (OTHER, "a") and vocabulary.counts.tolist() == [2, 1]


def test_a_string_is_not_a_list_of_words():
    with pytest.raises(TypeError, match=r"words\(text\)"):
        Vocabulary.from_tokens("the cat")
    with pytest.raises(TypeError, match=r"words\(text\)"):
        Vocabulary.from_tokens(["a"]).encode("the cat")
    for name, wrong in (("max_size", 0), ("max_size", 2.5), ("min_count", 1.5), ("min_count", -1)):
        with pytest.raises(ValueError, match=f"{name} is {wrong}; it must be a whole number"):
            Vocabulary.from_tokens(["a"], **{name: wrong})


def test_rank_frequency_and_slope():
    ranks, frequencies = rank_frequency([1, 0, 3, 2])
    assert (ranks.tolist(), frequencies.tolist()) == ([1, 2, 3], [3, 2, 1])
    assert zipf_slope([60, 30, 20, 15, 12]) == pytest.approx(-1)
    assert zipf_slope(np.array([60, 30, 20, 15, 12], np.uint8)) == pytest.approx(-1, abs=1e-14)
    assert zipf_slope([7, 7, 7]) == 0
    square = 10**6 / np.arange(1, 101) ** 2
    assert zipf_slope(square, first=10, last=50) == pytest.approx(-2)
    assert zipf_slope([10**9, *square[1:]], first=2) == pytest.approx(-2)  # the first rank left out
    with pytest.raises(ValueError, match="count above 0"):
        rank_frequency([0, 0])
    with pytest.raises(ValueError, match=r"5\.\.5"):
        zipf_slope([5, 4, 3, 2, 1], first=5)


def test_vocabularies_of_the_same_words_are_equal():
    one, same, more = (Vocabulary.from_tokens(t.split()) for t in ("a b a c", "a b a c", "a b a a"))
    assert one == same and hash(one) == hash(same) and one != more and one != ("a", "b")


def test_bytes_are_no_words():
    vocabulary = Vocabulary.from_tokens(["the", "cat"])
    sentences = [["a", "b"], ["c"]]
    for data in (b"a b", b"a b".split(), np.array([b"a"]), sentences, [("a",)], ["a", None]):
        for use in (vocabulary.encode, Vocabulary.from_tokens):
            with pytest.raises(TypeError, match=r"tokens\[[01]\] is .* and words are str: decode"):
                use(data)
    assert vocabulary.encode(np.array(["cat"])).tolist() == [2]


BATCH = np.array([[0, 1], [1, 0]])


@pytest.mark.parametrize(
    "use",
    [
        Vocabulary.from_tokens(["a"]).decode,
        bpe.BPE((), ("a", "b")).decode,
        lambda ids: batches_read(ids, 2, 1),
        lambda ids: ppmi.cooccurrence(ids, 2),
        lambda ids: word2vec.train(ids, 2, 2),
        lambda ids: word2vec_fast.train(ids, 2, 2),
    ],
)
def test_rows_of_a_batch_are_not_one_text(use):
    with pytest.raises(ValueError, match=r"ids have shape \(2, 2\), and one text is \(N,\)"):
        use(BATCH)


def test_batches_read_counts_a_row_once_a_batch():
    assert batches_read([0, 0, 1, 0, 2, 2], 4, batch_size=2).tolist() == [2, 1, 1, 0]
    rng = np.random.default_rng(0)
    ids = rng.integers(7, size=50)
    naive = [sum(v in ids[at : at + 8] for at in range(0, 50, 8)) for v in range(7)]
    assert batches_read(ids, 7, 8).tolist() == naive
    with pytest.raises(ValueError, match="batch_size is 0; it must be a whole number"):
        batches_read(ids, 7, 0)
    with pytest.raises(IndexError, match="7"):
        batches_read([0, 7], 7, 2)
