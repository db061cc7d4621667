"""Files: what was written comes back; what was damaged is refused in words, or still right."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from scratch_embed import checkpoint
from scratch_embed.disk import create_table, open_table
from scratch_embed.text import bpe
from scratch_embed.text.corpus import read_text
from scratch_embed.text.vectors import read_vectors, write_vectors
from tests.properties import draw
from tests.properties.draw import changed, numbers, same_bits

ARRAYS = st.builds(
    numbers,
    draw.seeds,
    st.lists(st.integers(0, 3), max_size=3).map(tuple),
    st.sampled_from([*draw.FLOATS, *draw.COMPLEX, *draw.INTEGERS, np.bool_, np.float16]),
)
KEYS = st.text(max_size=8).filter(lambda key: key != checkpoint.ARRAY)
PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=20)
)
PARTS = st.dictionaries(
    KEYS,
    st.recursive(
        PLAIN | ARRAYS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


def alike(one, other) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and same_bits(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return type(one) is type(other) and one == other


@st.composite
def damaged(draw_, content: bytes) -> bytes:
    """The bytes cut off, with some turned over, a hole of zeros, or a piece of them twice."""
    assume(content)
    at, to = sorted(draw_(st.integers(0, len(content))) for _ in range(2))
    return draw_(
        st.sampled_from(
            [
                content[:at],
                content[at:],
                content[:at] + bytes(to - at) + content[to:],
                content[:to] + content[at:],
                content[:at] + bytes(b ^ 1 << (at % 8) for b in content[at : at + 1]) +
                content[at + 1 :],
            ]
        )
    )  # fmt: skip


@given(PARTS)
def test_a_checkpoint_comes_back_as_it_was(parts):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        checkpoint.save(path, all=parts)
        assert alike(checkpoint.load(path)["all"], parts)
        assert [entry.name for entry in Path(folder).iterdir()] == ["run.npz"]


@given(st.data(), draw.seeds)
def test_a_damaged_checkpoint_is_refused_or_right(data, seed):
    parts = {"w": numbers(seed, (3, 2)), "step": seed, "names": ["a", "b"]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        checkpoint.save(path, **parts)
        path.write_bytes(data.draw(damaged(path.read_bytes())))
        try:
            assert alike(checkpoint.load(path), parts)
        except ValueError as error:
            assert str(path) in str(error)


@given(st.lists(NAMES, min_size=1, max_size=6, unique=True), st.integers(1, 4), draw.seeds,
       st.booleans())  # fmt: skip
def test_vectors_come_back_to_the_bit(words, dim, seed, header):
    vectors = numbers(seed, (len(words), dim), np.float32) * 10.0 ** (seed % 60 - 30)
    vectors = vectors.astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.txt"
        try:
            write_vectors(path, words, vectors, header=header)
        except ValueError:  # a word that the format cannot hold
            bad = (word.split() != [word] or word[0] == "\ufeff" or "\0" in word for word in words)
            assert any(bad)
            assert not path.exists()
            return
        found = read_vectors(path, header=header)
        assert found.words == tuple(words) and same_bits(found.vectors, vectors)
        table = path.read_bytes()
    assert table.count(b"\n") == len(words) + header


@given(st.one_of(st.binary(max_size=200), st.text("0123456789 .-eE\n\rab\u00a0", max_size=80).map(
    str.encode)), st.sampled_from([None, True, False]))  # fmt: skip
def test_any_bytes_are_vectors_or_refused(content, header):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.txt"
        path.write_bytes(content)
        try:
            with warnings.catch_warnings(action="ignore", category=UserWarning):  # no line feed
                found = read_vectors(path, header=header)
        except ValueError as error:
            assert str(path) in str(error)
        else:
            assert found.vectors.shape[0] == len(found.words)
            assert np.isfinite(found.vectors).all()


@given(st.binary(max_size=100))
def test_any_bytes_are_text_or_refused(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        path.write_bytes(content)
        try:
            assert isinstance(read_text(path), str)
        except ValueError as error:
            assert str(path) in str(error)


TEXTS = st.text(st.characters(codec="utf-8"), max_size=40) | st.text("ab \n\u00e9", max_size=60)


@given(st.data(), TEXTS, st.sampled_from(["character", "byte"]), st.booleans(), st.integers(0, 8))
def test_a_tokenizer_says_what_it_was_told(data, text, unit, boundaries, merges):
    assume(text)
    made = bpe.train(text, merges, unit=unit, boundaries=boundaries, progress=False)
    with changed(bpe, SMALL=-1):  # the compiled loops learn the same
        assert bpe.train(text, merges, unit=unit, boundaries=boundaries, progress=False) == made
    assert made.decode(made.encode(text, errors="strict")) == text
    with tempfile.TemporaryDirectory() as folder:
        path = made.save(Path(folder) / "bpe.txt")
        assert bpe.load(path) == made
        path.write_bytes(data.draw(damaged(path.read_bytes())))
        try:
            found = bpe.load(path)
        except ValueError as error:
            assert str(path) in str(error)
        else:
            assert len(found.tokens) == len(set(found.tokens))


@given(st.data(), st.integers(1, 4), st.integers(1, 4), st.sampled_from(draw.FLOATS))
def test_a_table_on_disk_comes_back_and_a_damaged_one_is_refused(data, rows, columns, dtype):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npy"
        made = create_table(path, rows, columns, dtype=dtype, rng=data.draw(draw.seeds))
        kept = np.array(made)
        del made
        assert same_bits(open_table(path), kept)
        content = path.read_bytes()
        path.write_bytes(data.draw(damaged(content)))
        try:
            found = open_table(path)
        except ValueError as error:
            assert str(path) in str(error)
        else:
            assert found.ndim == 2 and found.dtype in draw.FLOATS
            del found
