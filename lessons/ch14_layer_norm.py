# %% [markdown]
# # 14. LayerNorm, and its three ways back
#
# **Question.** What does a normalisation do to a vector, and why does its backward have three
# terms?
#
# **Afterwards** you can derive LayerNorm's gradient, write it in four lines, and tell from wrong
# numbers which term is missing.
#
# **Time** 15 minutes. **Needs** lessons 0, 11.
# **Exercises** `rms_norm`, `standardize`, `layer_norm_backward`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, save_figure, show, worked

begin()

# %% [markdown]
# ## Rows of all lengths
# Rows of a table do not stay the same length. Early in training those of frequent words are often
# the longer ones, later those of rare words (`python -m lessons lab long_rows`), and a wrong start
# stretches all of them. What comes after the table would rather have inputs of one size. Here are
# three states that a network might be in the middle of.

# %%
x = np.array([[1.0, 2.0, 3.0, 6.0], [10.0, 20.0, 30.0, 60.0], [101.0, 102.0, 103.0, 106.0]])
show("x", x, rows=["a small row", "ten times it", "plus a hundred"])

# %% [markdown]
# LayerNorm looks at one row at a time: subtract its mean, divide by its standard deviation. (Then
# it multiplies by a learned scale and adds a learned shift, column by column. Leave them out for a
# moment: they are 1 and 0 when training begins.)


# %%
def normalise(x, eps=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps)


q = guess("How many different rows come out, to four digits?")
out = normalise(x)
show("out", out.round(4), rows=["a small row", "ten times it", "plus a hundred"])
q.answer(
    len(np.unique(out.round(4), axis=0)),
    because="scaling and shifting a row is exactly what the mean and the deviation take out",
    slips={3: "Length and offset are gone: only the pattern within the row is left."},
)

# %% [markdown]
# ## One row by hand
# Six lines, and each of them will have to be walked back.

# %%
row = x[0]
mean = worked.mean("mean", row)
centred = worked.difference("c", row, np.full(4, mean), why="centre: subtract the mean")
squares = worked.times("c*c", centred, centred)
variance = worked.mean("variance", squares)
deviation = worked.root("deviation", variance, why="(eps = 0.00001 is too small to see here)")
normal = worked.scale("n", 1 / deviation, centred, why="divide by the deviation")

# %% [markdown]
# Check it with two numbers that every normalised row must have:

# %%
print(f"  mean {normal.mean():.1e}, mean square {np.mean(normal**2):.6f}")
compare("n", by_hand=normal, code=normalise(row, eps=0.0))

# %% [markdown]
# ## The way back
# A gradient $g$ arrives at the four numbers of `out`; we make up [0.5, -1, 2, 0.3]. The tempting
# backward goes the way of the formula: $n = (x - \text{mean}) / s$ with the deviation $s$, so
# $dx = g / s$.

# %%
g = np.array([0.5, -1.0, 2.0, 0.3])


def loss(row):
    return (normalise(row, eps=0.0) * g).sum()


def tempting(g, n, s):
    return g / s  # as if mean and deviation were constants


q = guess(
    "Move one number of the row. What moves in the output?",
    ["that number alone", "all four numbers"],
)
slope = worked.nudge("x", loss, row, 3)

# %%
moved = normalise(row + np.array([0, 0, 0, 0.1]), eps=0.0) - normalise(row, eps=0.0)
show("change", moved, columns=["n[0]", "n[1]", "n[2]", "n[3]"])
q.answer(
    "all four numbers" if np.all(np.abs(moved) > 1e-6) else "that number alone",
    because="mean and deviation are made of all four, and every output is made of both",
)
tempted = tempting(g, normal, deviation)
print(f"  tempting: {tempted[3]:.4f}, nudged: {slope:.4f}")

# %% [markdown]
# So there are three ways from an entry of $x$ to the loss:
#
# 1. straight on: $g / s$;
# 2. through the mean: every output loses what the mean gains, so $-\text{mean}(g) / s$;
# 3. through the deviation: outputs shrink when it grows. The row's own direction is $n$, and the
#    part of $g$ along it is $\text{mean}(g\,n)$: so $-n\,\text{mean}(g\,n) / s$.
#
# $$dx = \frac{1}{s}\left(g - \text{mean}(g) - n\,\text{mean}(g\,n)\right)$$


# %%
def backward(g, n, s):
    through_mean = g.mean(axis=-1, keepdims=True)
    through_deviation = n * (g * n).mean(axis=-1, keepdims=True)
    return (g - through_mean - through_deviation) / s


def without_mean(g, n, s):
    return (g - n * (g * n).mean()) / s


def without_deviation(g, n, s):
    return (g - g.mean()) / s


# %% [markdown]
# With the numbers of our row, place by place:

# %%
mean_g = worked.mean("mean(g)", g)
mean_gn = worked.mean("mean(g n)", worked.times("g n", g, normal))
worked.line(
    "dx[3]",
    f"(0.3 - {mean_g:.6g} - {normal[3]:.6g} * {mean_gn:.6g}) / {deviation:.6g}",
    backward(g, normal, deviation)[3],
)

# %% [markdown]
# Four candidates, and the nudge that decides:

