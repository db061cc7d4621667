"""Find the bug from the report: where does a gradient differ from the nudge?

You see two tables of numbers, what the code made and what nudges say, and the ids that were read by
a tied model. Which rows are off, and in what way, tells the mistake without a look at the code.
"""

import numpy as np

LESSON = 22
LEVEL = "medium"
HINTS = """
A nudge is good to some six digits. Call an entry off where it differs by more than 1e-6 times the
largest entry of `nudged`; with `==` nothing would ever be right.

One factor for all: the best one is `(code * nudged).sum() / (nudged * nudged).sum()`. Ask whether
code is that times nudged, up to the same 1e-6; where the factor is 1000, what nudged is off by is
1000 times as much, so multiply by `max(1, abs(factor))`.

`np.bincount(ids, minlength=len(code))` tells how often each row was read. All rows that are off
read twice or more: repeats. All of them read: reading. Otherwise rows are off that nobody read.
"""


def diagnose(code, nudged, ids):
    """What is wrong with the gradient of a tied table: one word

    code    (V, D)  the gradient that the code made.
    nudged  (V, D)  the same by finite differences, right to 1e-6 of its largest entry.
    ids     (N,)    the rows that were read, in 0..V-1; every row was scored besides.

    The first of these that is true:

    "right"    no entry is off, that is by more than 1e-6 times the largest |nudged|.
    "factor"   code is nudged times one number for all entries (a lost 1/N, a sign), as nearly as
               nudged is right: for a number f beyond 1 or -1 that is |f| times as much.
    "repeats"  only rows that ids names twice or more are off.
    "reading"  only rows that ids names are off: what reading them sends back is wrong.
    "scoring"  rows are off that nobody read: what scoring them sends back is wrong.

    >>> nudged, ids = np.array([[3.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> diagnose(np.array([[2.0], [1.0], [2.0]]), nudged, ids)
    'repeats'
    >>> diagnose(-nudged, nudged, ids), diagnose(nudged + 1e-9, nudged, ids)
    ('factor', 'right')
    """
    allowed = 1e-6 * np.abs(nudged).max()
    off = np.abs(code - nudged) > allowed
    if not off.any():
        return "right"
    factor = (code * nudged).sum() / (nudged * nudged).sum()
    if (np.abs(code - factor * nudged) <= allowed * max(1, abs(factor))).all():
        return "factor"
    times = np.bincount(ids, minlength=len(code))[off.any(axis=1)]
    if (times > 1).all():
        return "repeats"
    if (times > 0).all():
        return "reading"
    return "scoring"


def check(trial):
    nudged = np.array([[3.0], [1.0], [2.0]])
    for row, ids in ((0, [0, 1, 0]), (1, [0, 1, 0])):  # off where it was read twice, or once
        code = nudged - (np.arange(3) == row)[:, None]
        trial.same("diagnose", mistakes=MISTAKES, code=code, nudged=nudged, ids=np.array(ids))
    for rng, size in zip(trial.rounds(4), (1.0, 1e3, 1e-5, 0.1)):
        E, W = rng.standard_normal((8, 4)), rng.standard_normal((4, 4))
        ids = trial.ids(rng, 8, 6)
        targets = rng.integers(8, size=6)
        read, scored = _parts(E, W, ids, targets)
        nudged = size * (read.sum(axis=0) + scored)
        noise = size * 1e-9 * rng.standard_normal(nudged.shape)
        last = np.zeros(E.shape)
        for n, row in enumerate(ids):
            last[row] = read[n, row]
        for code in (nudged, size * (last + scored), size * scored, size * read.sum(axis=0),
                     6 * nudged, -nudged, 0 * nudged):  # fmt: skip
            trial.same("diagnose", mistakes=MISTAKES, code=code + noise, nudged=nudged, ids=ids)
        times = np.bincount(ids, minlength=8)
        for row in (times.argmax(), (times == 1).argmax(), times.argmin()):
            code = nudged.copy()  # one row of those that were read twice, or once, or never:
            code[row, :2] += [size, -size]  # its sum is what it should be
            trial.same("diagnose", mistakes=MISTAKES, code=code, nudged=nudged, ids=ids)
            code[row] = 0
            trial.same("diagnose", mistakes=MISTAKES, code=code, nudged=nudged, ids=ids)
            empty = nudged * (np.arange(8) != row)[:, None]
            trial.same("diagnose", mistakes=MISTAKES, code=nudged, nudged=empty, ids=ids)
    _by_hand(trial)


