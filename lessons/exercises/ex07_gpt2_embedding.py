"""The input of GPT-2: a token row plus a position row, both learned.

Radford et al. 2019. All sequences of a batch share the position rows, so each of them collects a
gradient from every sequence.
"""

import numpy as np

from scratch_embed.ops.lookup import LookupSaved

LEVEL = "easy"
HINTS = """
Positions are the first T rows of the second table, `wpe[:T]`. NumPy adds them to every sequence
of the batch.

`wpe[:T]` of a table that is too short is simply shorter, and the addition then fails or, with
one row, silently repeats it. Compare T with len(wpe) first.

Backward: dwte is a scatter-add by id. dwpe sums over the batch, `dout.sum(axis=0)`, into its
first T rows; the later rows were not used and get exactly 0.
"""


def gpt2_embedding(ids, wte, wpe):
    """out[b, t] = wte[ids[b, t]] + wpe[t]                  (B, T), (V, D), (L, D) -> (B, T, D)

    ids  (B, T)  integers in 0..V-1.
    wte  (V, D)  a row for each token.
    wpe  (L, D)  a row for each position.

    Raises ValueError when T > L: there is no row for such a position.

    >>> wte, wpe = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.1, 0.1], [0.2, 0.2]])
    >>> gpt2_embedding(np.array([[1, 0]]), wte, wpe).tolist()
    [[[3.1, 4.1], [1.2, 2.2]]]
    """
    T = ids.shape[1]
    if len(wpe) < T:
        raise ValueError(f"{T} positions, and only {len(wpe)} rows for them")
    return wte[ids] + wpe[:T]


def gpt2_embedding_backward(dout, ids, num_tokens, num_positions):
    """dwte = scatter-add of dout by id,   dwpe[t] = sum of dout[b, t] over b  -> (V, D), (L, D)

    dout (B, T, D), ids (B, T); num_tokens is V and num_positions is L.

    Returns (dwte, dwpe).

    Two sequences of one token, both token 1 at position 0, so both rows collect 1 + 10:

    >>> dout, ids = np.array([[[1.0]], [[10.0]]]), np.array([[1], [1]])
    >>> dwte, dwpe = gpt2_embedding_backward(dout, ids, 2, 2)
    >>> dwte.tolist()
    [[0.0], [11.0]]
    >>> dwpe.tolist()
    [[11.0], [0.0]]
    """
    D = dout.shape[-1]
    dwte, dwpe = np.zeros((num_tokens, D)), np.zeros((num_positions, D))
    np.add.at(dwte, ids, dout)
    dwpe[: ids.shape[1]] = dout.sum(axis=0)
    return dwte, dwpe


def check(trial):
    for rng in trial.rounds(4):
        wte, wpe = rng.standard_normal((6, 3)), rng.standard_normal((5, 3))
        ids, places = trial.ids(rng, 6, 3, 4), np.tile(np.arange(4), (3, 1))
        trial.same("gpt2_embedding", ids=ids, wte=wte, wpe=wpe)

        def backward(dout, which, ids=ids):
            return trial.yours.gpt2_embedding_backward(dout, ids, 6, 5)[which]

        tables = {"wte": (wte, ids), "wpe": (wpe, places)}
        for which, (name, (table, rows)) in enumerate(tables.items()):  # each is a lookup
            trial.gradients(
                "gpt2_embedding_backward",
                forward=lambda table, rows: table[rows],
                backward=lambda dout, which=which: backward(dout, which),
                saved=LookupSaved(rows, len(table), None, False, False),
                **{name: table, "rows": rows},
            )
    for rows in (3, 1):
        trial.raises("gpt2_embedding", ValueError, f"for 4 positions and {rows} rows of wpe",
                     ids=ids, wte=wte, wpe=wpe[:rows])  # fmt: skip
