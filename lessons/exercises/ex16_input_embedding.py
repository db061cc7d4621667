"""The input of BERT: token, position and segment rows added, and what each table collects.

Devlin et al. 2019, figure 2. GPT-2 does the same without segments. An addition hands its gradient
on to all its terms, so the way back is one scatter-add three times: by token, by place, by segment.
"""

import numpy as np

LESSON = 2
LEVEL = "easy"
HINTS = """
Three lookups and two additions. Positions are 0, 1, .. T-1 in every sequence, and NumPy adds a
table (T, D) to every sequence of (B, T, D).

`position[:T]` of a table that is too short is simply shorter, and the addition then fails or, with
one row, silently repeats it. Compare T with len(position) first.

dout goes to all three tables unchanged, each by its own ids: `np.add.at(dtoken, ids, dout)` takes
ids of shape (B, T) with values of shape (B, T, D).

All sequences share the position rows, so each of them collects from every sequence:
`dout.sum(axis=0)` into the first T rows. The later rows were not used and get exactly 0.
"""


def input_embedding(ids, segments, token, position, segment):
    """out[b, t] = token[ids[b, t]] + position[t] + segment[segments[b, t]]          (B, T, D)

    ids       (B, T)  integers in 0..V-1.
    segments  (B, T)  0 for sentence A, 1 for sentence B.
    token (V, D), position (L, D), segment (2, D)  the three tables.

    Raises ValueError when T > L: there is no row for such a position.

    "cat [SEP] dog": the third token is in sentence B.

    >>> token, position = np.array([[1.0], [2.0], [3.0]]), np.array([[0.1], [0.2], [0.3]])
    >>> segment = np.array([[10.0], [20.0]])
    >>> ids, segments = np.array([[0, 2, 1]]), np.array([[0, 0, 1]])
    >>> input_embedding(ids, segments, token, position, segment).tolist()
    [[[11.1], [13.2], [22.3]]]
    """
    T = ids.shape[1]
    if len(position) < T:
        raise ValueError(f"{T} positions, and only {len(position)} rows for them")
    return token[ids] + position[:T] + segment[segments]


def input_embedding_backward(dout, ids, segments, num_tokens, num_positions):
    """dtoken (V, D), dposition (L, D), dsegment (2, D): what each row collects from dout

    dout (B, T, D), ids and segments (B, T); num_tokens is V and num_positions is L.

    Returns (dtoken, dposition, dsegment).

    Sentence A gives 1 + 2, sentence B 4, and token 0 stands at both ends:

    >>> dout = np.array([[[1.0], [2.0], [4.0]]])
    >>> ids, segments = np.array([[0, 2, 0]]), np.array([[0, 0, 1]])
    >>> dtoken, dposition, dsegment = input_embedding_backward(dout, ids, segments, 3, 3)
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
    for rng, alone in zip(trial.rounds(4), ([], [0], [1], [0, 1])):
        token, position = rng.standard_normal((6, 3)), rng.standard_normal((6, 3))
        segment = rng.standard_normal((2, 3))
        ids, segments = trial.ids(rng, 6, 2, 4), np.array([[0, 0, 1, 1], [0, 1, 1, 0]])
        segments[alone] = 0  # at last sentence A stands alone in the whole batch
        trial.same("input_embedding", ids=ids, segments=segments, token=token, position=position,
                   segment=segment)  # fmt: skip
        trial.gradients(
            "input_embedding_backward",
            forward=lambda token, position, segment, ids, segments: (
                token[ids] + position[:4] + segment[segments]
            ),
            backward=lambda dout, ids=ids, segments=segments: trial.yours.input_embedding_backward(
                dout, ids, segments, 6, 6
            ),
            mistakes=_mistakes(ids, segments),
            token=token,
            position=position,
            segment=segment,
            ids=ids,
            segments=segments,
        )
    many = np.repeat(ids, 4, axis=0)  # more sequences than rows of position, none of them too long
    trial.same("input_embedding", ids=many, segments=np.repeat(segments, 4, axis=0), token=token,
               position=position, segment=segment)  # fmt: skip
    apart = np.array([[[1e17], [1.0]]])  # what one row gets is nothing to the next
    both = np.array([[0, 1]])
    trial.same("input_embedding_backward", by_row=True, dout=apart, ids=both, segments=both,
               num_tokens=2, num_positions=2)  # fmt: skip
    for B, T, rows in ((2, 4, 3), (2, 4, 1), (2, 2, 1), (1, 4, 1)):
        because = f"for {T} positions and {rows} rows of position"
        trial.raises("input_embedding", ValueError, because,
                     ids=ids[:B, :T], segments=segments[:B, :T], token=token,
                     position=position[:rows], segment=segment)  # fmt: skip


def _mistakes(ids, segments):
    def added(rows, num, dout):
        table = np.zeros((num, dout.shape[-1]))
        np.add.at(table, rows, dout)
        return table

    def overwritten(rows, num, dout):
        table = np.zeros((num, dout.shape[-1]))
        table[rows] += dout
        return table

    def places(part):
        return np.concatenate([part, np.zeros((2, part.shape[-1]))])

    def wrong(token=added, position=lambda dout: dout.sum(axis=0), segment=added):
        return lambda dout: (
            token(ids, 6, dout),
            places(position(dout)),
            segment(segments, 2, dout),
        )

    def exchanged(rows, num, dout):
        return added(1 - rows, num, dout)

    name = "input_embedding_backward"
    return {
        (f"{name} exchanges the two segments", r"\(dsegment|dsegment\["): wrong(segment=exchanged),
        f"{name} keeps of a repeated token only the last use": wrong(token=overwritten),
        f"{name} keeps of each segment only the last use": wrong(segment=overwritten),
        f"{name} keeps of repeated tokens and of segments only the last use":
            wrong(token=overwritten, segment=overwritten),
        f"{name} pays the positions for the first sequence only: all share them":
            wrong(position=lambda dout: dout[0]),
        f"{name} pays the positions for the last sequence only: all share them":
            wrong(position=lambda dout: dout[-1]),
        f"{name} averages the positions over the batch, but the forward divides nothing":
            wrong(position=lambda dout: dout.mean(axis=0)),
    }  # fmt: skip
