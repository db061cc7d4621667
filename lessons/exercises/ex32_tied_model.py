"""A language model from your own pieces: one table that reads and writes, trained on real text.

The last step of the whole road. Lookup, matrix product, tanh, scores, surprise, and all of it back;
then steps down the slope, until it has learned which letter follows which.
"""

import numpy as np

from scratch_embed.text.corpus import python_text

LESSON = 9
LEVEL = "hard"
IN_PLACE = {"train": ("E", "W")}
SECONDS = 60
HINTS = """
The tape has five lines: x = E[ids], h = tanh(x @ W), z = h @ E.T, p = softmax(z), loss. You have
written each line's way back: `cross_entropy`, `tied_logits`, `tanh_layer`, `lookup_backward`.

Backward, from the last line: dz = (p - one-hot) / N. Then dh = dz @ E, and E gets dz.T @ h. Then
da = dh * (1 - h**2), dW = x.T @ da and dx = da @ W.T.

E stands on the tape twice. What the scores send to it and what the lookup sends to it add up, and a
letter that was read several times collects several times: `np.add.at(dE, ids, dx)`.

In `train`, take both gradients before you change either table, and change them in place:
`E -= rate * dE`.
"""


def model_loss(E, W, ids, targets):
    """loss = mean of -ln p[n, targets[n]],   p = softmax of the rows of tanh(E[ids] @ W) @ E.T

    E (V, D) reads and writes, W (D, D), ids and targets (N,) in 0..V-1. Scores may be of any size,
    also in the thousands.

    With a table of zeros all scores are equal, and the loss is ln 4 = 1.3863:

    >>> E, W = np.zeros((4, 2)), np.ones((2, 2))
    >>> round(float(model_loss(E, W, np.array([1, 2]), np.array([0, 3]))), 4)
    1.3863
    """
    z = np.tanh(E[ids] @ W) @ E.T
    z = z - z.max(axis=1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return -log_p[np.arange(len(ids)), targets].mean()


def model_backward(E, W, ids, targets):
    """The gradients of model_loss            -> dE (V, D), dW (D, D)

    E, W, ids and targets as in model_loss. E is used twice, and dE is the sum over both uses.

    Returns (dE, dW).

    Two words of one number, W = 0. So h = 0 and p is [1/2, 1/2]; nothing comes by way of the
    scores, and nothing through W to the lookup. Only W learns: dz = [-1/2, 1/2], da = -1/2 * 1 +
    1/2 * 3 = 1:

    >>> dE, dW = model_backward(np.array([[1.0], [3.0]]), np.zeros((1, 1)), np.array([1]),
    ...                         np.array([0]))
    >>> dE.round(4).tolist()
    [[0.0], [0.0]]
    >>> dW.round(4).tolist()
    [[3.0]]
    """
    places = np.arange(len(ids))
    x = E[ids]
    h = np.tanh(x @ W)
    z = h @ E.T
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[places, targets] -= 1
    dz = p / len(ids)
    dE = dz.T @ h
    da = (dz @ E) * (1 - h**2)
    np.add.at(dE, ids, da @ W.T)
    return dE, x.T @ da


def train(E, W, text, batches, lr):
    """Gradient descent: step k of K goes lr (1 - k / K) down both slopes, in place. Returns nothing

    E (V, D), W (D, D)  changed in place.
    text     (N,)    the text as ids.
    batches  (K, B)  places in the text: at place n the model reads text[n] and should say
                     text[n + 1].
    lr               the size of the first step; the steps get shorter and shorter.

    What it has learned is tested on text kept aside. Knowing how frequent each letter is makes one
    loss; a table of all pairs of letters makes a lower one. Your model must come four fifths of the
    way from the first to the second, in the mean over three starts. A model whose backward is right
    does, and from other starts too; one that loses the repeats, or either use of E, does not.

    >>> E, W = np.array([[1.0], [3.0]]), np.zeros((1, 1))
    >>> train(E, W, np.array([1, 0]), np.array([[0]]), 0.1)
    >>> E.round(4).tolist()
    [[1.0], [3.0]]
    >>> W.round(4).tolist()
    [[-0.3]]
    """
    for k, places in enumerate(batches):
        rate = lr * (1 - k / len(batches))
        dE, dW = model_backward(E, W, text[places], text[places + 1])
        E -= rate * dE
        W -= rate * dW


def check(trial):
    for rng in trial.rounds(3):
        E, W = rng.standard_normal((5, 3)), rng.standard_normal((3, 3))
        ids, targets = trial.ids(rng, 5, 4), rng.permutation(5)[:4]
        trial.same("model_loss", E=E, W=W, ids=ids, targets=targets)
        trial.gradients(
            "model_backward",
            forward=_loss,
            backward=lambda g, E=E, W=W, i=ids, t=targets: tuple(
                g * part for part in trial.yours.model_backward(E, W, i, t)
            ),
            mistakes=_mistakes(E, W, ids, targets),
            E=E,
            W=W,
            ids=ids,
            targets=targets,
        )
        text, batches = rng.integers(5, size=30), rng.integers(29, size=(3, 8))
        trial.same("train", mistakes=TRAINED, E=E, W=W, text=text, batches=batches, lr=0.5)
    large = 1000 * E  # scores in the thousands: exp of them overflows
    beside = np.where(np.arange(5)[:, None] == ids[0], 0, large)  # who reads zeros scores 0
    near = E.copy()  # who reads the first id scores 5,000 and 5,001 twice, far above the others
    state, two = np.tanh(E[ids[0]] @ W), [row for row in range(1, 5) if row != ids[0]][-2:]
    near[two] = np.outer([5000, 5001], state / (state @ state))
    for table, most in ((large, 1000), (beside, 1000), (E + 1000, 1000), (near, 1)):
        given = {"E": table, "W": W / most, "ids": ids, "targets": targets}  # no tanh is near to 1
        trial.same("model_loss", **given)
        trial.same("model_backward", **given)
    text, kept = real_text()
    target = goal(text, kept)
    loss = np.mean([_learned(trial, text, kept, seed) for seed in range(3)])
    trial.reaches("train", "loss on text kept aside, in nats", loss, target)


# ---- the text, and what must be reached on it ----------------------------------------------------

LETTERS = " abcdefghijklmnopqrstuvwxyz"


def real_text():
    """Python's own help topics as letters and spaces: (to learn from, kept aside), as ids."""
    letters = "".join(c if c in LETTERS else " " for c in python_text(("topics",)).lower())
    ids = np.array([LETTERS.index(c) for c in " ".join(letters.split())[:120_000]])
    blocks = ids[: len(ids) // 1000 * 1000].reshape(-1, 1000)
    aside = np.arange(len(blocks)) % 10 == 9  # every tenth block, so both are alike
    return blocks[~aside].reshape(-1), blocks[aside].reshape(-1)


def goal(text, kept):
    """Four fifths of the way from knowing frequencies to knowing all pairs."""
    V = len(LETTERS)
    shares = (np.bincount(text, minlength=V) + 1) / (len(text) + V)
    pairs = np.full((V, V), 0.1)
    np.add.at(pairs, (text[:-1], text[1:]), 1)
    pairs /= pairs.sum(axis=1, keepdims=True)
    frequencies = -np.log(shares[kept[1:]]).mean()
    return frequencies + 4 / 5 * (-np.log(pairs[kept[:-1], kept[1:]]).mean() - frequencies)


def start(text, seed, D=16):
    """Tables to begin with, and the batches of 400 steps."""
    rng = np.random.default_rng(seed)
    E, W = 0.05 * rng.standard_normal((len(LETTERS), D)), rng.standard_normal((D, D)) / np.sqrt(D)
    return E, W, rng.integers(len(text) - 1, size=(400, 512))


def _learned(trial, text, kept, seed):
    E, W, batches = start(text, seed)
    trial.yours.train.call(E, W, text, batches, 2.0)
    return float(trial.yours.model_loss.call(E, W, kept[:-1], kept[1:]))


# ---- mistakes ------------------------------------------------------------------------------------


def _loss(E, W, ids, targets):
    z = np.tanh(E[ids] @ W) @ E.T
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return -np.log(p[np.arange(len(ids)), targets]).mean()


def gradients(E, W, ids, targets, lookup="add", scores=1, tanh=True, mean=True, one=1,
              turn=True):  # fmt: skip
    """The two gradients, with one thing done otherwise."""
    x = E[ids]
    h = np.tanh(x @ W)
    z = h @ E.T
    p = np.exp(z - z.max(axis=1, keepdims=True))
    dz = p / p.sum(axis=1, keepdims=True) - one * np.eye(len(E))[targets]
    dz = dz / len(ids) if mean else dz
    dE = scores * (dz.T @ h)
    da = (dz @ E) * (1 - h**2) if tanh else dz @ E
    if lookup == "add":
        np.add.at(dE, ids, da @ (W.T if turn else W))
    elif lookup == "last":
        dE[ids] += da @ W.T
    elif lookup == "first":
        dE[ids[::-1]] += (da @ W.T)[::-1]
    return dE, x.T @ da


def _mistakes(E, W, ids, targets):
    def wrong(**otherwise):
        return lambda g: tuple(g * part for part in gradients(E, W, ids, targets, **otherwise))

    return {
        "model_backward lacks what the lookup sends back to E": wrong(lookup="none"),
        "model_backward lacks what the scores send back to E": wrong(scores=0),
        "model_backward keeps of a repeated id only the last gradient": wrong(lookup="last"),
        "model_backward keeps of a repeated id only the first gradient": wrong(lookup="first"),
        ("model_backward leaves out the slope of tanh", r"\bda *="): wrong(tanh=False),
        ("model_backward sends da back to the lookup by W and not W.T", r"da *@ *W\b(?!\.T)"):
            wrong(turn=False),
        ("model_backward does not divide by N: the loss is a mean", r"\bdz *="): wrong(mean=False),
        ("model_backward forgets the target: the error is p - 1 there", r"\bdz *="): wrong(one=0),
    }  # fmt: skip


def _steps(rate=lambda k, K: 1 - k / K, ahead=1, learns=(1, 1), at_once=True):
    def wrong(E, W, text, batches, lr):
        for k, n in enumerate(batches):
            size = lr * rate(k, len(batches))
            dE, dW = gradients(E, W, text[n], text[n + ahead])
            E -= learns[0] * size * dE
            if not at_once:
                dW = gradients(E, W, text[n], text[n + ahead])[1]
            W -= learns[1] * size * dW

    return wrong


def _new_table(E, W, text, batches, lr):
    _steps()(E.copy(), W, text, batches, lr)


TRAINED = {
    ("train goes uphill: a step goes against the slope", r"\blr\b"): _steps(lambda k, K: k / K - 1),
    ("train does not shorten its steps: step k goes lr (1 - k / K)", r"\blr\b"):
        _steps(lambda k, K: 1),
    ("train lets the model guess the letter that it reads: the target is the next one", r"text\["):
        _steps(ahead=0),
    "train lets E learn, and not W": _steps(learns=(1, 0)),
    "train lets W learn, and not E": _steps(learns=(0, 1)),
    ("train makes a new E instead of changing the one it was given", r"\bE = "): _new_table,
    "train changes E before it takes the gradient of W": _steps(at_once=False),
}  # fmt: skip
