"""Softmax cross-entropy and its gradient: what was said, less what was true.

How surprised are the scores by the true ids? The gradient is the most pleasant of all: the
probabilities, minus 1 at the target.
"""

import numpy as np

LESSON = 12
LEVEL = "medium"
HINTS = """
A score of 1000 has no exponential. Take the largest score of each row away first: the softmax
does not notice.

ln softmax(z)[j] = z[j] - m - ln(sum of exp(z - m)) with m = max z. Take the logarithm of the
sum, never that of a probability, which may have become 0.

`log_p[np.arange(N), targets]` picks one number from every row.

Backward: probabilities p, minus 1 at the targets, times dloss, and divided by N, because the
loss is a mean over N places.
"""


def cross_entropy_forward(logits, targets):
    """loss = mean over n of -ln softmax(logits[n])[targets[n]]        (N, V), (N,) -> a number

    logits   (N, V)  scores of any size, also in the thousands.
    targets  (N,)    the true ids, integers in 0..V-1.

    Four equal scores: every probability is 1/4, so the surprise is ln 4 = 1.3863.

    >>> round(float(cross_entropy_forward(np.zeros((1, 4)), np.array([2]))), 4)
    1.3863
    """
    z = logits - logits.max(axis=1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return -log_p[np.arange(len(targets)), targets].mean()


def cross_entropy_backward(dloss, logits, targets):
    """dlogits[n, j] = dloss (p[n, j] - onehot[n, j]) / N              with p = softmax(logits)

    dloss is a number, the gradient that arrives at the loss; onehot[n, j] is 1 where
    j = targets[n], else 0. Returns dlogits (N, V).

    >>> cross_entropy_backward(1.0, np.zeros((1, 4)), np.array([2])).tolist()
    [[0.25, 0.25, -0.75, 0.25]]
    """
    z = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = z / z.sum(axis=1, keepdims=True)
    p[np.arange(len(targets)), targets] -= 1
    return dloss * p / len(targets)


def check(trial):
    def loss(logits, targets):
        top = logits.max(axis=1, keepdims=True)
        log_p = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
        return -log_p[np.arange(len(targets)), targets].mean()

    for rng in trial.rounds(4):
        logits, targets = 2 * rng.standard_normal((4, 5)), trial.ids(rng, 5, 4)
        trial.same("cross_entropy_forward", mistakes=FORWARD, logits=logits, targets=targets)
        trial.gradients(
            "cross_entropy_backward",
            forward=loss,
            backward=lambda g, z=logits, t=targets: trial.yours.cross_entropy_backward(g, z, t),
            mistakes=_backward(logits, targets),
            logits=logits,
            targets=targets,
        )
    large = np.array([[1000.0, 0.0, 990.0], [-2000.0, -2000.0, 0.0]])
    trial.same("cross_entropy_forward", logits=large, targets=np.array([2, 0]))
    trial.same("cross_entropy_backward", dloss=1.0, logits=large, targets=np.array([2, 0]))
    two = np.array([[0.0, 0.0, 0.0, 5000.0, 5001.0]])  # close to one another, far from the others
    trial.same("cross_entropy_forward", logits=two, targets=np.array([3]))
    trial.same("cross_entropy_backward", dloss=1.0, logits=two, targets=np.array([3]))


def _of_true(number):
    """`number` of the probability of each true id."""

    def wrong(logits, targets):
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        return number(p[np.arange(len(targets)), targets])

    return wrong


def _backward(logits, targets):
    def every_row(dloss):
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        p[:, targets] -= 1
        return dloss * p / len(targets)

    return {
        "cross_entropy_backward takes the 1 away from every row at every target: row n has only "
        "targets[n]": every_row,
    }  # fmt: skip


FORWARD = {
    "cross_entropy_forward adds up the places: the mean over them is asked for":
        _of_true(lambda p: -np.log(p).sum()),
    "cross_entropy_forward counts bits, with log2: nats are asked for, with ln":
        _of_true(lambda p: -np.log2(p).mean()),
    "cross_entropy_forward has the wrong sign: the logarithm of a probability is negative":
        _of_true(lambda p: np.log(p).mean()),
    "cross_entropy_forward takes the logarithm of the mean, and not the mean of the logarithms":
        _of_true(lambda p: -np.log(p.mean())),
}  # fmt: skip
