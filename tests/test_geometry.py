"""Distances, angles, neighbours and directions of a table, against hand calculation and theory."""

import numpy as np
import pytest

from scratch_embed.geometry import (
    analogy,
    centre,
    cosine,
    cosines,
    distances,
    effective_rank,
    energy,
    euclidean,
    neighbour_accuracy,
    neighbours,
    norms,
    pca,
    rank_correlation,
    unit_rows,
)

THE, CAT, DOG, SAT, HOUSE, ON = range(6)
WORDS = np.array(
    [
        [-0.12, 0.05, 0.88],
        [0.72, -0.41, 0.15],
        [0.68, -0.38, 0.22],
        [-0.55, 0.62, -0.03],
        [0.31, 0.15, -0.72],
        [-0.08, 0.11, 0.79],
    ]
)
ROYALS = np.array([[0.9, 0.1], [0.5, 0.1], [0.5, 0.8], [0.8, 0.9]])  # king, man, woman, queen


def random_table(rows=40, cols=7, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, cols))


def test_distances_of_the_hand_calculation():
    assert euclidean(WORDS[CAT], WORDS[DOG]) == pytest.approx(np.sqrt(0.0074), abs=1e-12)
    assert euclidean(WORDS[CAT], WORDS[THE]) == pytest.approx(np.sqrt(1.4501), abs=1e-12)
    table = distances(WORDS)
    assert table[CAT, DOG].round(4) == 0.0860
    assert table[THE, ON].round(4) == 0.1153
    off_diagonal = table[~np.eye(6, dtype=bool)]
    assert off_diagonal.min() == table[CAT, DOG]


def test_cosines_of_the_hand_calculation():
    assert norms(WORDS)[[CAT, DOG, THE]].round(4).tolist() == [0.8420, 0.8094, 0.8896]
    assert cosine(WORDS[CAT], WORDS[DOG]) == pytest.approx(0.9953, abs=5e-5)
    table = cosines(WORDS)
    assert table[THE, ON].round(4) == 0.9961
    assert table[CAT, THE].round(4) == 0.0335
    assert unit_rows(WORDS)[CAT].round(4).tolist() == [0.8551, -0.4869, 0.1781]


def test_tables_agree_with_pairs():
    table = random_table()
    d, c = distances(table), cosines(table)
    for u, v in [(0, 1), (3, 3), (17, 39)]:
        assert d[u, v] == pytest.approx(euclidean(table[u], table[v]))
        assert c[u, v] == pytest.approx(cosine(table[u], table[v]))
    assert np.array_equal(d, d.T) and np.array_equal(np.diag(d), np.zeros(40))
    assert np.allclose(np.diag(c), 1.0) and np.abs(c).max() <= 1.0


def test_close_rows_keep_their_distance():
    """Where |a|^2 + |b|^2 - 2 a.b loses every digit, the difference keeps them all."""
    table = np.array([[1e8, 1.0], [1e8, 1.5]])
    squares = (table**2).sum(axis=1)
    shortcut = squares[0] + squares[1] - 2 * table[0] @ table[1]
    assert abs(shortcut) != pytest.approx(0.25)  # the way not taken
    assert distances(table)[0, 1] == 0.5


def test_a_zero_row_has_cosine_zero_and_a_distance():
    table = np.array([[0.0, 0.0], [3.0, 4.0]])
    assert cosines(table).tolist() == [[0.0, 0.0], [0.0, 1.0]]
    assert cosine(table[0], table[0]) == 0.0
    assert unit_rows(table).tolist() == [[0.0, 0.0], [0.6, 0.8]]
    assert distances(table)[0, 1] == 5.0


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_cosine_does_not_depend_on_length(scale):
    assert cosine(WORDS[CAT] * scale, WORDS[DOG]) == pytest.approx(0.9953, abs=5e-5)


def test_neighbours_of_the_six_words():
    near = neighbours(WORDS, CAT, k=2, measure="euclidean")
    assert near.rows.tolist() == [DOG, HOUSE]
    assert near.values.round(4).tolist() == [0.0860, 1.1129]
    assert neighbours(WORDS, THE, k=1).rows.tolist() == [ON]
    assert CAT not in neighbours(WORDS, CAT, k=5).rows


def test_the_two_measures_disagree_where_lengths_differ():
    table = np.array([[1.0, 0.0], [10.0, 0.0], [0.9, 0.3]])
    assert neighbours(table, 0, 1, measure="cosine").rows.tolist() == [1]
    assert neighbours(table, 0, 1, measure="euclidean").rows.tolist() == [2]


def test_equal_values_are_listed_by_row():
    table = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])
    assert neighbours(table, 0, k=3).rows.tolist() == [1, 2, 3]
    for seed in range(50):  # by @ a twentieth of them come in another order
        rng = np.random.default_rng(seed)
        table = np.vstack([rng.normal(size=8), np.tile(rng.normal(size=8), (5, 1))])
        assert neighbours(table, 0, k=5).rows.tolist() == [1, 2, 3, 4, 5]


