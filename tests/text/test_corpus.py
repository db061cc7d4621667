"""Reading text, cutting it into words, counting them; and the generated corpus."""

import ast
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from scratch_embed.text import bpe, docstrings, ppmi, toy, word2vec, word2vec_fast
from scratch_embed.text.corpus import (
    OTHER,
    Vocabulary,
    batches_read,
    python_text,
    rank_frequency,
    read_text,
    words,
    zipf_slope,
)
from scratch_embed.text.docstrings import read_docstrings, source_files


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache folder of this test's own, not yet made."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("SCRATCH_EMBED_CACHE", str(folder))
    return folder


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module that Python can find, and that would be noticed if it ran."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, body, encoding="utf-8"):
        path = tmp_path / f"{name}.py"
        path.write_bytes((body + "\nraise SystemExit('this was run')\n").encode(encoding))
        return path

    return write


# -- python_text ---------------------------------------------------------------------------------


def test_docstrings_are_those_that_python_itself_sees():
    import json

    text = python_text(("json",), progress=False)
    for thing in (json, json.dumps, json.JSONDecoder, json.JSONDecoder.raw_decode):
        assert ast.get_docstring(ast.parse(f"{thing.__doc__!r}")) in text


def test_nothing_is_imported_or_run(module):
    module("never_run_me", '"""A text."""\ndef f():\n    """Inner."""\n')
    assert python_text(("never_run_me",), progress=False) == "A text.\n\nInner."
    assert "never_run_me" not in sys.modules


def test_order_declared_encodings_and_strings_that_are_no_docstrings(module):
    body = (
        '# coding: latin-1\n"""Caf\xe9."""\nclass A:\n    """One."""\n    x = "no"\n'
        '    async def f(self):\n        """Two."""\ndef g():\n    """Three."""\n    "no"\n'
    )
    path = module("in_latin", body, encoding="latin-1")
    assert read_docstrings([path], progress=False).texts == ["Café.", "One.", "Two.", "Three."]


def test_broken_files_are_skipped_and_counted(module, tmp_path, capsys):
    good = module("good", '"""Fine."""')
    broken = module("broken", "def f(:")
    not_utf8 = tmp_path / "not_utf8.py"
    not_utf8.write_bytes(b'"""\xff"""')
    nulls = tmp_path / "nulls.py"
    nulls.write_bytes(b"x = 1\0")
    missing = tmp_path / "missing.py"
    found = read_docstrings([broken, good, not_utf8, nulls, missing], progress=False)
    assert found == (["Fine."], 1, [broken, not_utf8, nulls, missing])
    python_text(("broken",))
    assert "1 of 1 Python files could not be read" in capsys.readouterr().err


def test_syntax_warnings_of_old_files_stay_silent(module):
    path = module("old", '"""Old."""\nx = "\\d"')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_docstrings([path], progress=False).texts == ["Old."]


def test_help_topics_come_as_data():
    if not source_files("topics"):
        pytest.skip("this Python comes without pydoc_data")
    text = python_text(("topics",), progress=False)
    assert len(words(text)) > 20_000 and "statement" in words(text)


def test_tests_are_left_out_of_the_standard_library():
    files = source_files("stdlib")
    assert len(files) > 300 and any(p.name == "argparse.py" for p in files)
    stdlib = Path(os.__file__).parent
    folders = {part for p in files for part in p.relative_to(stdlib).parts[:-1]}
    assert folders.isdisjoint({"test", "site-packages"})


def test_the_second_reading_comes_from_the_cache(cache, monkeypatch):
    first = python_text(("json",), progress=False)
    (kept,) = cache.iterdir()
    assert kept.read_text(encoding="utf-8").partition("\n")[2] == first

    def fail(*_):
        raise AssertionError("read again")

    monkeypatch.setattr(docstrings, "read_docstrings", fail)
    assert python_text(("json",), progress=False) == first
    with pytest.raises(AssertionError, match="read again"):
        python_text(("json",), progress=False, cache=False)
    monkeypatch.setattr(docstrings.sys, "version", "another Python")
    with pytest.raises(AssertionError, match="read again"):
        python_text(("json",), progress=False)


