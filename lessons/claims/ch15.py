"""Norms and attention: lecture 18-02, section 6, pitfalls and example 3."""

import numpy as np

from scratch_embed import SGD, geometry
from scratch_embed.layers import LayerNorm
from scratch_embed.lesson.claims import corrected, given, measured, reproduced, values_of
from scratch_embed.models import NextToken, train
from scratch_embed.ops.attention import attention_forward

lesson = values_of("ch15_attention")
D = 64

# ---- example 3: rows of length 2, 0.5 and 1 ------------------------------------------------------

reproduced("002-ex3-ratio", lambda a, b: a / b, 2.0, 0.5, counter=(2.0, 1.0))

rng = np.random.default_rng(0)
row = rng.standard_normal(D)
row *= 2.0 / np.linalg.norm(row)
W = rng.standard_normal((D, D)) / 8
one_direction = np.outer(rng.standard_normal(D), row)  # stretches along the row and nowhere else
corrected(
    "002-ex3-frobenius",
    lambda W: abs(np.linalg.norm(W @ row) / (np.linalg.norm(W) * np.linalg.norm(row)) - 1) < 0.1,
    W,
    counter=one_direction,
    because="the product of norms is an upper bound, reached when W stretches one direction alone "
    "and the row lies along it; for a random W it is too large by about sqrt(d)",
)


def wins(lengths, towards=False, draws=2000):
    """In what share of draws the first key gets the largest weight from a random query.

    towards: count only the draws in which the query points the first key's way.
    """
    rng = np.random.default_rng(15)
    keys = geometry.unit_rows(rng.standard_normal((draws * 3, D))).reshape(draws, 3, D)
    scores = np.einsum("nd,njd->nj", rng.standard_normal((draws, D)), keys) * lengths
    chosen = scores.argmax(axis=1) == 0
    return chosen[scores[:, 0] > 0].mean() if towards else chosen.mean()


corrected(
    "002-ex3-dominates",
    lambda lengths, towards: bool(wins(lengths, towards) > 0.9),
    np.array([2.0, 0.5, 1.0]),
    False,
    counter=(np.array([40.0, 0.5, 1.0]), True),  # a far longer row, among those who like it
    because="length makes a score large in size and leaves its sign alone: the longest of the "
    f"three gets the largest weight in {wins(np.array([2.0, 0.5, 1.0])):.0%} of random draws",
)


def others_move(q, k):
    """Whether the weights of other askers change when token a gets longer in this role."""
    before = attention_forward(lesson.E, lesson.E, lesson.E, scale=1.0)[1].weights
    after = attention_forward(q, k, lesson.E, scale=1.0)[1].weights
    return bool(np.abs(after - before)[1:].max() > 1e-9)


corrected(
    "002-ex3-row-vs-column",
    others_move,
    lesson.longer,
    lesson.E,
    counter=(lesson.E, lesson.longer),
    because="score_aj and score_bj belong to two queries with a softmax each: a long query is "
    "decided, and no one else's weights move. How much a token receives is its column, its key",
)
three = geometry.unit_rows(rng.standard_normal((3, D))) * np.array([[2.0], [0.5], [1.0]])
norm = LayerNorm(D, dtype=np.float64)
corrected(
    "002-ex3-layernorm-one",
    lambda rows: geometry.norms(rows).mean(),
    norm(three).numpy(),
    counter=geometry.unit_rows(three),
    because="each of the d numbers gets unit variance, so the norm is sqrt(d), 8 at d = 64; what "
    "matters is that it is the same for all rows",
)

# ---- section 2, section 6, pitfalls --------------------------------------------------------------


def entropy_of_rows_times(t, normalise):
    rng = np.random.default_rng(6)
    rows = t * rng.standard_normal((16, D))
    to_query, to_key = rng.standard_normal((2, D, D)) / D**0.5
    rows = norm(rows).numpy() if normalise else rows
    weights = attention_forward(rows @ to_query.T, rows @ to_key.T, rows)[1].weights
    return float(-(weights * np.log(np.maximum(weights, 1e-300))).sum(axis=-1).mean())


reproduced(  # where nothing normalises between table and attention; with a norm first it cannot
    "002-s2-small-init-softmax",
    lambda normalise: (
        entropy_of_rows_times(0.1, normalise) > entropy_of_rows_times(30.0, normalise) + 1
    ),
    False,
    counter=True,
)
reproduced(
    "002-s6-norm-matters",
    lambda longer: bool(
        np.abs(lesson.attend(lesson.E, longer, lesson.E)[1] - lesson.weights).max() > 0.1
    ),
    lesson.longer,
    counter=lesson.E,
)


def captured(shared, normalise=False, times=150):
    """For each draw, how many of seven queries give a row 30 times as long more than 0.9."""
    rng, counts = np.random.default_rng(5), np.empty(times)
    for n in range(times):
        rows = shared * rng.standard_normal(D)
        rows = rows + (1 - shared**2) ** 0.5 * rng.standard_normal((8, D))
        rows[0] *= 30.0
        rows = norm(rows).numpy() if normalise else rows
        to_query, to_key = rng.standard_normal((2, 16, D)) / D**0.5
        weights = attention_forward(rows @ to_query.T, rows @ to_key.T, rows)[1].weights
        counts[n] = np.sum(weights[1:, 0] > 0.9)
    return counts


apart, normed = captured(0.0), captured(0.0, normalise=True)
corrected(
    "002-pit3-collapse",
    lambda counts: "all queries" if np.mean(counts == 7) > 0.9 else "some",
    apart,
    counter=np.full(150, 7),
    because=f"on average {apart.mean():.1f} of 7 queries are captured, those with a positive "
    f"product with the long key; the others are driven from it. With a norm first: "
    f"{normed.mean():.1f}",
)


def longest_row(seed, max_norm):
    """A text that goes round in a circle: the next word is certain, and being surer always pays."""
    circle = np.tile(np.random.default_rng(seed).permutation(50), 20)
    model = NextToken(50, 16, rng=seed, init=0.1)
    model.embed.max_norm = max_norm
    train(model, circle, SGD(model.parameters(), lr=2.0), 300, batch_size=64, rng=seed)
    model.embed(circle)
    return geometry.norms(model.embed.weight.numpy()).max()


free, bounded = ([longest_row(seed, m) for seed in range(3)] for m in (None, 1.0))
measured(
    "003-max-norm-why",
    lambda lengths: min(lengths) > 2.0,
    free,
    counter=bounded,
    because=f"rows that start at 0.4 reach {min(free):.1f} to {max(free):.1f} in 300 steps where "
    "the next word is certain, three seeds of three; with max_norm=1 they stay at 1",
)
given(
    "002-s6-normalizes",
    "some do: BERT norms the sum of its rows (modeling.py of google-research/bert). GPT-2, Llama "
    "and Mistral hand the rows on as they are; a norm stands inside the first block, beside the "
    "path that goes around it (model.py of openai/gpt-2 and of meta-llama/llama)",
)
