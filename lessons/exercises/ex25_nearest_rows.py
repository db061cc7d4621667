"""The nearest rows of a table, by the cosine: who points the same way?

Long rows have large dot products with everybody. The cosine asks for the direction alone; a row of
zeros has none, and must not turn the answer into nan.
"""

import numpy as np

LESSON = 6
LEVEL = "easy"
HINTS = """
`np.sqrt((E * E).sum(axis=1))` gives the length of every row, and `E @ E[row]` the dot product of
every row with the one that asks.

A row of zeros has length 0, and 0 / 0 is nan. Put 1 in the place of such a length: its dot products
are 0, so its cosines are 0 too.

`np.argsort(-cosines, kind="stable")` lists the largest first, and equal ones by their row. Give the
row itself a cosine of -inf, so that it comes last.
"""


def nearest_rows(E, row, k):
    """The k rows with the largest cosine to E[row], best first, itself not among them     -> (k,)

    E    (V, D)  the table; no number but 0 is smaller than 1e-100.
    row          who asks, in 0..V-1; not a row of zeros.
    k            how many, 0 to V - 1.

    The cosine is a . b / (|a| |b|), and 0 with a row of zeros. Of equal ones the lower row comes
    first.

    Row 2 lies in the direction of row 0, only further out; row 3 is far longer, and off:

    >>> E = np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 0.0], [9.0, 9.0]])
    >>> nearest_rows(E, 0, 3).tolist()
    [2, 3, 1]
    """
    lengths = np.sqrt((E * E).sum(axis=1))
    lengths[lengths == 0] = 1
    cosines = E @ E[row] / (lengths * lengths[row])
    cosines[row] = -np.inf
    order = np.argsort(-cosines, kind="stable")
    return order[:k]


def check(trial):
    for rng in trial.rounds(3):  # first of all without equal cosines: is it the cosine at all?
        E = rng.standard_normal((30, 4))
        trial.same("nearest_rows", mistakes=MISTAKES, E=E, row=3, k=10)
        short = E * np.where(rng.random(30) < 0.5, 1e-90, 1)[:, None]  # and short is not far
        trial.same("nearest_rows", mistakes=MISTAKES, E=short, row=3, k=10)
    for rng in trial.rounds(2):  # many equal ones, which a sort that is not stable mixes up
        E = np.eye(3)[rng.integers(3, size=60)] * rng.choice([-4.0, 0.5, 1.0, 2.0], (60, 1))
        trial.same("nearest_rows", mistakes=MISTAKES, E=E, row=30, k=40)
    for rng, k in zip(trial.rounds(5), (6, 6, 3, 6, 1)):
        E = np.round(rng.standard_normal((7, 3)), 1)
        E *= np.array([1, 4, 0.5, 2, 8, 1, 0.25])[:, None]
        one, other, zero, row = rng.permutation(7)[:4]
        E[other], E[zero] = 2 * E[one], 0  # the same cosine, to the last bit
        trial.same("nearest_rows", mistakes=MISTAKES, E=E, row=int(row), k=k)
    E = np.array([[3.0, 4.0], [0.0, 0.0], [-3.0, -4.0], [6.0, 8.0]])  # cosines of 1, 0 and -1
    for row in (0, 2, 3):
        trial.same("nearest_rows", mistakes=MISTAKES, E=E, row=row, k=3)
    trial.same("nearest_rows", E=E, row=0, k=0)
    angle = np.array([0, 2e-4, 1e-4])  # of which the cosines are 1 to seven places
    near = np.column_stack([np.cos(angle), np.sin(angle)])
    trial.same("nearest_rows", E=near, row=0, k=2)


def _by(measure, itself=-np.inf):
    """The rows with the largest measure; `itself`: what the one that asks is given, if not None."""

    def wrong(E, row, k):
        with np.errstate(all="ignore"):
            values = measure(E, E[row])
        if itself is not None:
            values[row] = itself
        return np.argsort(-values, kind="stable")[:k]

    return wrong


def _cosines(E, query, empty=1.0):
    lengths = np.sqrt((E * E).sum(axis=1))
    lengths[lengths == 0] = empty
    return E @ query / (lengths * np.sqrt(query @ query))


def _ties_turned(E, row, k):
    values = _cosines(E, E[row])
    values[row] = -np.inf
    return np.argsort(values, kind="stable")[::-1][:k]


def _mixed_up(E, row, k):
    values = _cosines(E, E[row])
    values[row] = -np.inf
    return np.argsort(-values)[:k]


def _but_for_the_first(E, row, k):
    return np.argsort(-_cosines(E, E[row]), kind="stable")[1 : k + 1]


def _nan_last(E, row, k):
    with np.errstate(all="ignore"):
        values = _cosines(E, E[row], 0.0)
    values[row] = -np.inf
    order = np.argsort(-values, kind="stable")
    return order[:k]


def _a_little_longer(E, row, k):
    lengths = np.sqrt((E * E).sum(axis=1))
    values = E @ E[row] / (lengths * lengths[row] + 1e-12)
    values[row] = -np.inf
    return np.argsort(-values, kind="stable")[:k]


def _upwards(E, row, k):
    values = _cosines(E, E[row])
    values[row] = -np.inf
    return np.argsort(values, kind="stable")[:k]


MISTAKES = {
    ("nearest_rows lists the row itself: it is nearest to itself, and that is no news",
     r"argsort|return"): _by(_cosines, itself=None),
    ("nearest_rows leaves out the first it finds, which may be another row of the same direction",
     r"\[1 *:|argsort"): _but_for_the_first,
    ("nearest_rows gives the row itself a cosine that another may have: take -inf", r"\[row\] *="):
        _by(_cosines, itself=-1.0),
    ("nearest_rows gives the row itself a cosine of 0, and others have less", r"\[row\] *="):
        _by(_cosines, itself=0.0),
    ("nearest_rows compares dot products: a long row is not near for being long", r"@"):
        _by(lambda E, q: E @ q),
    ("nearest_rows divides by the squares of the lengths: their root is missing",
     r"sum\("):
        _by(lambda E, q: E @ q / np.maximum((E * E).sum(axis=1), 1e-300)),
    ("nearest_rows adds up absolute values for a length: it is the root of the sum of squares",
     r"abs|norm"): _by(lambda E, q: E @ q / np.maximum(np.abs(E).sum(axis=1), 1e-300)),
    ("nearest_rows asks for the distance from point to point, and not for the cosine",
     r"-.*E\[row\]|argsort"): _by(lambda E, q: -((E - q) ** 2).sum(axis=1)),
    ("nearest_rows divides a row of zeros by its length: 0 / 0 is nan, its cosine is to be 0",
     r"/"): _nan_last,
    ("nearest_rows begins with the smallest cosine, so with the farthest", r"argsort|sort"):
        _upwards,
    ("nearest_rows begins with the smallest cosine: sort downwards", r"argsort|sort"):
        _by(lambda E, q: -_cosines(E, q)),
    ("nearest_rows guards the lengths with a small number: the cosine of a short row shrinks by it",
     r"1e-|eps"): _a_little_longer,
    ("nearest_rows turns equal cosines round: of those the lower row comes first",
     r"argsort|sort|\[::-1\]"): _ties_turned,
    ("nearest_rows mixes up equal cosines: only kind=\"stable\" keeps their order, of all rows",
     r"argsort|partition|sort"): _mixed_up,
}  # fmt: skip
