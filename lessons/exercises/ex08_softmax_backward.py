"""Softmax and its way back: every score moves every probability.

Probabilities share a whole. To raise one is to lower the others, and that is what the backward has
more than a function of one number: a second term, the same for a whole row.
"""

import numpy as np

LESSON = 12
LEVEL = "medium"
HINTS = """
Forward: take the largest score of each row away before exp, so that 1000 does not overflow.

p_i moves by p_i (1 - p_i) when z_i moves by 1, and by -p_i p_j when another z_j does.

So dz_j = p_j dp_j - p_j (the sum over i of p_i dp_i). The sum is one number for each row:
`(dp * p).sum(axis=-1, keepdims=True)`.
"""


def softmax(z):
    """p[n, j] = exp(z[n, j]) / sum over i of exp(z[n, i])              (N, V) -> (N, V)

    z  (N, V)  scores of any size, also in the thousands.

    e^0 : e^0 : e^(ln 2) is 1 : 1 : 2:

    >>> softmax(np.array([[0.0, 0.0, np.log(2.0)]])).round(4).tolist()
    [[0.25, 0.25, 0.5]]
    """
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_backward(dp, p):
    """dz[n, j] = p[n, j] (dp[n, j] - sum over i of dp[n, i] p[n, i])       (N, V), (N, V) -> (N, V)

    dp  (N, V)  the gradient that arrives at the probabilities.
    p   (N, V)  the probabilities themselves.

    The sum is 4 * 0.5 = 2. A row of dz adds up to 0, for the probabilities always add up to 1:

    >>> softmax_backward(np.array([[0.0, 0.0, 4.0]]), np.array([[0.25, 0.25, 0.5]])).tolist()
    [[-0.5, -0.5, 1.0]]
    """
    return p * (dp - (dp * p).sum(axis=-1, keepdims=True))


def check(trial):
    def forward(z):
        e = np.exp(z)
        return e / e.sum(axis=-1, keepdims=True)

    for rng, (N, V) in zip(trial.rounds(4), ((3, 4), (2, 5), (1, 3), (3, 3))):
        z = rng.standard_normal((N, V))
        p = forward(z)
        trial.same("softmax", z=z)
        trial.gradients(
            "softmax_backward",
            forward=forward,
            backward=lambda dp, p=p: trial.yours.softmax_backward(dp, p),
            mistakes=_mistakes(p),
            z=z,
        )
    far = [[1000.0, 999.0, 0.0], [-2000.0, -2000.0, -2000.0], [0.0, 3.0, 2000.0]]
    for z in (far, [[9000.0, 0.0, 0.0]], [[0.0, 0.0, 0.0, 5000.0, 5001.0]]):
        trial.same("softmax", z=np.array(z))
    p = np.array([[1.0, 0.0, 0.0], [0.25, 0.0, 0.75]])  # as of scores that far apart
    trial.same("softmax_backward", dp=np.array([[2.0, -1.0, 0.5], [1.0, 3.0, -2.0]]), p=p)
    for rare in (1e-8, 1e-14):  # a target that is surely wrong: of -ln p comes 1 / p
        p = np.array([[1.0 - rare, rare]])
        trial.same("softmax_backward", dp=np.array([[0.0, -1 / rare]]), p=p)


def _mistakes(p):
    def alone(dp):
        return p * (1 - p) * dp

    return {
        "softmax_backward lets each score move its own probability only: the others pay for it":
            alone,
        "softmax_backward lacks the term that all scores of a row share": lambda dp: p * dp,
        "softmax_backward takes the shared term as the plain sum of dp: each dp counts p times":
            lambda dp: p * (dp - dp.sum(axis=-1, keepdims=True)),
        "softmax_backward takes the shared term as the mean of dp: each dp counts p times":
            lambda dp: p * (dp - dp.mean(axis=-1, keepdims=True)),
        "softmax_backward adds up the shared term along the wrong axis: down the column, and not "
        "along the row": lambda dp: p * (dp - (dp * p).sum(axis=0, keepdims=True)),
        "softmax_backward adds up the shared term over the whole batch: each row has its own":
            lambda dp: p * (dp - (dp * p).sum()),
        "softmax_backward does not multiply by p outside the bracket":
            lambda dp: dp - (dp * p).sum(axis=-1, keepdims=True),
        "softmax_backward adds the shared term instead of taking it away":
            lambda dp: p * (dp + (dp * p).sum(axis=-1, keepdims=True)),
    }  # fmt: skip
