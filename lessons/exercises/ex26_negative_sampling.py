"""Tell a true neighbour from chance ones: word2vec's loss and its gradient.

Mikolov et al. 2013, equation 4. The score of a word against its true neighbour should be high,
against each of K words drawn by chance low.
"""

import numpy as np

LESSON = 17
LEVEL = "hard"
HINTS = """
-ln s(x) = ln(1 + exp(-x)), and `np.logaddexp(0, -x)` computes it for x of any size.

The scores: `(c * o).sum(axis=-1)` is (N,), and `(u * c[:, None]).sum(axis=-1)` is (N, K).

d(-ln s(x))/dx = s(x) - 1 and d(-ln s(-x))/dx = s(x). Call them e (N,) and f (N, K): what was
said, less what was true.

Each score is a dot product: its error goes to one factor times the other. do = e c, du = f c,
and c, which is in all scores, collects e o + the sum over k of f_k u_k.
"""


def sgns_forward(c, o, u):
    """loss = sum over n of   -ln s(c[n] . o[n]) - sum over k of ln s(-c[n] . u[n, k])

    c (N, D) centres, o (N, D) true neighbours, u (N, K, D) chance words; s(x) = 1 / (1 + exp(-x)).
    Scores may be of any size, also in the thousands.

    Scores 2 and -1: -ln s(2) = 0.1269 and -ln s(1) = 0.3133.

    >>> c, o, u = np.array([[1.0, 0.0]]), np.array([[2.0, 1.0]]), np.array([[[-1.0, 3.0]]])
    >>> round(float(sgns_forward(c, o, u)), 4)
    0.4402
    """
    positive = (c * o).sum(axis=-1)
    negative = (u * c[:, None]).sum(axis=-1)
    return np.logaddexp(0, -positive).sum() + np.logaddexp(0, negative).sum()


def sgns_backward(dloss, c, o, u):
    """The gradients of the three groups of vectors       -> dc (N, D), do (N, D), du (N, K, D)

    dloss is a number, the gradient that arrives at the loss. Returns (dc, do, du). Scores may be of
    any size here, too.

    Zero vectors score 0, and s(0) = 1/2, so the errors are -1/2 and 1/2:

    >>> c, o, u = np.array([[0.0]]), np.array([[4.0]]), np.array([[[6.0]]])
    >>> dc, do, du = sgns_backward(1.0, c, o, u)
    >>> dc.tolist()
    [[1.0]]
    """
    positive = (c * o).sum(axis=-1)
    negative = (u * c[:, None]).sum(axis=-1)
    e = -dloss * np.exp(-np.logaddexp(0, positive))
    f = dloss * np.exp(-np.logaddexp(0, -negative))
    dc = e[:, None] * o + (f[:, :, None] * u).sum(axis=1)
    return dc, e[:, None] * c, f[:, :, None] * c[:, None]


def check(trial):
    def loss(c, o, u):
        positive, negative = (c * o).sum(axis=-1), (u * c[:, None]).sum(axis=-1)
        return np.log1p(np.exp(-positive)).sum() + np.log1p(np.exp(negative)).sum()

    for rng in trial.rounds(4):
        c, o = rng.standard_normal((3, 4)), rng.standard_normal((3, 4))
        u = rng.standard_normal((3, 2, 4))
        trial.same("sgns_forward", mistakes=FORWARD, c=c, o=o, u=u)
        trial.gradients(
            "sgns_backward",
            forward=loss,
            backward=lambda g, c=c, o=o, u=u: trial.yours.sgns_backward(g, c, o, u),
            mistakes=_mistakes(c, o, u),
            c=c,
            o=o,
            u=u,
        )
    u = rng.standard_normal((3, 5, 4))
    trial.same("sgns_forward", mistakes=FORWARD, c=c, o=o, u=u)
    trial.same("sgns_backward", dloss=1.5, c=c, o=o, u=u)
    for far in ({"o": np.array([[-40.0]]), "u": np.array([[[30.0]]])},
                {"o": np.array([[40.0]]), "u": np.array([[[-30.0]]])}):  # fmt: skip
        trial.same("sgns_forward", c=np.array([[50.0]]), **far)
        trial.same("sgns_backward", mistakes=LARGE, dloss=1.0, c=np.array([[50.0]]), **far)


def _mistakes(c, o, u):
    said_true = 1 / (1 + np.exp(-(c * o).sum(axis=-1, keepdims=True)))
    said_chance = 1 / (1 + np.exp(-(u * c[:, None]).sum(axis=-1, keepdims=True)))

    def wrong(true=1, chance=0, collects=1):
        def backward(dloss):
            e, f = dloss * (said_true - true), dloss * (said_chance - chance)
            return e * o + collects * (f * u).sum(axis=1), e * c, f * c[:, None]

        return backward

    return {
        "sgns_backward forgets the target: the error of a true neighbour is s(c . o) - 1": wrong(0),
        "sgns_backward takes the chance words for true ones: their error is s(c . u)": wrong(1, 1),
        "sgns_backward lacks the chance words in dc: c stands in all scores": wrong(collects=0),
        "sgns_backward has the wrong sign": lambda dloss: tuple(-g for g in wrong()(dloss)),
    }


def _losses(true=-1, chance=1, pool=np.sum):
    def wrong(c, o, u):
        positive, negative = (c * o).sum(axis=-1), (u * c[:, None]).sum(axis=-1)
        return np.logaddexp(0, true * positive).sum() + pool(np.logaddexp(0, chance * negative))

    return wrong


def _overflowing(dloss, c, o, u):
    def s(x):
        return np.exp(x) / (1 + np.exp(x))

    with np.errstate(all="ignore"):
        e = dloss * (s((c * o).sum(axis=-1, keepdims=True)) - 1)
        f = dloss * s((u * c[:, None]).sum(axis=-1, keepdims=True))
        return e * o + (f * u).sum(axis=1), e * c, f * c[:, None]


LARGE = {
    ("sgns_backward lets e^score overflow, and inf / inf is nan: write s(x) for x of any size",
     r"\bexp\(.*/"): _overflowing,
}  # fmt: skip
FORWARD = {
    "sgns_forward counts the chance words as true ones: their score should be low":
        _losses(chance=-1),
    "sgns_forward counts the true neighbours as chance ones: their score should be high":
        _losses(true=1),
    "sgns_forward takes the mean over the chance words: they add up": _losses(pool=np.mean),
}  # fmt: skip