def test_analogy_with_and_without_its_inputs():
    best = analogy(ROYALS, 0, 1, 2, k=1, measure="euclidean")
    assert best.rows.tolist() == [3]
    assert best.values[0] == pytest.approx(np.sqrt(0.02))
    # When woman - man is short, king + (woman - man) stays beside king itself.
    weak = np.array([[0.9, 0.1], [0.5, 0.1], [0.5, 0.2], [0.8, 0.5]])
    assert analogy(weak, 0, 1, 2, k=1, exclude=False, measure="euclidean").rows.tolist() == [0]
    assert analogy(weak, 0, 1, 2, k=1, measure="euclidean").rows.tolist() == [3]
    assert len(analogy(ROYALS, 0, 1, 2, k=4, exclude=False).rows) == 4


def test_analogy_reads_a_minus_b_plus_c():
    table = np.array([[5.0, 0], [1, 0], [0, 7], [4, 7], [-4, 7], [6, -7]])
    assert analogy(table, 0, 1, 2, k=1, measure="euclidean").rows.tolist() == [3]
    assert analogy(table, 1, 0, 2, k=1, measure="euclidean").rows.tolist() == [4]


def test_centre():
    assert np.allclose(centre(WORDS).mean(axis=0), 0)
    assert centre(WORDS)[CAT].round(4).tolist() == [0.56, -0.4333, -0.065]


def test_a_shared_offset_makes_random_rows_look_alike():
    shifted = random_table(200, 64) + 1.0
    off = ~np.eye(200, dtype=bool)
    assert cosines(shifted)[off].mean() > 0.4
    assert abs(cosines(centre(shifted))[off].mean()) < 0.02


def test_pca_finds_the_axes():
    rng = np.random.default_rng(1)
    axes = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    table = rng.normal(size=(4000, 5)) * [10, 3, 1, 0.1, 0.1] @ axes.T + 7.0
    found = pca(table, 2)
    assert np.abs(found.basis @ axes[:, :2]).round(2).tolist() == [[1, 0], [0, 1]]
    assert found.share == pytest.approx([100 / 110.02, 9 / 110.02], rel=0.05)
    assert np.allclose(found.basis @ found.basis.T, np.eye(2))
    assert found.coords.var(axis=0) == pytest.approx([100, 9], rel=0.1)


def test_pca_of_the_six_words_and_all_its_axes():
    found = pca(WORDS, 3)
    assert found.share.round(4).tolist()[:2] == [0.5454, 0.4541]
    assert np.allclose(found.coords @ found.basis, centre(WORDS))
    assert found.share.sum() == pytest.approx(1.0)


def test_pca_signs_do_not_depend_on_the_signs_of_the_table():
    one, other = pca(random_table(), 3), pca(-random_table(), 3)
    assert np.allclose(one.basis, other.basis) and np.allclose(one.coords, -other.coords)
    assert (one.basis[np.arange(3), np.abs(one.basis).argmax(axis=1)] > 0).all()


def test_pca_of_equal_rows_has_no_variance():
    assert pca(np.ones((4, 3)), 2).share.tolist() == [0.0, 0.0]
    equal = np.array([[0.1, 0.2]] * 3)  # whose mean is not 0.1 to the last bit
    assert pca(equal, 1).share.tolist() == [0.0]
    with pytest.raises(ValueError, match="table is all zeros"):
        effective_rank(centre(equal))


def test_effective_rank():
    assert effective_rank(np.diag([1.0, 1.0, 0.0])) == pytest.approx(2.0)
    assert effective_rank(np.diag([3.0, 1.0])) == pytest.approx(1.7548, abs=5e-5)
    assert effective_rank(np.outer([1.0, 2, 3], [4.0, 5])) == pytest.approx(1.0)
    table = random_table(300, 16)
    assert effective_rank(table) == pytest.approx(effective_rank(table * 1e-180))
    assert 14 < effective_rank(table) <= 16


def test_energy():
    assert energy(np.diag([3.0, 4.0])) == pytest.approx([0.64, 1.0])
    assert energy(np.diag([3e-200, 4e-200])) == pytest.approx([0.64, 1.0])
    curve = energy(centre(random_table(30, 4)))
    assert curve == pytest.approx(np.cumsum(pca(random_table(30, 4), 4).share))


def test_neighbour_accuracy():
    kinds = ["function", "noun", "noun", "verb", "noun", "function"]
    itself = 9 * np.eye(6)
    nearest = [(np.linalg.norm(WORDS - w, axis=1) + i).argmin() for w, i in zip(WORDS, itself)]
    share = np.mean([kinds[n] == kind for n, kind in zip(nearest, kinds, strict=True)])
    assert neighbour_accuracy(WORDS, kinds) == share == 5 / 6
    assert neighbour_accuracy([[1, 0], [9, 0], [0, 1], [0, 9]], [0, 0, 1, 1], "cosine") == 1.0
    assert neighbour_accuracy([[1, 0], [9, 0], [0, 1], [0, 9]], [0, 0, 1, 1]) == 0.5