def _by_hand(trial):
    small = np.array([[-3.0], [-0.001], [-1e-7]])  # off by less than a millionth of the largest
    for code in (small + 1e-6, 2 * small, small + [[0], [0], [1e-5]]):
        trial.same("diagnose", mistakes=MISTAKES, code=code, nudged=small, ids=np.array([0, 1, 0]))
    gaps = np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 1e-9]])  # no factor can be read off the corners
    for code in (2 * gaps, gaps * [[1, 0]], gaps + [[0, 0], [0, 0], [0, 1]]):
        trial.same("diagnose", mistakes=MISTAKES, code=code, nudged=gaps, ids=np.array([1, 0]))
    nudged, ids = np.random.default_rng(0).standard_normal((5, 3)), np.array([0, 1, 3])
    off = 2e-7 * np.abs(nudged).max() * np.cos(np.arange(15.0)).reshape(5, 3)
    for factor in (0, 1000, -50):
        case = {"code": factor * nudged, "nudged": nudged + off, "ids": ids}
        trial.same("diagnose", mistakes=MISTAKES, **case)
    case = {"code": nudged * [[1], [1], [1], [0], [1]], "nudged": nudged}
    trial.same("diagnose", mistakes=MISTAKES, **case, ids=np.array([3, 0, 3, 1, 3]))  # three times
    nudged, code = np.array([[1.0], [-1.0], [2.0]]), np.array([[0.0], [-2.0], [2.0]])
    for sign in (1, -1):  # beside the best factor all entries are too small, or all too large
        case = {"code": sign * code, "nudged": sign * nudged, "ids": np.array([0, 1])}
        trial.same("diagnose", mistakes=MISTAKES, **case)
    for more in (1.5e-6, 9e-7):  # off by just more than what is allowed, and by just less
        trial.same("diagnose", mistakes=MISTAKES, code=(1 + more) * gaps, nudged=gaps,
                   ids=np.array([1, 0]))  # fmt: skip
    half = 0.5 * gaps + [[0, 0], [3.3e-6, 0], [0, 0]]  # of a factor below 1 no more is allowed
    trial.same("diagnose", mistakes=MISTAKES, code=half, nudged=gaps, ids=np.array([1, 0]))
    for rest, off in ((1.0, 5e-6), (0.0, 5e-7)):  # the largest entry is the measure, however many
        nudged = np.full((20, 5), rest)
        nudged[0, 0] = 1
        code = nudged.copy()
        code[7, 2] += off
        trial.same("diagnose", mistakes=MISTAKES, code=code, nudged=nudged, ids=np.array([0, 3]))
    level = np.array([[1.0, -1.0], [2.0, -2.0], [3.0, -3.0]])  # adds up to 0
    for code in (-level, 2 * level):
        trial.same("diagnose", mistakes=MISTAKES, code=code, nudged=level, ids=np.array([0, 1, 0]))
    little = np.array([[3e-6, 1.0], [-0.5, 0.7]])  # a small entry tells no factor, nor does a mean
    case = {"code": -2 * little, "nudged": little + [[5e-7, 0], [0, -5e-7]]}
    trial.same("diagnose", mistakes=MISTAKES, **case, ids=np.array([0, 1]))
    few = np.array([[1.0], [1e-10], [-1e-10]])  # of the others rounding leaves no ratio
    code = np.array([[2.0], [5e-10], [-7e-10]])
    trial.same("diagnose", mistakes=MISTAKES, code=code, nudged=few, ids=np.array([0, 1, 0]))
    nothing = np.zeros((3, 2))
    trial.same("diagnose", mistakes=MISTAKES, code=nothing, nudged=nothing, ids=np.array([0]))


def _parts(E, W, ids, targets):
    """What each place sends to the row it read (N, V, D), and what scoring sends to all (V, D)."""
    h = np.tanh(E[ids] @ W)
    p = np.exp(h @ E.T)
    p /= p.sum(axis=1, keepdims=True)
    dz = (p - np.eye(8)[targets]) / len(ids)
    rows = (dz @ E * (1 - h**2)) @ W.T
    return np.eye(8)[ids][:, :, None] * rows[:, None, :], dz.T @ h


