"""A row that must not learn, and rows that must not grow: padding_idx and max_norm.

Two options of every embedding layer. The one is a decision in the backward, the other an edit of
the table before the forward.
"""

import numpy as np

LESSON = 19
LEVEL = "medium"
IN_PLACE = {"shorten": ("E",)}
HINTS = """
For the padding: the scatter-add of `lookup_backward`, and then `dE[padding_idx] = 0`. Nothing else
changes; in the forward the row is read like any other.

For max_norm: each row once, however often it is named. `np.unique(ids)` gives the rows.

A row is shortened only where its length is above max_norm: multiply by max_norm / length there.
Rows that are short enough stay to the last bit, and so do rows that were not named.
"""


def padded_backward(dout, ids, num_rows, padding_idx):
    """The gradient of E[ids] for E, as if row padding_idx were a constant          -> (V, D)

    dout (N, D), ids (N,) in 0..V-1, num_rows V, padding_idx in 0..V-1.

    What arrives at padding_idx is dropped, also an infinity. Row 0 pads here, row 1 was read twice:

    >>> dout, ids = np.array([[1.0], [2.0], [4.0]]), np.array([1, 0, 1])
    >>> padded_backward(dout, ids, 3, 0).tolist()
    [[0.0], [5.0], [0.0]]
    """
    dE = np.zeros((num_rows, dout.shape[1]))
    np.add.at(dE, ids, dout)
    dE[padding_idx] = 0
    return dE


def shorten(E, ids, max_norm):
    """Shorten each row that ids names and that is longer than max_norm to that length, in place

    E (V, D) is changed, ids (N,) in 0..V-1, max_norm > 0. Returns nothing.

    Rows 0 and 1 have the length 5, and only row 1 is named; row 2 is short enough:

    >>> E = np.array([[3.0, 4.0], [3.0, 4.0], [0.1, 0.2]])
    >>> shorten(E, np.array([1, 2, 1]), 1.0)
    >>> E.round(4).tolist()
    [[3.0, 4.0], [0.6, 0.8], [0.1, 0.2]]
    """
    rows = np.unique(ids)
    lengths = np.sqrt((E[rows] ** 2).sum(axis=1))
    long = lengths > max_norm
    E[rows[long]] *= (max_norm / lengths[long])[:, None]


def check(trial):
    for rng, max_norm in zip(trial.rounds(5), (0.6, 1.0, 1.8, 1.4, 1.0)):
        E, (pad, high) = rng.standard_normal((6, 3)), np.sort(1 + rng.permutation(5)[:2])
        ids = np.array([0, pad, high, 0, pad, high])[:: rng.choice([1, -1])]  # rows on either side
        trial.gradients(
            "padded_backward",
            forward=lambda E, ids, pad=pad: np.where((ids == pad)[:, None], 0.0, E[ids]),
            backward=lambda dout, ids=ids, pad=pad: trial.yours.padded_backward(dout, ids, 6, pad),
            mistakes=_mistakes(ids, pad),
            E=E,
            ids=ids,
        )
        dout = np.where((ids == pad)[:, None], np.inf, 1.0)  # dropped is dropped, whatever it is
        at = {"dout": dout, "ids": ids, "num_rows": 6, "padding_idx": pad}
        trial.same("padded_backward", mistakes=OF_INFINITY, **at)
        trial.same("shorten", mistakes=CHANGES, E=E, ids=ids, max_norm=max_norm)
    apart = trial.apart  # what one row gets is nothing to the next
    trial.same("padded_backward", by_row=True, dout=apart, ids=np.arange(4), num_rows=5,
               padding_idx=4)  # fmt: skip
    dout = rng.standard_normal((6, 3))
    trial.same("padded_backward", dout=dout, ids=ids, num_rows=6, padding_idx=0)  # it is an id, too
    near = np.array([[1.2, 0.0], [0.7, 0.0]])  # with their squares on other sides
    for max_norm in (1.4, 0.6):
        trial.same("shorten", mistakes=CHANGES, E=near, ids=np.array([0, 1]), max_norm=max_norm)
    trial.same("shorten", mistakes=CHANGES, E=0.1 * E, ids=ids, max_norm=1.0)
    trial.same("shorten", mistakes=CHANGES, E=E, ids=ids[:0], max_norm=1.0)
    turned = np.asfortranarray(E)  # it lies column by column in memory
    trial.same("shorten", mistakes=CHANGES, E=turned, ids=np.sort(ids), max_norm=0.5)
    E[pad] = 0  # as the row of the padding mostly is
    trial.same("shorten", mistakes=OF_ZEROS, E=E, ids=ids, max_norm=1.0)