# %%
nudged = slopes(loss, row)
ways = (tempting, without_mean, without_deviation, backward)
candidates = {way.__name__: way(g, normal, deviation) for way in ways}
beside("dx", **candidates, nudged=nudged, wrong=list(candidates)[:3])

# %% [markdown]
# ## What the gradient refuses to do
# Look at the formula again: the mean of $g$ is taken out, and so is the part of $g$ along $n$. What
# is left is at right angles to both.

# %%
q = guess("Add up the four numbers of dx. What comes out?")
dx = backward(g, normal, deviation)
total = worked.sum("sum of dx", dx)
along = worked.dot("dx . n", dx, normal)
q.answer(
    round(total, 12),
    tolerance=1e-9,
    because="shifting the whole row changes no output, so no gradient may ask for it; the same "
    "holds for stretching it: dx . n is 0 too (1e-17 is a zero with a rounding error)",
)

# %% [markdown]
# That is a safety belt for embeddings. However long a row has grown, its gradient behind a
# LayerNorm is $1/s$ as long, and never points along the row: the loss cannot ask for longer rows.
#
# ## Scale and shift
# The learned part: $y = \gamma\,n + \beta$, column by column, with one $\gamma$ and one $\beta$ for
# all rows of the batch. A number that is used for every row collects from every row:
# $d\gamma = \sum_{rows} g\,n$ and $d\beta = \sum_{rows} g$.

# %%
rng = np.random.default_rng(14)
batch, gamma, beta = rng.normal(size=(3, 4)) * 2 + 1, rng.normal(size=4), rng.normal(size=4)
G = rng.normal(size=(3, 4))


def layer_norm(x, gamma, beta):
    return gamma * normalise(x) + beta


def layer_norm_backward(g, x, gamma, eps=1e-5):
    s = np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    n = (x - x.mean(axis=-1, keepdims=True)) / s
    return backward(g * gamma, n, s), (g * n).sum(axis=0), g.sum(axis=0)


dx, dgamma, dbeta = layer_norm_backward(G, batch, gamma)
measured = slopes(lambda x: (layer_norm(x, gamma, beta) * G).sum(), batch)
compare("dx", by_hand=dx, nudged=measured)

# %%
by_gamma = slopes(lambda gamma: (layer_norm(batch, gamma, beta) * G).sum(), gamma)
by_mean = (G * normalise(batch)).mean(axis=0)
beside("dgamma", summed=dgamma, mean_over_rows=by_mean, nudged=by_gamma, wrong="mean_over_rows")

# %% [markdown]
# The package has both halves as an operation:

# %%
from scratch_embed import Tensor
from scratch_embed.functional import layer_norm as ours

tensors = [Tensor(a, requires_grad=True) for a in (batch, gamma, beta)]
ours(*tensors).backward(G)
compare("dx", by_hand=dx, code=tensors[0].grad, nudged=measured)
compare("dgamma", by_hand=dgamma, code=tensors[1].grad, nudged=by_gamma)
compare("dbeta", by_hand=dbeta, code=tensors[2].grad)

# %% [markdown]
# ## RMSNorm: one term less
# Many newer models leave the mean alone and divide by the root of the mean square. One statistic
# less, one term of the backward less.


# %%
def rms_norm(x):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True))


def rms_norm_backward(g, x):
    r = np.sqrt((x**2).mean(axis=-1, keepdims=True))
    n = x / r
    return (g - n * (g * n).mean(axis=-1, keepdims=True)) / r


compare(
    "dx of RMSNorm",
    by_hand=rms_norm_backward(g, row),
    nudged=slopes(lambda x: (rms_norm(x) * g).sum(), row),
)
same = np.allclose(rms_norm(x[0]), rms_norm(x[2]), atol=0.01)
print(f"  does RMSNorm take out 'plus a hundred' as well? {'yes' if same else 'no'}")

# %% [markdown]
# The picture shows what both do to a cloud of vectors in the plane. LayerNorm in two dimensions
# leaves two points only, since mean and length are gone; RMSNorm puts every vector on a circle.

# %%
from scratch_embed import plot

cloud = rng.normal(size=(200, 2)) * [1.5, 0.7] + [1.0, 0.5]


def _draw(cloud):
    figure, axes = plot.figure(1, 3, size=(10.5, 3.6))
    pictures = {"as they are": cloud, "LayerNorm": normalise(cloud), "RMSNorm": rms_norm(cloud)}
    angle = np.arctan2(cloud[:, 1], cloud[:, 0])
    for ax, (title, points) in zip(axes, pictures.items()):
        ax.scatter(*points.T, c=angle, cmap="viridis", s=14)
        ax.set(title=title, xlabel="column 0", ylabel="column 1")
        ax.set_aspect("equal", adjustable="datalim")
        ax.axhline(0, color="grey", lw=0.5)
        ax.axvline(0, color="grey", lw=0.5)
    return figure


save_figure(_draw(cloud), "ch14_clouds.png")

# %% [markdown]
# ## What did we learn?
# - A normalised row keeps its pattern and loses its offset and its length.
# - Its backward has a term for each statistic; leave one out and the shapes stay right.
# - The gradient never points along the row: a norm does not reward length.
#
# Write it in three steps: `python -m lessons exercise rms_norm`, then `standardize`, then
# `layer_norm_backward`. Lesson 15 shows why length matters so much where there is no norm: in
# attention.
