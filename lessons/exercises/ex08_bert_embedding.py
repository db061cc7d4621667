"""The input of BERT: token, position and segment rows added.

Devlin et al. 2019, figure 2. The segment says whether a token belongs to sentence A or to sentence
B, so its table has two rows, and half of the batch sends its gradient to each of them.
"""

import numpy as np

from scratch_embed.ops.lookup import LookupSaved

LEVEL = "easy"
HINTS = """
Three lookups and two additions. Positions are 0, 1, .. T-1 in every sequence.

Backward: an addition hands its gradient on to all its terms unchanged, so dout goes to all
three tables, each by its own ids.

The segment table has two rows and many places that name them: every row is repeated.
`np.add.at(dsegment, segments, dout)`.
"""


def bert_embedding(ids, segments, token, position, segment):
    """out[b, t] = token[ids[b, t]] + position[t] + segment[segments[b, t]]          (B, T, D)

    ids       (B, T)  integers in 0..V-1.
    segments  (B, T)  0 for sentence A, 1 for sentence B.
    token (V, D), position (L, D) with L >= T, segment (2, D)  the three tables.

    "cat [SEP] dog": the third token is in sentence B.

    >>> token, position = np.array([[1.0], [2.0], [3.0]]), np.array([[0.1], [0.2], [0.3]])
    >>> segment = np.array([[10.0], [20.0]])
    >>> ids, segments = np.array([[0, 2, 1]]), np.array([[0, 0, 1]])
    >>> bert_embedding(ids, segments, token, position, segment).tolist()
    [[[11.1], [13.2], [22.3]]]
    """
    return token[ids] + position[: ids.shape[1]] + segment[segments]


def bert_embedding_backward(dout, ids, segments, num_tokens, num_positions):
    """dtoken (V, D), dposition (L, D), dsegment (2, D): what each row collects from dout

    dout (B, T, D), ids and segments (B, T); num_tokens is V and num_positions is L.

    Returns (dtoken, dposition, dsegment).

    Sentence A gives 1 + 2, sentence B 4, and token 0 stands at both ends:

    >>> dout = np.array([[[1.0], [2.0], [4.0]]])
    >>> ids, segments = np.array([[0, 2, 0]]), np.array([[0, 0, 1]])
    >>> dtoken, dposition, dsegment = bert_embedding_backward(dout, ids, segments, 3, 3)
    >>> dtoken.tolist()
    [[5.0], [0.0], [2.0]]
    >>> dposition.tolist()
    [[1.0], [2.0], [4.0]]
    >>> dsegment.tolist()
    [[3.0], [4.0]]
    """
    D = dout.shape[-1]
    dtoken, dposition, dsegment = (np.zeros((n, D)) for n in (num_tokens, num_positions, 2))
    np.add.at(dtoken, ids, dout)
    np.add.at(dsegment, segments, dout)
    dposition[: ids.shape[1]] = dout.sum(axis=0)
    return dtoken, dposition, dsegment


def check(trial):
    for rng in trial.rounds(4):
        token, position = rng.standard_normal((6, 3)), rng.standard_normal((5, 3))
        segment = rng.standard_normal((2, 3))
        ids, segments = trial.ids(rng, 6, 2, 4), np.array([[0, 0, 1, 1], [0, 1, 1, 1]])
        places = np.tile(np.arange(4), (2, 1))
        trial.same("bert_embedding", ids=ids, segments=segments, token=token, position=position,
                   segment=segment)  # fmt: skip

        def backward(dout, which, ids=ids, segments=segments):
            return trial.yours.bert_embedding_backward(dout, ids, segments, 6, 5)[which]

        tables = {
            "token": (token, ids),
            "position": (position, places),
            "segment": (segment, segments),
        }
        for which, (name, (table, rows)) in enumerate(tables.items()):  # each is a lookup
            trial.gradients(
                "bert_embedding_backward",
                forward=lambda table, rows: table[rows],
                backward=lambda dout, which=which: backward(dout, which),
                saved=LookupSaved(rows, len(table), None, False, False),
                **{name: table, "rows": rows},
            )
