"""Skip-gram and CBOW with negative sampling: word2vec's loss, and its gradient by hand.

Mikolov et al. 2013, "Distributed Representations of Words and Phrases", equation 4, and 2013a,
"Efficient Estimation", for CBOW. A word is told apart from K words drawn by chance: its score
against the true neighbour should be high, against each of the others low.

These functions take vectors that have been looked up already, so they hold the loss and nothing
of where the words came from. Letters: N examples, K negatives, L words of context.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scratch_embed.ops.elementwise import log_sigmoid_forward, sigmoid_forward
from scratch_embed.ops.floats import floating


class SgnsSaved(NamedTuple):
    center: np.ndarray  # (N, D)
    context: np.ndarray  # (N, D)
    negatives: np.ndarray  # (N, K, D)
    positive_score: np.ndarray  # (N,)
    negative_scores: np.ndarray  # (N, K)


class CbowSaved(NamedTuple):
    sgns: SgnsSaved  # of the mean context against the centre
    share: np.ndarray  # (N, L) what each word of context counts in the mean


def sgns_forward(
    center: np.ndarray, context: np.ndarray, negatives: np.ndarray
) -> tuple[np.ndarray, SgnsSaved]:
    """loss = sum over n of -ln s(c . o) - sum_k ln s(-c . u_k)     (N, D), (N, D), (N, K, D) -> ()

    with s the sigmoid, c = center[n], o = context[n] and u_k = negatives[n, k]. It is the sum over
    the N examples, as word2vec takes it: each example makes a step of its own size.

    Raises ValueError for shapes that do not fit.

    >>> c, o, u = np.array([[1.0, 0.0]]), np.array([[2.0, 1.0]]), np.array([[[-1.0, 3.0]]])
    >>> loss, saved = sgns_forward(c, o, u)             # scores 2 and -1
    >>> round(float(loss), 4)                           # 0.1269 + 0.3133
    0.4402
    """
    center, context = floating(center, "center"), floating(context, "context")
    negatives = floating(negatives, "negatives")
    _check(center, context, negatives)
    positive = (center * context).sum(axis=-1)
    negative = (negatives @ center[:, :, None])[:, :, 0]
    loss = -log_sigmoid_forward(positive)[0].sum() - log_sigmoid_forward(-negative)[0].sum()
    return loss, SgnsSaved(center, context, negatives, positive, negative)


def sgns_backward(dout: np.ndarray, saved: SgnsSaved) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """dcenter = e o + sum_k f_k u_k,   dcontext = e c,   dnegatives_k = f_k c

    with the errors e = s(c . o) - 1 and f_k = s(c . u_k): what was said less what was true.
    """
    center, context, negatives, positive, negative = saved
    e = -dout * sigmoid_forward(-positive)[0]  # s(x) - 1, and all its digits
    f = dout * sigmoid_forward(negative)[0]
    dcenter = e[:, None] * context + (f[:, None, :] @ negatives)[:, 0]
    return dcenter, e[:, None] * center, f[:, :, None] * center[:, None, :]


def cbow_forward(
    contexts: np.ndarray,
    center: np.ndarray,
    negatives: np.ndarray,
    present: np.ndarray | None = None,
) -> tuple[np.ndarray, CbowSaved]:
    """loss as in sgns, of the mean h = mean over l of contexts[n, l] against center[n]
                                                          (N, L, D), (N, D), (N, K, D) -> ()

    present : booleans (N, L), False where a window reaches past the text; such words count neither
        in the sum nor in the mean. None when all are there.

    Raises ValueError for shapes that do not fit and for a window without a word, TypeError for a
    `present` that is not boolean.

    >>> around = np.array([[[0.0, 2.0], [2.0, -2.0]]])           # their mean is [1, 0]
    >>> loss, _ = cbow_forward(around, np.array([[2.0, 1.0]]), np.array([[[-1.0, 3.0]]]))
    >>> round(float(loss), 4)
    0.4402
    """
    contexts = floating(contexts, "contexts")
    present = np.ones(contexts.shape[:2], bool) if present is None else np.asarray(present)
    if present.dtype != bool:
        raise TypeError(
            f"present is {present.dtype}; it must be boolean, True where a word is there: "
            "present.astype(bool), or ids != padding_idx"
        )
    if contexts.ndim != 3 or present.shape != contexts.shape[:2]:
        raise ValueError(
            f"contexts {contexts.shape} and present {present.shape} do not fit: contexts is "
            "(N, L, D) and present is (N, L)"
        )
    counts = present.sum(axis=1, keepdims=True)
    if not counts.all():
        at = int(np.argmin(counts))
        raise ValueError(f"contexts[{at}] has no word present, and a mean needs one; leave it out")
    share = (present / counts).astype(contexts.real.dtype)
    mean = (share[:, None, :] @ contexts)[:, 0]
    loss, saved = sgns_forward(mean, center, negatives)
    return loss, CbowSaved(saved, share)


def cbow_backward(dout: np.ndarray, saved: CbowSaved) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """dcontexts[n, l] = dh[n] / (words present), 0 where there is none; the rest as in sgns

    Each word of the window is sent the same gradient: the mean does not know who said what.
    """
    dmean, dcenter, dnegatives = sgns_backward(dout, saved.sgns)
    return saved.share[:, :, None] * dmean[:, None, :], dcenter, dnegatives


def _check(center: np.ndarray, context: np.ndarray, negatives: np.ndarray) -> None:
    if (
        center.ndim != 2
        or context.shape != center.shape
        or negatives.ndim != 3
        or (negatives.shape[0], negatives.shape[2]) != center.shape
    ):
        raise ValueError(
            f"center {center.shape}, context {context.shape} and negatives {negatives.shape} do "
            "not fit: they are (N, D), (N, D) and (N, K, D)"
        )
