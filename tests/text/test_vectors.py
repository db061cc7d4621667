"""Vectors in text files: there and back, and malformed lines refused by their number."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed.text.vectors import read_vectors, write_vectors

WORDS = ("the", "café", "北京", "don't")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vectors.txt"


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
def test_there_and_back_without_losing_a_bit(path, header, dtype):
    scales = 10.0 ** np.arange(-20, 1, 10)
    vectors = (np.random.default_rng(0).standard_normal((4, 3)) * scales).astype(dtype) / dtype(7)
    write_vectors(path, WORDS, vectors, header=header)
    back = read_vectors(path, dtype=dtype)
    assert back.words == WORDS and back.index["北京"] == 2
    assert back.vectors.dtype == dtype and np.array_equal(back.vectors, vectors)
    assert (path.read_bytes().decode("utf-8").split("\n")[0] == "4 3") is header


def test_files_as_others_write_them(path):
    path.write_bytes("\ufeffa 1 2\r\n. . 3 4 \nb\xa0c -1e-3 +5\n".encode())  # a word with a space
    back = read_vectors(path)
    assert back.words == ("a", ". .", "b\xa0c")
    np.testing.assert_allclose(back.vectors, [[1, 2], [3, 4], [-0.001, 5]])
    assert read_vectors(path, limit=2).words == ("a", ". .")


def test_a_header_is_seen_or_told(path):
    path.write_text("7 1\n8 2\n", encoding="utf-8")  # or two words, "7" and "8", of one number
    with pytest.raises(ValueError, match="announces 7 words, and there are 1"):
        read_vectors(path)
    assert read_vectors(path, header=False).words == ("7", "8")
    path.write_text("1 99999999999999999999\na 1\n", encoding="utf-8")  # no count of columns
    with pytest.raises(ValueError, match="line 1: .* is not a header of two counts"):
        read_vectors(path, header=True)


def test_a_word_that_comes_again(path):
    path.write_text("a 1 2\nb 3 4\na 5 6\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 3: the word 'a' was on line 1"):
        read_vectors(path)
    assert read_vectors(path, duplicates="first").vectors.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a 1 2\nb 3\n", "line 2: 'b 3' must hold a word and 2 numbers.*holds 1"),
        ("2 2\na 1 2\nb 3 x\n", "line 3: number 2 of 'b' is 'x'"),
        ("a 1 2\nb nan 4\n", "line 2: number 1 of 'b' is 'nan'"),
        ("a 1 2\nb inf 4\n", "'inf', no finite number"),
        ("a 1 2\n\nb 3 4\n", "line 2: ''"),
        ("a 1 2\n 3 4\n", "line 2"),
        ("a 1 2\nb\t3\t4\n", "line 2"),
        ("3 2\na 1 2\nb 3 4\n", "announces 3 words, and there are 2"),
        ("a 1 2\nb 3 1e39\n", "line 2: number 2 of 'b' is '1e39', too large for float32.* 3.4e.38"),
        ("a 1 2\nb 1_0 2\n", "line 2: number 1 of 'b' is '1_0', no finite number"),
        ("a 1 2\nb ١ 2\n", "line 2: number 1 of 'b' is '١', no finite number"),
        ("a 1 2\nb 1 1e999\n", "line 2: number 2 of 'b' is '1e999', no finite number"),
        ("a 1 2\nb  1 2\n", "line 2: 'b  1 2' must hold a word and 2 numbers, .* single spaces"),
        ("a 1 2\n b 1 2\n", "line 2: ' b 1 2' must hold"),
        ("1 999999999999999999\na 1\n", "must hold a word and 999999999999999999 numbers"),
        ("1 " + "9" * 5000 + "\na 1\n", "line 1: number 1 of '1'"),
        ("", "is empty"),
        ("word\n", "holds no vectors"),
        ("0 2\n", "holds no vectors: nothing follows its first line, '0 2'"),
        ("2 1\na 1 2\nb 3 4\n", "2 of 2 words end in a number, such as 'a 1'.*'2 1', is wrong"),
    ],
)
def test_malformed_files_are_refused(path, text, words):
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        read_vectors(path)


def test_float64_reads_what_float32_cannot(path):
    path.write_text("a 1e39 -2.5E-310\nb .5 +3.\n", encoding="utf-8")
    assert read_vectors(path, dtype=np.float64).vectors.tolist() == [[1e39, -2.5e-310], [0.5, 3]]
    with pytest.raises(TypeError, match="dtype is int64; vectors are floats"):
        read_vectors(path, dtype=np.int64)
    with pytest.raises(ValueError, match="limit is -1"):
        read_vectors(path, limit=-1)


def test_a_line_without_end_is_not_read_to_its_end(path, monkeypatch):
    monkeypatch.setattr("scratch_embed.text.vectors.LONGEST_LINE", 20)
    path.write_text("a 1 2\nb 3 " + "4" * 50, encoding="utf-8")
    with pytest.raises(ValueError, match="line 2 has more than 20 bytes"):
        read_vectors(path)
    path.write_text("a 1 2\nb 3 " + "4" * 15 + "\n", encoding="utf-8")  # 20 with the line feed
    assert read_vectors(path).words == ("a", "b")


def test_a_cut_file_is_noticed_by_its_header_whatever_comes_twice(path):
    path.write_text("4 1\na 1\nb 2\na 3\n", encoding="utf-8")
    with pytest.raises(ValueError, match="announces 4 words, and there are 3"):
        read_vectors(path, duplicates="first")
    path.write_text("3 1\na 1\nb 2\na 3\n", encoding="utf-8")
    assert read_vectors(path, duplicates="first").words == ("a", "b")


def test_a_file_that_may_be_cut_inside_its_last_number_is_warned_of(path):
    write_vectors(path, ["a", "b"], np.array([[0.123456], [0.654321]]))
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.warns(UserWarning, match="line 3, the last one, does not end in a line feed"):
        assert read_vectors(path).vectors[1, 0] == np.float32(0.654)


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_a_header_that_lies_is_found_out_within_the_limit(path, limit):
    path.write_text("1 1\na 1\nb 2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="announces 1 words, and there are 2"):
        read_vectors(path, limit=limit)
    path.write_text("3 1\na 1\nb 2\n", encoding="utf-8")
    if limit < 2:
        assert read_vectors(path, limit=limit).words == ("a",)
    elif limit > 2:
        with pytest.raises(ValueError, match="announces 3 words, and there are 2"):
            read_vectors(path, limit=limit)


@pytest.mark.parametrize("between", ["\t", "\u00a0", " "])
def test_words_that_swallowed_a_number_are_told_whatever_lies_between(path, between):
    header = "2 2\n" if between == " " else ""
    path.write_text(f"{header}cat{between}0.1 0.2 0.3\ndog{between}0.4 0.5 0.6\n", encoding="utf-8")
    with pytest.raises(ValueError, match="2 of 2 words end in a number"):
        read_vectors(path)


def test_one_line_with_a_number_too_many_is_warned_of(path):
    """GloVe has words that hold spaces, and none of these ends in a number."""
    lines = [f"w{n} 0.1 0.2 0.3" for n in range(20)]
    lines[7] = "w7 0.001 0.1 0.2 0.3"
    path.write_text("\n".join([*lines, ". . . 0.1 0.2 0.3\n"]), encoding="utf-8")
    with pytest.warns(UserWarning, match="1 of 21 words end in a number, such as 'w7 0.001'"):
        assert len(read_vectors(path).words) == 21


def test_a_word_of_many_digits_is_read_at_once(path):
    """Where a number may begin was tried at each digit anew: of as many, for hours."""
    word = "a " + 300_000 * "1" + "x"
    path.write_text(f"2 2\n{word} 0.1 0.2\nb 0.3 0.4\n", encoding="utf-8")
    assert read_vectors(path).words == (word, "b")


def test_a_file_that_is_not_utf8(path):
    path.write_bytes(b"a 1 2\ncaf\xe9 1 2\n")
    with pytest.raises(ValueError, match="line 2: byte 0xe9 at offset 3 is not UTF-8"):
        read_vectors(path)
    with pytest.raises(ValueError, match="duplicates is 'last'"):
        read_vectors(path, duplicates="last")
    with pytest.raises(ValueError, match="line 1: .* is not a header"):
        read_vectors(path, header=True)


@pytest.mark.parametrize(
    ("given", "vectors", "problem"),
    [
        (["a b"], np.ones((1, 2)), r"words\[0\] = 'a b' .*white space"),
        ([""], np.ones((1, 2)), "empty"),
        (["a\n"], np.ones((1, 2)), "white space"),
        (["\ufeffa"], np.ones((1, 2)), "byte order mark"),
        (["a", "b\0"], np.ones((2, 2)), r"words\[1\] = 'b\\x00' holds a zero byte"),
        (["\ud800"], np.ones((1, 2)), r"words\[0\] = '\\ud800' .* half of a pair of surrogates"),
        (["a", "a"], np.ones((2, 2)), r"words\[1\] = 'a' is words\[0\] as well"),
        (["a"], np.ones((2, 2)), r"1 words and vectors \(2, 2\)"),
        (["a"], np.array([[1, np.nan]]), r"vectors\[0, 1\], of 'a', is nan"),
        (["a"], np.array([[1, 1]]), "int64"),
    ],
)
def test_what_cannot_be_read_back_is_not_written(path, given, vectors, problem):
    with pytest.raises(ValueError, match=problem):
        write_vectors(path, given, vectors)
    assert not path.exists()


def test_words_are_text(path):
    with pytest.raises(TypeError, match=r"words\[1\] = b'a' is of type bytes; a word is a str"):
        write_vectors(path, ["the", b"a"], np.ones((2, 1)))
    assert not path.exists()
