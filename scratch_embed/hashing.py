"""Feature hashing: tokens to rows of a table without a dictionary, and what collisions it costs.

    key      64 bits of a token: FNV-1a of its UTF-8 bytes, or the whole number itself
    bucket   mix(key, seed) mod num_buckets
    sign     the top bit of another mix: +1 or -1

Python's own hash() is no use here: it gives strings other values in every run. These functions
give the same on every machine, for ever. A table of hashed rows is trained like any other; tokens
that share a bucket share its row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scratch_embed.arguments import check_count, check_unmasked, is_whole, ragged

# FNV-1a for 64 bits: Fowler, Noll & Vo, http://www.isthe.com/chongo/tech/comp/fnv/
FNV_OFFSET = 0xCBF29CE484222325
FNV_PRIME = 0x100000001B3

# SplitMix64: Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators"; the
# constants are those of Stafford's variant 13, as in java.util.SplittableRandom. GOLDEN is 2^64
# divided by the golden ratio, made odd.
GOLDEN = 0x9E3779B97F4A7C15
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB

_MASK = 2**64 - 1


class Collisions(NamedTuple):
    """What was counted when distinct tokens were hashed, beside what chance lets expect."""

    num_tokens: int  # n, distinct
    num_buckets: int  # m
    used: int  # buckets with a token
    expected_used: float  # m (1 - (1 - 1/m)^n)
    sharing: int  # tokens that are not alone in their bucket
    expected_sharing: float  # n (1 - (1 - 1/m)^(n - 1))
    pairs: int  # pairs of tokens in one bucket
    expected_pairs: float  # n (n - 1) / 2m
    largest: int  # most tokens in one bucket

    def __str__(self) -> str:
        lines = [f"{self.num_tokens:,} tokens in {self.num_buckets:,} buckets"]
        lines.append(f"{'':<24}{'measured':>12}{'expected':>14}")
        for label, name in (
            ("buckets used", "used"),
            ("tokens that share one", "sharing"),
            ("pairs that collide", "pairs"),
        ):
            expected = getattr(self, f"expected_{name}")
            lines.append(f"{label:<24}{getattr(self, name):>12,}{expected:>14,.1f}")
        return "\n".join([*lines, f"most tokens in a bucket {self.largest:>12,}"])


def fnv1a(data: bytes | str) -> int:
    """hash = offset; for each byte: hash = (hash xor byte) * prime mod 2^64.  A str is UTF-8.

    >>> hex(fnv1a("foobar"))
    '0x85944171f73967e8'
    """
    # "surrogatepass": Python makes half surrogates of a file's name that is not UTF-8
    data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"data is a {type(data).__name__}; FNV-1a hashes bytes, or a str as UTF-8")
    value = FNV_OFFSET
    for byte in data:
        value = ((value ^ byte) * FNV_PRIME) & _MASK
    return value


def keys(tokens) -> np.ndarray:
    """64 bits for each token                                              (...) -> (...) uint64

    tokens : str or bytes, hashed by FNV-1a, or whole numbers of up to 64 bits, taken as they are;
        one, an array or a nested list of them. Raises TypeError for anything else, ValueError for
        a nested list whose rows differ in length.
    """
    check_unmasked(tokens, "tokens")
    if isinstance(tokens, np.ndarray) and tokens.dtype.kind in "iu":
        return tokens.astype(np.uint64)  # a negative number keeps its bits
    _check_no_buffer(tokens)
    given = np.array(tokens, dtype=object)  # as objects, so that NumPy turns nothing into text
    out = np.empty(given.shape, np.uint64)
    for index, token in np.ndenumerate(given):
        if isinstance(token, (list, tuple)):  # which NumPy could not take apart
            raise ragged(tokens, "tokens")
        out[index] = _key(token, index)
    return out


def _check_no_buffer(tokens) -> None:
    """NumPy would take a bytearray for a list of numbers."""
    if isinstance(tokens, (bytearray, memoryview)):
        raise TypeError(f"a token is a {type(tokens).__name__}; of its bytes write bytes(token)")
    if isinstance(tokens, (list, tuple)):
        for token in tokens:
            _check_no_buffer(token)


def mix(key: np.ndarray, seed: int = 0) -> np.ndarray:
    """The bits of each key stirred: a different function for every seed       uint64 -> uint64

    Counting through the keys 0, 1, 2 ... with seed 0 gives the outputs of SplitMix64.

    >>> hex(int(mix(np.uint64(0))))
    '0xe220a8397b1dcdaf'
    """
    seed, key = whole(seed), np.asarray(key)
    if key.dtype.kind not in "iu":
        raise TypeError(f"key is of {key.dtype}; it must be of whole numbers, as keys() makes them")
    # Another seed starts far away on SplitMix64's own circle of 2^64 states.
    start = (GOLDEN + fnv1a(f"seed {seed}") * (seed != 0)) & _MASK
    with np.errstate(over="ignore"):  # arithmetic mod 2^64 is what we want
        z = key.astype(np.uint64) * np.uint64(GOLDEN) + np.uint64(start)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX_1)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_2)
        return z ^ (z >> np.uint64(31))


def buckets(tokens, num_buckets: int, seed: int = 0) -> np.ndarray:
    """The row of each token, in 0 .. num_buckets - 1                      (...) -> (...) int64

    >>> buckets(["cat", "dog", "cat"], 1000).tolist()
    [470, 172, 470]
    """
    num_buckets = check_count(num_buckets, "num_buckets")
    if num_buckets > 1 << 63:
        raise ValueError(f"num_buckets is {num_buckets}; row numbers are int64, so at most 2**63")
    return (mix(keys(tokens), seed) % np.uint64(num_buckets)).astype(np.int64)


def signs(tokens, seed: int = 0) -> np.ndarray:
    """+1 or -1 for each token, even chances                               (...) -> (...) float64

    Added with a sign, tokens that collide disturb each other with mean zero: Weinberger et al.
    2009, "Feature hashing for large scale multitask learning". The sign is independent of the
    bucket of the same seed.
    """
    top = mix(keys(tokens), ~whole(seed)) >> np.uint64(63)
    return 1.0 - 2.0 * top.astype(np.float64)


def collisions(tokens, num_buckets: int, seed: int = 0) -> Collisions:
    """Hash the distinct tokens, count who shares a bucket, and say what chance lets expect.

    The expectations are those of n balls thrown into m urns.
    """
    distinct = np.unique(keys(tokens))
    n = check_count(len(distinct), "the number of distinct tokens")
    m = check_count(num_buckets, "num_buckets")
    counts = np.unique(buckets(distinct, m, seed), return_counts=True)[1]  # of those with a token
    return Collisions(
        num_tokens=n,
        num_buckets=m,
        used=len(counts),
        expected_used=m * _hit(m, n),
        sharing=int(counts[counts > 1].sum()),
        expected_sharing=n * _hit(m, n - 1),
        pairs=int((counts * (counts - 1) // 2).sum()),
        expected_pairs=n * (n - 1) / (2 * m),
        largest=int(counts.max()),
    )


def _hit(num_buckets: int, throws: int) -> float:
    """1 - (1 - 1/m)^throws, the chance that a bucket is hit, without cancellation for large m."""
    if num_buckets == 1:
        return float(throws > 0)
    return -math.expm1(throws * math.log1p(-1 / num_buckets))


def _key(token, index: tuple[int, ...]) -> int:
    if isinstance(token, (str, bytes)):
        return fnv1a(token)
    if is_whole(token):
        if -(2**63) <= token < 2**64:
            return int(token) & _MASK
        raise ValueError(f"tokens{_at(index)} = {token} needs more than 64 bits; hash str(token)")
    raise TypeError(
        f"tokens{_at(index)} = {token!r} is a {type(token).__name__}; a token is a str, bytes or "
        "a whole number of up to 64 bits"
    )


def whole(seed) -> int:
    """The seed as an int of Python: np.uint8(1) has another ~ than 1, and 1.0 other letters."""
    if not is_whole(seed):
        raise TypeError(f"seed is {seed!r}; it must be a whole number")
    return int(seed)


def _at(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]" if index else ""