def test_another_version_of_a_package_is_read_anew(cache, monkeypatch):
    before = docstrings._cache_path(("numpy",))
    assert before == docstrings._cache_path(("numpy",))
    monkeypatch.setattr(docstrings.metadata, "version", lambda name: "0.0.1")
    assert docstrings._cache_path(("numpy",)) != before
    assert docstrings._cache_path(("json",)) != docstrings._cache_path(("numpy",))


def test_a_module_without_a_version_is_never_cached(cache, module):
    path = module("changing", '"""One."""')
    assert python_text(("changing",), progress=False) == "One."
    path.write_text('"""Two."""', encoding="utf-8")
    assert python_text(("changing",), progress=False) == "Two."
    assert not cache.exists()


def test_a_damaged_cache_file_is_replaced(cache):
    text = python_text(("json",), progress=False)
    (kept,) = cache.iterdir()
    whole = kept.read_bytes()
    for damage in (b"", b"\xff\xfe", whole[:3000], whole[:64], whole.replace(b"e", b"a", 200)):
        kept.write_bytes(damage)
        assert python_text(("json",), progress=False) == text
        assert kept.read_bytes() == whole


def test_nothing_writable_costs_a_warning_not_the_text(cache):
    cache.write_text("a file where the folder should be", encoding="utf-8")
    with pytest.warns(RuntimeWarning, match="could not be kept.*SCRATCH_EMBED_CACHE"):
        assert "JSON" in python_text(("json",), progress=False)


def test_ctrl_c_leaves_nothing_half_written(cache, monkeypatch):
    calls = []
    parse = ast.parse

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return parse(*args, **kwargs)

    monkeypatch.setattr(docstrings.ast, "parse", interrupted)
    with pytest.raises(KeyboardInterrupt):
        python_text(("json",), progress=False)
    assert len(calls) == 3 and not cache.exists()
    assert "JSON" in python_text(("json",), progress=False)  # and the next try works

    def torn(self, data):
        Path.open(self, "wb").write(data[:10])
        raise KeyboardInterrupt

    (kept,) = cache.iterdir()
    kept.unlink()
    monkeypatch.setattr(Path, "write_bytes", torn)
    with pytest.raises(KeyboardInterrupt):
        python_text(("json",), progress=False)
    assert list(cache.iterdir()) == []


def test_half_surrogates_do_not_break_the_cache(module, cache, monkeypatch):
    module("surrogate", '"""Half \\ud800 pair."""')
    monkeypatch.setattr(docstrings.metadata, "version", lambda name: "1")
    first = python_text(("surrogate",), progress=False)
    assert first == "Half ? pair." == python_text(("surrogate",), progress=False)
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize(
    "sources, error, match",
    [
        (("no_such_package_here",), ValueError, "not installed here"),
        (("json.decoder",), ValueError, "top-level"),
        (("sys",), ValueError, "no Python source"),
        ("json", TypeError, r"\('json',\)"),
    ],
)
def test_wrong_sources_get_a_sentence(sources, error, match):
    with pytest.raises(error, match=match):
        python_text(sources, progress=False)
    assert "os" in words(python_text(("os",), progress=False))  # frozen, and yet with a source


# -- read_text -----------------------------------------------------------------------------------


def test_read_text_takes_any_line_end_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffGrüße\r\nan\ralle\n".encode())
    assert read_text(path) == "Grüße\nan\nalle\n" == read_text(str(path))