def _mistakes(ids, pad):
    def scattered(dout, end=None):
        dE = np.zeros((6, dout.shape[1]))
        np.add.at(dE, ids[:end], dout[:end])
        return dE

    def overwritten(dout):
        dE = np.zeros((6, dout.shape[1]))
        dE[ids] += dout
        dE[pad] = 0
        return dE

    return {
        ("padded_backward stops at the first padding, and pays nobody after it",
         r"\bbreak\b|\[: *\w"): lambda dout: scattered(dout, int(np.argmax(ids == pad))),
        "padded_backward pays the padding row: what arrives at it must be dropped": scattered,
        "padded_backward drops what arrives at row 0, and the padding is row padding_idx":
            lambda dout: np.where(np.arange(6)[:, None] == 0, 0, scattered(dout)),
        "padded_backward drops all rows but the padding's":
            lambda dout: np.where(np.arange(6)[:, None] == pad, scattered(dout), 0),
        ("padded_backward pays only the rows above padding_idx: all others are paid", r"[<>]"):
            lambda dout: np.where(np.arange(6)[:, None] > pad, scattered(dout), 0),
        ("padded_backward pays only the rows below padding_idx: all others are paid", r"[<>]"):
            lambda dout: np.where(np.arange(6)[:, None] < pad, scattered(dout), 0),
        ("padded_backward keeps of a repeated id only the last gradient", r"\[ids\] *\+?="):
            overwritten,
    }  # fmt: skip


def _all_rows(E, ids, max_norm):
    E *= np.minimum(1, max_norm / np.sqrt((E**2).sum(axis=1)))[:, None]


def _short_ones_too(E, ids, max_norm):
    rows = np.unique(ids)
    E[rows] *= (max_norm / np.sqrt((E[rows] ** 2).sum(axis=1)))[:, None]


def _cut(E, ids, max_norm):
    E[ids] = np.clip(E[ids], -max_norm, max_norm)


def _squared(E, ids, max_norm):
    rows = np.unique(ids)
    E[rows] *= np.minimum(1, max_norm / (E[rows] ** 2).sum(axis=1))[:, None]


def _each_time(E, ids, max_norm):
    lengths = np.sqrt((E[ids] ** 2).sum(axis=1, keepdims=True))
    np.multiply.at(E, ids, np.minimum(1, max_norm / lengths))


def _to_one(E, ids, max_norm):
    rows = np.unique(ids)
    lengths = np.sqrt((E[rows] ** 2).sum(axis=1))
    E[rows[lengths > max_norm]] /= lengths[lengths > max_norm][:, None]


def _square_compared(E, ids, max_norm):
    rows = np.unique(ids)
    squares = (E[rows] ** 2).sum(axis=1)
    long = squares > max_norm
    E[rows[long]] *= (max_norm / np.sqrt(squares[long]))[:, None]


def _divided(E, ids, max_norm):
    rows = np.unique(ids)
    lengths = np.sqrt((E[rows] ** 2).sum(axis=1, keepdims=True))
    with np.errstate(invalid="ignore"):
        E[rows] = E[rows] / lengths * np.minimum(lengths, max_norm)


def _times_nothing(dout, ids, num_rows, padding_idx):
    dE = np.zeros((num_rows, dout.shape[1]))
    with np.errstate(invalid="ignore"):
        np.add.at(dE, ids, dout * (ids != padding_idx)[:, None])
    return dE


OF_INFINITY = {
    ("padded_backward multiplies what arrives at the padding by 0: 0 times infinity is nan", r"\*"):
        _times_nothing,
}  # fmt: skip
OF_ZEROS = {
    ("shorten divides a row of zeros by its length: 0 / 0 is nan, and the row is short", "/"):
        _divided,
}  # fmt: skip
CHANGES = {
    ("shorten changes rows that ids does not name", r"\brows\b|E"): _all_rows,
    ("shorten makes short rows longer: a row within max_norm stays", r"[<>]|where|minimum"):
        _short_ones_too,
    "shorten cuts each number by itself: a row keeps its direction": _cut,
    ("shorten divides by the square of the length: the root is missing", r"\*\* *2|sum\("):
        _squared,
    ("shorten shortens a row again for each time that ids names it: once is enough",
     r"\*= |/= |\.at\("): _each_time,
    ("shorten makes long rows 1 long, and max_norm is asked for", r"/"): _to_one,
    ("shorten compares the square of a length with max_norm", r"[<>]|where|minimum"):
        _square_compared,
    ("shorten does not change the table that it was given", r"copy|\bE = "):
        lambda E, ids, max_norm: None,
}  # fmt: skip
