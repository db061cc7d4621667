"""A state made of a row by its sentence, and the three ways back to the row.

One token asks all tokens of its sentence and takes a mixture of their rows. Its own row asks, is
looked at, and is mixed in; each role sends a gradient, and so does each place where a word stands.
"""

import numpy as np

LESSON = 16
LEVEL = "hard"
HINTS = """
Look the sentence up once, `x = E[ids]`, and think of x as the input. The table comes last:
`np.add.at(dE, ids, dx)`.

Forward: the scores are `x @ x[t]`, one number a token; softmax makes weights p of them; the state
is `p @ x`.

Backward, mixed in: `np.outer(p, dstate)`. For the weights: `dp = x @ dstate`, and through softmax
`ds = p * (dp - p @ dp)`.

Scores have two sides. Looked at: each x[n] gets `ds[n] * x[t]`. Asking: x[t] gets `ds @ x`. All
three are added into one dx.
"""


def state_forward(E, ids, t):
    """state = sum over n of p[n] x[n],   p = softmax of x[n] . x[t],   x = E[ids]     -> (D,)

    E    (V, D)  the table.
    ids  (N,)    the sentence, integers in 0..V-1.
    t            the place of the token that asks, in 0..N-1.

    The scores may be of any size, also in the thousands.

    The row of "bank", [1, 1], looks at itself with a score of 2 and at [0, 0] with 0:

    >>> E = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> state_forward(E, np.array([0, 1]), 1).round(4).tolist()       # e^2 / (e^2 + 1)
    [0.8808, 0.8808]
    """
    x = E[ids]
    e = np.exp(x @ x[t] - (x @ x[t]).max())
    p = e / e.sum()
    return p @ x


def state_backward(dstate, E, ids, t):
    """dE, the gradient of `state_forward` by the table     -> (V, D)

    dstate (D,) arrives. A row collects from each place where it stands, and from each role.

    A sentence of one word has the weight 1, whatever its score, so its row gets dstate as it is:

    >>> E = np.array([[5.0, 5.0], [2.0, 3.0]])
    >>> state_backward(np.array([1.0, -1.0]), E, np.array([1]), 0).tolist()
    [[0.0, 0.0], [1.0, -1.0]]
    """
    x = E[ids]
    e = np.exp(x @ x[t] - (x @ x[t]).max())
    p = e / e.sum()
    dp = x @ dstate
    ds = p * (dp - p @ dp)
    dx = np.outer(p, dstate)  # mixed in
    dx += np.outer(ds, x[t])  # looked at
    dx[t] += ds @ x  # asking
    dE = np.zeros(E.shape)
    np.add.at(dE, ids, dx)
    return dE


def check(trial):
    for rng, (N, t) in zip(trial.rounds(4), ((3, 0), (4, 1), (4, 2), (5, 4))):
        E, ids = rng.standard_normal((5, 3)), trial.ids(rng, 5, N)
        trial.same("state_forward", mistakes=FORWARD, E=E, ids=ids, t=t)
        trial.gradients(
            "state_backward",
            forward=lambda E, i=ids, t=t: _state(E, i, E[i][t]),
            backward=lambda g, E=E, i=ids, t=t: trial.yours.state_backward(g, E, i, t),
            mistakes=_mistakes(E, ids, t),
            E=E,
        )
    trial.same("state_forward", mistakes=FORWARD, E=20 * E, ids=ids, t=t)
    dstate = rng.standard_normal(3)
    trial.same("state_backward", mistakes=LARGE, dstate=dstate, E=20 * E, ids=ids, t=t)
    trial.same("state_forward", mistakes=FORWARD, E=E + 30, ids=ids, t=t)  # all scores are large
    trial.same("state_backward", mistakes=LARGE, dstate=dstate, E=E + 30, ids=ids, t=t)
    short, ids = 40 * E, np.array([0, 3, 4, 3, 0])
    short[0] /= 8  # beside a short row that asks, scores of others lie far above its own
    trial.same("state_forward", mistakes=FORWARD, E=short, ids=ids, t=t)
    trial.same("state_backward", mistakes=LARGE, dstate=dstate, E=short, ids=ids, t=t)
    two = np.array([[0, 1, 0], [0, 0, 2], [0, 1, 1], [71, 1, 2], [71, 0, 1.0]])  # 5,043 and 5,042
    low = np.array([[-100, 1, 0], [-90, 0, 1], [0, 0, 0], [-100, 2, 2], [30, 0, 0.0]])
    for E, ids in ((two, np.arange(5)), (low, np.array([0, 1, 3, 3, 4]))):
        trial.same("state_forward", mistakes=FORWARD, E=E, ids=ids, t=4)
        trial.same("state_backward", mistakes=LARGE, dstate=dstate, E=E, ids=ids, t=4)


