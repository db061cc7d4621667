"""Route ids to the shards of a table, put the rows back in order, and send the gradients back.

The table is dealt out: row i lies on shard i % S, S = num_shards. This is what each worker does
on its own machine; the shards only look up and add.
"""

import numpy as np

LESSON = 24
LEVEL = "medium"
HINTS = """
`distinct, where = np.unique(ids, return_inverse=True)` gives each id once, rising, and at which of
them each place of the batch finds its own.

`distinct % num_shards == s` picks out those of shard s. In `put_back` the same picks say which rows
of a (number of distinct ids, D) array an answer fills; `where` then reads from it.

In `send_back` sum first, with `np.add.at(sums, where, dout)`, and then cut as the ids are cut.
"""


def route(ids, num_shards):
    """What to ask of each shard: its ids, each once, rising              (N,) -> tuple of S arrays

    ids  (N,)  integers of at least 0, in all three functions; as large as rows of a table that no
               machine has room for.

    A shard of which nothing is wanted gets an empty array.

    >>> [part.tolist() for part in route(np.array([4, 1, 4, 0, 3]), 2)]
    [[0, 4], [1, 3]]
    """
    distinct = np.unique(ids)
    return tuple(distinct[distinct % num_shards == s] for s in range(num_shards))


def put_back(ids, answers):
    """The rows of the batch: out[n] is the row of ids[n]                         returns (N, D)

    answers   a tuple of S arrays: answers[s][k] is the row of route(ids, S)[s][k].

    >>> answers = (np.array([[0.0], [40.0]]), np.array([[10.0]]))
    >>> put_back(np.array([4, 1, 4, 0]), answers).tolist()
    [[40.0], [10.0], [40.0], [0.0]]
    """
    distinct, where = np.unique(ids, return_inverse=True)
    rows = np.zeros((len(distinct), answers[0].shape[1]))
    for s, answer in enumerate(answers):
        rows[distinct % len(answers) == s] = answer
    return rows[where]


def send_back(ids, dout, num_shards):
    """The gradients for each shard, in the order of `route`        -> tuple of S arrays (n_s, D)

    dout  (N, D)  the gradient that arrived at each place. A row that stands at several places gets
                  their sum: it travels once.

    >>> dout = np.array([[1.0], [2.0], [10.0], [5.0], [7.0]])
    >>> [part.tolist() for part in send_back(np.array([4, 1, 4, 0, 3]), dout, 2)]
    [[[5.0], [11.0]], [[2.0], [7.0]]]
    """
    distinct, where = np.unique(ids, return_inverse=True)
    sums = np.zeros((len(distinct), dout.shape[1]))
    np.add.at(sums, where, dout)
    return tuple(sums[distinct % num_shards == s] for s in range(num_shards))


def check(trial):
    for rng in trial.rounds(6):
        S = int(rng.integers(2, 5))
        ids = trial.ids(rng, 11, 9)
        trial.same("route", mistakes=ROUTES, ids=ids, num_shards=S)
        table = rng.standard_normal((11, 3))
        distinct = np.unique(ids)
        answers = tuple(table[distinct[distinct % S == s]] for s in range(S))
        trial.same("put_back", mistakes=ORDERS, ids=ids, answers=answers)
        dout = rng.standard_normal((9, 3))
        trial.same("send_back", mistakes=SUMS, ids=ids, dout=dout, num_shards=S)
    trial.same("put_back", mistakes=ORDERS, ids=ids, answers=(table[distinct],))  # a single shard
    for apart in (np.array([64, 1, 33, 1]), np.array([4, 32, 1])):  # a set has these otherwise
        for S in (1, 2):
            trial.same("route", mistakes=ROUTES, ids=apart, num_shards=S)
    answers = np.array([[1.0, 1.0], [2.0, 2.0]]), np.full((1, 2), 3.0)
    for row in (2**40, 2**60):  # of a table that nobody has room for; the other no float tells
        far = np.array([row + 2, 3, row, row + 2])
        trial.same("route", mistakes=ROUTES, ids=far, num_shards=2)
        trial.same("put_back", mistakes=ORDERS, ids=far, answers=answers)
        trial.same("send_back", mistakes=SUMS, ids=far, dout=np.ones((4, 2)), num_shards=2)
    apart = trial.apart  # what one row gets is nothing to the next
    one_shard = {"ids": np.array([0, 2, 4, 6]), "num_shards": 2}
    trial.same("send_back", mistakes=SUMS, by_row=True, dout=apart, **one_shard)
    none = np.array([], dtype=np.int64)
    trial.same("route", mistakes=ROUTES, ids=none, num_shards=2)
    trial.same("put_back", mistakes=ORDERS, ids=none, answers=(np.ones((0, 2)), np.ones((0, 2))))
    trial.same("send_back", mistakes=SUMS, ids=none, dout=np.ones((0, 2)), num_shards=2)
    few = np.array([3, 3])
    trial.same("route", mistakes=ROUTES, ids=few, num_shards=3)
    trial.same("send_back", mistakes=SUMS, ids=few, dout=np.ones((2, 2)), num_shards=3)


def _as_they_come(ids, num_shards):
    _, first = np.unique(ids, return_index=True)
    ids = ids[np.sort(first)]
    return tuple(ids[ids % num_shards == s] for s in range(num_shards))


def _places(ids, num_shards):
    distinct = np.unique(ids)
    return tuple(distinct[distinct % num_shards == s] // num_shards for s in range(num_shards))


def _order_forgotten(ids, answers):
    return np.concatenate(answers)[np.unique(ids, return_inverse=True)[1]]


def _last_only(ids, dout, num_shards):
    distinct, where = np.unique(ids, return_inverse=True)
    sums = np.zeros((len(distinct), dout.shape[1]))
    sums[where] = dout
    return tuple(sums[distinct % num_shards == s] for s in range(num_shards))


def _averaged(ids, dout, num_shards):
    distinct, where = np.unique(ids, return_inverse=True)
    sums = np.zeros((len(distinct), dout.shape[1]))
    np.add.at(sums, where, dout / np.bincount(where)[where][:, None])
    return tuple(sums[distinct % num_shards == s] for s in range(num_shards))


ROUTES = {
    ("route gives the ids in the order of the batch: they must rise", "dict|set|index"): (
        _as_they_come
    ),
    ("route gives the places id // num_shards: it should give the ids", "//"): _places,
}
ORDERS = {
    ("put_back reads the answers as if they stood in the order of the ids", "concatenate|stack"): (
        _order_forgotten
    ),
}
SUMS = {
    ("send_back keeps only the last gradient of a row: its uses add up", r"\] \+?= *dout"): (
        _last_only
    ),
    ("send_back averages the uses of a row: they add up", "bincount|counts|mean"): _averaged,
}
