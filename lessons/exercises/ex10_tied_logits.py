"""Score a hidden state against every row, and send both gradients back.

The output head of a language model. Each logit is the dot product of the hidden state with one row
of the table (Press & Wolf 2017, when it is the table of the input).
"""

import numpy as np

LESSON = 4
LEVEL = "medium"
HINTS = """
All dot products at once are one matrix product: (N, D) with (D, V) gives (N, V).

out = h @ E.T is a product whose second factor is E.T. So dh = dlogits @ E, and dE is the
transpose of h.T @ dlogits.
"""


def logits_forward(h, E):
    """logits[n, v] = h[n] . E[v]                                     (N, D), (V, D) -> (N, V)

    h and E hold floats.

    0.6 * 0.1 + 0.1 * 0.9 + 0.3 * 0.3 = 0.24 and 0.6 * 0.8 - 0.1 * 0.2 + 0.3 * 0.4 = 0.58:

    >>> E = np.array([[0.1, 0.9, 0.3], [0.8, -0.2, 0.4]])
    >>> logits_forward(np.array([[0.6, 0.1, 0.3]]), E).round(2).tolist()
    [[0.24, 0.58]]
    """
    return h @ E.T


def logits_backward(dlogits, h, E):
    """dh[n] = sum over v of dlogits[n, v] E[v],   dE[v] = sum over n of dlogits[n, v] h[n]

    dlogits (N, V), h (N, D), E (V, D). Returns (dh (N, D), dE (V, D)).

    Every row was scored, so every row gets a gradient.

    >>> E = np.array([[3.0, 4.0], [5.0, 6.0]])
    >>> dh, dE = logits_backward(np.array([[10.0, -1.0]]), np.array([[1.0, 2.0]]), E)
    >>> dh.tolist()
    [[25.0, 34.0]]
    >>> dE.tolist()
    [[10.0, 20.0], [-1.0, -2.0]]
    """
    return dlogits @ E, dlogits.T @ h


def check(trial):
    for rng, (N, V, D) in zip(trial.rounds(4), ((2, 4, 3), (5, 3, 3), (1, 6, 2), (3, 3, 3))):
        h, E = rng.standard_normal((N, D)), rng.standard_normal((V, D))
        trial.same("logits_forward", h=h, E=E)
        trial.same("logits_backward", dlogits=np.zeros((0, V)), h=h[:0], E=E)
        trial.gradients(
            "logits_backward",
            forward=lambda h, E: h @ E.T,
            backward=lambda dout, h=h, E=E: trial.yours.logits_backward(dout, h, E),
            h=h,
            E=E,
        )
