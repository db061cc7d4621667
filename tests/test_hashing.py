"""Feature hashing: published test values, spread, collisions, and a table of hashed rows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scratch_embed.hashing import buckets, collisions, fnv1a, keys, mix, signs
from scratch_embed.layers import HashEmbedding

ROOT = Path(__file__).resolve().parent.parent


def test_published_values_of_fnv1a():
    """From the test vectors at isthe.com/chongo/tech/comp/fnv."""
    assert fnv1a("") == 0xCBF29CE484222325
    assert fnv1a("a") == 0xAF63DC4C8601EC8C
    assert fnv1a("\udcff") == fnv1a(b"\xed\xb3\xbf")  # of a file's name that is not UTF-8
    assert fnv1a("foobar") == fnv1a(b"foobar") == 0x85944171F73967E8


def test_published_values_of_splitmix64():
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert mix(np.arange(3)).tolist() == published


def test_keys_of_every_kind():
    assert keys([3, -1]).tolist() == [3, 2**64 - 1]
    assert keys(np.array([3, -1], np.int8)).tolist() == [3, 2**64 - 1]
    assert keys(2**64 - 1) == 2**64 - 1
    assert keys(np.array([["a", "b"]])).tolist() == [[fnv1a("a"), fnv1a("b")]]
    assert keys("a\0") != keys("a")  # NumPy's own strings would lose the last character
    assert keys(["1", 1]).tolist() == [fnv1a("1"), 1]


def test_a_seed_is_a_whole_number_of_any_width():
    assert buckets("cat", 1000, np.int64(5)) == buckets("cat", 1000, 5)
    drawn = {signs(np.arange(64), seed).tobytes() for seed in (7, np.uint8(7), np.int64(7))}
    assert len(drawn) == 1
    assert HashEmbedding(9, 2, num_hashes=2, seed=np.uint8(255))(["a"]).shape == (1, 2)
    for seed in (1.0, True, None, "1"):
        with pytest.raises(TypeError, match="seed is"):
            buckets("cat", 1000, seed)


def test_a_hash_is_the_same_in_every_run():
    """Python's hash() of a string is not."""
    code = "from scratch_embed.hashing import buckets; print(buckets('cat', 1000), hash('cat'))"
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8",
            env={**os.environ, "PYTHONHASHSEED": seed}, check=True,
        ).stdout.split()
        for seed in "12"
    ]  # fmt: skip
    assert runs[0][0] == runs[1][0] == str(buckets("cat", 1000))
    assert runs[0][1] != runs[1][1]


@pytest.mark.parametrize("num_buckets", [2, 100, 1024])
def test_buckets_and_signs_are_even_and_independent(num_buckets):
    """chi^2 of n draws has mean m - 1 and standard deviation sqrt(2 (m - 1))."""
    n, tokens = 100_000, np.arange(100_000)
    first, second = buckets(tokens, num_buckets, 0), buckets(tokens, num_buckets, 1)
    pairs = first % 2 * 4 + second % 2 * 2 + (signs(tokens) > 0)
    for draws, m in ((first, num_buckets), (second, num_buckets), (pairs, 8)):
        counts = np.bincount(draws, minlength=m)
        chi2 = ((counts - n / m) ** 2 / (n / m)).sum()
        assert abs(chi2 - (m - 1)) < 5 * np.sqrt(2 * (m - 1))
    assert set(signs(tokens)) == {-1.0, 1.0}


def test_collisions_counted_and_expected():
    report = collisions([0, 1, 2, 3, 3], 1)
    assert report.num_tokens == 4 and report.used == 1 and report.sharing == 4
    assert (report.pairs, report.expected_pairs, report.largest) == (6, 6.0, 4)
    assert (report.expected_used, report.expected_sharing) == (1, 4)
    # two tokens, two buckets: m (1 - 1/4) = 1.5 used, 2 * 1/2 sharing
    two = collisions(["a", "b"], 2)
    assert two.expected_used == pytest.approx(1.5) and two.expected_sharing == pytest.approx(1)
    large = collisions(np.arange(20_000), 10_000)
    assert large.used == pytest.approx(large.expected_used, rel=0.02)
    assert large.pairs == pytest.approx(large.expected_pairs, rel=0.05)
    assert "20,000 tokens in 10,000 buckets" in str(large)
    most = collisions(np.arange(1000), 1 << 63)  # only the buckets with a token take room
    assert (most.used, most.sharing, most.largest) == (1000, 0, 1)


def test_hashed_rows_add_up_with_their_signs():
    layer = HashEmbedding(50, 3, num_hashes=2, signed=True, seed=4, rng=0, dtype=np.float64)
    words = np.array([["cat", "dog"], ["cat", "bird"]])
    table, rows = layer.weight.data, layer.buckets(words)
    for index, word in np.ndenumerate(words):
        by_hand = sum(signs(word, 4 + k) * table[rows[(*index, k)]] for k in range(2))
        np.testing.assert_allclose(layer(words).data[index], by_hand)
    layer(words).backward(np.ones((2, 2, 3)))
    twice = [signs("cat", 4 + k) * 2 for k in range(2)]
    others = {*rows[0, 1], *rows[1, 1]}
    for k in range(2):
        if rows[0, 0, k] not in others and rows[0, 0, 0] != rows[0, 0, 1]:
            assert layer.weight.grad[rows[0, 0, k]].tolist() == [twice[k]] * 3
    assert rows[0, 0, 0] not in others  # so that at least one was looked at


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda: buckets("a", 0), ValueError, "num_buckets is 0"),
        (lambda: mix(1.5), TypeError, "key is of float64"),
        (lambda: fnv1a([300]), TypeError, "data is a list"),
        (lambda: keys([1.5]), TypeError, r"tokens\[0\] = 1.5 is a float"),
        (lambda: keys(["a", None]), TypeError, r"tokens\[1\] = None"),
        (lambda: keys([True]), TypeError, "bool"),
        (lambda: keys([["a", "b"], ["c"]]), ValueError, r"tokens\[0\] holds 2, tokens\[1\] 1"),
        (lambda: keys([2**64]), ValueError, "more than 64 bits"),
        (lambda: buckets("a", 2**63 + 1), ValueError, "num_buckets is 9223372036854775809"),
        (lambda: collisions([], 5), ValueError, "number of distinct tokens is 0"),
        (lambda: HashEmbedding(5, 3, num_hashes=0), ValueError, "num_hashes is 0"),
    ],
)
def test_bad_input_is_explained(use, error, words):
    with pytest.raises(error, match=words):
        use()


@pytest.mark.parametrize("token", [bytearray(b"ab"), memoryview(b"ab")])
def test_a_buffer_is_not_hashed_letter_by_letter(token):
    for tokens in (token, [token], [["a"], [token]]):
        with pytest.raises(TypeError, match=r"write bytes\(token\)"):
            keys(tokens)
