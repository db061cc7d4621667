"""What a table looks like as points in space: distances, angles, neighbours, directions.

Every function takes a table of shape (V, D), any real dtype, and computes in float64. The worked
examples use six words in three dimensions:

    0 the   [-0.12,  0.05,  0.88]        3 sat   [-0.55,  0.62, -0.03]
    1 cat   [ 0.72, -0.41,  0.15]        4 house [ 0.31,  0.15, -0.72]
    2 dog   [ 0.68, -0.38,  0.22]        5 on    [-0.08,  0.11,  0.79]

A row of zeros has no direction. Its cosine with any vector is defined as 0 here, the value that
PyTorch's cosine_similarity gives as well. NaN and infinity are refused with their position.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scratch_embed.arguments import array_of, check_flag, is_whole
from scratch_embed.kernels.ids import check_ids
from scratch_embed.lengths import lengths

LIMIT = 1 << 31  # bytes that a table of all pairs may take
MEASURES = ("cosine", "euclidean")


class Neighbours(NamedTuple):
    """Rows from the nearest to the farthest, and their cosine (or distance) to the query."""

    rows: np.ndarray  # (k,) int64
    values: np.ndarray  # (k,) float64


class PCA(NamedTuple):
    """Principal components: `coords @ basis` is the best rank-k copy of the centred table."""

    coords: np.ndarray  # (V, k) the rows, seen from the k axes
    basis: np.ndarray  # (k, D) orthonormal axes, the one with most variance first
    share: np.ndarray  # (k,) share of the total variance on each axis, in 0..1


def euclidean(a, b) -> float:
    """|a - b| = sqrt(sum_j (a_j - b_j)^2)        (D,), (D,) -> number

    cat - dog = [0.04, -0.03, -0.07], squares 0.0016 + 0.0009 + 0.0049 = 0.0074, root 0.0860.
    cat - the = [0.84, -0.46, -0.73], squares 0.7056 + 0.2116 + 0.5329 = 1.4501, root 1.2042.
    """
    a, b = _pair(a, b)
    return float(lengths(a - b))


def cosine(a, b) -> float:
    """cos(a, b) = a . b / (|a| |b|), in -1..1, and 0 if a or b is all zero    (D,), (D,) -> number

    cat . dog = 0.4896 + 0.1558 + 0.0330 = 0.6784; |cat| = 0.8420, |dog| = 0.8094; cos = 0.9953.
    """
    a, b = _pair(a, b)
    return float(np.clip(unit_rows(a[None])[0] @ unit_rows(b[None])[0], -1.0, 1.0))


def norms(table) -> np.ndarray:
    """|E_v| for every row        (V, D) -> (V,)        cat 0.8420, dog 0.8094, the 0.8896"""
    return lengths(_table(table))


def unit_rows(table) -> np.ndarray:
    """E_v / |E_v|, rows of length 1; rows of zeros stay zero        (V, D) -> (V, D)

    cat [0.72, -0.41, 0.15] / 0.8420 = [0.8551, -0.4869, 0.1781].
    """
    table = _table(table)
    # Dividing by the largest entry first keeps the squares of tiny and huge rows representable.
    largest = np.abs(table).max(axis=1, keepdims=True, initial=0.0)
    scaled = table / np.where(largest > 0, largest, 1.0)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    return scaled / np.where(length > 0, length, 1.0)


def centre(table) -> np.ndarray:
    """E - mean over the rows        (V, D) -> (V, D)

    The mean of the six words is [0.16, 0.0233, 0.215], so cat becomes [0.56, -0.4333, -0.065].
    Two random rows that share an offset look alike only until it is taken away.
    """
    table = _table(table)
    beside = table - table[0]  # of equal rows nothing is left, where their mean may be rounded
    return beside - beside.mean(axis=0)


def distances(table) -> np.ndarray:
    """d_uv = |E_u - E_v|, symmetric, zero on the diagonal        (V, D) -> (V, V)

    The smallest distance of the six words is cat-dog, 0.0860. Next is the-on, 0.1153.
    """
    table = _table(table)
    _check_pairs(len(table))
    # Row by row. The shortcut |a|^2 + |b|^2 - 2 a.b cancels badly just where rows are close.
    return np.stack([lengths(table - row) for row in table])


def cosines(table) -> np.ndarray:
    """c_uv = cos(E_u, E_v), symmetric, one on the diagonal        (V, D) -> (V, V)

    the-on 0.9961, cat-dog 0.9953, cat-the 0.0335. A row of zeros has 0 everywhere, also with
    itself.
    """
    unit = unit_rows(table)
    _check_pairs(len(unit))
    return np.clip(unit @ unit.T, -1.0, 1.0)


def neighbours(table, row: int, k: int = 5, measure: str = "cosine") -> Neighbours:
    """The k rows nearest to `row`, itself left out.        (V, D) -> rows (k,), values (k,)

    measure "cosine" takes the largest cosine first, "euclidean" the smallest distance first. Equal
    values are listed in the order of their rows; equal as floats, that is: cosines of rows in other
    directions that would be one number may differ in the last digit.

        neighbours(table, 1, k=2, measure="euclidean")    dog 0.0860, then house 1.1129
    """
    table = _table(table)
    row = _row(row, len(table), "row")
    return _nearest(table, table[row], [row], k, measure)


def analogy(
    table, a: int, b: int, c: int, k: int = 5, exclude: bool = True, measure: str = "cosine"
) -> Neighbours:
    """The k rows nearest to E_a - E_b + E_c: "king - man + woman".        -> rows (k,), values (k,)

    With exclude=True the three inputs cannot be the answer, as published scores have it. With
    exclude=False they can, and the nearest row is often an input. On king [0.9, 0.1], man [0.5,
    0.1], woman [0.5, 0.8], queen [0.8, 0.9] the query is [0.9, 0.8], at distance 0.1414 from
    queen.

    Rows enter as they are; pass `unit_rows(table)` for the rule of Mikolov, Yih and Zweig (2013),
    who normalise first.
    """
    table = _table(table)
    inputs = [_row(i, len(table), name) for i, name in ((a, "a"), (b, "b"), (c, "c"))]
    query = table[inputs[0]] - table[inputs[1]] + table[inputs[2]]
    return _nearest(table, query, inputs if check_flag(exclude, "exclude") else [], k, measure)


def pca(table, k: int = 2) -> PCA:
    """The k directions in which the rows differ most, by the SVD of the centred table.

        E - mean = U S Wt,    basis = first k rows of Wt,    coords = (E - mean) basis^T,
        share_i = S_i^2 / sum S^2                    (V, D) -> (V, k), (k, D), (k,)

    An axis and its opposite are equally right, so a convention decides: the entry of largest size
    in each basis row is positive. The six words have shares 0.5454 and 0.4541: two axes show
    99.95 % of their variance. Equal rows have no variance, and share 0. k must lie in 1..min(V,
    D).
    """
    centred = centre(table)
    k = _count(k, min(centred.shape), "k", "min(V, D)")
    values, basis = np.linalg.svd(centred, full_matrices=False)[1:]
    basis = basis[:k]
    largest = basis[np.arange(k), np.abs(basis).argmax(axis=1)]
    basis = basis * np.where(largest < 0, -1.0, 1.0)[:, None]
    energies = (values / (values[0] or 1)) ** 2
    return PCA(centred @ basis.T, basis, energies[:k] / (energies.sum() or 1))


def neighbour_accuracy(table, labels, measure: str = "euclidean") -> float:
    """Share of rows whose nearest other row carries the same label.        (V, D), (V,) -> 0..1

    The six words as nouns (cat, dog, house), a verb (sat) and function words (the, on): cat-dog and
    the-on find each other, sat finds on and house finds cat, so 5 of 6. Chance is about the share
    of other rows with one's own label. Of equally near rows the first counts, as far as the
    rounding of a product of matrices lets equal rows be equally near by "cosine".
    """
    table, labels = _table(table), array_of(labels, "labels")
    if labels.shape != (len(table),) or len(table) < 2:
        raise ValueError(
            f"labels must be one for each of at least two rows, but their shape is {labels.shape} "
            f"for a table of {len(table)} rows."
        )
    apart = _apart(table, measure)
    np.fill_diagonal(apart, np.inf)
    return float(np.mean(labels[apart.argmin(axis=1)] == labels))


def rank_correlation(a, b) -> float:
    """Spearman's rho: the correlation of the ranks of a and of b, in -1..1.        (N,), (N,)

    [0.9, 0.1, 0.5] beside the judgements [8, 1, 2] has ranks 3, 1, 2 in both: 1.0, whatever the
    distances between the values. Equal values share the mean of their ranks. The measure by which
    cosines are compared with human judgements of similarity. Raises ValueError when all values of
    one are equal, where no order is defined.
    """
    a, b = _as_they_are(a, b)
    ranks = np.stack([_ranks(a), _ranks(b)])
    ranks -= ranks.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(ranks, axis=1)
    if not lengths.all():
        raise ValueError("all values are equal in a or in b: there is no order to compare.")
    return float(np.clip(ranks[0] @ ranks[1] / lengths.prod(), -1.0, 1.0))


def energy(table) -> np.ndarray:
    """share of the squared singular values held by the first 1, 2, ... of them -> (min(V, D),)

        energy_i = (S_1^2 + ... + S_i^2) / (S_1^2 + S_2^2 + ...)

    diag(3, 4) has S = 4, 3 and energy 16/25 = 0.64, 1.0. The curve of `centre(table)` is the
    curve of explained variance. Raises ValueError for a table of zeros.
    """
    squares = _singular_values(table) ** 2
    return np.minimum(np.cumsum(squares) / squares.sum(), 1.0)


def effective_rank(table) -> float:
    """exp of the entropy of the normalised singular values: how many directions are really in use.

        p_i = S_i / sum S,    erank = exp(-sum p_i ln p_i),    1 <= erank <= rank <= min(V, D)

    diag(1, 1, 0) has p = 0.5, 0.5 and effective rank 2. diag(3, 1) has p = 0.75, 0.25, entropy
    0.5623, effective rank 1.7548. Raises ValueError for a table of zeros.

    Roy and Vetterli, "The effective rank: a measure of effective dimensionality", EUSIPCO 2007.
    """
    values = _singular_values(table)
    p = values[values > 0] / values.sum()
    return float(np.exp(-(p * np.log(p)).sum()))


def _apart(table, measure: str) -> np.ndarray:
    """(V, V), small where two rows are near by the measure."""
    if measure not in MEASURES:
        raise ValueError(f'measure is {measure!r}; choose "cosine" or "euclidean".')
    return -cosines(table) if measure == "cosine" else distances(table)


def _check_pairs(num_rows: int) -> None:
    if 8 * num_rows**2 > LIMIT:
        raise ValueError(
            f"a number for each pair of {num_rows:,} rows would take {8 * num_rows**2 / 2**30:.1f} "
            f"GiB; take some of the rows, at most {math.isqrt(LIMIT // 8):,}"
        )


def _ranks(values) -> np.ndarray:
    """1 for the smallest; equal values share the mean of their ranks."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[where]


