"""The mean of a bag of rows, and what each row of the bag gets back.

An embedding bag reads several rows and hands out one vector: a bag of words, the words around a
gap, the n-grams of a word.
"""

import numpy as np

from scratch_embed.ops.bag import BagSaved

LESSON = 2
LEVEL = "medium"
HINTS = """
`np.diff(offsets)` gives the sizes of the bags, and `np.repeat(np.arange(B), sizes)` tells for
each place n which bag it is in.

Forward: add every row that was read to its bag, `np.add.at(out, bags, E[ids])`, and divide by
the sizes. An empty bag has size 0: divide by `np.maximum(sizes, 1)`.

Backward: place n hands dout of its bag, divided by the size of that bag, to row ids[n]. An id
that stands twice in a bag is paid twice.
"""


def bag_mean_forward(E, ids, offsets):
    """out[b] = mean of E[ids[n]] over n = offsets[b] .. offsets[b+1]-1     -> (B, D)

    E        (V, D)    the table.
    ids      (N,)      integers in 0..V-1, the bags one after the other.
    offsets  (B+1,)    rising integers: where each of B >= 1 bags begins, and N at the end.

    The mean of an empty bag is 0. Numbers may be of any size, and what one bag holds is nothing to
    the next.

    A bag of rows 1 and 1 and 2, an empty one, and one of row 0: (3 + 3 + 6) / 3 = 4.

    >>> E = np.array([[1.0], [3.0], [6.0]])
    >>> bag_mean_forward(E, np.array([1, 1, 2, 0]), np.array([0, 3, 3, 4])).tolist()
    [[4.0], [0.0], [1.0]]
    """
    sizes = np.diff(offsets)
    bags = np.repeat(np.arange(len(sizes)), sizes)
    out = np.zeros((len(sizes), E.shape[1]))
    np.add.at(out, bags, E[ids])
    return out / np.maximum(sizes, 1)[:, None]


def bag_mean_backward(dout, ids, offsets, num_rows):
    """dE[v] = sum over n with ids[n] = v of dout[bag of n] / size of that bag     -> (V, D)

    dout (B, D), ids (N,), offsets (B+1,), num_rows V.

    >>> dout, ids, offsets = np.array([[9.0], [5.0]]), np.array([1, 1, 2, 0]), np.array([0, 3, 4])
    >>> bag_mean_backward(dout, ids, offsets, 3).tolist()
    [[5.0], [6.0], [3.0]]
    """
    sizes = np.diff(offsets)
    bags = np.repeat(np.arange(len(sizes)), sizes)
    dE = np.zeros((num_rows, dout.shape[1]))
    np.add.at(dE, ids, (dout / np.maximum(sizes, 1)[:, None])[bags])
    return dE


def check(trial):
    def mean(E, ids, offsets):
        bags = np.split(E[ids], offsets[1:-1])
        return np.stack([rows.sum(axis=0) / max(len(rows), 1) for rows in bags])

    for rng in trial.rounds(5):
        sizes = np.array([3, 0, 2, 1])[rng.permutation(4)]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        E, ids = rng.standard_normal((5, 3)), trial.ids(rng, 5, 6)
        ids[offsets[int(np.argmax(sizes))] + 1] = ids[offsets[int(np.argmax(sizes))]]
        trial.same("bag_mean_forward", mistakes=FORWARD, E=E, ids=ids, offsets=offsets)
        bags = np.repeat(np.arange(4), sizes)
        trial.gradients(
            "bag_mean_backward",
            forward=mean,
            backward=lambda g, i=ids, o=offsets: trial.yours.bag_mean_backward(g, i, o, 5),
            saved=BagSaved(ids, bags, 5, 1 / sizes[bags], None, None, None, False),
            mistakes=_mistakes(ids, bags, sizes),
            E=E,
            ids=ids,
            offsets=offsets,
        )
    apart = np.array([[1e17], [1.0]])  # what one bag holds is nothing to the next
    two = {"ids": np.array([0, 1, 1]), "offsets": np.array([0, 1, 3])}
    trial.same("bag_mean_forward", mistakes=FORWARD, by_row=True, E=apart, **two)
    trial.same("bag_mean_backward", by_row=True, dout=apart, num_rows=2, ids=np.array([0, 1]),
               offsets=np.array([0, 1, 2]))  # fmt: skip
    empty = {"ids": np.array([0, 1]), "offsets": np.array([0, 1, 1, 1, 2])}  # two in a row
    trial.same("bag_mean_forward", mistakes=FORWARD, E=E, **empty)
    trial.same("bag_mean_backward", dout=rng.standard_normal((4, 3)), num_rows=5, **empty)
    none = {"ids": ids[:0], "offsets": np.array([0, 0, 0])}
    trial.same("bag_mean_forward", E=E, **none)
    trial.same("bag_mean_backward", dout=np.ones((2, 3)), num_rows=5, **none)


def _pooled(pool):
    def wrong(E, ids, offsets):
        bags = np.split(E[ids], offsets[1:-1])
        with np.errstate(all="ignore"):
            return np.stack([pool(rows) for rows in bags])

    return wrong


FORWARD = {
    ("bag_mean_forward takes the sum of a bag and not its mean", r"return|/"):
        _pooled(lambda r: r.sum(axis=0)),
    "bag_mean_forward divides an empty bag by 0: its mean is to be 0":
        _pooled(lambda rows: rows.sum(axis=0) / np.float64(len(rows))),
    "bag_mean_forward divides by the number of places in all bags":
        lambda E, ids, offsets: _pooled(lambda r: r.sum(axis=0))(E, ids, offsets) / len(ids),
}  # fmt: skip


def _mistakes(ids, bags, sizes):
    def added(places):
        dE = np.zeros((5, places.shape[1]))
        np.add.at(dE, ids, places)
        return dE

    def overwritten(dout):
        dE = np.zeros((5, dout.shape[1]))
        dE[ids] += (dout / np.maximum(sizes, 1)[:, None])[bags]
        return dE

    name = "bag_mean_backward"
    early = np.searchsorted(np.cumsum(sizes), np.arange(len(ids)))
    return {
        (f"{name} gives the first place of a bag to the bag before it", r"searchsorted|side"):
            lambda dout: added((dout / np.maximum(sizes, 1)[:, None])[early]),
        f"{name} does not divide by the size of the bag": lambda dout: added(dout[bags]),
        f"{name} divides all bags alike: each by its own size":
            lambda dout: added(dout[bags] / np.mean(sizes)),
        f"{name} keeps only the last use of a row": overwritten,
    }  # fmt: skip
