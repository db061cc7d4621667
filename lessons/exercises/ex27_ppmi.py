"""Who meets more often than by chance? PMI, and what is kept of it.

Church & Hanks 1990. Rows of such a table are word vectors already, with nothing learned: skip-gram
comes to nearly the same by other means (Levy & Goldberg 2014).
"""

import numpy as np

LESSON = 18
LEVEL = "medium"
HINTS = """
Divide the table by its sum: P(u, v). Add up its rows for P(u), its columns for P(v). A table need
not be symmetric: left neighbours may be counted apart from right ones.

`P.sum(axis=1, keepdims=True) * P.sum(axis=0, keepdims=True)` is what chance would make, (V, V).

ln 0 is minus infinity, and 0 / 0 is nan. Divide and take the logarithm only where counts > 0:
`np.divide(a, b, out=np.ones(a.shape), where=counts > 0)` puts a 1 elsewhere, and ln 1 = 0.
"""


def ppmi(counts):
    """out[u, v] = max(0, ln(P(u, v) / (P(u) P(v)))), and 0 where u and v never meet      (V, V)

    counts  (V, V)  how often u stood beside v: integers up to a million, or whole numbers up to
                    1e12 as floats; not all 0.

    P(u, v) = counts / their sum.
    P(u) and P(v) are the sums of the rows and of the columns of P. A word may have met nobody.

    0 and 1 met 4 times of 10. Chance would make 0.4 * 0.6, and ln(0.4 / 0.24) = 0.5108. 1 met
    itself less often than by chance:

    >>> ppmi(np.array([[0.0, 4.0], [4.0, 2.0]])).round(4).tolist()
    [[0.0, 0.5108], [0.5108, 0.0]]
    """
    P = counts / counts.sum()
    chance = P.sum(axis=1, keepdims=True) * P.sum(axis=0, keepdims=True)
    ratio = np.divide(P, chance, out=np.ones(P.shape), where=counts > 0)
    return np.maximum(np.log(ratio), 0)


def check(trial):
    for rng in trial.rounds(5):
        counts = rng.integers(0, 6, size=(5, 5)).astype(float)
        counts[rng.integers(5), :] *= 3  # not symmetric
        trial.same("ppmi", mistakes=MISTAKES, counts=counts)
    trial.same("ppmi", mistakes=MISTAKES, counts=counts.astype(int))
    trial.same("ppmi", counts=rng.integers(1_000_000, size=(5, 5)))
    rare = np.diag([1.0, 1e3, 1e6, 1e9, 1e12])  # pairs that are seldom seen, not never
    trial.same("ppmi", mistakes=MISTAKES, counts=rare)
    counts[2], counts[:, 2] = 0, 0  # one that met nobody
    trial.same("ppmi", mistakes=MISTAKES, counts=counts)


def _otherwise(log=np.log, low=0.0, chance=None):
    def wrong(counts):
        P = counts / counts.sum()
        rows, columns = P.sum(axis=1, keepdims=True), P.sum(axis=0, keepdims=True)
        by_chance = chance(rows, columns, P) if chance else rows * columns
        with np.errstate(all="ignore"):
            ratio = np.divide(P, by_chance, out=np.ones(P.shape), where=counts > 0)
            return np.maximum(log(ratio), low)

    return wrong


LOG, CHANCE = r"log", r"sum\(axis|sum\([01]\)|full"  # what the guilty line looks like
MISTAKES = {
    ("ppmi takes another logarithm: log2, and the natural one is asked for", LOG):
        _otherwise(np.log2),
    ("ppmi takes another logarithm: log10, and the natural one is asked for", LOG):
        _otherwise(np.log10),
    ("ppmi keeps what is negative: pairs that meet less often than by chance count as 0", LOG):
        _otherwise(low=-np.inf),
    ("ppmi takes the sums of the rows for both words: v has the sum of its column", CHANCE):
        _otherwise(chance=lambda rows, columns, P: rows * rows.T),
    ("ppmi takes the sums of the columns for both words: u has the sum of its row", CHANCE):
        _otherwise(chance=lambda rows, columns, P: columns.T * columns),
    # P(u, v) is never more than P(u) or P(v), so with these the answer is 0 everywhere, as with
    # counts in place of shares: all that can be said is that chance comes out too large.
    ("ppmi finds no pair more frequent than chance: P(u) times P(v), all shares of one whole",
     CHANCE): _otherwise(chance=lambda rows, columns, P: rows),
    ("ppmi takes every pair for equally likely by chance, and some words are frequent", CHANCE):
        _otherwise(chance=lambda rows, columns, P: np.full(P.shape, 1 / P.size)),
}  # fmt: skip