def _nearest(table, query, excluded, k, measure) -> Neighbours:
    """The k rows of table nearest to the vector query, leaving the excluded rows out."""
    if measure not in MEASURES:
        raise ValueError(f'measure is {measure!r}; choose "cosine" or "euclidean".')
    left = len(table) - len(set(excluded))
    k = _count(k, left, "k", "the rows that are left to choose from")
    if measure == "cosine":
        # Not by @, which sums a row by where it lies in a block: equal rows would differ in an ulp.
        values = np.einsum("vd,d->v", unit_rows(table), unit_rows(query[None])[0]).clip(-1.0, 1.0)
        order = np.argsort(-values, kind="stable")
    else:
        values = lengths(table - query)
        order = np.argsort(values, kind="stable")
    order = order[~np.isin(order, excluded)][:k]
    return Neighbours(order, values[order])


def _singular_values(table) -> np.ndarray:
    values = np.linalg.svd(_table(table), compute_uv=False)
    if values[0] == 0:
        raise ValueError(
            "table is all zeros: it has no direction, so no rank or energy is defined."
        )
    return values / values[0]


def _table(table, name: str = "table") -> np.ndarray:
    """table as float64 of shape (V, D), with V and D at least 1 and every number finite."""
    array = array_of(table, name)
    _check_real(array, name)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"{name} must have shape (V, D), V and D at least 1, but its shape is {array.shape}."
        )
    array = array.astype(np.float64, copy=False)
    _check_finite(array, name)
    return array


