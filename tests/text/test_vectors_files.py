"""Vectors in every format: there and back, byte by byte as others write them, and damaged."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from scratch_embed.text import vectors_files
from scratch_embed.text.vectors import read_vectors, write_vectors
from scratch_embed.text.vectors_binary import read_binary, write_binary
from scratch_embed.text.vectors_files import READERS, WRITERS, load, save
from scratch_embed.text.vectors_safetensors import read_safetensors

WORDS = ("the", "café", "北京", "don't")
TWO = np.array([[1, -2], [0.5, 0]], np.float32)
BYTES = TWO.tobytes()  # 1.0 is 00 00 80 3f
HEADER = (
    b'{"vectors":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},'
    b'"words":{"dtype":"U8","shape":[3],"data_offsets":[16,19]}}       '
)
PEER = "not installed (the extra 'peers')"
SAFETENSORS = bytes([128, 0, 0, 0, 0, 0, 0, 0]) + HEADER + BYTES + b"a\nb"


def some_vectors(dtype=np.float32) -> np.ndarray:
    scales = 10.0 ** np.arange(-20, 10, 10)
    return (np.random.default_rng(0).standard_normal((4, 3)) * scales).astype(dtype)


@pytest.mark.parametrize("ending", [".npz", ".txt", ".vec", ".bin", ".safetensors"])
def test_there_and_back_to_the_bit(tmp_path, ending):
    path = tmp_path / f"vectors{ending}"
    save(path, WORDS, some_vectors())
    back = load(path)
    assert back.words == WORDS and back.vectors.dtype == np.float32
    np.testing.assert_array_equal(back.vectors, some_vectors())
    assert load(path, limit=2).words == WORDS[:2] and load(path, limit=2).vectors.shape == (2, 3)
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", [".npz", ".safetensors"])
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_formats_with_a_dtype_keep_it(tmp_path, ending, dtype):
    vectors = np.ones((4, 3), dtype)
    save(tmp_path / f"v{ending}", WORDS, vectors)
    assert load(tmp_path / f"v{ending}").vectors.dtype == dtype


def test_text_of_half_precision_holds_the_numbers_that_the_other_formats_do(tmp_path):
    half = np.array([[0.1, 0.2, 1e-7]], np.float16)
    for ending in (".txt", ".bin"):
        save(tmp_path / f"v{ending}", ["a"], half)
        np.testing.assert_array_equal(load(tmp_path / f"v{ending}").vectors, half)


@pytest.mark.parametrize("ending", [".npz", ".safetensors", ".bin", ".txt"])
@pytest.mark.parametrize("limit", [None, 1])
def test_vectors_that_were_read_can_be_learned(tmp_path, ending, limit):
    save(tmp_path / f"v{ending}", ["a", "b"], TWO)
    found = load(tmp_path / f"v{ending}", limit)
    found.vectors[0] = 7
    other = load(tmp_path / f"v{ending}", limit)
    assert found.index is not other.index and found.index is found.index  # each made once
    assert found.index == other.index == dict(zip("ab", range(limit or 2)))
    for write in (lambda index: index.update(c=9), lambda index: index.pop("a")):
        with pytest.raises(TypeError, match=r"change a copy of it, dict\(index\)"):
            write(found.index)
    mine = pickle.loads(pickle.dumps(found.index))
    mine["c"] = 9  # a copy is a plain dict
    assert json.dumps(mine) and "c" not in found.index


def test_bytes_of_the_binary_format(tmp_path):
    """As gensim writes it, and with the line feed that word2vec.c puts after each vector."""
    path = tmp_path / "two.bin"
    write_binary(path, ["a", "b"], TWO)
    gensims = b"2 2\na " + BYTES[:8] + b"b " + BYTES[8:]
    assert path.read_bytes() == gensims
    path.write_bytes(b"2 2\na " + BYTES[:8] + b"\nb " + BYTES[8:] + b"\n")
    assert read_binary(path).words == ("a", "b")
    np.testing.assert_array_equal(read_binary(path).vectors, TWO)


def test_bytes_of_safetensors(tmp_path):
    path = tmp_path / "two.safetensors"
    save(path, ["a", "b"], TWO)
    assert path.read_bytes() == SAFETENSORS


def test_bytes_of_the_projectors_pair(tmp_path):
    save(tmp_path / "two.tsv", ["a", "b"], TWO)
    assert (tmp_path / "two.tsv").read_bytes() == b"1.0\t-2.0\n0.5\t0.0\n"
    assert (tmp_path / "two_words.tsv").read_bytes() == b"a\nb\n"


def test_words_of_a_dict_are_a_list_and_a_set_has_no_order(tmp_path):
    save(tmp_path / "v.npz", {"a": 0, "b": 1}, np.ones((2, 3), np.float32))
    assert load(tmp_path / "v.npz").words == ("a", "b")
    for words in ({"a", "b"}, "ab"):
        with pytest.raises(TypeError, match="words is a .*; it must be a list of words"):
            save(tmp_path / "w.npz", words, np.ones((2, 3), np.float32))
    for limit in (0, -1, 1.5):
        with pytest.raises(ValueError, match="limit is"):
            load(tmp_path / "v.npz", limit)


def test_the_projectors_pair_is_replaced_together_or_not_at_all(tmp_path):
    save(tmp_path / "v.tsv", ["a"], np.ones((1, 2)))
    (tmp_path / "v_words.tsv").unlink()
    (tmp_path / "v_words.tsv").mkdir()
    with pytest.raises(OSError, match="v_words.tsv"):
        save(tmp_path / "v.tsv", ["b"], np.zeros((1, 2)))
    assert (tmp_path / "v.tsv").read_text() == "1.0\t1.0\n"


def test_npz_is_read_with_numpy_alone(tmp_path):
    save(tmp_path / "v.npz", WORDS, some_vectors())
    with np.load(tmp_path / "v.npz", allow_pickle=False) as entries:
        assert tuple(entries["words"]) == WORDS


@pytest.mark.parametrize("ending", [".bin", ".safetensors", ".txt"])
def test_what_lies_behind_the_limit_is_not_read(tmp_path, ending):
    path, vectors = tmp_path / f"vectors{ending}", some_vectors()
    save(path, WORDS, vectors)
    last = b"nan" if ending == ".txt" else np.float32(np.nan).tobytes()
    whole = str(vectors[3, 2]).encode() if ending == ".txt" else vectors[3, 2].tobytes()
    assert path.read_bytes().count(whole) == 1
    path.write_bytes(path.read_bytes().replace(whole, last))
    with pytest.raises(ValueError, match=str(path)):
        load(path)
    np.testing.assert_array_equal(load(path, limit=3).vectors, vectors[:3])


@pytest.mark.parametrize("row", [0, -1])
def test_a_damaged_npz_is_refused_also_where_a_limit_leaves_most_of_it_out(tmp_path, row):
    path = tmp_path / "v.npz"
    vectors = np.random.default_rng(0).standard_normal((2000, 20)).astype(np.float32)
    save(path, [f"w{n}" for n in range(2000)], vectors)
    np.testing.assert_array_equal(load(path, limit=500).vectors, vectors[:500])
    one = vectors[row].tobytes()
    path.write_bytes(path.read_bytes().replace(one, one[::-1]))
    for limit in (None, 500):
        with pytest.raises(ValueError, match="Bad CRC"):
            load(path, limit)


def test_an_array_that_lies_by_columns_is_limited_too(tmp_path):
    np.savez(tmp_path / "v.npz", words=np.array(WORDS), vectors=np.asfortranarray(some_vectors()))
    np.testing.assert_array_equal(load(tmp_path / "v.npz", 2).vectors, some_vectors()[:2])


@pytest.mark.parametrize("ending", READERS)
def test_a_file_cut_anywhere_is_refused(tmp_path, ending):
    path = tmp_path / f"vectors{ending}"
    save(path, WORDS, some_vectors())
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=str(path)):
            load(path)


@pytest.mark.parametrize("ending", READERS)
def test_bytes_changed_at_random_never_surprise(tmp_path, ending):
    """Read, or refused with ValueError: no other error, and no endless array."""
    path, rng, refused = tmp_path / f"vectors{ending}", np.random.default_rng(0), 0
    save(path, WORDS, some_vectors())
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    for _ in range(150):
        changed = whole.copy()
        changed[rng.integers(0, min(len(whole), 200), 3)] = rng.integers(0, 256, 3)
        path.write_bytes(changed.tobytes())
        try:
            load(path)
        except ValueError:
            refused += 1
    assert refused > 30


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"vectors": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 16]}}, "cannot be"),
        ({"vectors": {"dtype": "OBJ", "shape": [2, 2], "data_offsets": [0, 16]}}, "one of F64"),
        ({"vectors": {"dtype": "F32", "shape": [-2, -2], "data_offsets": [0, 16]}}, "cannot be"),
        ({"vectors": {"dtype": "F32", "shape": [4, 9], "data_offsets": [0, 144]}}, "ends inside"),
        ({"vectors": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}}, "2 words and vec"),
        ({"vectors": {"dtype": "F32", "shape": [2, 2], "data_offsets": [3, 19]}}, "are of both"),
        ({"vectors": {"dtype": "F32", "shape": [2.5, 2], "data_offsets": [0, 16]}}, "cannot be"),
        ({"vectors": {"dtype": "F32", "shape": "22", "data_offsets": [0, 16]}}, "cannot be"),
    ],
)
def test_a_header_that_lies_is_found_out(tmp_path, changed, words):
    text = json.dumps(json.loads(HEADER) | changed).encode()
    path = tmp_path / "v.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + BYTES + b"a\nb")
    with pytest.raises(ValueError, match=words):
        read_safetensors(path)


def test_a_header_that_is_a_list_is_no_header(tmp_path):
    (tmp_path / "v.safetensors").write_bytes(bytes([2, 0, 0, 0, 0, 0, 0, 0]) + b"[]")
    with pytest.raises(ValueError, match="no JSON header"):
        read_safetensors(tmp_path / "v.safetensors")


def test_what_unpacks_to_far_more_than_it_takes_is_not_unpacked(tmp_path, monkeypatch):
    path, zeros = tmp_path / "v.npz", np.zeros((2, 10_000), np.float32)
    np.savez_compressed(path, words=np.array(["a", "b"]), vectors=zeros)
    assert load(path).vectors.shape == (2, 10_000)  # small enough, however it was packed
    monkeypatch.setattr(vectors_files, "SMALL", 1000)
    with pytest.raises(ValueError, match="'vectors' takes .* bytes and unpacks to 80,128"):
        load(path)
    np.savez(path, words=np.array(["a", "b"]), vectors=zeros)
    assert load(path).vectors.shape == (2, 10_000)


def test_a_single_number_is_no_table(tmp_path):
    np.savez(tmp_path / "v.npz", words=np.array("a"), vectors=np.array(1.0))
    for limit in (None, 5):
        with pytest.raises(ValueError, match=r"1 words and vectors \(1,\) do not fit"):
            load(tmp_path / "v.npz", limit=limit)


@pytest.mark.parametrize("limit", [2, 3])
def test_what_follows_the_last_word_is_seen_within_the_limit(tmp_path, limit):
    path = tmp_path / "v.bin"
    path.write_bytes(b"2 2\na " + BYTES[:8] + b"b " + BYTES[8:] + b"c")
    with pytest.raises(ValueError, match="goes on after the 2 words"):
        read_binary(path, limit=limit)
    assert read_binary(path, limit=1).words == ("a",)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"0 2\n", "not with a line of two counts"),
        (b"2 2\na " + BYTES[:8] + b"a " + BYTES[8:], "word 2 of 2: 'a' is word 1 already"),
        (b"2 2\na " + BYTES[:8] + b"\xff " + BYTES[8:], "word 2 of 2: .* is not UTF-8"),
        (b"2 2\na " + BYTES[:8] + b"b " + b"\xff" * 8, "word 2 of 2, 'b': a number is NaN"),
        (b"2 2\na " + BYTES[:8] + b"b " + BYTES[8:] + b"c", "goes on after the 2 words"),
        (b"2 2\na " + BYTES[:8] + b"b\n\tc " + BYTES[8:], "word 2 of 2: the word 'b.*' is empty"),
        (b"999999999 2\na " + BYTES, "take at least 9,999,999,990"),
        (b"the 0.1 0.2\n", "not with a line of two counts"),
    ],
)
def test_binary_files_that_are_wrong(tmp_path, content, words):
    path = tmp_path / "v.bin"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=words):
        read_binary(path)


def test_what_cannot_be_written_or_read_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"ends in '.doc'; vectors are written as .npz, .txt"):
        save(tmp_path / "v.doc", WORDS, some_vectors())
    with pytest.raises(ValueError, match="is a pickle, and reading one may run anything"):
        load(tmp_path / "model.kv")
    with pytest.raises(ValueError, match="too large for float32"):
        save(tmp_path / "v.bin", WORDS, some_vectors(np.float64) * 1e300)
    for ending in WRITERS:
        with pytest.raises(ValueError, match=r"words\[1\] = 'new york' is empty or holds white"):
            save(tmp_path / f"v{ending}", ["a", "new york"], TWO)
    np.savez(tmp_path / "v.npz", words=np.array([{}, "b"], object), vectors=TWO)  # a pickle inside
    with pytest.raises(ValueError, match="no .npz with the arrays"):
        load(tmp_path / "v.npz")
    assert sorted(tmp_path.iterdir()) == [tmp_path / "v.npz"]


@pytest.mark.parametrize("binary", [False, True])
def test_gensim_reads_ours_and_we_read_gensims(tmp_path, binary):
    keyed = pytest.importorskip("gensim.models", reason=PEER).KeyedVectors
    path = tmp_path / ("v.bin" if binary else "v.txt")
    save(path, WORDS, some_vectors())
    theirs = keyed.load_word2vec_format(str(path), binary=binary)
    assert tuple(theirs.index_to_key) == WORDS
    np.testing.assert_array_equal(theirs.vectors, some_vectors())
    theirs.save_word2vec_format(str(path), binary=binary)
    assert load(path).words == WORDS
    np.testing.assert_array_equal(load(path).vectors, some_vectors())


def test_gensim_and_we_read_glove(tmp_path):
    keyed = pytest.importorskip("gensim.models", reason=PEER).KeyedVectors
    write_vectors(tmp_path / "glove.txt", WORDS, some_vectors(), header=False)
    theirs = keyed.load_word2vec_format(str(tmp_path / "glove.txt"), no_header=True)
    np.testing.assert_array_equal(load(tmp_path / "glove.txt").vectors, theirs.vectors)


def test_the_safetensors_library_reads_ours_and_we_read_its(tmp_path):
    library = pytest.importorskip("safetensors.numpy", reason=PEER)
    path = tmp_path / "v.safetensors"
    vectors_files.save(path, WORDS, some_vectors())
    arrays = library.load_file(path)
    np.testing.assert_array_equal(arrays["vectors"], some_vectors())
    assert arrays["words"].tobytes().decode().split("\n") == list(WORDS)
    library.save_file(arrays, path, metadata={"made by": "the library"})
    assert load(path).words == WORDS
    library.save_file({"weight": some_vectors()}, path)
    with pytest.raises(ValueError, match="holds the arrays weight"):
        load(path)


@pytest.mark.parametrize("ending", [".txt", ".npz", ".bin", ".safetensors"])
def test_a_word_that_is_too_long_to_be_read_again_is_not_written(tmp_path, ending):
    longest = "x" * 10_000
    save(tmp_path / f"v{ending}", [longest, "b"], np.eye(2, dtype=np.float32))
    assert load(tmp_path / f"v{ending}").words == (longest, "b")
    for word in (longest + "x", "\u00e9" * 5_001):
        with pytest.raises(ValueError, match=r"words\[1\] = .* has 10,00[12] bytes"):
            save(tmp_path / f"w{ending}", ["b", word], np.eye(2, dtype=np.float32))
    assert not (tmp_path / f"w{ending}").exists()


def test_a_line_that_is_too_long_to_be_read_again_is_not_written(tmp_path):
    vectors = np.full((1, 1 << 19), -2.2250738585072014e-308)
    save(tmp_path / "v.txt", ["a"], vectors)
    assert np.array_equal(read_vectors(tmp_path / "v.txt", dtype=np.float64).vectors, vectors)
    with pytest.raises(ValueError, match="524,289 numbers each"):
        save(tmp_path / "w.txt", ["a"], np.ones((1, (1 << 19) + 1)))


def test_words_that_are_no_letters_are_told(tmp_path):
    words = np.array([0xFFFFFFFF, ord("A")], np.uint32).view("<U1")
    np.savez(tmp_path / "v.npz", words=words, vectors=np.eye(2, dtype=np.float32))
    with pytest.raises(ValueError, match="is no .npz with the arrays"):
        load(tmp_path / "v.npz")


def test_one_long_word_that_all_others_would_be_padded_to_is_told(tmp_path, monkeypatch):
    words = ["x" * 9_000, *(f"w{k}" for k in range(999))]
    monkeypatch.setattr(vectors_files, "SMALL", 1 << 20)
    with pytest.raises(ValueError, match=r"36,000,000 bytes .* 9,000 letters of 'xxx"):
        save(tmp_path / "v.npz", words, np.eye(1000, dtype=np.float32))
    assert not list(tmp_path.iterdir())
    save(tmp_path / "v.npz", words[1:], np.eye(999, dtype=np.float32))