def _shares(scores, most=np.inf):
    e = np.exp(np.clip(scores, -most, most))
    return e / e.sum()


def _state(E, ids, query, most=np.inf):
    return _shares(E[ids] @ query, most) @ E[ids]


def _overflowing(E, ids, t):
    with np.errstate(all="ignore"):
        return _state(E, ids, E[ids][t])


def _no_numbers(dstate, E, ids, t):
    if (E[ids] @ E[ids][t]).max() < 700:  # which e^score holds
        return state_backward(dstate, E, ids, t)
    dE = np.zeros(E.shape)
    dE[ids] = np.nan  # one weight of inf / inf is in the sum that all rows share
    return dE


def _backward(dstate, E, ids, t, most=np.inf, mixed=1, looked=1, asked=1, shared=1, repeats=True):
    """`state_backward`, with one thing done otherwise."""
    x = E[ids]
    p, dp = _shares(x @ x[t], most), x @ dstate
    ds = p * (dp - shared * (p @ dp))
    dx = mixed * np.outer(p, dstate) + looked * np.outer(ds, x[t])
    dx[t] += asked * (ds @ x)
    dE = np.zeros(E.shape)
    if repeats:
        np.add.at(dE, ids, dx)
    else:
        dE[ids] = dx
    return dE


CLIPS = "clips the scores, and weights go by their differences: take off the largest score instead"
LARGE = {
    ("state_backward lets e^score overflow: take off the largest score first", r"exp"): _no_numbers,
    (f"state_backward {CLIPS}", r"clip|min"):
        lambda dstate, E, ids, t: _backward(dstate, E, ids, t, most=700),
}  # fmt: skip
FORWARD = {
    ("state_forward lets e^score overflow: take off the largest score first", r"exp"): _overflowing,
    (f"state_forward {CLIPS}", r"clip|min"):
        lambda E, ids, t: _state(E, ids, E[ids][t], most=700),
    ("state_forward takes the plain mean of the rows: the weights come from the scores",
     r"mean|return"): lambda E, ids, t: E[ids].mean(axis=0),
    ("state_forward mixes with weights that do not sum to 1: divide by the sum of e^score",
     r"\bp *=|return"): lambda E, ids, t: np.exp(E[ids] @ E[ids][t]) @ E[ids],
    ("state_forward mixes with the scores themselves: softmax makes weights of them", r"return"):
        lambda E, ids, t: (E[ids] @ E[ids][t]) @ E[ids],
    ("state_forward lets the first token ask, and not the one at place t", r"\[0\]"):
        lambda E, ids, t: _state(E, ids, E[ids[0]]),
    ("state_forward takes row t of the table: t is a place in the sentence", r"E\[t\]"):
        lambda E, ids, t: _state(E, ids, E[t]),
}  # fmt: skip


def _mistakes(E, ids, t):
    def wrong(**otherwise):
        return lambda dstate: _backward(dstate, E, ids, t, **otherwise)

    name, roles = "state_backward", r"\bdx\b"
    return {
        (f"{name} forgets that each row is mixed in, with its weight", roles): wrong(mixed=0),
        (f"{name} forgets that each row is looked at: its score has two sides", roles):
            wrong(looked=0),
        (f"{name} forgets that the row at place t asks: its score has two sides", roles):
            wrong(asked=0),
        (f"{name} takes the weights for constants: they are made of the rows, too", roles):
            wrong(looked=0, asked=0),
        (f"{name} lacks the term that the scores share in softmax", r"\bds *="): wrong(shared=0),
        (f"{name} keeps only the last place of a word that stands twice", r"\bdE\["):
            wrong(repeats=False),
    }  # fmt: skip