def _judge(
    size=np.max, allowed=None, exact=False, factor=True, far=np.abs, repeats=np.all,
    order=("repeats", "reading"), grows=lambda f: max(1, f), twice=False, none=True,
):  # fmt: skip
    def wrong(code, nudged, ids):
        room = 1e-6 * size(np.abs(nudged)) if allowed is None else allowed
        off = np.abs(code - nudged) > (0 if exact else room)
        if not off.any():
            return "right"
        best = (code * nudged).sum() / (nudged * nudged).sum()
        near = room * grows(abs(best))
        if factor and (none or best) and (far(code - best * nudged) <= near).all():
            return "factor"
        times = np.bincount(ids, minlength=len(code))[off.any(axis=1)]
        times[(times > 2) & twice] = 1
        found = {"repeats": repeats(times > 1), "reading": np.all(times > 0)}
        return next((word for word in order if found[word]), "scoring")

    return wrong


def _by_the_first(code, nudged, ids):
    with np.errstate(all="ignore"):
        factor = code[0, 0] / nudged[0, 0]
        room = 1e-6 * np.abs(nudged).max() * max(1, abs(factor))
        same = (np.abs(code - factor * nudged) <= room).all()
    word = _judge(factor=False)(code, nudged, ids)
    return "factor" if same and word != "right" else word


def _overall(code, nudged, ids):
    off = abs(code.sum() - nudged.sum()) > 1e-6 * np.abs(nudged).max()
    return _judge()(code, nudged, ids) if off else "right"


def _every_repeat(code, nudged, ids):
    off = (np.abs(code - nudged) > 1e-6 * np.abs(nudged).max()).any(axis=1)
    word = _judge()(code, nudged, ids)
    some = off.sum() < (np.bincount(ids) > 1).sum()
    return "reading" if word == "repeats" and some else word


def _rows_by_sums(code, nudged, ids):
    word = _judge()(code, nudged, ids)
    if word in ("right", "factor"):
        return word
    off = np.abs((code - nudged).sum(axis=1)) > 1e-6 * np.abs(nudged).max()
    times = np.bincount(ids, minlength=len(code))[off]
    return "repeats" if (times > 1).all() else "reading" if (times > 0).all() else "scoring"


MISTAKES = {
    ("diagnose wants every bit the same: a nudge is right to some digits only", r"==|!=|> *0"):
        _judge(exact=True),
    ("diagnose allows small and large gradients the same difference: measure it by the largest",
     r"1e-6"): _judge(allowed=1e-6),
    ("diagnose allows for a large factor no more than for 1: what nudged is off by grows with it",
     r"<="): _judge(grows=lambda f: 1),
    ("diagnose allows for a factor f 1 + |f| times as much: |f| times, and at least once",
     r"1 *\+|\+ *1"): _judge(grows=lambda f: 1 + f),
    ("diagnose measures by all entries together: the largest of them is the measure", r"1e-6"):
        _judge(size=np.linalg.norm),
    ("diagnose measures by the mean entry: the largest is the measure", r"1e-6"):
        _judge(size=np.mean),
    ("diagnose allows more than a millionth of the largest entry", r"\de-\d"):
        _judge(size=lambda sizes: 2 * np.max(sizes)),
    ("diagnose reads the factor off one entry, which may be 0 or noise", r"\[0, *0\]|\[0\]"):
        _by_the_first,
    ("diagnose does not look for one factor of all entries, or not before it looks at rows",
     r"factor|\bif\b.*\ball\b"): _judge(factor=False),
    ("diagnose does not take 0 for a factor: of a gradient that is all 0 that is what is wrong",
     r"if.*factor|factor *(!=|>)"): _judge(none=False),
    ("diagnose says repeats only of rows that ids names just twice: three times is repeated, too",
     r"== *2"): _judge(twice=True),
    ("diagnose asks only that code is not too large beside the factor: too small is off, too",
     r"factor.*<="): _judge(far=np.asarray),
    ("diagnose says repeats as soon as one row that is off was read twice: all of them must be",
     r"> *1\b"): _judge(repeats=np.any),
    ("diagnose says repeats only where all repeated rows are off: those that are off count",
     r"> *1\b"): _every_repeat,
    ("diagnose adds up a row before it looks: what is off in it can cancel", r"\bsum\(|axis"):
        _rows_by_sums,
    ("diagnose asks for reading before repeats: rows that were read twice were read, too",
     r"reading|times *> *0"): _judge(order=("reading", "repeats")),
    ("diagnose compares the sums: what is off here can be made up for there", r"\bsum\b"):
        _overall,
}  # fmt: skip