def test_read_text_names_what_is_wrong(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.raises(FileNotFoundError, match=r"no file .*a\.txt"):
        read_text(path)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_text(tmp_path)
    for empty in (b"", b"\xef\xbb\xbf", b" \n\t\n"):
        path.write_bytes(empty)
        with pytest.raises(ValueError, match="is empty"):
            read_text(path)
    path.write_bytes("line\ncafé".encode("latin-1"))
    with pytest.raises(ValueError, match=r"0xe9 at offset 8 \(line 2\).*iconv -f WINDOWS-1252"):
        read_text(path)
    path.write_bytes("hello".encode("utf-16"))
    with pytest.raises(ValueError, match=r"offset 0.*iconv -f UTF-16"):
        read_text(path)


# -- words and Vocabulary ------------------------------------------------------------------------


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
    with pytest.raises(ValueError, match="max_size = 0"):
        Vocabulary.from_tokens(["a"], max_size=0)


# -- Zipf ----------------------------------------------------------------------------------------


def test_rank_frequency_and_slope():
    ranks, frequencies = rank_frequency([1, 0, 3, 2])
    assert (ranks.tolist(), frequencies.tolist()) == ([1, 2, 3], [3, 2, 1])
    assert zipf_slope([60, 30, 20, 15, 12]) == pytest.approx(-1)
    assert zipf_slope([7, 7, 7]) == 0
    square = 10**6 / np.arange(1, 101) ** 2
    assert zipf_slope(square, first=10, last=50) == pytest.approx(-2)
    assert zipf_slope([10**9, *square[1:]], first=2) == pytest.approx(-2)  # the first rank left out
    with pytest.raises(ValueError, match="count above 0"):
        rank_frequency([0, 0])
    with pytest.raises(ValueError, match=r"5\.\.5"):
        zipf_slope([5, 4, 3, 2, 1], first=5)


# -- the generated corpus ------------------------------------------------------------------------


def test_zipf_classes_holds_what_it_promises():
    corpus = toy.zipf_classes(60_000, rng=np.random.default_rng(5))
    assert corpus.tokens.shape == (60_000,) and corpus.classes.shape == (400,)
    assert np.bincount(corpus.classes).tolist() == [40] * 10
    assert np.allclose(corpus.transition.sum(axis=0), 1)
    assert np.allclose(corpus.transition.sum(axis=1), 1)
    counts = np.bincount(corpus.tokens, minlength=400)
    assert zipf_slope(counts, 1, 100) == pytest.approx(-1, abs=0.1)
    assert counts[:10].sum() > 5 * counts[200:210].sum()
    # The classes that follow one another are those of the matrix, within sampling error.
    seen = corpus.classes[corpus.tokens]
    pairs = np.zeros((10, 10))
    np.add.at(pairs, (seen[:-1], seen[1:]), 1)
    assert np.abs(pairs / pairs.sum(axis=1, keepdims=True) - corpus.transition).max() < 0.03


def test_inside_a_class_a_word_says_nothing_about_the_next_class():
    """The hidden class is all there is: two words of one class are followed alike."""
    corpus = toy.zipf_classes(200_000, 40, 4, rng=np.random.default_rng(2))
    after = np.zeros((40, 4))
    np.add.at(after, (corpus.tokens[:-1], corpus.classes[corpus.tokens[1:]]), 1)
    after /= after.sum(axis=1, keepdims=True)
    assert np.abs(after - corpus.transition[corpus.classes]).max() < 0.05


def test_the_exponent_sets_the_slope():
    flat = toy.zipf_classes(60_000, 50, 5, exponent=0.0)
    assert np.bincount(flat.tokens).min() > 900  # 1,200 each on average
    steep = toy.zipf_classes(60_000, 50, 5, exponent=2.0)
    assert zipf_slope(np.bincount(steep.tokens, minlength=50), 1, 25) < -1.5


def test_zipf_classes_is_seeded_and_checks_its_arguments():
    first, again = toy.zipf_classes(500), toy.zipf_classes(500)
    assert np.array_equal(first.tokens, again.tokens)
    other = toy.zipf_classes(500, rng=np.random.default_rng(1))
    assert not np.array_equal(first.tokens, other.tokens)
    state = np.random.get_state()[1].copy()
    toy.zipf_classes(50)
    assert np.array_equal(state, np.random.get_state()[1])
    for arguments in (
        {"num_words": 5},
        {"num_tokens": 0},
        {"exponent": -1},
        {"followers": (0.9, 0.2)},
    ):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            toy.zipf_classes(**arguments)


def test_antonyms_share_every_context():
    def contexts(word):
        return {s.replace(word, "_") for s in toy.CONTEXTS if word in s.split()}

    assert contexts("hot") == contexts("cold") and len(contexts("hot")) == 4
    assert contexts("piano").isdisjoint(contexts("hot"))


def test_batches_read_counts_a_row_once_a_batch():
    assert batches_read([0, 0, 1, 0, 2, 2], 4, batch_size=2).tolist() == [2, 1, 1, 0]
    rng = np.random.default_rng(0)
    ids = rng.integers(7, size=50)
    naive = [sum(v in ids[at : at + 8] for at in range(0, 50, 8)) for v in range(7)]
    assert batches_read(ids, 7, 8).tolist() == naive
    with pytest.raises(ValueError, match="batch_size = 0"):
        batches_read(ids, 7, 0)
    with pytest.raises(IndexError, match="7"):
        batches_read([0, 7], 7, 2)


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
