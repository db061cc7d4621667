"""Reading text and the docstrings of Python: whole, in order, and kept in a cache."""

import ast
import os
import sys
import warnings
from pathlib import Path

import pytest

from scratch_embed.text import docstrings
from scratch_embed.text.corpus import python_text, read_text, words
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


# -- Zipf ----------------------------------------------------------------------------------------


# -- the generated corpus ------------------------------------------------------------------------
