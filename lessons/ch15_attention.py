# %% [markdown]
# # 15. Attention: who looks at whom, and what comes back
#
# **Question.** How does a token gather from the others, what does each of the three roles get back,
# and what does a long row do to it all?
#
# **Afterwards** you can write attention's backward by hand, and say who is attended to when one row
# has grown too long.
#
# **Time** 20 minutes. **Needs** lessons 0, 12, 14.
# **Exercises** `attention_backward`, `rotary`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, play, save_figure, show, worked

begin()

# %% [markdown]
# ## Three tokens in the plane
# A lookup gives each token (a word, or a piece of one) a row, and no row knows of the others.
# Attention lets them meet. Here are three rows; "a" is long and points right, "b" points up and a
# little left, "c" up and right.

# %%
names = ["a", "b", "c"]
E = np.array([[2.0, 0.0], [-0.3, 0.4], [0.6, 0.8]])
show("E", E, rows=names)

# %% [markdown]
# Each token asks a question (its **query**), is found by a label (its **key**), and hands something
# over (its **value**). In a model these are three products of the row with learned matrices. Here
# all three are the row itself, so that nothing hides in a matrix.
#
# A score says how well query $i$ fits key $j$: their dot product. Softmax turns each query's scores
# into shares, its **weights**. The answer is the mixture of values with these weights.


# %%
def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attend(q, k, v):
    scores = q @ k.T  # a row for each query, a column for each key
    weights = softmax(scores)
    return weights @ v, weights


# %% [markdown]
# ## One query by hand
# How much of each value does "b" take?

# %%
q_b = guess("To whom does 'b' give its largest weight?", names)
scores_b = np.array([worked.dot(f"score(b, {name})", E[1], row) for name, row in zip(names, E)])
weights_b = worked.softmax("scores", scores_b)
q_b.answer(
    names[int(np.argmax(weights_b))],
    because="the score with 'a' is negative: 'a' is long, but it points the other way",
    slips={"a": "Length makes a score large in size. Its sign comes from the directions."},
)
answer_b = worked.sum(
    "answer of b", *(w * row for w, row in zip(weights_b, E)), why="mix the values by the weights"
)

# %%
out, weights = attend(E, E, E)
show("weights", weights.round(3), rows=[f"{n} asks" for n in names], columns=names)
compare("answer of b", by_hand=answer_b, code=out[1])

# %% [markdown]
# Scores are usually divided by $\sqrt{D}$: a dot product of $D$ terms grows like $\sqrt{D}$, and
# large scores make softmax sure of itself. With $D = 2$ we leave that out. And a language model,
# which must not see the word that it is to guess, lets each token look at itself and at those
# before it only: that is called causal attention.
#
# ## The way back
# A gradient $g$ arrives at each answer. Two steps of the way are old friends: `weights @ v` and
# `q @ k.T` are matrix products, so each sends back two products. Between them stands softmax, and
# there is the trap. A softmax is one thing, not many: push one weight up, and the others go down.
# For one query with weights $w$, and $dw$ arriving at them:
#
# $$ds_j = w_j\,\Big(dw_j - \sum_i w_i\,dw_i\Big)$$
#
# Every score first loses what the query gets on average. Leave that out, and you have the tempting
# version.


# %%
def attend_backward(g, q, k, v, weights):
    dv = weights.T @ g
    dw = g @ v.T
    ds = weights * (dw - (weights * dw).sum(axis=-1, keepdims=True))
    return ds @ k, ds.T @ q, dv


def without_sharing(g, q, k, v, weights):
    ds = weights * (g @ v.T)  # each weight by itself
    return ds @ k, ds.T @ q, weights.T @ g


# %% [markdown]
# By hand for the query of "b", with a $g$ that we make up:

# %%
g = np.array([[0.4, -0.3], [1.0, 0.5], [-0.6, 0.8]])
dw_b = np.array([worked.dot(f"dw({name})", g[1], row) for name, row in zip(names, E)])
average = worked.dot("on average", weights_b, dw_b, why="what b gets on average")
ds_b = worked.times("ds", weights_b, dw_b - average)
worked.sum("sum of ds", ds_b)

# %% [markdown]
# The three add up to zero: raise all scores of a query together, and no weight changes. Now nudge.

# %%
q_ds = guess(
    "Does the version without sharing get anything right?",
    ["nothing", "dv alone", "dq alone", "dk alone"],
)


def loss(q, k, v):
    return (attend(q, k, v)[0] * g).sum()


slope = worked.nudge("q", lambda q: loss(q, E, E), E, (1, 0))

# %%
right, wrong = attend_backward(g, E, E, E, weights), without_sharing(g, E, E, E, weights)
nudged = [
    slopes(lambda x: loss(x, E, E), E),
    slopes(lambda x: loss(E, x, E), E),
    slopes(lambda x: loss(E, E, x), E),
]
beside("dq", rows=names, shared=right[0], alone=wrong[0], nudged=nudged[0], wrong="alone")
beside("dk", rows=names, shared=right[1], alone=wrong[1], nudged=nudged[1], wrong="alone")
compare("dv", by_hand=right[2], nudged=nudged[2])
kept = [role for role, a, b in zip(("dq", "dk", "dv"), wrong, right) if np.allclose(a, b)]
q_ds.answer(
    f"{kept[0]} alone" if kept else "nothing",
    because="values do not pass through softmax, so their gradient never meets it",
)