def _check_real(array: np.ndarray, name: str) -> None:
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers, but its dtype is {array.dtype}.")


def _check_finite(array: np.ndarray, name: str) -> None:
    if not np.isfinite(array).all():
        bad = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}{list(bad)} is {array[bad]}; every number must be finite.")


def _pair(a, b) -> tuple[np.ndarray, np.ndarray]:
    """Two vectors of one length, at least 1, as float64."""
    a, b = _as_they_are(a, b)
    return a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)


def _as_they_are(a, b) -> tuple[np.ndarray, np.ndarray]:
    """Two vectors of one length, at least 1: a float64 keeps 53 bits of a whole number."""
    a, b = array_of(a, "a"), array_of(b, "b")
    _check_real(a, "a")
    _check_real(b, "b")
    if a.ndim != 1 or a.shape != b.shape or not len(a):
        raise ValueError(
            f"a and b must both have shape (D,), D at least 1, but they have {a.shape} and "
            f"{b.shape}."
        )
    _check_finite(a, "a")
    _check_finite(b, "b")
    return a, b


def _row(row, num_rows: int, name: str) -> int:
    """One row number, checked by the same rule as every id."""
    if np.ndim(row) != 0:
        raise ValueError(f"{name} must be one row number, but its shape is {np.shape(row)}.")
    return int(check_ids(row, num_rows, name))


def _count(k, most: int, name: str, what: str) -> int:
    if not is_whole(k):
        raise TypeError(f"{name} must be a whole number, but it is {k!r}.")
    if not 1 <= k <= most:
        raise ValueError(f"{name} = {k} is outside 1..{most} (at most {what}).")
    return int(k)
