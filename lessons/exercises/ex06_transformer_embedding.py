"""The input of the first Transformer: scaled rows plus sinusoids.

"In the embedding layers, we multiply those weights by sqrt(d_model)" (Vaswani et al. 2017, section
3.4). The factor stands in the forward, so it must stand in the backward too.
"""

import numpy as np

from scratch_embed.ops.bag import BagSaved

LEVEL = "easy"
HINTS = """
Three steps: look the rows up, multiply by sqrt(D), add the table of positions. (B, T, D) plus
(T, D) works as it stands: NumPy adds the table to every sequence.

The table of positions is the exercise `sinusoids`, for T positions and an even D.

A constant factor of the forward multiplies the gradient as well: scatter `np.sqrt(D) * dout`.
The positions are constants and get nothing.

`np.add.at(dE, ids, values)` takes ids of shape (B, T) with values of shape (B, T, D).
"""


def transformer_embedding(ids, E):
    """out[b, t] = sqrt(D) E[ids[b, t]] + PE[t]                       (B, T), (V, D) -> (B, T, D)

    ids  (B, T)  integers in 0..V-1.
    E    (V, D)  the table, D even.

    PE[t, 2i] = sin(t / 10000^(2i/D)) and PE[t, 2i+1] = cos(t / 10000^(2i/D)).

    One sequence that reads row 1 twice, D = 4, so sqrt(D) = 2. At t = 0 the position adds
    [0, 1, 0, 1], at t = 1 it adds [0.8415, 0.5403, 0.01, 1.0]:

    >>> E = np.array([[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]])
    >>> transformer_embedding(np.array([[1, 1]]), E).round(4).tolist()
    [[[2.0, 5.0, 6.0, 9.0], [2.8415, 4.5403, 6.01, 9.0]]]
    """
    T, D = ids.shape[1], E.shape[1]
    angle = np.arange(T)[:, None] / 10000.0 ** (np.arange(0, D, 2) / D)
    PE = np.zeros((T, D))
    PE[:, 0::2], PE[:, 1::2] = np.sin(angle), np.cos(angle)
    return np.sqrt(D) * E[ids] + PE


def transformer_embedding_backward(dout, ids, num_rows):
    """dE[v] = sqrt(D) times the sum of dout[b, t] over all b, t with ids[b, t] = v   -> (V, D)

    dout  (B, T, D), ids (B, T), num_rows V.

    >>> dout = np.array([[[1.0, 0, 0, 0], [2.0, 0, 0, 1]]])
    >>> transformer_embedding_backward(dout, np.array([[1, 1]]), 2).tolist()
    [[0.0, 0.0, 0.0, 0.0], [6.0, 0.0, 0.0, 2.0]]
    """
    D = dout.shape[-1]
    dE = np.zeros((num_rows, D))
    np.add.at(dE, ids, np.sqrt(D) * dout)
    return dE


def check(trial):
    for rng in trial.rounds(4):
        E, ids = rng.standard_normal((6, 4)), trial.ids(rng, 6, 2, 3)
        trial.same("transformer_embedding", ids=ids, E=E)

        def backward(dout, ids=ids):
            return trial.yours.transformer_embedding_backward(dout.reshape(2, 3, 4), ids, 6)

        # In the eyes of gradcheck six bags of one row each, and every row times sqrt(D) = 2.
        saved = BagSaved(ids.reshape(-1), np.arange(6), 6, np.full(6, 2.0), None, None, None, False)
        trial.gradients(
            "transformer_embedding_backward",
            forward=lambda E, ids: 2.0 * E[ids.reshape(-1)],
            backward=backward,
            saved=saved,
            E=E,
            ids=ids,
        )