# %% [markdown]
# Here one table plays all three roles, so its gradient is the sum of three parts, as with the tied
# table of lesson 13. The package agrees:

# %%
from scratch_embed import Tensor
from scratch_embed.functional import attention

table = Tensor(E, requires_grad=True, name="E")
attention(table, table, table, scale=1.0).backward(g)
together = slopes(lambda x: loss(x, x, x), E)
compare("dE", dq_dk_dv=sum(right), code=table.grad, nudged=together)

# %% [markdown]
# ## What a long row does
# Suppose row "a" grows to four times its length. As a query it stands in one **row** of the scores;
# as a key in one **column**.

# %%
longer = E * np.array([[4.0], [1.0], [1.0]])
q_query = guess("Only the query of 'a' gets 4 times as long. How many of the 3 askers change?")
q_key = guess(
    "Only the key of 'a' gets 4 times as long. What happens to the weight that 'b' gives it?",
    ["it grows", "it shrinks", "it stays"],
)
_, by_query = attend(longer, E, E)
_, by_key = attend(E, longer, E)
show("long query", by_query.round(3), rows=[f"{n} asks" for n in names], columns=names)
show("long key", by_key.round(3), rows=[f"{n} asks" for n in names], columns=names)
q_query.answer(
    int(np.any(np.abs(by_query - weights) > 1e-9, axis=1).sum()),
    because="a query has a softmax of its own: a long one is more decided, nobody else notices",
)
b_gives = by_key[1, 0] - weights[1, 0]
q_key.answer(
    "it grows" if b_gives > 0 else "it shrinks",
    because="their score was negative, and four times a negative number is more negative; the "
    "weight that 'c' gives grows instead",
)

# %% [markdown]
# So "a long row is attended to" is half a truth. Its score is large in size. Whether it is large or
# very negative depends on the direction of each asker. How often does it win, when nobody has
# planned the directions? Draw many, and count.


# %%
def _who_wins(lengths, draws=4000, D=64, seed=15):
    """How often each key gets the largest, and the smallest, weight from a random query."""
    rng = np.random.default_rng(seed)
    keys = rng.normal(size=(draws, len(lengths), D)) / np.sqrt(D) * np.array(lengths)[:, None]
    scores = np.einsum("nd,njd->nj", rng.normal(size=(draws, D)), keys)
    most = np.bincount(scores.argmax(axis=1), minlength=len(lengths)) / draws
    least = np.bincount(scores.argmin(axis=1), minlength=len(lengths)) / draws
    return np.array([most, least])


q_wins = guess(
    "Lengths 2, 0.5 and 1, random directions: in what share of draws does the longest win?"
)
shares = _who_wins([2.0, 0.5, 1.0])
show(
    "share of draws",
    shares.round(3),
    rows=["largest weight", "smallest weight"],
    columns=["length 2", "length 0.5", "length 1"],
)
q_wins.answer(
    float(shares[0, 0]),
    tolerance=0.04,
    because="it is chosen about as often as it is shunned: the two shares are nearly equal",
)

# %% [markdown]
# The remedy is lesson 14: with a norm before attention, every row asks and is asked with the same
# length. The picture shows the weights of all three askers, as they are, with a long key, and with
# the norm in front of the long key.

# %%
from scratch_embed import plot


def rms_norm(x):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True))


normed = attend(rms_norm(E), rms_norm(longer), E)[1]
print(
    f"  with a norm, the long key changes nothing: "
    f"{np.allclose(normed, attend(rms_norm(E), rms_norm(E), E)[1])}"
)


def _draw(pictures):
    figure, axes = plot.figure(1, 3, size=(10.5, 3.4))
    for ax, (title, array) in zip(axes, pictures.items()):
        plot.heatmap(
            ax,
            array,
            rows=names,
            cols=names,
            limit=1.0,
            bar=False,
            title=title,
            xlabel="is looked at",
            ylabel="asks",
        )
    return figure


pictures = {"as they are": weights, "key of a, 4 times": by_key, "with a norm first": normed}
save_figure(_draw(pictures), "ch15_weights.png")
play("norm_attention")

# %% [markdown]
# ## What did we learn?
# - Attention is two matrix products with a softmax between; so is its backward.
# - Softmax shares: each score's gradient first loses the average. They sum to zero.
# - A long key is loved or shunned by direction, a long query is decided, a norm ends both.
#
# Write its way back: `python -m lessons exercise attention_backward`. Most models now turn queries
# and keys by their place before they compare them (RoPE, Su et al. 2021), so that a score depends
# on how far apart two places are: `rotary`. Lesson 16 uses attention to give one row two meanings.