def test_rank_correlation():
    assert rank_correlation([0.9, 0.1, 0.5], [8, 1, 2]) == pytest.approx(1.0)
    assert rank_correlation([1, 2, 3], [1000, 0, -1]) == pytest.approx(-1.0)
    a, b = np.random.default_rng(0).integers(6, size=(2, 40))  # with many ties
    assert rank_correlation(a, b) == pytest.approx(by_pairs(a, b))
    nanoseconds = 1_764_000_000_000_000_000 + np.array([300, 0, 20, 600])  # two of them one float64
    assert rank_correlation(nanoseconds, [3, 1, 2, 4]) == pytest.approx(1.0)


def by_pairs(a, b) -> float:
    """The same by pairs: the covariance of the ranks is a sum of signs of differences."""
    sign = [np.sign(x[:, None] - x[None, :]).sum(axis=1) for x in (a, b)]
    return float(np.corrcoef(*sign)[0, 1])


@pytest.mark.parametrize("scale", [1e-170, 1e-200, 1e160])
def test_lengths_whose_squares_no_float_holds(scale):
    table = np.array([[0, 0], [3, 4], [1, 0]]) * scale
    np.testing.assert_allclose(norms(table) / scale, [0, 5, 1])
    assert euclidean(table[0], table[1]) == pytest.approx(5 * scale)
    assert neighbours(table, 0, 2, "euclidean").rows.tolist() == [2, 1]
    np.testing.assert_allclose(pca(table).share, pca(table / scale).share)


def test_integers_and_float32_are_computed_in_float64():
    assert distances(np.array([[0, 0], [3, 4]], dtype=np.int8))[0, 1] == 5.0
    # 200 * 200 would wrap in uint8, and the difference of unsigned rows as well.
    assert euclidean(np.array([0], np.uint8), np.array([200], np.uint8)) == 200.0
    assert distances(WORDS.astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: distances([[1.0, np.nan]]), ValueError, r"table\[0, 1\] is nan"),
        (lambda: cosines([1.0, 2.0]), ValueError, r"shape \(V, D\)"),
        (lambda: centre(np.zeros((0, 3))), ValueError, r"\(0, 3\)"),
        (lambda: norms([["a"]]), TypeError, "real numbers"),
        (lambda: norms(np.ma.array([[3.0, 4.0]], mask=[[0, 1]])), TypeError, "masked"),
        (lambda: cosine(np.ma.array([1.0], mask=[True]), [1.0]), TypeError, "a is a masked"),
        (lambda: norms([[True]]), TypeError, "bool"),
        (lambda: euclidean([1.0], [1.0, 2.0]), ValueError, r"\(1,\) and \(2,\)"),
        (lambda: neighbours(WORDS, 6), IndexError, r"row = 6.*0\.\.5"),
        (lambda: neighbours(WORDS, -1), IndexError, "row = -1"),
        (lambda: neighbours(WORDS, [1, 2]), ValueError, "one row number"),
        (lambda: neighbours(WORDS, 1.0), TypeError, "row"),
        (lambda: neighbours(WORDS, 1, k=6), ValueError, r"k = 6 is outside 1\.\.5"),
        (lambda: neighbours(WORDS, 1, k=0), ValueError, r"k = 0 is outside 1\.\.5"),
        (lambda: neighbours(WORDS, 1, k=True), TypeError, "k must be a whole number"),
        (lambda: neighbours(WORDS, 1, measure="dot"), ValueError, "'dot'"),
        (lambda: analogy(WORDS, 0, 1, 99), IndexError, "c = 99"),
        (lambda: analogy(WORDS, 0, 1, 2, exclude="no"), TypeError, "exclude is 'no'"),
        (lambda: neighbour_accuracy(WORDS, [0, 1]), ValueError, r"labels.*\(2,\)"),
        (lambda: neighbour_accuracy(WORDS, range(6), "dot"), ValueError, "'dot'"),
        (lambda: rank_correlation([1, 1], [1, 2]), ValueError, "no order"),
        (lambda: rank_correlation([1, np.nan, 1], [1, 2, 3]), ValueError, r"a\[1\] is nan"),
        (lambda: rank_correlation([], []), ValueError, "at least 1"),
        (lambda: pca(WORDS, 4), ValueError, r"1\.\.3"),
        (lambda: distances(np.zeros((20_000, 1))), ValueError, "would take 3.0 GiB; take some"),
        (lambda: cosines(np.zeros((20_000, 1))), ValueError, "at most 16,384"),
        (lambda: effective_rank(np.zeros((2, 2))), ValueError, "all zeros"),
        (lambda: energy(np.zeros((2, 2))), ValueError, "all zeros"),
    ],
)
def test_bad_input_gets_a_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()
